//! Reads a skill's folder into memory: all files in one state.

use std::path::Path;

use super::error::{ReadError, SkillError};
use super::survey::{MAX_FILE, Survey};
use super::tree::Tree;
use crate::os::files::{self, FileError, Links};

/// Reads all files of a surveyed folder.
///
/// # Errors
/// If a file cannot be read, is no skill, or something changed since the survey.
pub(super) fn read(root: &Path, name: &str, survey: &Survey) -> Result<Tree, ReadError> {
    let mut contents = Vec::new();
    for (within, (_, size)) in &survey.entries {
        let Some(size) = size else { continue };
        let path = root.join(within);
        let bytes = match files::open(&path, Links::NotFollowed) {
            Ok((file, found)) => files::read_opened(file, &found, MAX_FILE),
            Err(error) => Err(error),
        };
        let bytes = bytes.map_err(|error| match error {
            FileError::System(error) => ReadError::of_system(error, &path),
            // It was none of this a moment ago.
            _ => ReadError::Changing,
        })?;
        if bytes.len() as u64 != *size {
            return Err(ReadError::Changing);
        }
        contents.push((within.clone(), bytes));
    }
    if Survey::of(root)? != *survey {
        return Err(ReadError::Changing);
    }
    Tree::new(name, name, contents).map_err(|(within, reason)| SkillError::new(reason, &root.join(within)).into())
}
