//! Work that several wait for, and that is done once.

use futures_util::future::{BoxFuture, FutureExt as _, Shared};

/// Work in a task of its own, which goes on if those that wait for it are gone: a client that disconnects ends no fetch
/// of the others. `None` if it panicked.
pub(super) type Flight<T> = Shared<BoxFuture<'static, Option<T>>>;

pub(super) fn start<T: Clone + Send + Sync + 'static>(work: impl Future<Output = T> + Send + 'static) -> Flight<T> {
    tokio::spawn(work).map(Result::ok).boxed().shared()
}
