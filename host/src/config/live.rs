//! Reloads the configuration file while a server runs.
//!
//! It polls: one check costs microseconds, and it works where the file does not exist yet, is a link
//! that is replaced, or is on a network file system.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use super::{Config, ConfigError};

/// Polling interval. A change is read once it is stable for one: it may be half written before.
const LOOK: Duration = Duration::from_millis(250);

/// The configuration as it is now.
#[derive(Clone)]
pub struct Live {
    current: Arc<ArcSwap<Config>>,
    /// How the file was when this began.
    read: Option<Seen>,
    /// Granted folders that were not there then.
    missing: Vec<PathBuf>,
    changed: watch::Sender<()>,
    again: Arc<Notify>,
}

impl Live {
    /// Of a configuration that was just read: changes from here on are detected.
    pub fn new(config: Config) -> Self {
        let read = config.file.as_deref().and_then(Seen::of);
        let missing = config.missing_folders();
        Self {
            missing,
            current: Arc::new(ArcSwap::from_pointee(config)),
            read,
            changed: watch::Sender::new(()),
            again: Arc::default(),
        }
    }

    pub fn get(&self) -> Arc<Config> {
        self.current.load_full()
    }

    /// Forces a reload, even if the file has not changed: the files it names may have.
    pub fn read_again(&self) {
        self.again.notify_one();
    }

    /// Wakes when [`Live::get`] returns a new one.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Reloads the file whenever it changes, or a folder that it grants is created, forever. On an
    /// error the old one stays; `tell` is called for each reload.
    pub async fn follow(self, tell: impl Fn(Result<&Config, ConfigError>)) {
        let Some(path) = self.get().file.clone() else { return };
        let mut read = self.read.clone();
        let mut missing = self.missing.clone();
        let mut before = Seen::of(&path);
        let mut looks = tokio::time::interval(LOOK);
        loop {
            let asked = tokio::select! {
                _ = looks.tick() => false,
                () = self.again.notified() => true,
            };
            let now = Seen::of(&path);
            let stands = now == before;
            before = now;
            let made = stands && missing.iter().any(|folder| folder.is_dir());
            if !asked && !made && (!stands || before == read) {
                continue;
            }
            missing.retain(|folder| !folder.is_dir());
            read = Seen::of(&path);
            // A file that was deleted means the defaults, and no grants.
            let config = if read.is_none() {
                Ok(Config { file: Some(path.clone()), ..Config::default() })
            } else {
                Config::read(&path)
            };
            match config {
                Ok(config) => {
                    tell(Ok(&config));
                    missing = config.missing_folders();
                    self.current.store(Arc::new(config));
                    self.changed.send_replace(());
                }
                Err(error) => tell(Err(error)),
            }
        }
    }
}

/// Identifies one state of a file.
#[derive(Clone, PartialEq)]
struct Seen {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

impl Seen {
    fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let file = std::fs::metadata(path).ok()?;
        Some(Self { modified: file.modified().ok(), length: file.len(), inode: file.ino() })
    }
}
