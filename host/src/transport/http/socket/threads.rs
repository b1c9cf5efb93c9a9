//! The threads that serve connections: one for each core, each with a runtime of its own.
//!
//! A connection stays on one thread. Where threads take work from each other, as in tokio's
//! own scheduler, most requests wake a second one, which finds nothing to do.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;

pub(super) struct Threads {
    threads: Vec<Thread>,
    stop: CancellationToken,
}

struct Thread {
    runtime: Handle,
    /// This, and one for each connection.
    seats: Arc<()>,
}

/// A connection's place on its thread, until it is dropped.
pub(super) struct Seat(#[expect(dead_code, reason = "it is counted")] Arc<()>);

impl Threads {
    /// # Errors
    /// If the system gives none.
    pub(super) fn start() -> io::Result<Self> {
        let mut started = Self { threads: Vec::new(), stop: CancellationToken::new() };
        for _ in 0..thread::available_parallelism()?.get() {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            started.threads.push(Thread { runtime: runtime.handle().clone(), seats: Arc::default() });
            let stop = started.stop.clone();
            thread::Builder::new().name("wharf-http".into()).spawn(move || runtime.block_on(stop.cancelled()))?;
        }
        Ok(started)
    }

    /// The thread that has the fewest connections, and a place there.
    pub(super) fn seat(&self) -> (&Handle, Seat) {
        let thread = self.threads.iter().min_by_key(|thread| Arc::strong_count(&thread.seats));
        let thread = thread.expect("there is a thread for each core");
        (&thread.runtime, Seat(thread.seats.clone()))
    }
}

impl Drop for Threads {
    /// Waits for none of them: what they still do is cancelled.
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
