//! Grants as words of a command line: `keyvalue`, `http=https://api.example.com`, `env=KEY=VALUE`.

use std::path::Path;

use toml_edit::{InlineTable, Item, TableLike, Value};
use wharf_report::did_you_mean;

use super::{identity, table_identity};
use crate::config::format::FORMAT;
use crate::config::{ConfigPath, size};
use crate::os::paths::absolute;

/// The grants that are `true` and take no value.
const FLAGS: [&str; 4] = ["elicit", "sample", "roots", "change-lists"];
/// Those with a value, as people write them.
const VALUED: [&str; 8] = ["keyvalue", "http", "read", "write", "fs", "env", "config", "secrets"];

/// One grant as it is written on a command line: `keyvalue`, `http=https://api.example.com`, `env=KEY=VALUE`.
#[derive(Debug, Clone)]
pub struct GrantWord {
    /// As it was written.
    pub(super) word: String,
    pub(super) key: &'static str,
    pub(super) value: Option<String>,
}

impl GrantWord {
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.word
    }

    /// Whether a word is meant as a grant, valid or not.
    pub fn is_meant(word: &str) -> bool {
        let key = word.split('=').next().unwrap_or_default();
        FLAGS.contains(&key) || VALUED.contains(&key)
    }

    /// # Errors
    /// If there is no such grant, or it takes no value: why, and what to write instead.
    pub fn parse(word: &str) -> Result<Self, (String, Option<String>)> {
        let (key, value) = word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)));
        let known = FLAGS.iter().chain(&VALUED).find(|known| **known == key);
        let key = *known.ok_or_else(|| match Self::meant(key) {
            Some(near) => (format!("there is no grant {word:?}; did you mean {near}?"), None),
            None => (format!("there is no grant {word:?}"), None),
        })?;
        match value {
            Some(_) if FLAGS.contains(&key) => {
                Err((format!("the grant {key} takes no value: {word:?}"), Some(format!("write {key}"))))
            }
            Some("") => Err((
                format!("a value is missing after '=': {word:?}"),
                Some(format!("write it like {}", example(key))),
            )),
            value => Ok(Self { word: word.to_owned(), key, value: value.map(str::to_owned) }),
        }
    }

    /// The grant that was most likely meant by an unknown name.
    pub fn meant(word: &str) -> Option<&'static str> {
        let word = word.split('=').next().unwrap_or_default().to_lowercase();
        match word.as_str() {
            "rw" => return Some("write"),
            "ro" => return Some("read"),
            _ => {}
        }
        let of_grants = |path: &'static str| path.strip_prefix("plugins.*.grants.").filter(|key| !key.contains('.'));
        let other = FORMAT.other_names.iter().filter(|(_, words)| words.contains(&word.as_str()));
        let known = FLAGS.iter().chain(&VALUED).copied();
        let meant = other.filter_map(|(path, _)| of_grants(path)).next().or_else(|| did_you_mean(&word, known))?;
        // That one takes a whole table.
        Some(if meant == "fs" { "read" } else { meant })
    }

    /// The key in `[plugins.NAME.grants]`.
    pub(super) fn section(&self) -> &'static str {
        if matches!(self.key, "read" | "write") { "fs" } else { self.key }
    }

    /// How to write it instead, if a part is missing.
    pub(super) fn corrected(&self) -> Option<Self> {
        let value = self.value.as_deref()?;
        let value = match self.key {
            "http" if !value.contains("://") && !value.starts_with('{') => format!("https://{value}"),
            // What begins with the path is covered as it is.
            "http" if value.ends_with('*') => value.trim_end_matches('*').to_owned(),
            "read" | "write" if folder(value).is_none() => format!("{value}:/data"),
            "read" | "write" => relative(value).map(|(host, guest)| format!("{host}:/{guest}"))?,
            "keyvalue" if value.bytes().all(|byte| byte.is_ascii_digit()) => format!("{value}MiB"),
            "fs" if !value.starts_with('{') => value.to_owned(),
            _ => return None,
        };
        let key = if self.key == "fs" { "read" } else { self.key };
        Some(Self { word: format!("{key}={value}"), key, value: Some(value) })
    }

    /// How such a grant is written, if it has a value.
    pub(super) fn example(&self) -> Option<&'static str> {
        (!FLAGS.contains(&self.key)).then(|| example(self.key))
    }

    /// What to write there.
    pub(super) fn addition(&self) -> Result<Addition, String> {
        if FLAGS.contains(&self.key) {
            return Ok(Addition::Whole(true.into()));
        }
        let Some(value) = &self.value else {
            return match self.key {
                "keyvalue" => Ok(Addition::Whole(true.into())),
                key => Err(format!("the grant {key} needs a value, such as {}", example(key))),
            };
        };
        let table = || inline(value).map_err(|why| format!("{}: {why}", self.word));
        Ok(match self.key {
            "keyvalue" if value.starts_with('{') => Addition::Whole(table()?.into()),
            "keyvalue" if size::parse(value).is_none() => {
                return Err(format!("the quota is a number of bytes with its unit: {}", self.word));
            }
            "keyvalue" => Addition::Member("quota".to_owned(), value.as_str().into()),
            "fs" if !value.starts_with('{') => return Err(format!("the grant fs takes a table: {}", self.word)),
            "http" if !value.starts_with('{') => Addition::Element(value.as_str().into()),
            "secrets" => Addition::Element(value.as_str().into()),
            "http" | "fs" => Addition::Element(table()?.into()),
            "env" | "config" => {
                let (name, value) = value.split_once('=').ok_or_else(|| {
                    format!("the grant {} needs a name and a value, such as {}", self.key, example(self.key))
                })?;
                Addition::Member(name.to_owned(), value.into())
            }
            mode => {
                ConfigPath::parse(value).map_err(|(why, hint)| format!("{why}; {hint}"))?;
                let (host, guest) =
                    folder(value).ok_or_else(|| format!("the folder needs a path for the plugin: {}", self.word))?;
                if relative(value).is_some() {
                    return Err(format!("the plugin's path must begin with '/': {:?}", self.word));
                }
                let mut entry: InlineTable = [("host", host), ("guest", guest)].into_iter().collect();
                if mode == "write" {
                    entry.insert("mode", "write".into());
                }
                Addition::Element(entry.into())
            }
        })
    }
}

/// What is added to the grants.
pub(super) enum Addition {
    Whole(Value),
    /// Of a list.
    Element(Value),
    /// Of a table, by name.
    Member(String, Value),
}

fn example(key: &str) -> &'static str {
    match key {
        "keyvalue" => "keyvalue or keyvalue=4MiB",
        "http" => "http=https://api.example.com",
        "read" => "read=./data",
        "write" => "write=./data",
        "env" => "env=LANG=C",
        "config" => "config=unit=metric",
        "secrets" => "secrets=NAME",
        _ => "fs='{ host = \"./data\", guest = \"/data\" }'",
    }
}

pub(super) fn inline(text: &str) -> Result<InlineTable, String> {
    match text.parse::<toml_edit::Value>() {
        Ok(Value::InlineTable(table)) => Ok(table),
        Ok(_) => Err("not a table, such as { url = \"https://api.example.com\" }".to_owned()),
        Err(error) => Err(error.message().to_owned()),
    }
}

/// `HOST` or `HOST:GUEST`: the path on this machine, absolute unless it begins with `~/`, and the plugin's path.
pub(super) fn folder(text: &str) -> Option<(String, String)> {
    let is_drive = |host: &str| {
        host.len() == 1 && host.starts_with(|c: char| c.is_ascii_alphabetic()) && Path::new(text).is_absolute()
    };
    let (host, guest) = match text.rsplit_once(":/").filter(|(host, _)| !host.is_empty() && !is_drive(host)) {
        Some((host, guest)) => (host, Some(format!("/{guest}"))),
        None => (text, None),
    };
    let absolute = if host.starts_with("~/") { host.into() } else { absolute(Path::new(host)) };
    let guest = guest.or_else(|| absolute.file_name()?.to_str().map(|name| format!("/{name}")))?;
    Some((absolute.to_str()?.to_owned(), guest))
}

/// `HOST:GUEST` whose second path lacks the slash at its beginning, unless a folder has that name.
fn relative(text: &str) -> Option<(&str, &str)> {
    let (host, guest) = text.rsplit_once(':')?;
    (host.len() > 1 && !guest.starts_with(['/', '\\']) && !Path::new(text).exists()).then_some((host, guest))
}

/// The words that remove each of a plugin's grants.
pub(super) fn words_of(grants: &dyn TableLike) -> Vec<String> {
    let of_table = |table: &dyn TableLike| table.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    let folder = |table: &dyn TableLike| {
        let text = |key: &str| table.get(key).and_then(Item::as_str);
        let mode = if text("mode") == Some("write") { "write" } else { "read" };
        Some(format!("{mode}={}", text("host")?))
    };
    let mut words = Vec::new();
    for (key, item) in grants.iter() {
        let valued = |values: Vec<String>| values.into_iter().map(|value| format!("{key}={value}")).collect();
        words.extend::<Vec<String>>(match (key, item) {
            ("fs", Item::ArrayOfTables(tables)) => tables.iter().filter_map(|table| folder(table)).collect(),
            ("fs", item) => {
                let entries = item.as_array().into_iter().flatten();
                entries.filter_map(|entry| folder(entry.as_inline_table()?)).collect()
            }
            ("env" | "config", item) => valued(item.as_table_like().map(of_table).unwrap_or_default()),
            (_, Item::ArrayOfTables(tables)) => {
                valued(tables.iter().filter_map(|table| table_identity(key, table)).collect())
            }
            (_, Item::Value(Value::Array(entries))) => {
                valued(entries.iter().filter_map(|entry| identity(key, entry)).collect())
            }
            (_, item) if item.as_bool() == Some(false) => Vec::new(),
            _ => vec![key.to_owned()],
        });
    }
    words
}
