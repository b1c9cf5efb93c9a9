//! Bytes that nobody can change any more, this process included.
//!
//! They are in a file without a name that is sealed, so they can be mapped: what happens later to
//! the file that they were read from (written to, cut short, removed) happens to that file alone.
//! They count as shared memory, which the system can move to swap but not drop: they take their
//! length once for each process, whether they are used or not.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

/// Attempts to seal a file.
const ATTEMPTS: usize = 10;

/// What is still being written.
pub(crate) struct Open(Memory);

pub(crate) struct Sealed(Memory);

enum Memory {
    File(File),
    Heap(Vec<u8>),
}

impl Open {
    /// `name` is what it is called in the list of a process's mappings. Where there are no such
    /// files, on the heap.
    pub(crate) fn new(name: &str) -> Self {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know the last one. It is about starting the file as a
        // program, not about mapping it.
        let made = memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| memfd_create(name, flags));
        Self(made.map_or(Memory::Heap(Vec::new()), |file| Memory::File(file.into())))
    }

    /// # Errors
    /// If the system does not seal it.
    pub(crate) fn seal(self) -> io::Result<Sealed> {
        if let Memory::File(file) = &self.0 {
            let all = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
            // Busy while something else refers to a page, as a scan for pages to move does: the
            // kernel waits some 150 ms for that itself, which a busy machine may exceed.
            let mut sealed = fcntl_add_seals(file, all);
            for _ in 1..ATTEMPTS {
                if sealed != Err(Errno::BUSY) {
                    break;
                }
                sealed = fcntl_add_seals(file, all);
            }
            sealed?;
        }
        Ok(Sealed(self.0))
    }
}

impl Write for Open {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Memory::File(file) => match file.write(bytes) {
                // A limit on the size of files (`RLIMIT_FSIZE`) holds for these, too.
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                    self.0 = Memory::Heap(all_of(file)?);
                    self.write(bytes)
                }
                written => written,
            },
            Memory::Heap(heap) => heap.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sealed {
    /// Where it can be opened to be mapped. `None`: it is on the heap, or nothing of `/proc` is there.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let Memory::File(file) = &self.0 else { return None };
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        path.exists().then_some(path)
    }

    /// # Errors
    /// If it cannot be read back.
    pub(crate) fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self.0 {
            Memory::File(mut file) => all_of(&mut file),
            Memory::Heap(bytes) => Ok(bytes),
        }
    }
}

fn all_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn what_is_sealed_can_be_read_and_nothing_else() {
        let mut open = Open::new("code");
        open.write_all(b"code").expect("written");
        let sealed = open.seal().expect("sealed");
        let path = sealed.path().expect("a file");
        assert_eq!(std::fs::read(&path).expect("readable"), b"code");
        if let Ok(mut again) = OpenOptions::new().write(true).open(&path) {
            assert!(again.write_all(b"evil").is_err());
            assert!(again.set_len(0).is_err() && again.set_len(1 << 20).is_err());
        }
        let Memory::File(file) = &sealed.0 else { panic!("on the heap") };
        assert!(fcntl_add_seals(file, SealFlags::empty()).is_err(), "its seals can be changed");
        assert_eq!(sealed.into_bytes().expect("readable"), b"code");
    }
}
