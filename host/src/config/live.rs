//! Follows the configuration file while a server runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use super::{Config, ConfigError};
use crate::os::changes::{Changes, Status};
use crate::os::files::Links;

/// Polling interval. A change is read once it is stable for one: it may be half written before.
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
    /// Of a configuration that was just read: changes from here on are detected.
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
        let (Some(path), Some(mut file)) = (self.get().file.clone(), self.file.clone()) else { return };
        let mut missing = self.missing.clone();
        let mut looks = tokio::time::interval(LOOK);
        loop {
            let asked = tokio::select! {
                _ = looks.tick() => false,
                () = self.again.notified() => true,
            };
            let seen = file.poll();
            let made = seen != Status::Changing && missing.iter().any(|folder| folder.is_dir());
            if !asked && !made && seen != Status::Changed {
                continue;
            }
            missing.retain(|folder| !folder.is_dir());
            // A file that is gone says nothing any more: the defaults stand, and nothing is granted.
            let config = if file.mark_read() {
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
