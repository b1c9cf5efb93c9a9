//! A dedicated tokio runtime for one kind of work, so that it delays nothing else.

use tokio::runtime::{Builder, Handle, Runtime};

/// A dedicated runtime. Dropping it does not block.
pub(in crate::plugin) struct Threads(Option<Runtime>);

impl Threads {
    /// `blocking`: the maximum of additional threads for blocking calls.
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
        // The last owner may be an async task, where a blocking shutdown panics.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
