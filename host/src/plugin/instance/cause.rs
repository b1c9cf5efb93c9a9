//! Why wasmtime stopped a call, decided by the types of its errors and never by their texts.
//!
//! One type cannot be named: the error for a value that exceeds the lifting limit has a
//! private type of wasmtime. Other errors of lifting a result are a message, a text that
//! is not Unicode, or a system error; so it is what remains. `tests/calls.rs` has one of
//! each, and fails if an upgrade changes that.

use std::char::{CharTryFromError, DecodeUtf16Error};
use std::num::TryFromIntError;
use std::str::Utf8Error;

use wasmtime::component::ResourceTableError;
use wasmtime::{Error, OutOfMemory, PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::plugin::fault::TrapKind;

/// Why a call has no outcome.
#[derive(Debug, PartialEq)]
pub(in crate::plugin) enum Cause {
    /// A trap or exit in the guest's code, or an error in a host function that it called.
    Guest(TrapKind),
    /// Its result exceeds the lifting limit.
    OutputTooLarge,
    /// Its result violates the component ABI.
    Abi,
    /// The instance pool has no instance, memory or stack left.
    PoolFull,
    /// A system error of the host.
    Host,
}

/// The cause of an error from instantiation.
pub(in crate::plugin) fn of_instantiation(error: &Error) -> Cause {
    if error.is::<PoolConcurrencyLimitError>() {
        Cause::PoolFull
    } else if let Some(kind) = trap_kind(error) {
        Cause::Guest(kind)
    } else {
        Cause::Host
    }
}

/// The cause of an error from calling a function of an instance.
pub(in crate::plugin) fn of_call(error: &Error) -> Cause {
    if error.is::<PoolConcurrencyLimitError>() {
        Cause::PoolFull
    } else if let Some(kind) = trap_kind(error) {
        Cause::Guest(kind)
    } else if error.is::<std::io::Error>() || error.is::<crate::os::Errno>() || error.is::<OutOfMemory>() {
        Cause::Host
    } else if breaks_abi(error) {
        Cause::Abi
    } else {
        Cause::OutputTooLarge
    }
}

/// Whether an async function returned more than the lifting limit: it does so in a host function, `task.return`, so that
/// the error has the guest's frames. Arguments of other host functions over that limit cannot be told from it.
pub(in crate::plugin) fn is_too_large_to_return(error: &Error) -> bool {
    let is_other = error.is::<Trap>() || error.is::<I32Exit>() || error.is::<PoolConcurrencyLimitError>();
    let is_of_system = error.is::<std::io::Error>() || error.is::<crate::os::Errno>() || error.is::<OutOfMemory>();
    error.is::<WasmBacktrace>() && !is_other && !is_of_system && !breaks_abi(error)
}

/// `None` if the guest's code was not running.
fn trap_kind(error: &Error) -> Option<TrapKind> {
    if let Some(I32Exit(status)) = error.downcast_ref() {
        return Some(TrapKind::Exit(*status));
    }
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return error.is::<WasmBacktrace>().then_some(TrapKind::HostFunction);
    };
    Some(match trap {
        Trap::UnreachableCodeReached => TrapKind::Unreachable,
        Trap::StackOverflow => TrapKind::StackExhausted,
        Trap::MemoryOutOfBounds | Trap::StringOutOfBounds | Trap::ListOutOfBounds => TrapKind::MemoryOutOfBounds,
        Trap::HeapMisaligned => TrapKind::Misaligned,
        Trap::TableOutOfBounds => TrapKind::TableOutOfBounds,
        Trap::IndirectCallToNull => TrapKind::NullFunction,
        Trap::BadSignature => TrapKind::WrongFunction,
        Trap::IntegerOverflow => TrapKind::IntegerOverflow,
        Trap::IntegerDivisionByZero => TrapKind::DivisionByZero,
        Trap::BadConversionToInteger => TrapKind::BadConversion,
        Trap::AsyncDeadlock => TrapKind::Deadlock,
        Trap::CannotBlockSyncTask => TrapKind::Blocked,
        _ => TrapKind::Other,
    })
}

/// The reasons in an error, without the guest's frames, which [`frames`] has.
pub(in crate::plugin) fn reason(error: &Error) -> String {
    let frames = frames(error);
    let reasons: Vec<String> =
        error.chain().map(ToString::to_string).filter(|text| Some(text) != frames.as_ref()).collect();
    reasons.join(": ")
}

/// The guest's frames when it was stopped, one to a line.
pub(in crate::plugin) fn frames(error: &Error) -> Option<String> {
    error.downcast_ref::<WasmBacktrace>().map(ToString::to_string)
}

fn breaks_abi(error: &Error) -> bool {
    error.is::<&'static str>()
        || error.is::<String>()
        || error.is::<Utf8Error>()
        || error.is::<DecodeUtf16Error>()
        || error.is::<CharTryFromError>()
        || error.is::<TryFromIntError>()
        || error.is::<ResourceTableError>()
}
