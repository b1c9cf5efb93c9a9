//! `[store]`: where tasks are kept.

mod remote;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Config, ConfigError, ConfigPath, SecretConfig, WrongValue, base};
use crate::store::Place;

/// In the state folder, unless the file says otherwise.
const FILE: &str = "tasks.db";
/// Both timeouts: longer than a server that is well ever takes, and shorter than an operator waits.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_CONNECTIONS: u32 = 64;
/// How the URL of a file begins.
const OF_FILE: &str = "sqlite:";
const FORM: &str =
    "write \"postgres://USER@HOST/DATABASE\" or \"nats://USER@HOST/BUCKET\", or \"sqlite:PATH\" for a file";

#[derive(Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct StoreConfig {
    /// `sqlite:PATH`, `postgres://…` or `nats://…`; unset: a file in the state folder. It may have a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The password, if it is not in the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretConfig>,
    /// In place of a user and a password: a file of NATS with a JWT and a seed, or a seed alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<ConfigPath>,
    /// The certificates to trust, in PEM, in place of the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigPath>,
    #[serde(with = "super::duration")]
    pub connect_timeout: Duration,
    #[serde(with = "super::duration")]
    pub request_timeout: Duration,
    /// Connections of one process to PostgreSQL at the same time, besides the one that hears of changes.
    pub connections: u32,
}

impl Default for StoreConfig {
    fn default() -> Self {
        let timeout = Duration::from_secs(5);
        Self {
            url: None,
            password: None,
            credentials: None,
            ca: None,
            connect_timeout: timeout,
            request_timeout: timeout,
            connections: 4,
        }
    }
}

/// Without the URL.
impl std::fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreConfig").field("has_url", &self.url.is_some()).finish_non_exhaustive()
    }
}

impl StoreConfig {
    /// Whether nodes on several machines use it.
    pub fn is_shared(&self) -> bool {
        self.url.as_ref().is_some_and(|url| !url.starts_with(OF_FILE))
    }

    /// # Errors
    /// If a value is malformed, out of its limits, or for another engine.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        for (key, time) in [("connect-timeout", self.connect_timeout), ("request-timeout", self.request_timeout)] {
            if time < Duration::from_millis(100) || time > MAX_TIMEOUT {
                let why = format!("must be from 100ms to 60s, found {}", humantime::format_duration(time));
                return Err(WrongValue::at(&[key], why).hint(format!("write it like this: {key} = \"5s\"")));
            }
        }
        if self.connections == 0 || self.connections > MAX_CONNECTIONS {
            let why = format!("must be from 1 to {MAX_CONNECTIONS}, found {}", self.connections);
            return Err(WrongValue::at(&["connections"], why).hint("write it like this: connections = 4"));
        }
        if let Some(password) = &self.password {
            password.check("password", "STORE_PASSWORD", "store-password")?;
        }
        match &self.url {
            Some(url) if self.is_shared() => self.check_remote(url),
            url => {
                if let Some(path) = url.as_ref().and_then(|url| url.strip_prefix(OF_FILE)) {
                    file(path)?;
                }
                let unused = [
                    ("password", self.password.is_some()),
                    ("credentials", self.credentials.is_some()),
                    ("ca", self.ca.is_some()),
                ];
                match unused.into_iter().find(|(_, is_set)| *is_set) {
                    Some((key, _)) => {
                        let why = "a file of SQLite has none";
                        Err(WrongValue::at(&[key], why).hint(format!("remove it, or set store.url: {FORM}")))
                    }
                    None => Ok(()),
                }
            }
        }
    }

    fn check_remote(&self, url: &str) -> Result<(), WrongValue> {
        let is_nats = match remote::place(url)? {
            #[cfg(feature = "nats")]
            Place::Nats(_) => true,
            _ => false,
        };
        match (is_nats, &self.credentials, &self.password) {
            (false, Some(_), _) => {
                Err(WrongValue::at(&["credentials"], "only NATS has them").hint("remove it, and set store.password"))
            }
            (true, Some(_), Some(_)) => {
                Err(WrongValue::at(&["credentials"], "is in place of store.password").hint("remove one of them"))
            }
            _ => Ok(()),
        }
    }
}

/// The path in a URL of a file.
fn file(path: &str) -> Result<ConfigPath, WrongValue> {
    if path.is_empty() || path.starts_with("//") {
        let why = "has no path, or begins with two slashes";
        return Err(
            WrongValue::at(&["url"], why).hint("write \"sqlite:tasks.db\" or \"sqlite:/var/lib/wharf/tasks.db\"")
        );
    }
    ConfigPath::parse(path).map_err(|(why, hint)| WrongValue::at(&["url"], why).hint(hint))
}

impl Config {
    /// Where tasks are kept; `None` if there is neither a URL nor a home folder.
    ///
    /// # Errors
    /// If the password or the credentials cannot be read.
    pub fn store(&self) -> Result<Option<Place>, ConfigError> {
        let store = &self.store;
        let Some(url) = &store.url else { return Ok(base().map(|base| Place::File(base.state.join(FILE)))) };
        if let Some(path) = self.store_file() {
            return Ok(Some(Place::File(path)));
        }
        let wrong = |wrong: WrongValue| ConfigError::new(format!("store.url: {}", wrong.why), None);
        remote::open(self, remote::place(url).map_err(wrong)?).map(Some)
    }

    /// The file that the URL names, if it names one.
    pub fn store_file(&self) -> Option<std::path::PathBuf> {
        let path = self.store.url.as_ref()?.strip_prefix(OF_FILE)?;
        file(path).ok().map(|path| self.resolve(&path))
    }
}
