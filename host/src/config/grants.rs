//! The grants of a plugin in the configuration file.
//!
//! What is not granted is denied; `plugin` defines what a grant allows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use wharf_report::Hint;

use super::source::PerConfig;
use super::{Config, FolderConfig, HttpEntry, WrongValue};
use crate::plugin::{CommandSettings, Extras, Grants, KeyvalueGrant, Pages, Secret, SecretTemplate};

/// `[plugins.NAME.grants]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GrantsConfig {
    /// Keep values between calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyvalue: Option<KeyvalueConfig>,
    /// Send HTTP requests to these URLs. Not serialized: only the defaults are written, and this is empty.
    #[serde(skip_serializing)]
    pub http: Vec<HttpEntry>,
    /// Read these entries of `[secrets]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Ask the user questions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elicit: bool,
    /// Ask the client's model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sample: bool,
    /// Ask which folders the user works in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roots: bool,
    /// Access these folders of the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<FolderConfig>,
    /// Environment variables; the host's are not inherited. `${NAME}` in a value is a secret.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Values for `wasi:config`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// Change its lists at any time, although it holds grants.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub change_lists: bool,
}

/// The grant in short form, or with options.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged)]
pub enum KeyvalueConfig {
    Short(bool),
    Long(KeyvalueLimits),
}

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeyvalueLimits {
    /// Bytes of all keys and values together.
    #[serde(default, with = "super::size", skip_serializing_if = "Option::is_none")]
    pub quota: Option<ByteSize>,
    /// Whether all users share the values, or each has their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<PerConfig>,
    /// Bytes of all users together, if each has their own.
    #[serde(default, with = "super::size", skip_serializing_if = "Option::is_none")]
    pub total: Option<ByteSize>,
}

impl GrantsConfig {
    /// # Errors
    /// If a value is invalid.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        let is_valid = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
        if let Some(name) = self.env.keys().find(|name| !is_valid(name)) {
            let why = format!("not a valid variable name: {name:?}");
            return Err(
                WrongValue::at(&["env", name], why).hint(Hint::form("write it like this: env = { LANG = \"C\" }"))
            );
        }
        if let Some((name, _)) = self.env.iter().find(|(_, value)| SecretTemplate::parse(value).is_none()) {
            let why = "after `${` the name of a secret and `}` must follow";
            return Err(WrongValue::at(&["env", name], why)
                .hint(Hint::form(format!("write it like this: {name} = \"${{NAME}}\""))));
        }
        if let Some(KeyvalueConfig::Long(KeyvalueLimits { per: None, total: Some(_), .. })) = &self.keyvalue {
            let hint = "add per = \"subject\", or write quota";
            return Err(WrongValue::at(&["keyvalue", "total"], "is for values by user").hint(hint));
        }
        FolderConfig::check(&self.fs)
    }

    /// The grants for the sandbox. `place` is where a missing grant can be added, for log messages.
    pub(super) fn grants(&self, config: &Config, place: String) -> Grants {
        let is_readable = |name: &str| self.secrets.iter().any(|own| own == name);
        let read = |name: String| {
            let readable = is_readable(&name);
            if config.exchange(&name).is_some() {
                return Secret::exchanged(name);
            }
            if config.is_personal(&name) {
                return Secret::personal(name, readable);
            }
            let value = config.secret(&name);
            Secret::new(name, readable, value)
        };
        Grants {
            keyvalue: self.keyvalue(),
            http: self.http.iter().map(|entry| entry.0.clone()).collect(),
            secrets: self.needed_secrets().into_iter().map(read).collect(),
            elicit: self.elicit,
            sample: self.sample,
            roots: self.roots,
            folders: self.fs.iter().map(|folder| folder.grant(config)).collect(),
            // Only folder grants are checked against private files.
            private: if self.fs.is_empty() { Vec::new() } else { config.private_files() },
            env: self.environment().map(|(name, value)| (name.to_owned(), value)).collect(),
            config: self.config.clone().into_iter().collect(),
            pages: Pages::default(),
            program: CommandSettings::default(),
            place,
            command: String::new(),
            extras: Extras::default(),
        }
    }

    /// The names of all secrets used by the grants.
    pub(super) fn needed_secrets(&self) -> BTreeSet<String> {
        self.named_secrets().map(|(_, name)| name).collect()
    }

    /// The names of secrets, each with the keys that lead to where it is used.
    pub(super) fn named_secrets(&self) -> impl Iterator<Item = (Vec<String>, String)> {
        let keys = |at: usize| vec!["secrets".to_owned(), at.to_string()];
        let own = self.secrets.iter().enumerate().map(move |(at, name)| (keys(at), name.clone()));
        own.chain(self.templates().flat_map(|(keys, template)| {
            let names: Vec<String> = template.secrets().map(str::to_owned).collect();
            names.into_iter().map(move |name| (keys.clone(), name))
        }))
    }

    /// The texts in which secrets can be named, each with the keys that lead to it.
    pub(super) fn templates(&self) -> impl Iterator<Item = (Vec<String>, Cow<'_, SecretTemplate>)> {
        let http = self.http.iter().enumerate().flat_map(|(at, entry)| {
            let keys = vec!["http".to_owned(), at.to_string()];
            entry.0.templates().map(move |template| (keys.clone(), Cow::Borrowed(template)))
        });
        let env = self.environment();
        http.chain(env.map(|(name, value)| (vec!["env".to_owned(), name.to_owned()], Cow::Owned(value))))
    }

    fn environment(&self) -> impl Iterator<Item = (&str, SecretTemplate)> {
        // A value that is no template does not pass the check.
        self.env.iter().filter_map(|(name, value)| Some((name.as_str(), SecretTemplate::parse(value)?)))
    }

    fn keyvalue(&self) -> Option<KeyvalueGrant> {
        let bytes = |size: Option<ByteSize>, default: u64| size.map_or(default, |size| size.as_u64());
        match self.keyvalue.as_ref()? {
            KeyvalueConfig::Short(false) => None,
            KeyvalueConfig::Short(true) => Some(KeyvalueGrant { quota: KeyvalueGrant::QUOTA, per_subject: None }),
            KeyvalueConfig::Long(limits) => Some(KeyvalueGrant {
                quota: bytes(limits.quota, KeyvalueGrant::QUOTA),
                per_subject: limits.per.map(|PerConfig::Subject| bytes(limits.total, KeyvalueGrant::TOTAL)),
            }),
        }
    }
}
