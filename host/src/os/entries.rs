//! Entries of a folder that guests may use, as its handle gives them.

use std::path::{Component, Path, PathBuf};

use super::stamp::Identity;
use super::system;

pub(crate) use super::system::write_all_at;
pub(crate) use super::system::{append, is_foreign_link, open_folder, other_entry, this_user, without_waiting_in};

pub(crate) use cap_primitives::fs::Metadata;

/// Which file or folder it is; not all looks at an entry say so on Windows.
pub(crate) fn identity(found: &Metadata) -> Option<Identity> {
    system::identity_in(found)
}

/// How many names it has.
pub(crate) fn names(found: &Metadata) -> u64 {
    system::names_in(found)
}

/// What an absolute path begins with: `/`, or a drive.
pub(crate) fn root_of(path: &Path) -> PathBuf {
    path.components().take_while(|part| matches!(part, Component::Prefix(_) | Component::RootDir)).collect()
}
