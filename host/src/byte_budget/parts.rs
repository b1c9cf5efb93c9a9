//! Child budgets by name, for as long as they are in use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::ByteBudget;
use crate::sync::lock;

/// Number of names from which on unused ones are removed.
const PRUNE_FROM: usize = 256;

/// One child budget per name, such as a principal's; all with the same limit.
#[derive(Debug)]
pub struct Parts {
    whole: ByteBudget,
    limit: usize,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// Those that nothing uses are kept for a while: the next request of a caller needs its part again.
    parts: HashMap<Arc<str>, ByteBudget>,
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
        if let Some(part) = known.parts.get(name) {
            return part.clone();
        }
        if known.parts.len() >= known.prune_at {
            known.parts.retain(|_, part| Arc::strong_count(&part.0) > 1);
            known.prune_at = PRUNE_FROM.max(2 * known.parts.len());
        }
        let part = self.whole.part(self.limit);
        known.parts.insert(name.clone(), part.clone());
        part
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        lock(&self.known).parts.len()
    }
}
