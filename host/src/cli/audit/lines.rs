//! The lines of the files of a log, one after the other, each with its place.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use wharf_report::ShowPath as _;

use crate::audit::MAX_LINE;
use crate::os::files::{self, Links};
use crate::os::stamp::Identity;
use crate::report::Failure;

/// All files are open: they stay the same if a server rotates them meanwhile.
pub(super) struct LogLines {
    files: Vec<OpenFile>,
    /// The next line.
    next: Place,
}

struct OpenFile {
    path: PathBuf,
    reader: BufReader<File>,
    /// At the start: it may grow meanwhile.
    length: u64,
}

/// Where a line begins.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// Index of its file.
    file: usize,
    /// In bytes.
    start: u64,
}

impl LogLines {
    /// Opens files, given from the oldest to the newest.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub(super) fn open(paths: Vec<PathBuf>) -> Result<Self, Failure> {
        let (mut opened, mut seen): (Vec<OpenFile>, Vec<Identity>) = (Vec::new(), Vec::new());
        // From the newest: one that is rotated meanwhile is found twice, and not missed.
        for path in paths.into_iter().rev() {
            let (file, found) = files::open(&path, Links::Followed).map_err(|error| unreadable(&path, &error))?;
            let identity = Identity::of_open(&file).map_err(|error| unreadable(&path, &error))?;
            if !seen.contains(&identity) {
                seen.push(identity);
                opened.push(OpenFile { path, reader: BufReader::new(file), length: found.len() });
            }
        }
        opened.reverse();
        Ok(Self { files: opened, next: Place::default() })
    }

    /// Reads the next line that is complete, without its line break. One that is longer than any record is empty.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn read_next(&mut self, line: &mut Vec<u8>) -> Result<Option<Place>, Failure> {
        while let Some(file) = self.files.get_mut(self.next.file) {
            let place = self.next;
            match file.read(place.start, line).map_err(|error| unreadable(&file.path, &error))? {
                0 => self.next = Place { file: place.file + 1, start: 0 },
                bytes => {
                    self.next.start += bytes;
                    return Ok(Some(place));
                }
            }
        }
        Ok(None)
    }

    /// Reads a line again.
    ///
    /// # Errors
    /// If its file cannot be read.
    pub(super) fn read_at(&mut self, place: Place, line: &mut Vec<u8>) -> Result<(), Failure> {
        let file = &mut self.files[place.file];
        // Within what is in memory nothing is read.
        let read = file.seek(place.start).and_then(|()| file.read(place.start, line));
        read.map(drop).map_err(|error| unreadable(&file.path, &error))
    }
}

impl OpenFile {
    fn seek(&mut self, start: u64) -> io::Result<()> {
        let now = self.reader.stream_position()?;
        match i64::try_from(i128::from(start) - i128::from(now)) {
            Ok(offset) => self.reader.seek_relative(offset),
            Err(_) => self.reader.seek(SeekFrom::Start(start)).map(drop),
        }
    }

    /// Reads the line that begins there, and returns its bytes with its line break. 0: none is complete.
    fn read(&mut self, start: u64, line: &mut Vec<u8>) -> io::Result<u64> {
        line.clear();
        let mut rest = (&mut self.reader).take(self.length.saturating_sub(start));
        let mut bytes = (&mut rest).take(MAX_LINE as u64).read_until(b'\n', line)? as u64;
        let is_complete = line.pop_if(|byte| *byte == b'\n').is_some();
        if !is_complete && bytes == MAX_LINE as u64 {
            line.clear();
            bytes += rest.skip_until(b'\n')? as u64;
            return Ok(bytes);
        }
        Ok(if is_complete { bytes } else { 0 })
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("read the audit log: {error}: {}", path.shown()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::{LogLines, MAX_LINE};

    /// The lines of these files, by their lengths, and the first bytes of each that is read again.
    fn read(files: &[&[u8]]) -> (Vec<usize>, Vec<Vec<u8>>) {
        let folder = TempDir::new().expect("a folder");
        let paths = (0..files.len()).map(|n| folder.path().join(n.to_string()));
        let paths: Vec<_> = paths.collect();
        for (path, bytes) in paths.iter().zip(files) {
            fs::write(path, bytes).expect("a file");
        }
        let mut lines = LogLines::open(paths).expect("readable");
        let (mut line, mut lengths, mut places) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(place) = lines.read_next(&mut line).expect("readable") {
            lengths.push(line.len());
            places.push(place);
        }
        let again = places.into_iter().rev().map(|place| {
            lines.read_at(place, &mut line).expect("readable");
            line.iter().copied().take(4).collect()
        });
        let again = again.collect();
        (lengths, again)
    }

    #[test]
    fn lines_are_read_in_order_and_again() {
        let (lengths, again) = read(&[b"a\nbb\n", b"", b"ccc\n"]);
        assert_eq!((lengths, again), (vec![1, 2, 3], vec![b"ccc".to_vec(), b"bb".to_vec(), b"a".to_vec()]));
    }

    #[test]
    fn an_incomplete_line_is_left_out() {
        assert_eq!(read(&[b"a\nbb", b"ccc\nd"]).0, [1, 3]);
        assert_eq!(read(&[b"", b"d"]).0, [0; 0]);
    }

    #[test]
    fn a_line_longer_than_any_record_is_empty() {
        let line = |length: usize| [vec![b'x'; length], b"\nnext\n".to_vec()].concat();
        assert_eq!(read(&[&line(MAX_LINE - 1)]).0, [MAX_LINE - 1, 4]);
        assert_eq!(read(&[&line(MAX_LINE)]).0, [0, 4]);
        assert_eq!(read(&[&line(3 * MAX_LINE)]).0, [0, 4]);
        assert_eq!(read(&[&vec![b'x'; 3 * MAX_LINE]]).0, [0]);
    }
}
