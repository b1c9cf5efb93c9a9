//! Fallbacks for what Wharf supports on Linux only.

/// The system's allocator returns freed memory itself.
pub(crate) mod memory {
    use std::ops::Range;

    pub(crate) fn start_trimming() {}
    pub(crate) fn retain_buffers() {}

    /// Does nothing.
    ///
    /// # Safety
    /// Always safe here; on Linux it is not.
    #[allow(unsafe_code, reason = "it is unsafe on Linux")]
    pub(crate) unsafe fn unmap(_pages: Range<*const u8>) {}
}

/// Immutable bytes: on the heap, which no other process can change.
pub(crate) mod sealed {
    use std::io::{self, Write};
    use std::path::PathBuf;

    /// Not sealed yet.
    pub(crate) struct Unsealed(Vec<u8>);

    pub(crate) struct Sealed(Vec<u8>);

    impl Unsealed {
        pub(crate) fn new(_name: &str) -> Self {
            Self(Vec::new())
        }

        /// # Errors
        /// None here.
        pub(crate) fn seal(self) -> io::Result<Sealed> {
            Ok(Sealed(self.0))
        }
    }

    impl Write for Unsealed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sealed {
        /// There is no file.
        pub(crate) fn path(&self) -> Option<PathBuf> {
            None
        }

        /// # Errors
        /// None here.
        pub(crate) fn into_bytes(self) -> io::Result<Vec<u8>> {
            Ok(self.0)
        }
    }
}

/// No service manager is notified or passes sockets.
pub(crate) mod service {
    use std::io;

    use crate::os::sockets::PassedSocket;

    pub(crate) fn ready() {}
    pub(crate) fn stopping() {}

    /// # Errors
    /// None here.
    pub(crate) fn take_socket() -> io::Result<Option<PassedSocket>> {
        Ok(None)
    }
}

/// No OS sandbox.
pub(in crate::os) mod sandbox {
    use std::io;
    use std::path::Path;

    use crate::os::sandbox::{AllowedPaths, Enforcement};

    /// Why there is none.
    pub(crate) const UNSUPPORTED: Option<&str> = Some("Wharf has one on Linux only");

    /// Whether the sandbox, and not the folder's mode, denies access to a folder.
    pub fn denies(_folder: &Path, _to_write: bool) -> bool {
        false
    }

    /// Restricts nothing.
    ///
    /// # Errors
    /// None here.
    pub fn deny_files() -> io::Result<Enforcement> {
        Ok(Enforcement::None)
    }

    /// Restricts nothing.
    ///
    /// # Errors
    /// None here.
    pub fn restrict_files(_allowed: &AllowedPaths) -> io::Result<Enforcement> {
        Ok(Enforcement::None)
    }

    /// Restricts nothing.
    ///
    /// # Errors
    /// None here.
    pub fn restrict_to(_allowed: &AllowedPaths) -> io::Result<Enforcement> {
        Ok(Enforcement::None)
    }

    /// # Errors
    /// Always: there are no such filters.
    pub fn filter_syscalls() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// # Errors
    /// Always: there are no such filters.
    pub fn deny_syscalls(_network: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// None.
    pub fn system_paths() -> AllowedPaths {
        AllowedPaths::default()
    }
}
