//! Why a skill is not served.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use wharf_report::ShowPath as _;

use crate::os::files::is_temporary;

/// Why a skill is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillError {
    /// Reads after "failed to".
    pub reason: String,
    /// The file or folder that it is about.
    pub path: PathBuf,
    pub hint: Option<String>,
    /// It is not about the file: read again later.
    pub is_temporary: bool,
}

#[derive(Debug)]
pub(super) enum ReadError {
    Refused(SkillError),
    /// Something was written or removed meanwhile: read again.
    Changing,
}

impl SkillError {
    pub(super) fn new(reason: impl Into<String>, path: &Path) -> Self {
        Self { reason: reason.into(), path: path.to_owned(), hint: None, is_temporary: false }
    }

    /// It was written to while it was read.
    pub fn changing(path: &Path) -> Self {
        Self { is_temporary: true, ..Self::new("read it: it changed meanwhile", path) }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(super) fn of_system(error: &io::Error, path: &Path) -> Self {
        Self { is_temporary: is_temporary(error), ..Self::new(format!("read it: {error}"), path) }
    }
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.path.shown())
    }
}

impl std::error::Error for SkillError {}

impl From<SkillError> for ReadError {
    fn from(error: SkillError) -> Self {
        Self::Refused(error)
    }
}

impl ReadError {
    /// Whatever is gone was removed since it was listed.
    pub(super) fn of_system(error: io::Error, path: &Path) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Changing,
            _ => Self::Refused(SkillError::of_system(&error, path)),
        }
    }
}
