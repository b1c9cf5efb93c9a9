//! The lock of the folder that `wharf dev` serves from: a second one would remove what the first one serves.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use wharf_report::Failure;
use wharf_report::ShowPath as _;

use crate::lock::{Attempt, try_lock};

/// Beside `.dev`, which is removed as a whole.
const NAME: &str = ".dev.lock";
/// Of the text that another process has left there.
const MAX_TEXT: u64 = 200;

/// Held until it is dropped, or the process ends in any way.
pub(super) struct Lock(File);

impl Lock {
    /// Locks the project whose output folder this is.
    ///
    /// # Errors
    /// If another `wharf dev` serves the project.
    pub(super) fn acquire(dist: &Path) -> Result<Self, Failure> {
        let path = dist.join(NAME);
        match try_lock(&path)? {
            Attempt::Held(file) => Ok(Self(file)),
            Attempt::Taken(mut file) => Err(taken(&path, &holder(&mut file))),
        }
    }

    /// Notes who holds it, for the message of another `wharf dev`.
    pub(super) fn note(&mut self, address: &str) -> io::Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()?;
        self.0.write_all(format!("process {}, --http {address}", std::process::id()).as_bytes())
    }
}

fn taken(path: &Path, holder: &str) -> Failure {
    let holder = if holder.is_empty() { String::new() } else { format!(" ({holder})") };
    let folder = path.with_file_name(".dev");
    Failure::new(format!("serve {}: another wharf dev of this project runs{holder}", folder.shown()))
        .hint("use that one, which rebuilds on each change; or stop it with Ctrl-C in its terminal first".to_owned())
}

/// Empty if it is not noted yet, or cannot be read while it is locked, as on Windows.
fn holder(file: &mut File) -> String {
    let mut text = Vec::new();
    let read = file.take(MAX_TEXT).read_to_end(&mut text);
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&text).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::Lock;

    #[test]
    fn one_process_holds_it_and_the_next_is_told_which() {
        let dist = tempfile::tempdir().expect("a folder");
        let refused = || Lock::acquire(dist.path()).err().expect("it is held").into_parts().0;
        let mut lock = Lock::acquire(dist.path()).expect("it is free");
        assert!(refused().ends_with("another wharf dev of this project runs"), "{}", refused());
        lock.note("127.0.0.1:8080").expect("it is written");
        lock.note("[::1]:80").expect("it is written");
        let named = format!("runs (process {}, --http [::1]:80)", std::process::id());
        #[cfg(unix)]
        assert!(refused().ends_with(&named), "{}", refused());
        drop(lock);
        Lock::acquire(dist.path()).expect("it is free again");
    }
}
