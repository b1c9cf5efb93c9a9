//! What Linux has, and other systems have not, or not in a form that Wharf knows.

/// Freed memory is given back by the system's own allocator.
pub(crate) mod memory {
    use std::ops::Range;

    pub(crate) fn keep_trimmed() {}
    pub(crate) fn keep_buffers() {}

    /// Does nothing.
    ///
    /// # Safety
    /// It is always safe here; elsewhere it is not.
    #[allow(unsafe_code, reason = "it is unsafe on Linux")]
    pub(crate) unsafe fn unmap(_pages: Range<*const u8>) {}
}

/// Bytes that nobody changes any more: on the heap, where no other process can.
pub(crate) mod sealed {
    use std::io::{self, Write};
    use std::path::PathBuf;

    /// What is still being written.
    pub(crate) struct Open(Vec<u8>);

    pub(crate) struct Sealed(Vec<u8>);

    impl Open {
        pub(crate) fn new(_name: &str) -> Self {
            Self(Vec::new())
        }

        /// # Errors
        /// None here.
        pub(crate) fn seal(self) -> io::Result<Sealed> {
            Ok(Sealed(self.0))
        }
    }

    impl Write for Open {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sealed {
        /// They are in no file.
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

/// No service manager is told of anything, or hands over sockets.
pub(crate) mod service {
    use std::io;

    use crate::os::sockets::Handed;

    pub(crate) fn ready() {}
    pub(crate) fn stopping() {}

    /// # Errors
    /// None here.
    pub(crate) fn take_socket() -> io::Result<Option<Handed>> {
        Ok(None)
    }
}

/// No OS sandbox.
pub(in crate::os) mod sandbox {
    use std::io;
    use std::path::Path;

    use crate::os::sandbox::{Reach, Standing};

    /// Why there is none.
    pub(crate) const MISSING: Option<&str> = Some("Wharf has one on Linux only");

    /// Whether the sandbox, and not its mode, keeps this process from reading or writing a folder.
    pub fn keeps_from(_folder: &Path, _to_write: bool) -> bool {
        false
    }

    /// Nothing is restricted.
    ///
    /// # Errors
    /// None here.
    pub fn no_files() -> io::Result<Standing> {
        Ok(Standing::Not)
    }

    /// As [`no_files`].
    ///
    /// # Errors
    /// None here.
    pub fn only_files(_reach: &Reach) -> io::Result<Standing> {
        Ok(Standing::Not)
    }

    /// # Errors
    /// Always: there are no such filters.
    pub fn only_compute() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn of_every_program() -> Reach {
        Reach::default()
    }
}
