//! The threads that serve connections: one per core, each with a current-thread runtime.
//!
//! A connection stays on one thread. With a work-stealing scheduler, as in tokio's multi-thread
//! runtime, most requests wake a second thread that finds nothing to do.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

/// What runs on them is cancelled when this is dropped.
pub struct ConnectionThreads {
    threads: Vec<Thread>,
    stop: CancellationToken,
}

struct Thread {
    runtime: Handle,
    /// The reference count is one plus the number of connections.
    connections: Arc<()>,
}

/// Counts a connection on its thread, until it is dropped.
pub(super) struct ConnectionGuard(#[expect(dead_code, reason = "reference count only")] Arc<()>);

impl ConnectionThreads {
    /// # Errors
    /// If a thread or its runtime cannot be created.
    pub(super) fn start() -> io::Result<Self> {
        let mut started = Self { threads: Vec::new(), stop: CancellationToken::new() };
        for _ in 0..thread::available_parallelism()?.get() {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            started.threads.push(Thread { runtime: runtime.handle().clone(), connections: Arc::default() });
            let stop = started.stop.clone();
            thread::Builder::new().name("wharf-http".into()).spawn(move || runtime.block_on(stop.cancelled()))?;
        }
        Ok(started)
    }

    /// The thread with the fewest connections, and a guard that counts one there.
    pub(super) fn least_loaded(&self) -> (&Handle, ConnectionGuard) {
        let thread = self.threads.iter().min_by_key(|thread| Arc::strong_count(&thread.connections));
        let thread = thread.expect("there is a thread for each core");
        (&thread.runtime, ConnectionGuard(thread.connections.clone()))
    }
}

impl Drop for ConnectionThreads {
    /// Does not join the threads: their tasks are cancelled.
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
