//! Secrets, which the file names and never contains: each is in an environment variable or a file.

use std::env::VarError;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wharf_report::{Hint, ShowPath as _, bounded, did_you_mean};

use super::{Config, ConfigError, ConfigPath, ExchangeConfig, WrongValue};
use crate::identity::Identity;
use crate::os::private;
use crate::plugin::Missing;

/// Characters allowed in names of secrets, besides letters and digits.
const NAME_CHARS: [char; 2] = ['_', '-'];
/// Maximum bytes of a secret's file.
const MAX_SIZE: u64 = 64 << 10;
/// For a server, and for one command. The environment of a process is fixed at its start.
const SET_IT: [&str; 2] = ["set its variable, then restart the server", "set its variable"];
const WRITE_IT: [&str; 2] = ["write it to its file, then send the server SIGHUP", "write it to its file"];
/// Files of users are read again by themselves.
const PUT_IT: [&str; 2] = ["write it to its file", "write it to its file"];
const PROTECT_IT: [&str; 2] = [
    "let no other user own or write it or its folder, then send the server SIGHUP",
    "let no other user own or write it or its folder",
];
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

/// One entry of `[secrets]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SecretEntry {
    /// As in [`SecretConfig`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<ConfigPath>,
    /// Set if each user has their own: then `{subject}` is in the name of the variable or the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<PerConfig>,
    /// It is a token in the name of each user, for which theirs is exchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeConfig>,
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
struct Unusable {
    /// Reads after what it is.
    why: String,
    /// The command for a file that other users can write.
    repair: Option<String>,
    /// The system cannot read it now; it may later.
    temporary: bool,
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
        self.value(config, min).map_err(|Unusable { why, repair, temporary }| ConfigError {
            temporary,
            ..ConfigError::new(format!("{what} {why}"), Some(repair.unwrap_or_else(|| GENERATE_IT.into())))
        })
    }

    fn value(&self, config: &Config, min: usize) -> Result<String, Unusable> {
        match (&self.env, &self.file) {
            (Some(variable), _) => Place::Variable(variable.clone()).value(min),
            (None, Some(file)) => Place::File(config.resolve(file)).value(min),
            (None, None) => Err(Unusable::new(format!("is not at least {min} visible ASCII characters: no place"))),
        }
    }
}

impl Unusable {
    fn new(why: String) -> Self {
        Self { why: bounded(&why).into(), repair: None, temporary: false }
    }
}

impl Place {
    fn value(&self, min: usize) -> Result<String, Unusable> {
        let text = match self {
            Self::Variable(variable) => std::env::var(variable).map_err(|error| match error {
                VarError::NotPresent => Unusable::new(format!("is not set: {self}")),
                VarError::NotUnicode(_) => Unusable::new(format!("is not UTF-8: {self}")),
            })?,
            Self::File(path) => {
                private::read_text(path, MAX_SIZE).map_err(|error| match private::repair(&error, path) {
                    None if error.is_temporary() => {
                        Unusable { temporary: true, ..Unusable::new(format!("cannot be read now: {error}: {self}")) }
                    }
                    None => Unusable::new(format!("cannot be read: {error}: {self}")),
                    repair => Unusable { repair, ..Unusable::new(format!("is not trusted: {error}: {self}")) },
                })?
            }
        };
        let secret = text.trim();
        if secret.contains(char::is_whitespace) {
            return Err(Unusable::new(format!("contains a blank: {self}")));
        }
        if secret.len() < min || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Unusable::new(format!("is not at least {min} visible ASCII characters: {self}")));
        }
        Ok(secret.to_owned())
    }
}

impl Config {
    /// # Errors
    /// If a secret has not exactly one source, or a grant names one that does not exist, or seems to.
    pub(super) fn check_secrets(&self) -> Result<(), WrongValue> {
        for (name, secret) in &self.secrets {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || NAME_CHARS.contains(&c)) {
                let why = format!("a name may contain letters, digits, '_' and '-' only: {name:?}");
                return Err(WrongValue::at(&["secrets", name], why).hint("write it like this: api-token"));
            }
            let wrong = |why: &str, hint: &str| Err(WrongValue::at(&["secrets", name], why).hint(hint));
            if let Some(exchange) = &secret.exchange {
                if secret.env.is_some() || secret.file.is_some() || secret.per.is_some() {
                    return wrong("is an exchange, and has no other source", "keep only exchange, or give each a name");
                }
                exchange.check(self).map_err(|wrong| wrong.below(&["secrets", name, "exchange"]))?;
                continue;
            }
            if secret.env.is_some() == secret.file.is_some() {
                let hint = "write { env = \"API_TOKEN\" } or { file = \"api-token\" }";
                return wrong("needs either env or file", hint);
            }
            secret.check_personal(self).map_err(|wrong| wrong.below(&["secrets", name]))?;
        }
        for (plugin, own) in &self.plugins {
            let grants = ["plugins", plugin, "grants"];
            if let Some((keys, name)) = own.grants.named_secrets().find(|(_, name)| !self.secrets.contains_key(name)) {
                let define = format!("define it: {name} = {{ env = \"VARIABLE\" }} under [secrets]");
                let hint = match did_you_mean(&name, self.secrets.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean {near}? Otherwise {define}"),
                    None => define,
                };
                let wrong = WrongValue {
                    keys,
                    why: format!("there is no such secret: {name:?}"),
                    hint: Some(Hint::in_table(hint)),
                };
                return Err(wrong.below(&grants));
            }
            for (keys, template) in own.grants.templates() {
                if let Some(name) = self.secrets.keys().find(|name| template.has_bare(name)) {
                    let why = format!("\"${name}\" is a text, and not the secret of that name");
                    let hint = format!("for the secret write ${{{name}}}; for the text, give the secret another name");
                    return Err(WrongValue { keys, why, hint: Some(hint.into()) }.below(&grants));
                }
            }
        }
        Ok(())
    }

    /// The secrets that cannot be used now, by name; without those of which each user has their own.
    pub fn unreadable_secrets(&self) -> Vec<(&str, Missing)> {
        let shared = self.secrets.iter().filter(|(_, secret)| !secret.is_personal() && secret.exchange.is_none());
        shared.filter_map(|(name, _)| Some((name.as_str(), self.secret(name).err()?))).collect()
    }

    /// Whether each user has their own secret of that name.
    pub(super) fn is_personal(&self, name: &str) -> bool {
        self.secrets.get(name).is_some_and(SecretEntry::is_personal)
    }

    /// Reads a secret by name.
    pub(super) fn secret(&self, name: &str) -> Result<String, Missing> {
        let secret = self.secrets.get(name).ok_or_else(undefined)?;
        let SecretEntry { env, file, .. } = secret.clone();
        SecretConfig { env, file }.value(self, 1).map_err(|unusable| self.missing(secret, unusable))
    }

    /// Reads somebody's own secret.
    ///
    /// # Errors
    /// If it is missing or malformed. The details are for the operator, after a colon.
    pub fn secret_of(&self, name: &str, who: &Identity) -> Result<String, Missing> {
        let secret = self.secrets.get(name).ok_or_else(undefined)?;
        let place = secret.place_of(self, who).map_err(Unusable::new);
        place.and_then(|place| place.value(1)).map_err(|Unusable { why, repair, temporary }| {
            // Never shown to callers: it is after the colon.
            let why = format!("{why} (of {})", bounded(who.name()));
            self.missing(secret, Unusable { why, repair, temporary })
        })
    }

    fn missing(&self, secret: &SecretEntry, Unusable { why, repair, temporary }: Unusable) -> Missing {
        let hints = match (repair, &secret.env) {
            (Some(_), _) => PROTECT_IT,
            (None, Some(_)) => SET_IT,
            (None, None) if secret.is_personal() => PUT_IT,
            (None, None) => WRITE_IT,
        };
        Missing { why, hint: hints[usize::from(self.of_command)], temporary }
    }
}

fn undefined() -> Missing {
    Missing { why: "is not there".into(), hint: "define it under [secrets]", temporary: false }
}
