//! Secrets that the file names and never holds: each in a variable of the environment, or in a
//! file of its own.
//!
//! It does not know what they are for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Config, ConfigError};

const MAKE_ONE: &str = "make one: openssl rand -hex 32";

/// Where a secret is.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SecretConfig {
    /// A variable of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// A file that holds it and nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl SecretConfig {
    /// Whether it is in one place.
    pub(super) fn is_somewhere(&self) -> bool {
        self.env.is_some() != self.file.is_some()
    }

    /// The secret itself, without the line break at its end. `what` is its key in the file, for
    /// errors.
    ///
    /// # Errors
    /// If it is not there, or has less than `shortest` characters, or others than visible ones.
    pub(super) fn read(&self, config: &Config, what: &str, shortest: usize) -> Result<String, ConfigError> {
        let wrong = |why: String| ConfigError { reason: format!("{what} {why}"), hint: Some(MAKE_ONE.into()) };
        let text = match (&self.env, &self.file) {
            (Some(variable), _) => {
                std::env::var(variable).map_err(|error| wrong(format!("is not there: {error}: variable {variable}")))?
            }
            (None, Some(file)) => {
                let path = config.beside(file);
                std::fs::read_to_string(&path)
                    .map_err(|error| wrong(format!("is not there: {error}: {}", path.display())))?
            }
            (None, None) => String::new(),
        };
        let secret = text.trim();
        if secret.len() < shortest || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong(format!("is not {shortest} or more visible ASCII characters")));
        }
        Ok(secret.to_owned())
    }
}
