//! The folder that was granted, and files in it by their paths from there.
//!
//! The host keeps a plugin in its folders; what is checked here makes for clear answers.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};

use wharf_plugin::*;

use super::How;

/// Where the folder is, in the grant as in here.
const GRANTED: &str = "/data";
/// Entries of one listing.
const LISTED: usize = 1000;
/// Bytes of a file that is read.
const LONGEST: u64 = 8 << 20;

pub(crate) struct Folder(PathBuf);

#[derive(Serialize, JsonSchema)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Of a file, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
}

#[derive(Serialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    File,
    Folder,
    /// A link, or something that cannot be read.
    Other,
}

impl Folder {
    /// The granted folder.
    pub(crate) fn granted() -> Result<Self> {
        let folder = Self::at(GRANTED);
        match fs::metadata(&folder.0) {
            Ok(_) => Ok(folder),
            Err(_) => Err(Error::failed(format!(
                "no folder is granted to this plugin. Whoever runs the server can grant one: under \
                 `[plugins.files.grants]` in wharf.toml put \
                 `fs = [{{ host = \"./data\", guest = \"{GRANTED}\", mode = \"write\" }}]`, or mode = \"read\""
            ))),
        }
    }

    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn place(&self, path: &str) -> Result<PathBuf> {
        let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(path).components().all(inside) {
            return Err(Error::invalid(
                "/path",
                "is a path from the granted folder, without '..' and no '/' before it",
            ));
        }
        Ok(self.0.join(path))
    }

    /// The entries of a folder by name, and whether there are more.
    pub(crate) fn list(&self, path: &str) -> Result<(Vec<Entry>, bool)> {
        let entries = fs::read_dir(self.place(path)?).map_err(|error| refused(path, &error))?;
        let mut listed = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| refused(path, &error))?;
            let metadata = fs::symlink_metadata(entry.path()).ok();
            let kind = match &metadata {
                Some(found) if found.is_file() => Kind::File,
                Some(found) if found.is_dir() => Kind::Folder,
                _ => Kind::Other,
            };
            let size = metadata.filter(|_| kind == Kind::File).map(|found| found.len());
            listed.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), kind, size });
        }
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        let cut = listed.len() > LISTED;
        listed.truncate(LISTED);
        Ok((listed, cut))
    }

    /// A file's text.
    pub(crate) fn text(&self, path: &str) -> Result<String> {
        let place = self.place(path)?;
        let size = fs::metadata(&place).map_err(|error| refused(path, &error))?.len();
        if size > LONGEST {
            return Err(Error::failed(format!("{path} has {size} bytes; at most {LONGEST} are read")));
        }
        let bytes = fs::read(&place).map_err(|error| refused(path, &error))?;
        String::from_utf8(bytes).map_err(|_| Error::failed(format!("{path} is no text in UTF-8")))
    }

    /// Writes a file; gives its length then, in bytes.
    pub(crate) fn write(&self, path: &str, text: &str, how: How) -> Result<u64> {
        let place = self.place(path)?;
        let write = || {
            if let Some(folder) = place.parent().filter(|folder| **folder != self.0) {
                fs::create_dir_all(folder)?;
            }
            let mut options = OpenOptions::new();
            match how {
                How::Create => options.write(true).create_new(true),
                How::Replace => options.write(true).create(true).truncate(true),
                How::Append => options.append(true).create(true),
            };
            options.open(&place)?.write_all(text.as_bytes())?;
            Ok(fs::metadata(&place)?.len())
        };
        write().map_err(|error: io::Error| not_written(path, &error))
    }
}

/// Why something could not be done with a path.
fn refused(path: &str, error: &io::Error) -> Error {
    let why = why(error).map_or_else(|| format!("cannot be used: {error}"), str::to_owned);
    Error::failed(format!("{path} {why}"))
}

/// Some libraries make an I/O error of a quota that a write goes over.
fn not_written(path: &str, error: &io::Error) -> Error {
    let guess = || format!("cannot be written: {error}; perhaps its grant's quota is used up");
    let why = why(error).map_or_else(guess, str::to_owned);
    Error::failed(format!("{path} {why}"))
}

fn why(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::NotFound => Some("is not there"),
        ErrorKind::AlreadyExists => Some("is there already; write with how = \"replace\" or \"append\""),
        ErrorKind::IsADirectory => Some("is a folder"),
        ErrorKind::NotADirectory => Some("is no folder"),
        ErrorKind::PermissionDenied => Some(
            "may not be used so: the folder may be granted for reading alone, with mode = \"read\", or this \
             leads out of it",
        ),
        ErrorKind::QuotaExceeded => Some("has no room: its grant's quota is used up"),
        ErrorKind::StorageFull => Some("has no room: the disk is full"),
        _ => None,
    }
}
