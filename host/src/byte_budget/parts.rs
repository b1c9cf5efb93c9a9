//! Child budgets by name, for as long as they are in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use super::{ByteBudget, Level};
use crate::sync::lock;

/// Number of names from which on unused ones are removed.
const PRUNE_FROM: usize = 64;

/// One child budget per name, such as a principal's; all with the same limit.
#[derive(Debug)]
pub struct Parts {
    whole: ByteBudget,
    limit: usize,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    parts: HashMap<Arc<str>, Weak<Level>>,
    /// Number of names at which unused ones are removed.
    prune_at: usize,
}

impl Parts {
    pub fn new(whole: ByteBudget, limit: usize) -> Self {
        Self { whole, limit, known: Mutex::new(Known { parts: HashMap::new(), prune_at: PRUNE_FROM }) }
    }

    /// The budget of that name, shared while it is in use.
    pub fn of(&self, name: &Arc<str>) -> ByteBudget {
        let mut known = lock(&self.known);
        if let Some(part) = known.parts.get(name).and_then(Weak::upgrade) {
            return ByteBudget(part);
        }
        if known.parts.len() >= known.prune_at {
            known.parts.retain(|_, part| part.strong_count() > 0);
            known.prune_at = PRUNE_FROM.max(2 * known.parts.len());
        }
        let part = self.whole.part(self.limit);
        known.parts.insert(name.clone(), Arc::downgrade(&part.0));
        part
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        lock(&self.known).parts.len()
    }
}
