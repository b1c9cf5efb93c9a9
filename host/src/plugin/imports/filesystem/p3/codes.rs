//! Errors and flags of 0.3 and 0.2, which have the same names.

use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p3::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasmtime_wasi::p3::filesystem::FilesystemError;

use super::bindings;

macro_rules! same_codes {
    ($($code:ident)*) => {
        pub(super) fn code(of: bindings::ErrorCode) -> ErrorCode {
            match of {
                bindings::ErrorCode::WouldBlock => ErrorCode::Busy,
                $(bindings::ErrorCode::$code => ErrorCode::$code,)*
            }
        }
    };
}

same_codes! {
    Access Already BadDescriptor Busy Deadlock Quota Exist FileTooLarge IllegalByteSequence InProgress Interrupted Invalid
    Io IsDirectory Loop TooManyLinks MessageSize NameTooLong NoDevice NoEntry NoLock InsufficientMemory InsufficientSpace
    NotDirectory NotEmpty NotRecoverable Unsupported NoTty NoSuchDevice Overflow NotPermitted Pipe ReadOnly InvalidSeek
    TextFileBusy CrossDevice
}

/// An error of 0.2.
pub(super) fn failure(error: FsError) -> FilesystemError {
    match error.downcast() {
        Ok(failed) => code(failed).into(),
        Err(trap) => FilesystemError::trap(trap),
    }
}

macro_rules! flags {
    ($of:expr, $from:ident => $to:ident: $($name:ident)*) => {{
        let mut flags = bindings::$to::empty();
        $(if $of.contains($from::$name) {
            flags |= bindings::$to::$name;
        })*
        flags
    }};
}

pub(super) fn path_flags(of: PathFlags) -> bindings::PathFlags {
    flags!(of, PathFlags => PathFlags: SYMLINK_FOLLOW)
}

pub(super) fn open_flags(of: OpenFlags) -> bindings::OpenFlags {
    flags!(of, OpenFlags => OpenFlags: CREATE DIRECTORY EXCLUSIVE TRUNCATE)
}

pub(super) fn descriptor_flags(of: DescriptorFlags) -> bindings::DescriptorFlags {
    flags!(of, DescriptorFlags => DescriptorFlags:
        READ WRITE FILE_INTEGRITY_SYNC DATA_INTEGRITY_SYNC REQUESTED_WRITE_SYNC MUTATE_DIRECTORY)
}
