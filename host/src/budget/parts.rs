//! The parts of a budget by name, for as long as somebody has them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Budget, Level};

/// Names that are looked through for those that nobody has any more, at least.
const FEW: usize = 64;

/// One part for each name, such as a principal's; all of the same limit.
#[derive(Debug)]
pub struct Parts {
    whole: Budget,
    limit: usize,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    parts: HashMap<Arc<str>, Weak<Level>>,
    /// So many names are looked through again.
    many: usize,
}

impl Parts {
    pub fn new(whole: Budget, limit: usize) -> Self {
        Self { whole, limit, known: Mutex::new(Known { parts: HashMap::new(), many: FEW }) }
    }

    /// The part of that name. Whoever asks while somebody has it gets the same one.
    pub fn of(&self, name: &Arc<str>) -> Budget {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = known.parts.get(name).and_then(Weak::upgrade) {
            return Budget(part);
        }
        if known.parts.len() >= known.many {
            known.parts.retain(|_, part| part.strong_count() > 0);
            known.many = FEW.max(2 * known.parts.len());
        }
        let part = self.whole.part(self.limit);
        known.parts.insert(name.clone(), Arc::downgrade(&part.0));
        part
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).parts.len()
    }
}
