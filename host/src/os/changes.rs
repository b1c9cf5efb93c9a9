//! Detects by polling whether files have changed since they were read.
//!
//! A poll costs microseconds, and also works for files that do not exist yet, for links that are
//! changed, and on network file systems.

use std::path::PathBuf;

use super::files::Links;
use super::stamp::Stamp;

/// Files, with their stamps at the last read and at the last poll.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    files: Vec<PathBuf>,
    links: Links,
    read: Vec<Option<Stamp>>,
    polled: Vec<Option<Stamp>>,
}

/// The result of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// As at the last read.
    Unchanged,
    /// Changed since the last poll: a file may be half written.
    Changing,
    /// Changed since the last read, but not since the last poll.
    Changed,
}

impl Changes {
    /// Call it before the files are read.
    pub(crate) fn of(files: Vec<PathBuf>, links: Links) -> Self {
        let read = stamps(&files, links);
        Self { files, links, polled: read.clone(), read }
    }

    pub(crate) fn poll(&mut self) -> Status {
        let now = stamps(&self.files, self.links);
        if std::mem::replace(&mut self.polled, now) != self.polled {
            Status::Changing
        } else if self.polled == self.read {
            Status::Unchanged
        } else {
            Status::Changed
        }
    }

    /// Whether the files have changed since the last read; the caller must then read them. For files
    /// that are replaced atomically, which are never half written.
    pub(crate) fn take(&mut self) -> bool {
        let changed = self.poll() != Status::Unchanged;
        if changed {
            self.read.clone_from(&self.polled);
        }
        changed
    }

    /// Call it before the files are read again.
    pub(crate) fn mark_read(&mut self) {
        self.read = stamps(&self.files, self.links);
    }

    /// The files could not be read: they count as changed until they are read again.
    pub(crate) fn mark_unread(&mut self) {
        self.read.clear();
    }
}

/// Where a link leads nowhere, the stamps are those of the link itself, which may be replaced or removed.
fn stamps(files: &[PathBuf], links: Links) -> Vec<Option<Stamp>> {
    let stamp = |file: &PathBuf| Stamp::of(file, links).or_else(|| Stamp::of(file, Links::NotFollowed));
    files.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_is_reported_once_the_file_is_stable() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let mut changes = Changes::of(vec![path.clone()], Links::Followed);
        assert_eq!(changes.poll(), Status::Unchanged);
        fs::write(&path, "one").expect("a file");
        assert_eq!(
            (changes.poll(), changes.poll(), changes.poll()),
            (Status::Changing, Status::Changed, Status::Changed)
        );
        changes.mark_read();
        assert_eq!(changes.poll(), Status::Unchanged);
        changes.mark_unread();
        assert_eq!((changes.poll(), changes.poll()), (Status::Changed, Status::Changed));
        changes.mark_read();
        assert_eq!(changes.poll(), Status::Unchanged);
        // Replaced by one of the same length and time.
        let time = fs::metadata(&path).and_then(|file| file.modified()).expect("a time");
        let next = folder.path().join("next");
        fs::write(&next, "two").expect("a file");
        fs::File::options().write(true).open(&next).and_then(|file| file.set_modified(time)).expect("a time");
        fs::rename(&next, &path).expect("renamed");
        assert_eq!((changes.poll(), changes.poll()), (Status::Changing, Status::Changed));
        fs::remove_file(&path).expect("removed");
        assert_eq!((changes.poll(), changes.poll()), (Status::Changing, Status::Changed));
        changes.mark_read();
        assert_eq!(changes.poll(), Status::Unchanged);
    }
}
