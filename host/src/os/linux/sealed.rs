//! Immutable bytes, which not even this process can change.
//!
//! They are in a sealed memory file, so they can be mapped: later changes of the file that they were
//! read from (writes, truncation, removal) do not affect them. They count as shared memory, which the
//! system can swap but not drop, and take their whole length in each process, used or not.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

const SEAL_ATTEMPTS: usize = 10;

/// Not sealed yet.
pub(crate) struct Unsealed(Memory);

pub(crate) struct Sealed(Memory);

enum Memory {
    File(File),
    Heap(Vec<u8>),
}

impl Unsealed {
    /// `name` is shown in `/proc/PID/maps`. Uses the heap if the system has no memory files.
    pub(crate) fn new(name: &str) -> Self {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not support NOEXEC_SEAL. It prevents executing the file as a program,
        // not mapping it.
        let made = memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL).or_else(|_| memfd_create(name, flags));
        Self(made.map_or(Memory::Heap(Vec::new()), |file| Memory::File(file.into())))
    }

    /// # Errors
    /// If the system cannot seal it.
    pub(crate) fn seal(self) -> io::Result<Sealed> {
        if let Memory::File(file) = &self.0 {
            let all = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
            // EBUSY while something else references a page, such as a page migration scan. The kernel
            // itself waits for about 150 ms, which is too short on a busy machine.
            let mut sealed = fcntl_add_seals(file, all);
            for _ in 1..SEAL_ATTEMPTS {
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

impl Write for Unsealed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Memory::File(file) => match file.write(bytes) {
                // `RLIMIT_FSIZE` applies to memory files too.
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
    /// The path to map it from. `None`: it is on the heap, or `/proc` is not available.
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
    fn sealed_bytes_can_only_be_read() {
        let mut open = Unsealed::new("code");
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
