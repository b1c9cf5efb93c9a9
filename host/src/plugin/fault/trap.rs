//! The kinds of traps, in fixed words that clients may see.

use std::fmt;

/// What stopped a guest that crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrapKind {
    /// What compilers emit for panics and aborts.
    Unreachable,
    StackExhausted,
    MemoryOutOfBounds,
    Misaligned,
    TableOutOfBounds,
    /// A call through a function pointer that is null.
    NullFunction,
    /// A call through a function pointer of another type.
    WrongFunction,
    IntegerOverflow,
    DivisionByZero,
    /// A float that does not fit the integer type.
    BadConversion,
    /// It waits for something that cannot happen.
    Deadlock,
    /// It waits in a function that is not async.
    Blocked,
    /// It ended its process with this status.
    Exit(i32),
    /// The process of the plugin ended, if it has one of its own.
    ProcessEnded,
    /// A host function refused its arguments, such as a handle that is not its own.
    HostFunction,
    Other,
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "unreachable instruction executed",
            Self::StackExhausted => "call stack exhausted",
            Self::MemoryOutOfBounds => "out of bounds memory access",
            Self::Misaligned => "unaligned atomic memory access",
            Self::TableOutOfBounds => "out of bounds table access",
            Self::NullFunction => "call of a null function pointer",
            Self::WrongFunction => "call of a function pointer of another type",
            Self::IntegerOverflow => "integer overflow",
            Self::DivisionByZero => "integer division by zero",
            Self::BadConversion => "conversion of a number that does not fit the integer type",
            Self::Deadlock => "deadlock",
            Self::Blocked => "wait in a function that is not async",
            Self::Exit(status) => return write!(f, "exit with status {status}"),
            Self::ProcessEnded => "its process ended",
            Self::HostFunction => "invalid use of a host function",
            Self::Other => "trap",
        })
    }
}
