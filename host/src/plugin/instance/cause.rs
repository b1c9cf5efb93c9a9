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

/// Why a call has no outcome.
#[derive(Debug, PartialEq)]
pub(in crate::plugin) enum Cause {
    /// A trap or exit in the guest's code, or an error in a host function that it called.
    Guest,
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
    } else if is_guest_error(error) {
        Cause::Guest
    } else {
        Cause::Host
    }
}

/// The cause of an error from calling a function of an instance.
pub(in crate::plugin) fn of_call(error: &Error) -> Cause {
    if error.is::<PoolConcurrencyLimitError>() {
        Cause::PoolFull
    } else if is_guest_error(error) {
        Cause::Guest
    } else if error.is::<std::io::Error>() || error.is::<crate::os::Errno>() || error.is::<OutOfMemory>() {
        Cause::Host
    } else if breaks_abi(error) {
        Cause::Abi
    } else {
        Cause::OutputTooLarge
    }
}

fn is_guest_error(error: &Error) -> bool {
    error.is::<Trap>() || error.is::<WasmBacktrace>() || error.is::<I32Exit>()
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
