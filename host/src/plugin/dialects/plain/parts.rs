//! Streams and futures of a function: arguments are given whole, and results are collected.
//!
//! What they carry has a type of the host's, since the engine has no streams of values whose type is known at run time
//! only.

use wasmtime::component::{FutureAny, FutureReader, Lift, Lower, StreamAny, StreamReader, Val};
use wasmtime::{AsContextMut, StoreContextMut};

use super::shape::{Shape, Width};
use crate::plugin::dialects::collect::{Collector, How};
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::invocation::LIFTED;

/// Bytes that a value counts for.
const EACH: usize = size_of::<Val>() / LIFTED as usize;

/// What a stream or a future may carry.
trait Item: Lift + Lower + Send + Sync + Unpin + 'static {
    fn into_val(self) -> Val;

    /// Bytes in the result: as many as of a value in a list, which is a part of what it takes in memory.
    fn size(&self) -> usize {
        EACH
    }

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
}

impl Item for String {
    fn into_val(self) -> Val {
        Val::String(self)
    }

    fn size(&self) -> usize {
        self.len().max(EACH)
    }

    fn of(value: Val) -> Option<Self> {
        match value {
            Val::String(text) => Some(text),
            _ => None,
        }
    }
}

impl Item for Vec<u8> {
    fn into_val(self) -> Val {
        Val::List(self.into_iter().map(Val::U8).collect())
    }

    fn size(&self) -> usize {
        self.len().max(1) * EACH
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

/// Begins to collect the streams and futures of a result, of at most about that many bytes in all.
pub(super) fn begin(
    mut store: impl AsContextMut<Data = GuestState>,
    result: &mut Val,
    shape: &Shape,
    limit: u64,
) -> wasmtime::Result<Collector<Val>> {
    let mut collector = Collector::new(limit);
    each(result, shape, &mut |value, shape| {
        let (store, collector) = (store.as_context_mut(), &mut collector);
        let begun = match (shape, value) {
            (Shape::Stream(shape), Val::Stream(stream)) => {
                with_type(item_of(shape), TakeStream { store, stream: stream.clone(), collector })
            }
            (Shape::Future(shape), Val::Future(future)) => {
                with_type(shape, TakeFuture { store, future: future.clone(), collector })
            }
            _ => None,
        };
        begun.ok_or_else(unexpected)?
    })?;
    Ok(collector)
}

/// Puts what they brought into the result.
pub(super) fn fill(result: &mut Val, shape: &Shape, whole: Vec<Vec<Val>>) -> wasmtime::Result<()> {
    let mut whole = whole.into_iter();
    each(result, shape, &mut |value, shape| {
        let items = whole.next().ok_or_else(unexpected)?;
        *value = match shape {
            Shape::Stream(_) => Val::List(items),
            _ => items.into_iter().next().ok_or_else(|| wasmtime::format_err!("a future without a value"))?,
        };
        Ok(())
    })
}

struct TakeStream<'a> {
    store: StoreContextMut<'a, GuestState>,
    stream: StreamAny,
    collector: &'a mut Collector<Val>,
}

impl ForItem for TakeStream<'_> {
    type Done = wasmtime::Result<()>;

    fn run<T: Item>(self) -> Self::Done {
        let Self { store, stream, collector } = self;
        collector.stream(store, stream.try_into_stream_reader::<T>()?, How { size: T::size, into: T::into_val })
    }
}

struct TakeFuture<'a> {
    store: StoreContextMut<'a, GuestState>,
    future: FutureAny,
    collector: &'a mut Collector<Val>,
}

impl ForItem for TakeFuture<'_> {
    type Done = wasmtime::Result<()>;

    fn run<T: Item>(self) -> Self::Done {
        let Self { store, future, collector } = self;
        collector.future(store, future.try_into_future_reader::<T>()?, How { size: T::size, into: T::into_val })
    }
}
