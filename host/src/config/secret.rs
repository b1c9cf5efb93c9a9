//! Secrets, which the file names and never contains.

use serde::{Deserialize, Serialize};
use wharf_report::{Hint, bounded, did_you_mean};

use super::source::{PerConfig, Unusable};
use super::{Config, ConfigPath, ExchangeConfig, SecretConfig, WrongValue};
use crate::identity::Identity;
use crate::plugin::{Missing, Secret};

/// Characters allowed in names of secrets, besides letters and digits.
const NAME_CHARS: [char; 2] = ['_', '-'];
/// For a server, and for one command. The environment of a process is fixed at its start.
const SET_IT: [&str; 2] = ["set its variable, then restart the server", "set its variable"];
const WRITE_IT: [&str; 2] = ["write it to its file, then send the server SIGHUP", "write it to its file"];
/// Files of users are read again by themselves.
const PUT_IT: [&str; 2] = ["write it to its file", "write it to its file"];
const PROTECT_IT: [&str; 2] = [
    "let no other user own or write it or its folder, then send the server SIGHUP",
    "let no other user own or write it or its folder",
];

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
        for (keys, own) in self.all_grants() {
            let grants: Vec<&str> = keys.iter().map(String::as_str).collect();
            if let Some((keys, name)) = own.named_secrets().find(|(_, name)| !self.secrets.contains_key(name)) {
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
            for (keys, template) in own.templates() {
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
        self.shared_secrets().filter_map(|name| Some((name, self.secret(name).err()?))).collect()
    }

    /// Those that can be used now, whichever plugin may; without those of which each user has their own.
    pub fn readable_secrets(&self) -> Vec<Secret> {
        let read = |name: &str| Some(Secret::new(name.to_owned(), false, Ok(self.secret(name).ok()?)));
        self.shared_secrets().filter_map(read).collect()
    }

    fn shared_secrets(&self) -> impl Iterator<Item = &str> {
        let shared = self.secrets.iter().filter(|(_, secret)| !secret.is_personal() && secret.exchange.is_none());
        shared.map(|(name, _)| name.as_str())
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
        Missing { why, hint: hints[usize::from(self.of_command)].into(), temporary }
    }
}

fn undefined() -> Missing {
    Missing { why: "is not there".into(), hint: "define it under [secrets]".into(), temporary: false }
}
