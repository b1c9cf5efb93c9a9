//! The idle hook: work that a transport's thread does while it waits for its client.

use std::fmt;
use std::sync::{Arc, OnceLock};

type Work = Box<dyn Fn() + Send + Sync>;

/// A hook that transports run when they are idle. It does nothing until it is set: a transport
/// starts before there is any work for it.
#[derive(Clone, Default)]
pub struct IdleHook(Arc<OnceLock<Work>>);

impl IdleHook {
    /// Sets the work; only the first call has an effect. It runs on threads that serve clients, so it
    /// must take at most some milliseconds.
    pub fn set(&self, work: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(work));
    }

    pub(crate) fn run(&self) {
        if let Some(work) = self.0.get() {
            work();
        }
    }
}

impl fmt::Debug for IdleHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleHook").field("set", &self.0.get().is_some()).finish()
    }
}
