//! A granted folder in which each caller has one of their own.
//!
//! A guest has only the handle of its caller's folder, and so reaches no other one.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use cap_primitives::fs::{Metadata, open_dir_nofollow};
use wharf_report::ShowPath as _;

use super::folder::{Folder, FolderError, within_folder};
use super::ledger::Total;
use crate::identity::Identity;
use crate::os::entries::{create_private_folder, identity};
use crate::plugin::id::PluginId;
use crate::plugin::policy::grants::{FolderGrant, FolderMode};
use crate::sync::lock;

/// The folders of all callers.
pub(super) struct Homes {
    pub(super) plugin: PluginId,
    pub(super) grant: FolderGrant,
    pub(super) root: File,
    /// Of all together, if they can be changed.
    pub(super) total: Option<Arc<Total>>,
    /// Those that are open, by their path in it: one that is opened again has the same account.
    open: Mutex<HashMap<PathBuf, Slot>>,
}

/// Locked while it is opened.
type Slot = Arc<Mutex<Weak<Folder>>>;

/// Where the folder of somebody is below the granted one; `None`: their name is too long.
pub fn folder_of(who: &Identity) -> Option<PathBuf> {
    Some(Path::new(&who.issuer_file_name()?).join(who.file_name()?))
}

impl Homes {
    pub(super) fn new(plugin: PluginId, grant: FolderGrant, root: File, total: Option<Arc<Total>>) -> Self {
        Self { plugin, grant, root, total, open: Mutex::default() }
    }

    /// That of a caller, which is created if it may be written. Looks through all of it.
    ///
    /// # Errors
    /// If there is none, or it cannot be used. Reads after its path, which comes first.
    pub(super) fn of(&self, who: &Identity) -> Result<Arc<Folder>, (String, FolderError)> {
        let Some(path) = folder_of(who) else {
            let shown = self.grant.host.shown().to_string();
            return Err((
                shown,
                FolderError::new("has none for this user, whose name is too long for it", "shorten it"),
            ));
        };
        let slot = {
            let mut open = lock(&self.open);
            // What nobody opens or has open.
            open.retain(|_, slot| Arc::strong_count(slot) > 1 || lock(slot).strong_count() > 0);
            open.entry(path.clone()).or_default().clone()
        };
        let mut slot = lock(&slot);
        if let Some(folder) = slot.upgrade().filter(|folder| self.is_at(&path, &folder.dir.dir)) {
            return Ok(folder);
        }
        let opened = self.enter(&path).and_then(|dir| within_folder(self, dir));
        let opened = opened.map_err(|error| (self.grant.host.join(&path).shown().to_string(), error))?;
        let folder = Arc::new(opened);
        *slot = Arc::downgrade(&folder);
        Ok(folder)
    }

    /// Whether a folder is still the one at its path: it may have been removed, or given to another user.
    fn is_at(&self, path: &Path, folder: &File) -> bool {
        let now = self.walk(path, open_dir_nofollow).ok().flatten();
        let identity = |file: &File| identity(&Metadata::from_file(file).ok()?);
        now.and_then(|now| identity(&now)).is_some_and(|now| identity(folder) == Some(now))
    }

    /// Opens each part of a path in the one before it. `None`: it has no parts.
    fn walk<E>(&self, path: &Path, open: impl Fn(&File, &Path) -> Result<File, E>) -> Result<Option<File>, E> {
        let mut at = None;
        for part in path {
            at = Some(open(at.as_ref().unwrap_or(&self.root), Path::new(part))?);
        }
        Ok(at)
    }

    /// Opens each part of the path, through no link.
    fn enter(&self, path: &Path) -> Result<File, FolderError> {
        let at = self.walk(path, |dir, part| {
            let opened = match open_dir_nofollow(dir, part) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.grant.mode != FolderMode::Read => {
                    self.create(dir, part).and_then(|()| open_dir_nofollow(dir, part))
                }
                opened => opened,
            };
            opened.map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => FolderError::new("does not exist", "create the folder"),
                io::ErrorKind::QuotaExceeded => {
                    FolderError::new("cannot be created: the folders of all users have used up their total", "raise it")
                }
                _ => FolderError::failed(&error),
            })
        })?;
        at.ok_or_else(|| FolderError::new("has no name", "grant another folder"))
    }

    fn create(&self, dir: &File, part: &Path) -> io::Result<()> {
        let make = || match create_private_folder(dir, part) {
            // By another process.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        match &self.total {
            Some(total) => total.create(make),
            None => make(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::super::survey::{ENTRIES, survey};
    use super::*;
    use crate::identity::AccessGrant;
    use crate::os::entries::this_user;

    fn person(subject: &str) -> Identity {
        Identity::subject(AccessGrant::of("https://id.example", subject))
    }

    const ISSUER: &str = "https%3A%2F%2Fid.example";

    fn homes(root: &Path, mode: FolderMode, total: u64) -> Homes {
        let open = || File::open(root).expect("a folder");
        let used = survey(&open(), this_user(), ENTRIES, &[]).expect("it can be read").usage;
        let grant =
            FolderGrant { host: root.to_owned(), guest: "/data".into(), mode, per_subject: Some(total), found: None };
        let writable = mode != FolderMode::Read;
        let total = writable.then(|| Arc::new(Total::new(open(), total, used, this_user())));
        Homes::new(PluginId::parse("notes").expect("an id"), grant, open(), total)
    }

    const WRITE: FolderMode = FolderMode::Write { quota: 1 << 20 };

    fn why(homes: &Homes, who: &Identity) -> String {
        homes.of(who).err().expect("no folder").1.why
    }

    #[test]
    fn a_folder_is_created_for_its_user_alone() {
        let root = tempfile::tempdir().expect("a folder");
        let homes = homes(root.path(), WRITE, 1 << 20);
        let ada = homes.of(&person("ada")).expect("created");
        for made in ["", "/ada"] {
            let mode =
                fs::metadata(root.path().join(format!("{ISSUER}{made}"))).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        // The same account, as long as somebody has it.
        assert!(Arc::ptr_eq(&ada, &homes.of(&person("ada")).expect("open")));
        let others = [person("Ada"), person("../ada"), person("ada/"), Identity::token("ada"), Identity::local()];
        let opened: Vec<_> = others.iter().map(|who| homes.of(who).expect("created")).collect();
        assert!(opened.iter().all(|other| !Arc::ptr_eq(other, &ada)));
        let names = ["%41da", "%2E.%2Fada", "ada%2F"].map(|name| root.path().join(ISSUER).join(name));
        assert!(names.iter().all(|name| name.is_dir()) && root.path().join("@/@ada").is_dir());
        assert!(why(&homes, &person(&"a".repeat(201))).contains("too long"));
        // One that was removed is made again.
        drop(opened);
        fs::remove_dir(root.path().join(ISSUER).join("ada")).expect("it is empty");
        assert!(!Arc::ptr_eq(&ada, &homes.of(&person("ada")).expect("created again")));
        // One that was given to another user is theirs, also while the first has it open.
        let own = homes.of(&person("ada")).expect("open");
        let at = |name: &str| root.path().join(ISSUER).join(name);
        fs::rename(at("ada"), at("bob")).expect("it is there");
        assert!(!Arc::ptr_eq(&own, &homes.of(&person("ada")).expect("a new one")));
        assert!(at("ada").is_dir());
        fs::remove_dir(at("bob")).expect("it is empty");
        drop(own);
        // What nobody has is not remembered.
        drop(ada);
        drop(homes.of(&person("eve")));
        drop(homes.of(&person("eve")));
        assert_eq!(lock(&homes.open).len(), 1);
    }

    #[test]
    fn no_link_leads_to_another_users_folder() {
        let root = tempfile::tempdir().expect("a folder");
        let homes = homes(root.path(), WRITE, 1 << 20);
        homes.of(&person("bob")).expect("created");
        let at = |name: &str| root.path().join(ISSUER).join(name);
        symlink("bob", at("mallory")).expect("a link");
        fs::write(at("file"), "").expect("a file");
        assert!(!why(&homes, &person("mallory")).is_empty() && !why(&homes, &person("file")).is_empty());
        fs::remove_dir_all(root.path().join(ISSUER)).expect("it is there");
        symlink("/", root.path().join(ISSUER)).expect("a link");
        assert!(!why(&homes, &person("tmp")).is_empty());
    }

    #[test]
    fn what_is_only_read_is_not_created() {
        let root = tempfile::tempdir().expect("a folder");
        let homes = homes(root.path(), FolderMode::Read, 1 << 20);
        assert_eq!(why(&homes, &person("ada")), "does not exist");
        assert!(!root.path().join(ISSUER).exists());
        fs::create_dir_all(root.path().join(ISSUER).join("ada")).expect("a folder");
        assert!(!homes.of(&person("ada")).expect("it is there").is_writable());
        // Something in one folder keeps nobody else from theirs.
        rustix::fs::mkfifoat(rustix::fs::CWD, root.path().join(ISSUER).join("ada/fifo"), rustix::fs::Mode::RWXU)
            .expect("a FIFO");
        fs::create_dir_all(root.path().join(ISSUER).join("bob")).expect("a folder");
        assert!(why(&homes, &person("ada")).contains("has a FIFO in it") && homes.of(&person("bob")).is_ok());
    }

    #[tokio::test]
    async fn all_folders_together_have_a_limit() {
        let root = tempfile::tempdir().expect("a folder");
        // The folders of an issuer and two users, a file of each, and 10,000 bytes.
        let homes = homes(root.path(), WRITE, 5 * 4096 + 10_000);
        let write = async |folder: &Arc<Folder>, name: &'static str, length: u64| {
            let dir = folder.dir.dir.clone();
            folder
                .change(move |ledger| {
                    let mut options = cap_primitives::fs::OpenOptions::new();
                    options.write(true).create(true);
                    let open = || cap_primitives::fs::open(&dir, Path::new(name), &options);
                    let file =
                        match cap_primitives::fs::stat(&dir, Path::new(name), cap_primitives::fs::FollowSymlinks::No) {
                            Ok(_) => open()?,
                            Err(_) => ledger.create(open)?,
                        };
                    ledger.set_size(&file, length)
                })
                .await
        };
        let (ada, bob) = (homes.of(&person("ada")).expect("one"), homes.of(&person("bob")).expect("one"));
        write(&ada, "a", 9_000).await.expect("there is room");
        let over = write(&bob, "b", 1_001).await.expect_err("together it is too much");
        assert_eq!(over.kind(), io::ErrorKind::QuotaExceeded);
        write(&bob, "b", 1_000).await.expect("the rest");
        write(&ada, "a", 1_000).await.expect("less");
        write(&bob, "b", 9_000).await.expect("what was freed");
        assert_eq!(why(&homes, &person("eve")), "cannot be created: the folders of all users have used up their total");
        // Opened again, each counts once.
        drop((ada, bob));
        let used = homes.total.as_ref().expect("one").used();
        drop(homes.of(&person("ada")));
        assert_eq!(homes.total.as_ref().expect("one").used(), used);
        assert_eq!(used.counted(), 5 * 4096 + 10_000);
    }
}
