//! Secrets, which the file names and never contains: each is in an environment variable or a file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Config, ConfigError};
use crate::os::files;
use crate::plugin::Missing;

/// Characters allowed in names of secrets, besides letters and digits.
const NAME_CHARS: [char; 2] = ['_', '-'];
/// Maximum bytes of a secret's file.
const MAX_SIZE: u64 = 64 << 10;
/// The environment of a process is fixed at its start.
const SET_IT: &str = "set its variable, then restart the server";
const WRITE_IT: &str = "write it to its file, then send the server SIGHUP";
const GENERATE_IT: &str = "generate one: openssl rand -hex 32";

/// The source of a secret.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SecretConfig {
    /// An environment variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// A file that contains only the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl SecretConfig {
    /// Whether it has exactly one source.
    pub(super) fn has_one_source(&self) -> bool {
        self.env.is_some() != self.file.is_some()
    }

    /// Reads the secret, without surrounding whitespace. `what` describes it in errors.
    ///
    /// # Errors
    /// If it is missing, shorter than `min` characters, or not visible ASCII.
    pub(super) fn read(&self, config: &Config, what: &str, min: usize) -> Result<String, ConfigError> {
        self.value(config, min, GENERATE_IT).map_err(|Missing { why, hint, temporary }| ConfigError {
            temporary,
            ..ConfigError::new(format!("{what} {why}"), Some(hint.into()))
        })
    }

    /// As [`SecretConfig::read`], with the reason only. `hint`: what to do if it is missing.
    fn value(&self, config: &Config, min: usize, hint: &'static str) -> Result<String, Missing> {
        let missing = |why: String| Missing { why, hint, temporary: false };
        let (text, place) = match (&self.env, &self.file) {
            (Some(variable), _) => {
                let place = format!("variable {variable}");
                let text = std::env::var(variable);
                (text.map_err(|error| missing(format!("is not there: {error}: {place}")))?, place)
            }
            (None, Some(file)) => {
                let path = config.resolve(file);
                let place = path.display().to_string();
                let text = files::read_text(&path, MAX_SIZE).map_err(|error| match error.is_temporary() {
                    true => Missing { temporary: true, ..missing(format!("cannot be read now: {error}: {place}")) },
                    false => missing(format!("is not there: {error}: {place}")),
                })?;
                (text, place)
            }
            (None, None) => (String::new(), "no place".into()),
        };
        let secret = text.trim();
        if secret.len() < min || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(missing(format!("is not at least {min} visible ASCII characters: {place}")));
        }
        Ok(secret.to_owned())
    }
}

impl Config {
    /// # Errors
    /// If a secret has not exactly one source, or a grant names one that does not exist.
    pub(super) fn check_secrets(&self) -> Result<(), ConfigError> {
        for (name, secret) in &self.secrets {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || NAME_CHARS.contains(&c)) {
                let reason = format!("secrets: a name may contain letters, digits, '_' and '-' only: {name:?}");
                return Err(ConfigError::new(reason, None));
            }
            if !secret.has_one_source() {
                let reason = format!("secrets.{name}: needs either env or file");
                let hint = "write { env = \"API_TOKEN\" } or { file = \"api-token\" }";
                return Err(ConfigError::new(reason, Some(hint.into())));
            }
        }
        for (plugin, own) in &self.plugins {
            let unknown = own.grants.needed_secrets().into_iter().find(|name| !self.secrets.contains_key(*name));
            if let Some(name) = unknown {
                let reason = format!("[plugins.{plugin}.grants]: there is no such secret: {name:?}");
                let hint = format!("define it: {name} = {{ env = \"VARIABLE\" }} under [secrets]");
                return Err(ConfigError::new(reason, Some(hint)));
            }
        }
        Ok(())
    }

    /// Reads a secret by name.
    pub(super) fn secret(&self, name: &str) -> Result<String, Missing> {
        let Some(secret) = self.secrets.get(name) else {
            return Err(Missing { why: "is not there".into(), hint: "define it under [secrets]", temporary: false });
        };
        let hint = if secret.env.is_some() { SET_IT } else { WRITE_IT };
        secret.value(self, 1, hint)
    }
}
