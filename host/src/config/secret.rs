//! Secrets, which the file names and never contains: each is in an environment variable or a file.

use std::env::VarError;

use serde::{Deserialize, Serialize};
use wharf_report::{Hint, ShowPath as _, bounded, did_you_mean};

use super::{Config, ConfigError, ConfigPath, WrongValue};
use crate::os::files::FileError;
use crate::os::private;
use crate::plugin::Missing;

/// Characters allowed in names of secrets, besides letters and digits.
const NAME_CHARS: [char; 2] = ['_', '-'];
/// Maximum bytes of a secret's file.
const MAX_SIZE: u64 = 64 << 10;
/// For a server, and for one command. The environment of a process is fixed at its start.
const SET_IT: [&str; 2] = ["set its variable, then restart the server", "set its variable"];
const WRITE_IT: [&str; 2] = ["write it to its file, then send the server SIGHUP", "write it to its file"];
const PROTECT_IT: [&str; 2] = [
    "let no other user own or write it or its folder, then send the server SIGHUP",
    "let no other user own or write it or its folder",
];
const GENERATE_IT: &str = "put one there; this prints one: openssl rand -hex 32";

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
        let unusable = |why: String| Unusable { why: bounded(&why).into(), repair: None, temporary: false };
        let (text, place) = match (&self.env, &self.file) {
            (Some(variable), _) => {
                let place = format!("variable {variable}");
                let read = std::env::var(variable).map_err(|error| match error {
                    VarError::NotPresent => unusable(format!("is not set: {place}")),
                    VarError::NotUnicode(_) => unusable(format!("is not UTF-8: {place}")),
                });
                (read?, place)
            }
            (None, Some(file)) => {
                let path = config.resolve(file);
                let place = path.shown().to_string();
                let failed = |error: FileError| match private::repair(&error, &path) {
                    None if error.is_temporary() => {
                        Unusable { temporary: true, ..unusable(format!("cannot be read now: {error}: {place}")) }
                    }
                    None => unusable(format!("cannot be read: {error}: {place}")),
                    repair => Unusable { repair, ..unusable(format!("is not trusted: {error}: {place}")) },
                };
                (private::read_text(&path, MAX_SIZE).map_err(failed)?, place)
            }
            (None, None) => (String::new(), "no place".into()),
        };
        let secret = text.trim();
        if secret.contains(char::is_whitespace) {
            return Err(unusable(format!("contains a blank: {place}")));
        }
        if secret.len() < min || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(unusable(format!("is not at least {min} visible ASCII characters: {place}")));
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
            if !secret.has_one_source() {
                return Err(WrongValue::at(&["secrets", name], "needs either env or file")
                    .hint("write { env = \"API_TOKEN\" } or { file = \"api-token\" }"));
            }
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

    /// The secrets that cannot be used now, by name.
    pub fn unreadable_secrets(&self) -> Vec<(&str, Missing)> {
        let names = self.secrets.keys().map(String::as_str);
        names.filter_map(|name| Some((name, self.secret(name).err()?))).collect()
    }

    /// Reads a secret by name.
    pub(super) fn secret(&self, name: &str) -> Result<String, Missing> {
        let Some(secret) = self.secrets.get(name) else {
            return Err(Missing { why: "is not there".into(), hint: "define it under [secrets]", temporary: false });
        };
        let by_source = if secret.env.is_some() { SET_IT } else { WRITE_IT };
        secret.value(self, 1).map_err(|Unusable { why, repair, temporary }| Missing {
            why,
            hint: if repair.is_some() { PROTECT_IT } else { by_source }[usize::from(self.of_command)],
            temporary,
        })
    }
}
