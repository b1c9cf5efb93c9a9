//! One granted folder: opened when its plugin is loaded, and shared by all its calls.
//!
//! What a guest asks of it is in `filesystem`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytesize::ByteSize;
use tokio::sync::Mutex;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::{FsPerms, OpenMode, runtime};

use super::folders::Given;
use super::ledger::{Ledger, Total};
use super::personal::Homes;
use super::protected::{ProtectedFolders, identities, real};
use super::survey::{ENTRIES, Survey, survey};
use crate::os::Errno;
use crate::os::entries::{open_folder, this_user};
use crate::os::files::{Links, is_temporary};
use crate::os::sandbox::denies;
use crate::os::stamp::Identity;
use crate::plugin::id::PluginId;
use crate::plugin::policy::grants::{FolderGrant, FolderMode, PrivateFile};
use crate::text::quote;

pub(in crate::plugin) struct Folder {
    /// Where the plugin finds it.
    pub(super) guest: String,
    pub(super) dir: Dir,
    /// `None`: it is only read.
    ledger: Option<Arc<Mutex<Ledger>>>,
    plugin: PluginId,
    /// It was logged that the quota is used up.
    logged_full: AtomicBool,
}

/// Why a granted folder is not available.
#[derive(Debug)]
pub(super) struct FolderError {
    /// Reads after the folder's path.
    pub(super) why: String,
    pub(super) hint: &'static str,
    is_missing: bool,
    /// A temporary error: open the folder again later.
    pub(super) temporary: bool,
}

impl FolderError {
    pub(super) fn new(why: &str, hint: &'static str) -> Self {
        Self { why: why.to_owned(), hint, is_missing: false, temporary: false }
    }

    pub(super) fn failed(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotADirectory {
            return Self::new("is not a folder", "grant a folder");
        }
        let temporary = is_temporary(error);
        let hint = if temporary { AGAIN } else { "fix that, or grant another folder" };
        Self { temporary, ..Self::new(&format!("cannot be opened: {error}"), hint) }
    }
}

const RESTART: &str = "restart the server, since what the OS sandbox allows is fixed at its start";
const CREATE: &str = "create the folder; a running server then grants it";
const CREATE_AND_RESTART: &str =
    "create the folder, then restart the server, since what the OS sandbox allows is fixed at its start";
/// What is in a folder is not watched.
const MOVE_IT: &str =
    "move that elsewhere and restart the server, or grant another folder, which contains only what the plugin needs";
const AGAIN: &str = "the server tries again at a later call";
const ANOTHER: &str = "grant another folder, which contains only what the plugin needs";

impl Folder {
    /// Opens a folder. Looks through all of it, so it may take seconds. The text, if there is
    /// one, is what its owner should know of it.
    pub(super) fn open(
        plugin: &PluginId,
        grant: &FolderGrant,
        private: &[PrivateFile],
        protected: &ProtectedFolders,
    ) -> Result<(Given, Option<String>), FolderError> {
        let missing = |hint| FolderError { is_missing: true, ..FolderError::new("does not exist", hint) };
        let refused = |why: String| FolderError::new(&why, ANOTHER);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound if is_outside_os_sandbox(grant) => missing(CREATE_AND_RESTART),
            io::ErrorKind::NotFound => missing(CREATE),
            io::ErrorKind::PermissionDenied if denies(&grant.host, false) => {
                FolderError::new("is outside what the OS sandbox allows", RESTART)
            }
            _ => FolderError::failed(&error),
        };
        // Checked first: no hint to create a folder, or to restart, for one that is never granted.
        let objection = |path: &Path| protected.objection(path, private).map_or(Ok(()), |why| Err(refused(why)));
        objection(&real(&grant.host))?;
        let dir = open_folder(&grant.host).map_err(failed)?;
        let path = real_path(&grant.host, &dir).map_err(failed)?;
        objection(&path)?;
        let own = this_user();
        let found = survey(&dir, own, ENTRIES, &identities(private)).map_err(failed)?;
        let remark = match grant.mode {
            FolderMode::Write { .. } if denies(&grant.host, true) => {
                Some(format!("only for reading: the OS sandbox does not allow writing there; {RESTART}"))
            }
            _ => None,
        };
        let Some(total) = grant.per_subject else {
            let used = Counted { found, remark };
            return used
                .folder(plugin, grant, dir, None)
                .map(|(folder, remark)| (Given::Shared(Arc::new(folder)), remark));
        };
        // What is wrong with the folder of one caller does not concern the others.
        let total = match grant.mode {
            FolderMode::Read => None,
            FolderMode::Write { .. } if found.cut => return Err(too_many()),
            FolderMode::Write { .. } => {
                let root = dir.try_clone().map_err(failed)?;
                Some(Arc::new(Total::new(root, total, found.usage, own)))
            }
        };
        Ok((Given::Each(Arc::new(Homes::new(plugin.clone(), grant.clone(), dir, total))), remark))
    }

    pub(super) fn is_writable(&self) -> bool {
        self.ledger.is_some()
    }

    /// Changes the folder, when it is this call's turn. A change that has begun is finished,
    /// also when its call is not waited for any more.
    ///
    /// # Errors
    /// `EPERM` if it is only read; else those of `work`.
    pub(super) async fn change<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Ledger) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        let ledger = self.ledger.clone().ok_or(Errno::PERM)?;
        let mut ledger = ledger.lock_owned().await;
        let done = runtime::spawn_blocking(move || work(&mut ledger)).await;
        let is_full = |error: &io::Error| error.kind() == io::ErrorKind::QuotaExceeded;
        if done.as_ref().is_err_and(is_full) && !self.logged_full.swap(true, Ordering::Relaxed) {
            let hint = "raise its quota, or remove files from it";
            tracing::warn!(plugin = %self.plugin, hint, "the folder {} has used up its quota", self.guest);
        }
        done
    }
}

/// A folder that was looked through, and what its owner should know of it.
struct Counted {
    found: Survey,
    remark: Option<String>,
}

impl Counted {
    fn folder(
        self,
        plugin: &PluginId,
        grant: &FolderGrant,
        dir: File,
        total: Option<Arc<Total>>,
    ) -> Result<(Folder, Option<String>), FolderError> {
        let Self { found, remark } = self;
        if let Some((what, place)) = found.objection {
            // The name was chosen by someone who can write there.
            let why = format!("has {what} in it: {}", quote(&place.to_string_lossy(), 200));
            return Err(FolderError::new(&why, MOVE_IT));
        }
        let opened = |dir, ledger: Option<Ledger>| Folder {
            guest: grant.guest.clone(),
            dir,
            ledger: ledger.map(|ledger| Arc::new(Mutex::new(ledger))),
            plugin: plugin.clone(),
            logged_full: AtomicBool::new(false),
        };
        match grant.mode {
            FolderMode::Read => {
                let dir = Dir::new(dir, FsPerms::ReadOnly, OpenMode::READ, false);
                let cut = found.cut.then(|| format!("only its first {ENTRIES} entries were checked"));
                Ok((opened(dir, None), cut))
            }
            FolderMode::Write { .. } if found.cut => Err(too_many()),
            FolderMode::Write { quota } => {
                let dir = Dir::new(dir, FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE, false);
                let ledger = Ledger::new(dir.dir.clone(), quota, found.usage, this_user()).within(total);
                let counted = found.usage.counted();
                let full = (counted >= quota)
                    .then(|| format!("it already holds {} of a quota of {}", ByteSize(counted), ByteSize(quota)));
                Ok((opened(dir, Some(ledger)), remark.or(full)))
            }
        }
    }
}

/// The folder of one caller.
pub(super) fn within_folder(homes: &Homes, dir: File) -> Result<Folder, FolderError> {
    let found = survey(&dir, this_user(), ENTRIES, &[]).map_err(|error| FolderError::failed(&error))?;
    let (folder, _) = Counted { found, remark: None }.folder(&homes.plugin, &homes.grant, dir, homes.total.clone())?;
    Ok(folder)
}

fn too_many() -> FolderError {
    FolderError::new(&format!("holds more than {ENTRIES} entries, too many to count for writing"), ANOTHER)
}

/// Whether the OS sandbox would deny a missing folder after it is created: it denies the nearest
/// existing parent.
fn is_outside_os_sandbox(grant: &FolderGrant) -> bool {
    let path = real(&grant.host);
    let parent = path.ancestors().find(|folder| folder.is_dir());
    parent.is_some_and(|folder| denies(folder, grant.mode != FolderMode::Read))
}

/// Where the opened folder is, without links.
fn real_path(path: &Path, opened: &File) -> io::Result<PathBuf> {
    let real = fs::canonicalize(path)?;
    if Identity::of(&real, Links::NotFollowed) != Some(Identity::of_open(opened)?) {
        return Err(io::Error::other("it was replaced meanwhile"));
    }
    Ok(real)
}

/// Why a granted folder would not be given to a plugin now.
pub struct FolderObjection {
    /// With what to do: reads after the folder's path.
    pub why: String,
    pub is_missing: bool,
}

/// Whether a granted folder would be given to a plugin now.
pub fn objection(
    plugin: &PluginId,
    grant: &FolderGrant,
    private: &[PrivateFile],
    protected: &ProtectedFolders,
) -> Option<FolderObjection> {
    let FolderError { why, hint, is_missing, .. } = Folder::open(plugin, grant, private, protected).err()?;
    Some(FolderObjection { why: format!("{why}; {hint}"), is_missing })
}
