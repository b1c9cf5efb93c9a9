//! Where a secret is: an environment variable or a file.

use std::env::VarError;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wharf_report::{ShowPath as _, bounded};

use super::{Config, ConfigError, ConfigPath, WrongValue};
use crate::os::private;

/// Maximum bytes of a secret's file.
const MAX_SIZE: u64 = 64 << 10;
const GENERATE_IT: &str = "put one there; this prints one: openssl rand -hex 32";

/// By whom something is kept apart.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum PerConfig {
    Subject,
}

/// The source of a secret.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SecretConfig {
    /// An environment variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// A file that contains only the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<ConfigPath>,
}

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Variable(String),
    File(PathBuf),
}

/// As in errors.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::File(path) => write!(f, "{}", path.shown()),
        }
    }
}

/// Why a secret cannot be used.
pub(super) struct Unusable {
    /// Reads after what it is.
    pub(super) why: String,
    /// The command for a file that other users can write.
    pub(super) repair: Option<String>,
    /// The system cannot read it now; it may later.
    pub(super) temporary: bool,
}

impl SecretConfig {
    /// `variable`, `file`: what to write, for example.
    ///
    /// # Errors
    /// If it has not exactly one source. The keys are those of a table that has it as `key`.
    pub(super) fn check(&self, key: &str, variable: &str, file: &str) -> Result<(), WrongValue> {
        if self.has_one_source() {
            return Ok(());
        }
        let hint = format!("write {{ env = \"{variable}\" }} or {{ file = \"{file}\" }}");
        Err(WrongValue::at(&[key], "needs either env or file").hint(hint))
    }

    /// Whether it has exactly one source.
    pub(super) fn has_one_source(&self) -> bool {
        self.env.is_some() != self.file.is_some()
    }

    /// Reads the secret, without surrounding whitespace. `what` describes it in errors.
    ///
    /// # Errors
    /// If it is missing, shorter than `min` characters, or not visible ASCII.
    pub(super) fn read(&self, config: &Config, what: &str, min: usize) -> Result<String, ConfigError> {
        self.value(config, min).map_err(|unusable| unusable.error(what, Some(GENERATE_IT)))
    }

    pub(super) fn value(&self, config: &Config, min: usize) -> Result<String, Unusable> {
        match (&self.env, &self.file) {
            (Some(variable), _) => Place::Variable(variable.clone()).value(min),
            (None, Some(file)) => Place::File(config.resolve(file)).value(min),
            (None, None) => Err(Unusable::new(format!("is not at least {min} visible ASCII characters: no place"))),
        }
    }
}

impl Unusable {
    pub(super) fn new(why: String) -> Self {
        Self { why: bounded(&why).into(), repair: None, temporary: false }
    }

    /// `what` it is; `hint`, if the system has none.
    pub(super) fn error(self, what: &str, hint: Option<&str>) -> ConfigError {
        let Self { why, repair, temporary } = self;
        let hint = repair.or_else(|| hint.map(str::to_owned));
        ConfigError { temporary, ..ConfigError::new(format!("{what} {why}"), hint) }
    }
}

impl Place {
    pub(super) fn value(&self, min: usize) -> Result<String, Unusable> {
        let text = self.text()?;
        let secret = text.trim();
        if secret.contains(char::is_whitespace) {
            return Err(Unusable::new(format!("contains a blank: {self}")));
        }
        if secret.len() < min || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Unusable::new(format!("is not at least {min} visible ASCII characters: {self}")));
        }
        Ok(secret.to_owned())
    }

    /// All that is there.
    pub(super) fn text(&self) -> Result<String, Unusable> {
        match self {
            Self::Variable(variable) => std::env::var(variable).map_err(|error| match error {
                VarError::NotPresent => Unusable::new(format!("is not set: {self}")),
                VarError::NotUnicode(_) => Unusable::new(format!("is not UTF-8: {self}")),
            }),
            Self::File(path) => {
                private::read_text(path, MAX_SIZE).map_err(|error| match private::repair(&error, path) {
                    None if error.is_temporary() => {
                        Unusable { temporary: true, ..Unusable::new(format!("cannot be read now: {error}: {self}")) }
                    }
                    None => Unusable::new(format!("cannot be read: {error}: {self}")),
                    repair => Unusable { repair, ..Unusable::new(format!("is not trusted: {error}: {self}")) },
                })
            }
        }
    }
}
