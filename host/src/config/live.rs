//! Follows the configuration file while a server runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use super::{Config, ConfigError};
use crate::os::changes::{Changes, Seen};
use crate::os::files::Links;

/// Between two looks. A change is read when it stands for one: it may be half written before.
const LOOK: Duration = Duration::from_millis(250);

/// The configuration as it is now.
#[derive(Clone)]
pub struct Live {
    current: Arc<ArcSwap<Config>>,
    /// Of the file, since this began.
    file: Option<Changes>,
    /// Granted folders that were not there then.
    missing: Vec<PathBuf>,
    changed: watch::Sender<()>,
    again: Arc<Notify>,
}

impl Live {
    /// Of a configuration that has just been read: a change from here on is taken up.
    pub fn new(config: Config) -> Self {
        let file = config.file.clone().map(|file| Changes::of(vec![file], Links::Followed));
        let missing = config.missing_folders();
        Self {
            missing,
            current: Arc::new(ArcSwap::from_pointee(config)),
            file,
            changed: watch::Sender::new(()),
            again: Arc::default(),
        }
    }

    pub fn get(&self) -> Arc<Config> {
        self.current.load_full()
    }

    /// Has the file read again, whether or not it has changed: what it names may have.
    pub fn read_again(&self) {
        self.again.notify_one();
    }

    /// Wakes when [`Live::get`] has another one.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Reads the file again whenever it changes, or a folder is made that it grants, for ever. One
    /// that cannot be read changes nothing; `tell` hears of each reading.
    pub async fn follow(self, tell: impl Fn(Result<&Config, ConfigError>)) {
        let (Some(path), Some(mut file)) = (self.get().file.clone(), self.file.clone()) else { return };
        let mut missing = self.missing.clone();
        let mut looks = tokio::time::interval(LOOK);
        loop {
            let asked = tokio::select! {
                _ = looks.tick() => false,
                () = self.again.notified() => true,
            };
            let seen = file.look();
            let made = seen != Seen::Changing && missing.iter().any(|folder| folder.is_dir());
            if !asked && !made && seen != Seen::Changed {
                continue;
            }
            missing.retain(|folder| !folder.is_dir());
            // A file that is gone says nothing any more: the defaults stand, and nothing is granted.
            let config = if file.read_again() {
                Config::read(&path)
            } else {
                Ok(Config { file: Some(path.clone()), ..Config::default() })
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
