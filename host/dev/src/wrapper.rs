//! The folder `wharf/` of a project: the wrapper of its language and the interface, which this program contains.
//!
//! No package registry has them. The folder records which version of Wharf wrote it, and a digest of what it wrote.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use blake3::{Hash, Hasher};
use serde::{Deserialize, Serialize};
use wharf_report::{Failure, ShowPath as _, line, message};

use crate::language::Language;
use crate::new::write_new;
use crate::project::Project;
use crate::{embedded, project};

pub(crate) const FOLDER: &str = "wharf";
/// This version of Wharf.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The record. Not `VERSION`: where file names have no case, C++ would include it as `<version>`.
const RECORD: &str = "version.toml";
/// What tools make in the folder; everything else is a person's.
const GENERATED: [&str; 7] =
    ["__pycache__", "node_modules", "target", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".DS_Store"];
/// Maximum bytes of the record.
const MAX_RECORD: u64 = 4 << 10;
/// Maximum characters of the version in it, which messages repeat.
const MAX_VERSION: usize = 64;
/// Maximum files that are compared; the wrappers have about 80.
const MAX_FILES: usize = 4096;
/// Bytes from which a file is not read: no wrapper has so large a file.
const LARGE: u64 = 16 << 20;

/// Hashes of files by their paths in the folder, with `/`.
pub(crate) type Files = BTreeMap<String, Hash>;

/// What wrote the folder.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Of Wharf.
    pub(crate) version: String,
    /// Of the files, without this one.
    pub(crate) digest: String,
}

impl Record {
    /// Of what this program writes.
    pub(crate) fn own(files: &Files) -> Self {
        Self { version: VERSION.to_owned(), digest: digest(files) }
    }

    /// Whether a newer version than this one wrote the folder.
    pub(crate) fn is_newer(&self) -> bool {
        numbers(&self.version) > numbers(VERSION)
    }
}

/// Major, minor and patch; `None` unless they are numbers.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let release = version.split(['-', '+']).next()?;
    let numbers: Option<Vec<u32>> = release.split('.').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// The record of a folder. One that is not as this program writes it counts as none.
pub(crate) fn record(project: &Path) -> Option<Record> {
    let path = project.join(FOLDER).join(RECORD);
    let found = fs::symlink_metadata(&path).ok()?;
    if !found.is_file() || found.len() > MAX_RECORD {
        return None;
    }
    let record: Record = toml::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b".-+".contains(&c);
    let is_short = record.version.len() <= MAX_VERSION && record.version.bytes().all(is_plain);
    numbers(&record.version).filter(|_| is_short).map(|_| record)
}

/// The files that this program writes.
pub(crate) fn own(language: Language) -> Files {
    embedded::wrapper(language).into_iter().map(|(path, bytes)| (path, blake3::hash(&bytes))).collect()
}

/// The files in the folder, without the record and what tools generate; links and other special files do not equal any
/// file. `None` if the folder does not exist.
pub(crate) fn read(project: &Path) -> io::Result<Option<Files>> {
    let root = project.join(FOLDER);
    match fs::symlink_metadata(&root) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut files = Files::new();
    let mut folders = vec![(root, String::new())];
    while let Some((read, folder)) = folders.pop() {
        for entry in fs::read_dir(read)? {
            let entry = entry?;
            // One that is not UTF-8 is a person's: escaped, it is another than each of this program.
            let name = entry.file_name().into_string().unwrap_or_else(|name| format!("{name:?}"));
            if GENERATED.contains(&name.as_str()) || (folder.is_empty() && name == RECORD) {
                continue;
            }
            let path = format!("{folder}{name}");
            // Not of a link's target.
            let found = entry.metadata()?;
            if found.is_dir() {
                folders.push((entry.path(), format!("{path}/")));
                continue;
            }
            let is_readable = found.is_file() && found.len() <= LARGE;
            files.insert(path, if is_readable { blake3::hash(&fs::read(entry.path())?) } else { Hash::from([0; 32]) });
            if files.len() + folders.len() > MAX_FILES {
                return Err(io::Error::other(format!("it has more than {MAX_FILES} files")));
            }
        }
    }
    Ok(Some(files))
}

pub(crate) fn digest(files: &Files) -> String {
    let mut hasher = Hasher::new();
    for (path, hash) in files {
        hasher.update(path.as_bytes()).update(b"\0").update(hash.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Writes the folder, and replaces one that exists: as a whole, or not at all.
pub(crate) fn write(project: &Path, language: Language) -> io::Result<()> {
    // Beside it, for `rename`. Links of these names are removed or replaced themselves, never followed.
    let [folder, new, old] = [FOLDER, ".wharf.new", ".wharf.old"].map(|name| project.join(name));
    // Of an interrupted run.
    remove(&new)?;
    remove(&old)?;
    let written = write_files(&new, language).and_then(|()| {
        match fs::rename(&folder, &old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(&new, &folder).inspect_err(|_| {
            // The first error is the one to report.
            let _ = fs::rename(&old, &folder);
        })
    });
    // What is left is removed by the next run.
    let _ = remove(if written.is_ok() { &old } else { &new });
    written
}

fn write_files(folder: &Path, language: Language) -> io::Result<()> {
    fs::create_dir_all(folder.parent().unwrap_or(folder))?;
    fs::create_dir(folder)?;
    for (path, bytes) in embedded::wrapper(language) {
        write_new(&folder.join(path), &bytes)?;
    }
    let record = toml::to_string(&Record::own(&own(language))).map_err(io::Error::other)?;
    let text = format!("# `wharf upgrade` replaces this folder, and refuses if it was changed.\n{record}");
    write_new(&folder.join(RECORD), text.as_bytes())
}

/// Removes a folder, file or link, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes the folder if the project uses it and it is missing, as after a clone.
pub(crate) fn restore(project: &Project) -> Result<(), Failure> {
    let folder = project.dir.join(FOLDER);
    let is_missing = fs::symlink_metadata(&folder).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if is_missing && project.uses_wrapper_folder() {
        write(&project.dir, project.language)
            .map_err(|error| Failure::new(format!("restore {}: {error}", folder.shown())))?;
        message(&format!("restored {FOLDER}/, the library, from Wharf {VERSION}"));
    }
    Ok(())
}

/// Says so if the folder is of another version of Wharf with other content.
pub(crate) fn warn_of_version(project: &Project) {
    if !project.uses_wrapper_folder() {
        return;
    }
    let own = Record::own(&own(project.language));
    let of = match record(&project.dir) {
        Some(record) if record.digest == own.digest => return,
        Some(record) if record.is_newer() => {
            let newer = line(&record.version);
            return message(&format!("{FOLDER}/ is of Wharf {newer}, which is newer than this one, {VERSION}"));
        }
        Some(record) if record.version == VERSION => format!("another build of Wharf {VERSION}"),
        Some(record) => format!("Wharf {}", line(&record.version)),
        None if !matches!(read(&project.dir), Ok(Some(files)) if digest(&files) != own.digest) => return,
        None => "an unknown version of Wharf".to_owned(),
    };
    message(&format!("{FOLDER}/ is of {of}; `wharf upgrade` takes that of this one, {VERSION}"));
}

/// Where a project refers to the folder.
pub(crate) fn reference(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Rust => ("Cargo.toml", "wharf-plugin = { path = \"wharf\" }"),
        Language::Go => ("go.mod", "replace wharf-plugin => ./wharf"),
        Language::TypeScript | Language::JavaScript => ("package.json", "\"wharf-plugin\": \"file:./wharf\""),
        Language::Python | Language::C | Language::Cpp => (project::FILE, "wrapper = \"wharf\""),
    }
}

#[cfg(test)]
mod tests;
