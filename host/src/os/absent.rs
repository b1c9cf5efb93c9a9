//! What Linux has, and other systems have not, or not in a form that Wharf knows.

/// Freed memory is given back by the system's own allocator.
pub(crate) mod heap {
    pub(crate) fn keep_trimmed() {}
    pub(crate) fn keep_buffers() {}
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
