//! The open connections, which are bounded: for one more, another is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

const MAX_CONNECTIONS: usize = 64;

/// Whether a request of the connection was let in.
#[derive(Clone, Default)]
pub(super) struct Admitted(Arc<AtomicBool>);

impl Admitted {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The oldest first.
#[derive(Default)]
pub(super) struct Connections(Vec<(Admitted, AbortOnDropHandle<()>)>);

impl Connections {
    /// Adds one. If there are too many, the oldest of those who have not shown the token is closed, so that they keep
    /// nobody out who has; if all have, the oldest.
    pub(super) fn add(&mut self, admitted: Admitted, task: JoinHandle<()>) {
        self.0.retain(|(_, task)| !task.is_finished());
        if self.0.len() >= MAX_CONNECTIONS {
            let stranger = self.0.iter().position(|(admitted, _)| !admitted.get());
            drop(self.0.remove(stranger.unwrap_or(0)));
        }
        self.0.push((admitted, AbortOnDropHandle::new(task)));
    }
}
