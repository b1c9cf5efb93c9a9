//! Threads that do one kind of work and no other, so that it delays nothing else.

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime of its own. Dropping it waits for nothing.
pub(in crate::plugin) struct Threads(Option<Runtime>);

impl Threads {
    /// `blocking`: further threads for what cannot wait otherwise.
    pub(in crate::plugin) fn start(name: &str, workers: usize, blocking: usize) -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .max_blocking_threads(blocking)
            .thread_name(name)
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    pub(in crate::plugin) fn handle(&self) -> &Handle {
        self.0.as_ref().expect("the runtime lives until it is dropped").handle()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The last owner may be an async task, where a runtime must not be waited for.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
