//! Errors that the host returns to guests, as system error codes: wasmtime translates them to WASI
//! error codes.

use std::fmt;
use std::io;

/// Windows error codes under their Unix names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(i32);

impl Errno {
    /// `ERROR_ACCESS_DENIED`
    pub(crate) const ACCESS: Self = Self(5);
    /// `ERROR_NOT_SUPPORTED`
    pub(crate) const NOTSUP: Self = Self(50);
    /// `ERROR_INVALID_PARAMETER`
    pub(crate) const INVAL: Self = Self(87);
    /// `ERROR_ALREADY_EXISTS`
    pub(crate) const EXIST: Self = Self(183);
    /// `ERROR_FILE_TOO_LARGE`
    pub(crate) const FBIG: Self = Self(223);
    /// `ERROR_DIRECTORY`
    pub(crate) const NOTDIR: Self = Self(267);
    /// `ERROR_STOPPED_ON_SYMLINK`
    pub(crate) const LOOP: Self = Self(681);
    /// `ERROR_DISK_QUOTA_EXCEEDED`
    pub(crate) const DQUOT: Self = Self(1295);
    /// `ERROR_PRIVILEGE_NOT_HELD`
    pub(crate) const PERM: Self = Self(1314);

    pub(crate) fn raw_os_error(self) -> i32 {
        self.0
    }
}

impl From<Errno> for io::Error {
    fn from(error: Errno) -> Self {
        Self::from_raw_os_error(error.0)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}
