//! Streams and futures of a function: arguments are given whole, and results are collected.
//!
//! What they carry has a type of the host's, since the engine has no streams of values whose type is known at run time
//! only.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::vec;

use tokio::sync::oneshot;
use wasmtime::component::{
    FutureAny, FutureConsumer, FutureReader, Lift, Lower, Source, StreamAny, StreamConsumer, StreamReader,
    StreamResult, Val,
};
use wasmtime::{AsContextMut, StoreContextMut};

use super::shape::{Shape, Width};
use crate::plugin::abi::HostCalls as _;
use crate::plugin::imports::state::GuestState;
use crate::sync::lock;

/// Items that are taken at once.
const TAKEN: usize = 4096;
/// Streams and futures of one result.
const MAX_PARTS: usize = 256;

/// What a stream or a future may carry.
trait Item: Lift + Lower + Send + Sync + Unpin + 'static {
    fn into_val(self) -> Val;

    /// `None`: it is another type's.
    fn of(value: Val) -> Option<Self>;
}

macro_rules! items {
    ($($type:ty: $case:ident)*) => {
        $(impl Item for $type {
            fn into_val(self) -> Val {
                Val::$case(self)
            }

            fn of(value: Val) -> Option<Self> {
                match value {
                    Val::$case(value) => Some(value),
                    _ => None,
                }
            }
        })*
    };
}

items! {
    bool: Bool
    i8: S8
    i16: S16
    i32: S32
    i64: S64
    u8: U8
    u16: U16
    u32: U32
    u64: U64
    f32: Float32
    f64: Float64
    char: Char
    String: String
}

impl Item for Vec<u8> {
    fn into_val(self) -> Val {
        Val::List(self.into_iter().map(Val::U8).collect())
    }

    fn of(value: Val) -> Option<Self> {
        let Val::List(bytes) = value else { return None };
        bytes.into_iter().map(u8::of).collect()
    }
}

/// Work that is done for the type of an item.
trait ForItem {
    type Done;

    fn run<T: Item>(self) -> Self::Done;
}

/// `None`: a stream of items of that shape is not supported.
fn with_type<W: ForItem>(shape: &Shape, work: W) -> Option<W::Done> {
    Some(match shape {
        Shape::Bool => work.run::<bool>(),
        Shape::Integer(Width::S8) => work.run::<i8>(),
        Shape::Integer(Width::S16) => work.run::<i16>(),
        Shape::Integer(Width::S32) => work.run::<i32>(),
        Shape::Integer(Width::S64) => work.run::<i64>(),
        Shape::Integer(Width::U8) => work.run::<u8>(),
        Shape::Integer(Width::U16) => work.run::<u16>(),
        Shape::Integer(Width::U32) => work.run::<u32>(),
        Shape::Integer(Width::U64) => work.run::<u64>(),
        Shape::F32 => work.run::<f32>(),
        Shape::F64 => work.run::<f64>(),
        Shape::Char => work.run::<char>(),
        Shape::String => work.run::<String>(),
        Shape::Bytes => work.run::<Vec<u8>>(),
        _ => return None,
    })
}

/// Whether a stream or a future may carry that.
pub(super) fn may_carry(shape: &Shape) -> bool {
    struct Known;

    impl ForItem for Known {
        type Done = ();

        fn run<T: Item>(self) {}
    }

    with_type(shape, Known).is_some()
}

/// The shape of the items of a stream, which is a list as a whole.
fn item_of(whole: &Shape) -> &Shape {
    match whole {
        Shape::List(item) => item,
        _ => &Shape::Integer(Width::U8),
    }
}

/// Whether values of that shape have streams or futures.
pub(super) fn has_parts(shape: &Shape) -> bool {
    match shape {
        Shape::Stream(_) | Shape::Future(_) => true,
        Shape::List(held) | Shape::Option(held) => has_parts(held),
        Shape::Tuple(held) => held.iter().any(has_parts),
        Shape::Record(fields) => fields.iter().any(|(_, held)| has_parts(held)),
        Shape::Variant(cases) => cases.iter().any(|(_, held)| held.as_ref().is_some_and(has_parts)),
        Shape::Result(sides) => sides.ok.iter().chain(&sides.err).any(has_parts),
        _ => false,
    }
}

/// Does something with each stream and future of a value.
fn each(
    value: &mut Val,
    shape: &Shape,
    work: &mut impl FnMut(&mut Val, &Shape) -> wasmtime::Result<()>,
) -> wasmtime::Result<()> {
    match (shape, value) {
        (Shape::Stream(_) | Shape::Future(_), value) => work(value, shape),
        (shape, _) if !has_parts(shape) => Ok(()),
        (Shape::List(shape), Val::List(held)) => held.iter_mut().try_for_each(|held| each(held, shape, work)),
        (Shape::Option(shape), Val::Option(held)) => held.iter_mut().try_for_each(|held| each(held, shape, work)),
        (Shape::Tuple(shapes), Val::Tuple(held)) => {
            shapes.iter().zip(held).try_for_each(|(shape, held)| each(held, shape, work))
        }
        (Shape::Record(fields), Val::Record(held)) => {
            fields.iter().zip(held).try_for_each(|((_, shape), (_, held))| each(held, shape, work))
        }
        (Shape::Variant(cases), Val::Variant(name, Some(held))) => {
            let shape = cases.iter().find(|(case, _)| case == name).and_then(|(_, shape)| shape.as_ref());
            shape.map_or(Ok(()), |shape| each(held, shape, work))
        }
        (Shape::Result(sides), Val::Result(held)) => {
            let (held, shape) = match held {
                Ok(held) => (held, &sides.ok),
                Err(held) => (held, &sides.err),
            };
            held.iter_mut().zip(shape).try_for_each(|(held, shape)| each(held, shape, work))
        }
        _ => Ok(()),
    }
}

fn unexpected() -> wasmtime::Error {
    wasmtime::format_err!("a stream or a future that does not match the function's type")
}

/// Makes streams and futures of what they carry as a whole.
pub(super) fn give(
    mut store: impl AsContextMut<Data = GuestState>,
    value: &mut Val,
    shape: &Shape,
) -> wasmtime::Result<()> {
    struct Stream<S>(S, Vec<Val>);

    impl<S: AsContextMut<Data = GuestState>> ForItem for Stream<S> {
        type Done = wasmtime::Result<Val>;

        fn run<T: Item>(self) -> Self::Done {
            let Self(mut store, items) = self;
            let items: Vec<T> = items.into_iter().map(T::of).collect::<Option<_>>().ok_or_else(unexpected)?;
            let reader = StreamReader::new(&mut store, items)?;
            Ok(Val::Stream(reader.try_into_stream_any(store)?))
        }
    }

    struct Future<S>(S, Val);

    impl<S: AsContextMut<Data = GuestState>> ForItem for Future<S> {
        type Done = wasmtime::Result<Val>;

        fn run<T: Item>(self) -> Self::Done {
            let Self(mut store, item) = self;
            let item = T::of(item).ok_or_else(unexpected)?;
            let reader = FutureReader::new(&mut store, async { wasmtime::error::Ok(item) })?;
            Ok(Val::Future(reader.try_into_future_any(store)?))
        }
    }

    each(value, shape, &mut |value, shape| {
        let whole = std::mem::replace(value, Val::Bool(false));
        let made = match (shape, whole) {
            (Shape::Stream(shape), Val::List(items)) => {
                with_type(item_of(shape), Stream(store.as_context_mut(), items))
            }
            (Shape::Future(shape), item) => with_type(shape, Future(store.as_context_mut(), item)),
            _ => None,
        };
        *value = made.ok_or_else(unexpected)??;
        Ok(())
    })
}

/// The streams and futures of a result, while they are collected.
pub(super) struct Parts {
    each: Vec<Part>,
    budget: Arc<Mutex<Budget>>,
}

/// What one of them has brought so far.
struct Part {
    items: Arc<Mutex<Vec<Val>>>,
    end: oneshot::Receiver<()>,
}

/// What all streams of a result may still bring.
struct Budget {
    left: usize,
    is_exceeded: bool,
    /// Items so far.
    items: u64,
}

/// The result is larger than its limit.
pub(super) struct TooLarge;

impl Parts {
    /// Begins to collect those of a result, of at most about that many bytes in all.
    pub(super) fn begin(
        mut store: impl AsContextMut<Data = GuestState>,
        result: &mut Val,
        shape: &Shape,
        limit: usize,
    ) -> wasmtime::Result<Self> {
        let budget = Arc::new(Mutex::new(Budget { left: limit, is_exceeded: false, items: 0 }));
        let mut parts = Self { each: Vec::new(), budget };
        each(result, shape, &mut |value, shape| {
            wasmtime::ensure!(parts.each.len() < MAX_PARTS, "a result with more than {MAX_PARTS} streams and futures");
            let (ended, end) = oneshot::channel();
            let items = Arc::new(Mutex::new(Vec::new()));
            let sink = Sink { items: items.clone(), budget: parts.budget.clone(), _ended: ended };
            let store = store.as_context_mut();
            let begun = match (shape, &mut *value) {
                (Shape::Stream(shape), Val::Stream(stream)) => {
                    with_type(item_of(shape), TakeStream { store, stream: stream.clone(), sink })
                }
                (Shape::Future(shape), Val::Future(future)) => {
                    with_type(shape, TakeFuture { store, future: future.clone(), sink })
                }
                _ => None,
            };
            begun.ok_or_else(unexpected)??;
            parts.each.push(Part { items, end });
            Ok(())
        })?;
        Ok(parts)
    }

    /// Waits until all have ended, and puts what they brought into the result.
    pub(super) async fn collect(self, result: &mut Val, shape: &Shape) -> wasmtime::Result<Result<(), TooLarge>> {
        let mut whole = Vec::new();
        for Part { items, end } in self.each {
            // It is dropped at the end.
            let _ = end.await;
            whole.push(std::mem::take(&mut *lock(&items)));
        }
        if lock(&self.budget).is_exceeded {
            return Ok(Err(TooLarge));
        }
        let mut whole = whole.into_iter();
        each(result, shape, &mut |value, shape| {
            let items = whole.next().ok_or_else(unexpected)?;
            *value = match shape {
                Shape::Stream(_) => Val::List(items),
                _ => items.into_iter().next().ok_or_else(|| wasmtime::format_err!("a future without a value"))?,
            };
            Ok(())
        })?;
        Ok(Ok(()))
    }
}

/// Where the items of one stream go.
struct Sink {
    items: Arc<Mutex<Vec<Val>>>,
    budget: Arc<Mutex<Budget>>,
    /// Dropped with it.
    _ended: oneshot::Sender<()>,
}

impl Sink {
    /// Takes items; `false`: the result is too large. Tells the client how many there are.
    fn take<T: Item>(&self, mut store: StoreContextMut<'_, GuestState>, items: Vec<T>) -> wasmtime::Result<bool> {
        if items.is_empty() {
            return Ok(true);
        }
        let count = items.len();
        let items: vec::IntoIter<Val> = items.into_iter().map(T::into_val).collect::<Vec<_>>().into_iter();
        // A digit and a comma, at least.
        let bytes: usize = items.as_slice().iter().map(|item| held_by(item).max(2)).sum();
        let guest = store.data_mut();
        if !guest.quota.grow((count * size_of::<Val>() + bytes) as u64) {
            wasmtime::bail!("the result exceeds the memory limit");
        }
        let so_far = {
            let mut budget = lock(&self.budget);
            let Some(left) = budget.left.checked_sub(bytes) else {
                budget.is_exceeded = true;
                return Ok(false);
            };
            budget.left = left;
            budget.items += count as u64;
            budget.items
        };
        lock(&self.items).extend(items);
        // Without the items: a secret could be in several of them, which is redacted in the whole only.
        guest.progress(so_far as f64, None, None);
        Ok(true)
    }
}

/// Bytes of a value in the result, besides the value itself.
fn held_by(value: &Val) -> usize {
    match value {
        Val::String(text) => text.len(),
        Val::List(bytes) => bytes.len() * size_of::<Val>(),
        _ => 0,
    }
}

struct TakeStream<'a> {
    store: StoreContextMut<'a, GuestState>,
    stream: StreamAny,
    sink: Sink,
}

impl ForItem for TakeStream<'_> {
    type Done = wasmtime::Result<()>;

    fn run<T: Item>(self) -> Self::Done {
        let Self { store, stream, sink } = self;
        stream.try_into_stream_reader::<T>()?.pipe(store, Taker::<T> { sink, item: PhantomData })
    }
}

struct TakeFuture<'a> {
    store: StoreContextMut<'a, GuestState>,
    future: FutureAny,
    sink: Sink,
}

impl ForItem for TakeFuture<'_> {
    type Done = wasmtime::Result<()>;

    fn run<T: Item>(self) -> Self::Done {
        let Self { store, future, sink } = self;
        future.try_into_future_reader::<T>()?.pipe(store, Taker::<T> { sink, item: PhantomData })
    }
}

struct Taker<T> {
    sink: Sink,
    item: PhantomData<fn() -> T>,
}

impl<T: Item> StreamConsumer<GuestState> for Taker<T> {
    type Item = T;

    fn poll_consume(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut store: StoreContextMut<'_, GuestState>,
        mut source: Source<'_, T>,
        _: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut items = Vec::with_capacity(source.remaining(&mut store).min(TAKEN));
        let taken = source.read(&mut store, &mut items).and_then(|()| self.sink.take(store, items));
        Poll::Ready(taken.map(|fits| if fits { StreamResult::Completed } else { StreamResult::Dropped }))
    }
}

impl<T: Item> FutureConsumer<GuestState> for Taker<T> {
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
        Poll::Ready(taken.and_then(|()| self.sink.take(store, item.into_iter().collect()).map(|_| ())))
    }
}
