//! Whether files have changed since they were read.
//!
//! Somebody has to look, now and then: a look costs microseconds, and it works where a file is not
//! there yet, is a link that is put elsewhere, or is on a network.

use std::path::PathBuf;

use super::files::Links;
use super::stamp::Stamp;

/// Some files, as they were when they were last read and when they were last looked at.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    files: Vec<PathBuf>,
    links: Links,
    read: Vec<Option<Stamp>>,
    looked: Vec<Option<Stamp>>,
}

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// As it was read.
    Unchanged,
    /// Not as at the look before: it may be half written.
    Changing,
    /// Not as it was read, and the same for one look.
    Changed,
}

impl Changes {
    /// From now on: the files are about to be read.
    pub(crate) fn of(files: Vec<PathBuf>, links: Links) -> Self {
        let read = stamps(&files, links);
        Self { files, links, looked: read.clone(), read }
    }

    pub(crate) fn look(&mut self) -> Seen {
        let now = stamps(&self.files, self.links);
        if std::mem::replace(&mut self.looked, now) != self.looked {
            Seen::Changing
        } else if self.looked == self.read {
            Seen::Unchanged
        } else {
            Seen::Changed
        }
    }

    /// Whether they are not as they were read; they are about to be read again then. For files that
    /// are replaced whole, which are never half written.
    pub(crate) fn take(&mut self) -> bool {
        let changed = self.look() != Seen::Unchanged;
        if changed {
            self.read.clone_from(&self.looked);
        }
        changed
    }

    /// The files are about to be read again. Whether any of them is there.
    pub(crate) fn read_again(&mut self) -> bool {
        self.read = stamps(&self.files, self.links);
        self.read.iter().any(Option::is_some)
    }
}

fn stamps(files: &[PathBuf], links: Links) -> Vec<Option<Stamp>> {
    files.iter().map(|file| Stamp::of(file, links)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_is_one_when_the_file_rests() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let mut changes = Changes::of(vec![path.clone()], Links::Followed);
        assert_eq!(changes.look(), Seen::Unchanged);
        fs::write(&path, "one").expect("a file");
        assert_eq!((changes.look(), changes.look(), changes.look()), (Seen::Changing, Seen::Changed, Seen::Changed));
        assert!(changes.read_again());
        assert_eq!(changes.look(), Seen::Unchanged);
        // Replaced by one of the same length and time.
        let time = fs::metadata(&path).and_then(|file| file.modified()).expect("a time");
        let next = folder.path().join("next");
        fs::write(&next, "two").expect("a file");
        fs::File::options().write(true).open(&next).and_then(|file| file.set_modified(time)).expect("a time");
        fs::rename(&next, &path).expect("renamed");
        assert_eq!((changes.look(), changes.look()), (Seen::Changing, Seen::Changed));
        fs::remove_file(&path).expect("removed");
        assert_eq!((changes.look(), changes.look()), (Seen::Changing, Seen::Changed));
        assert!(!changes.read_again());
        assert_eq!(changes.look(), Seen::Unchanged);
    }
}
