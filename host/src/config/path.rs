//! Paths in the file: absolute, relative to the file's folder, or to the home folder with `~/`.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use wharf_report::{ShowPath as _, wrong_value};

use super::Config;
use crate::os::paths::{absolute, folder_of};

/// A path as it is written. It begins with no variable and no user's name: neither is replaced.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct ConfigPath(PathBuf);

impl ConfigPath {
    /// # Errors
    /// Why not, and what to write in its place, if a shell would replace its beginning and Wharf does not.
    pub fn parse(text: &str) -> Result<Self, (String, String)> {
        let (first, rest) = text.split_once(['/', '\\']).map_or((text, None), |(first, rest)| (first, Some(rest)));
        let variable = first.strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
        let variable = variable.or_else(|| first.strip_prefix('%')?.strip_suffix('%'));
        if variable.is_none() && (!first.starts_with('~') || first == "~") {
            return Ok(Self(text.into()));
        }
        let below = rest.map_or_else(String::new, |rest| format!("/{rest}"));
        let set = variable.and_then(std::env::var_os).filter(|value| Path::new(value).is_absolute());
        let meant = set.map(|value| rest.map_or_else(|| PathBuf::from(&value), |rest| Path::new(&value).join(rest)));
        let what = if variable.is_some() { "a variable" } else { "another user's home folder" };
        let write = match meant {
            _ if variable == Some("HOME") => format!("write \"~{below}\""),
            Some(path) => format!("write \"{}\"", path.shown()),
            None => "write the absolute path, or ~/ for your home folder".to_owned(),
        };
        Err((format!("{what} is not replaced in a path: {text:?}"), write))
    }
}

impl Deref for ConfigPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ConfigPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|(why, hint)| D::Error::custom(wrong_value(&why, &hint)))
    }
}

impl Config {
    /// Resolves a path of the file. It is absolute: what is approved with it holds for that place, however the file was
    /// named.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        if let (Ok(below), Ok(home)) = (path.strip_prefix("~"), etcetera::home_dir()) {
            return absolute(&home.join(below));
        }
        let folder = self.file.as_deref().and_then(folder_of);
        absolute(&folder.map_or_else(|| path.to_owned(), |folder| folder.join(path)))
    }
}
