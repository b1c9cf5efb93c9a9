//! Why a path in a plugin folder is not loaded, before anything of a file is read.

use std::fmt;
use std::path::PathBuf;

use wharf_report::ShowPath as _;

use super::{MAX_ENTRIES, MAX_FOLDERS, MAX_PLUGINS};
use crate::plugin::{InvalidPluginId, PluginId};

/// Files that are named; more of one folder are counted.
pub const MAX_NAMED: usize = 16;

/// Reads after "failed to".
#[derive(Clone, Debug)]
pub enum Ignored {
    InvalidName(InvalidPluginId),
    NotUtf8,
    /// It is spelt with capitals, such as `.WASM`.
    OtherExtension,
    /// Another file, this one, has the plugin's name.
    NameTaken(PathBuf),
    /// The host's own tools have the name.
    NameReserved(PluginId),
    TooManyPlugins,
    /// The folder has more entries than are read.
    TooManyEntries,
    /// A subfolder could not be read.
    UnreadFolder(String),
    /// The plugin folder could not be read again.
    UnreadRoot(String),
    /// So many more files are not served.
    More(usize),
}

impl Ignored {
    /// What to do about it, if that is another name.
    pub fn hint(&self) -> Option<String> {
        let hint = "rename it to NAME.wasm, NAME being 1 to 48 of a-z, 0-9 and - that no other file has; or move it out of \
                    the folder";
        self.is_of_name().then(|| hint.to_owned())
    }

    fn is_of_name(&self) -> bool {
        match self {
            Self::InvalidName(_)
            | Self::NotUtf8
            | Self::OtherExtension
            | Self::NameTaken(_)
            | Self::NameReserved(_) => true,
            Self::TooManyPlugins
            | Self::TooManyEntries
            | Self::UnreadFolder(_)
            | Self::UnreadRoot(_)
            | Self::More(_) => false,
        }
    }
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidName(invalid) => invalid.fmt(f),
            Self::NotUtf8 => f.write_str("read the file name, which is not UTF-8"),
            Self::OtherExtension => f.write_str("derive a plugin name: the file name ends in .wasm with capitals"),
            Self::NameTaken(owner) => {
                write!(f, "use the plugin's name, which another file already has: {}", owner.shown())
            }
            Self::NameReserved(id) => write!(f, "use the plugin's name, which is reserved: {id}"),
            Self::TooManyPlugins => write!(f, "load more than {MAX_PLUGINS} plugins"),
            Self::TooManyEntries => write!(f, "scan more than {MAX_ENTRIES} files and {MAX_FOLDERS} subfolders"),
            Self::UnreadFolder(error) => write!(f, "read the folder: {error}"),
            Self::UnreadRoot(error) => write!(f, "read the plugin folder; loaded plugins keep serving: {error}"),
            Self::More(count) => write!(f, "serve {count} more files, not listed here"),
        }
    }
}
