//! Follows the configuration file while a server runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use super::{Config, ConfigError};
use crate::os::changes::{Changes, Status};
use crate::os::files::Links;

/// Polling interval. A changed file is read after one interval without a change: it may be incomplete
/// before.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The current configuration.
#[derive(Clone)]
pub struct Live {
    current: Arc<ArcSwap<Config>>,
    /// Detects changes of the file.
    file: Option<Changes>,
    /// Granted folders that did not exist when it was read.
    missing: Vec<PathBuf>,
    changed: watch::Sender<()>,
    reload: Arc<Notify>,
}

impl Live {
    /// Starts with a configuration that was just read: changes from now on are detected.
    pub fn new(config: Config) -> Self {
        let file = config.file.clone().map(|file| Changes::of(vec![file], Links::Followed));
        let missing = config.missing_folders();
        Self {
            missing,
            current: Arc::new(ArcSwap::from_pointee(config)),
            file,
            changed: watch::Sender::new(()),
            reload: Arc::default(),
        }
    }

    pub fn get(&self) -> Arc<Config> {
        self.current.load_full()
    }

    /// Forces a reload even if the file has not changed: files that it names may have.
    pub fn reload(&self) {
        self.reload.notify_one();
    }

    /// Changes when [`Live::get`] returns a new configuration.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Follows a part of the configuration until the process ends: calls `follow` with each configuration in which it is
    /// another one, and with `None` for one that has lost it. What holds then stays: the file may be gone, or half written.
    pub async fn follow_part<T: PartialEq>(
        &self,
        part: impl Fn(&Config) -> Option<T>,
        mut follow: impl FnMut(Option<&Config>),
    ) {
        let mut changed = self.changed();
        let mut current = part(&self.get());
        // An error means that the process is ending.
        while changed.changed().await.is_ok() {
            let config = self.get();
            let new = part(&config);
            if new.is_none() && current.is_some() {
                follow(None);
            } else if new != current {
                current = new;
                follow(Some(&config));
            }
        }
    }

    /// Reloads the file whenever it changes or a missing granted folder is created, forever. On an error
    /// the previous configuration stays. `report` is called for each reload.
    pub async fn follow(self, report: impl Fn(Result<&Config, ConfigError>)) {
        let (Some(path), Some(mut file)) = (self.get().file.clone(), self.file.clone()) else { return };
        let mut missing = self.missing.clone();
        // Why the file could not be read now: reported once.
        let mut unread = None;
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        loop {
            let forced = tokio::select! {
                _ = ticks.tick() => false,
                () = self.reload.notified() => true,
            };
            let change = file.poll();
            let created = change != Status::Changing && missing.iter().any(|folder| folder.is_dir());
            if !forced && !created && change != Status::Changed {
                continue;
            }
            missing.retain(|folder| !folder.is_dir());
            file.mark_read();
            let config = Config::read_or_default(&path);
            let before = unread.take();
            match config {
                Err(error) if error.is_temporary() => {
                    file.mark_unread();
                    let why = Some(error.to_string());
                    if why != before {
                        report(Err(error));
                    }
                    unread = why;
                }
                Ok(config) => {
                    report(Ok(&config));
                    missing = config.missing_folders();
                    self.current.store(Arc::new(config));
                    self.changed.send_replace(());
                }
                Err(error) => report(Err(error)),
            }
        }
    }
}
