//! Why wasmtime stopped a call, told by the types of its errors and never by their texts.
//!
//! There is one that cannot be named: that a value took more than was allowed to be copied has a
//! type of wasmtime's own. What is raised when a result is read is otherwise a message, a text that
//! is not Unicode, or a failure of the system; so it is what is left. `tests/calls.rs` has one of
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
    /// It ended in the guest's code, or in what that has called.
    Guest,
    /// Its result is larger than what may be copied.
    TooMuch,
    /// Its result breaks the component ABI.
    Abi,
    /// The pool has no instance, memory or stack left.
    NoRoom,
    /// The system failed the host.
    Host,
}

/// Of an error from making an instance.
pub(in crate::plugin) fn of_making(error: &Error) -> Cause {
    if error.is::<PoolConcurrencyLimitError>() {
        Cause::NoRoom
    } else if is_of_guest(error) {
        Cause::Guest
    } else {
        Cause::Host
    }
}

/// Of an error from calling a function of an instance.
pub(in crate::plugin) fn of_calling(error: &Error) -> Cause {
    if error.is::<PoolConcurrencyLimitError>() {
        Cause::NoRoom
    } else if is_of_guest(error) {
        Cause::Guest
    } else if error.is::<std::io::Error>() || error.is::<crate::os::Errno>() || error.is::<OutOfMemory>() {
        Cause::Host
    } else if breaks_abi(error) {
        Cause::Abi
    } else {
        Cause::TooMuch
    }
}

fn is_of_guest(error: &Error) -> bool {
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
