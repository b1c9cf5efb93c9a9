//! Collects what the streams and futures of a guest bring, until all have ended.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use wasmtime::component::{FutureConsumer, FutureReader, Lift, Source, StreamConsumer, StreamReader, StreamResult};
use wasmtime::{AsContextMut, StoreContextMut};

use crate::plugin::abi::HostCalls as _;
use crate::plugin::imports::state::GuestState;
use crate::sync::lock;

/// Items that are taken at once.
const TAKEN: usize = 4096;
/// Streams and futures of one result.
const MAX_PARTS: usize = 256;

/// What all streams of one result bring, as values of one type.
pub(super) struct Collector<V> {
    parts: Vec<Part<V>>,
    budget: Arc<Mutex<Budget>>,
}

/// How items become values.
pub(super) struct How<T, V> {
    /// Bytes of an item, as they count against the limit of the result.
    pub(super) size: fn(&T) -> usize,
    pub(super) into: fn(T) -> V,
}

/// What one of them has brought so far.
struct Part<V> {
    items: Arc<Mutex<Vec<V>>>,
    end: oneshot::Receiver<()>,
}

/// What all of them may still bring.
struct Budget {
    bytes: usize,
    is_exceeded: bool,
    /// Items so far.
    items: u64,
}

/// The result is larger than its limit.
pub(super) struct TooLarge;

impl<V: Send + 'static> Collector<V> {
    /// `limit`: bytes of all of them.
    pub(super) fn new(limit: u64) -> Self {
        let bytes = usize::try_from(limit).unwrap_or(usize::MAX);
        let budget = Arc::new(Mutex::new(Budget { bytes, is_exceeded: false, items: 0 }));
        Self { parts: Vec::new(), budget }
    }

    /// Begins to take what a stream brings.
    ///
    /// # Errors
    /// If there are too many, or the stream is not open.
    pub(super) fn stream<T: Lift + Send + 'static>(
        &mut self,
        store: impl AsContextMut<Data = GuestState>,
        stream: StreamReader<T>,
        how: How<T, V>,
    ) -> wasmtime::Result<()> {
        let taker = self.taker(how)?;
        stream.pipe(store, taker)
    }

    /// The same of a future.
    ///
    /// # Errors
    /// As [`Self::stream`].
    pub(super) fn future<T: Lift + Send + 'static>(
        &mut self,
        store: impl AsContextMut<Data = GuestState>,
        future: FutureReader<T>,
        how: How<T, V>,
    ) -> wasmtime::Result<()> {
        let taker = self.taker(how)?;
        future.pipe(store, taker)
    }

    fn taker<T>(&mut self, how: How<T, V>) -> wasmtime::Result<Taker<T, V>> {
        wasmtime::ensure!(self.parts.len() < MAX_PARTS, "a result with more than {MAX_PARTS} streams and futures");
        let (ended, end) = oneshot::channel();
        let items = Arc::new(Mutex::new(Vec::new()));
        self.parts.push(Part { items: items.clone(), end });
        Ok(Taker { items, budget: self.budget.clone(), how, _ended: ended })
    }

    /// Waits until all have ended; what each brought, in the order in which they were begun.
    pub(super) async fn whole(self) -> Result<Vec<Vec<V>>, TooLarge> {
        let mut whole = Vec::new();
        for Part { items, end } in self.parts {
            // It is dropped at the end.
            let _ = end.await;
            whole.push(std::mem::take(&mut *lock(&items)));
        }
        if lock(&self.budget).is_exceeded { Err(TooLarge) } else { Ok(whole) }
    }
}

struct Taker<T, V> {
    items: Arc<Mutex<Vec<V>>>,
    budget: Arc<Mutex<Budget>>,
    how: How<T, V>,
    /// Dropped with it.
    _ended: oneshot::Sender<()>,
}

impl<T, V> Taker<T, V> {
    /// `false`: the result is too large. Tells the client how much there is.
    fn take(&self, mut store: StoreContextMut<'_, GuestState>, items: Vec<T>) -> wasmtime::Result<bool> {
        if items.is_empty() {
            return Ok(true);
        }
        let bytes: usize = items.iter().map(self.how.size).sum();
        let guest = store.data_mut();
        let so_far = {
            let mut budget = lock(&self.budget);
            // Before they become values, which may be many times as large.
            let Some(left) = budget.bytes.checked_sub(bytes) else {
                budget.is_exceeded = true;
                return Ok(false);
            };
            budget.bytes = left;
            budget.items += items.len() as u64;
            budget.items
        };
        // The result lives as long as the call.
        if !guest.quota.grow((items.len() * size_of::<V>() + bytes) as u64) {
            wasmtime::bail!("the result exceeds the memory limit");
        }
        lock(&self.items).extend(items.into_iter().map(self.how.into));
        // Without the items: a secret could be in several of them, which is redacted in the whole only.
        let items = if so_far == 1 { "item" } else { "items" };
        guest.progress(so_far as f64, None, Some(format!("{so_far} {items}")));
        Ok(true)
    }
}

impl<T: Lift + Send + 'static, V: Send + 'static> StreamConsumer<GuestState> for Taker<T, V> {
    type Item = T;

    fn poll_consume(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut store: StoreContextMut<'_, GuestState>,
        mut source: Source<'_, T>,
        _: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut items = Vec::with_capacity(source.remaining(&mut store).min(TAKEN));
        let taken = source.read(&mut store, &mut items).and_then(|()| self.take(store, items));
        Poll::Ready(taken.map(|fits| if fits { StreamResult::Completed } else { StreamResult::Dropped }))
    }
}

impl<T: Lift + Send + 'static, V: Send + 'static> FutureConsumer<GuestState> for Taker<T, V> {
    type Item = T;

    fn poll_consume(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut store: StoreContextMut<'_, GuestState>,
        mut source: Source<'_, T>,
        _: bool,
    ) -> Poll<wasmtime::Result<()>> {
        let mut item = None;
        let taken = source.read(&mut store, &mut item);
        Poll::Ready(taken.and_then(|()| self.take(store, item.into_iter().collect()).map(|_| ())))
    }
}
