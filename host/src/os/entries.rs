//! Entries of granted folders, accessed relative to the folder's handle.

use std::path::{Component, Path, PathBuf};

use super::stamp::Identity;
use super::system;

pub(crate) use super::system::write_all_at;
pub(crate) use super::system::{
    append, create_private_folder, is_foreign_link, open_folder, set_nonblocking, special_kind, this_user,
};

pub(crate) use cap_primitives::fs::Metadata;

/// The entry's identity. On Windows not all metadata has it.
pub(crate) fn identity(found: &Metadata) -> Option<Identity> {
    system::entry_identity(found)
}

/// The number of hard links.
pub(crate) fn link_count(found: &Metadata) -> u64 {
    system::link_count(found)
}

/// The root of an absolute path: `/`, or a drive.
pub(crate) fn root_of(path: &Path) -> PathBuf {
    path.components().take_while(|part| matches!(part, Component::Prefix(_) | Component::RootDir)).collect()
}
