//! Secrets of which each user has their own: where each of them is.
//!
//! Who chooses a subject must not choose a file or a variable: `identity` makes names of subjects, and what is around
//! them is checked here.

use std::path::{Path, PathBuf};

use super::source::Place;
use super::{Config, SecretEntry, WrongValue};
use crate::identity::Identity;

const SUBJECT: &str = "{subject}";
const ISSUER: &str = "{issuer}";

/// Both kinds of sources.
#[derive(Clone, Copy)]
enum Source<'a> {
    File(&'a str),
    Variable(&'a str),
}

impl SecretEntry {
    fn source(&self) -> Option<Source<'_>> {
        match (&self.env, &self.file) {
            (Some(variable), _) => Some(Source::Variable(variable)),
            (None, Some(file)) => Some(Source::File(file.as_os_str().to_str()?)),
            (None, None) => None,
        }
    }

    /// Whether each user has their own.
    pub fn is_personal(&self) -> bool {
        self.per.is_some()
    }

    /// Where that of somebody is.
    ///
    /// # Errors
    /// If their name is too long for a file or a variable: reads after what it is of.
    pub fn place_of(&self, config: &Config, who: &Identity) -> Result<Place, String> {
        let long = |what: &str| format!("has no {what} for this user, whose name is too long for it");
        let fill = |text: &str, subject: Option<String>, issuer: Option<String>| {
            // In one pass: what was filled in is not looked at again.
            let (subject, issuer) = (subject?, if text.contains(ISSUER) { issuer? } else { String::new() });
            let parts = text.split(SUBJECT).map(|part| part.replace(ISSUER, &issuer));
            Some(parts.collect::<Vec<_>>().join(&subject))
        };
        match self.source() {
            Some(Source::File(text)) => {
                let path = fill(text, who.file_name(), who.issuer_file_name()).ok_or_else(|| long("file"))?;
                Ok(Place::File(config.resolve(Path::new(&path))))
            }
            Some(Source::Variable(text)) => {
                let name = fill(text, who.variable_name(), who.issuer_variable_name());
                Ok(Place::Variable(name.ok_or_else(|| long("variable"))?))
            }
            None => Err("has no source".into()),
        }
    }

    /// The folder that all files of users are in; `None`: it is no file of each user.
    pub(super) fn folder_of_all(&self, config: &Config) -> Option<PathBuf> {
        let file = self.file.as_ref().filter(|_| self.is_personal())?;
        let fixed: PathBuf = file.iter().take_while(|part| !part.to_string_lossy().contains('{')).collect();
        Some(config.resolve(&fixed))
    }

    /// # Errors
    /// If not every user would have a place of their own, or the place of one could be something else.
    pub(super) fn check_personal(&self, config: &Config) -> Result<(), WrongValue> {
        let wrong = |key: &str, why: String, hint: &str| Err(WrongValue::at(&[key], why).hint(hint));
        let (key, text) = match self.source() {
            Some(Source::File(text)) => ("file", text),
            Some(Source::Variable(text)) => ("env", text),
            None => return Ok(()),
        };
        if !self.is_personal() {
            return match text.contains(SUBJECT) {
                true => wrong(key, format!("each user has their own, found {text:?}"), "add per = \"subject\""),
                false => Ok(()),
            };
        }
        let issuers = config.server.http.oauth.as_ref().map_or(0, |oauth| oauth.issuers.len());
        let rest = text.replacen(SUBJECT, "", 1).replacen(ISSUER, "", 1);
        if !text.contains(SUBJECT) || rest.contains(['{', '}']) {
            let why = format!("must have {SUBJECT} once, and no other braces but {ISSUER} once: {text:?}");
            return wrong(key, why, "write { file = \"secrets/{subject}\", per = \"subject\" }");
        }
        if issuers > 1 && !text.contains(ISSUER) {
            let why = format!("two of {issuers} issuers may have users of the same name: {text:?}");
            return wrong(key, why, "add {issuer}: { file = \"secrets/{issuer}/{subject}\", per = \"subject\" }");
        }
        match self.source() {
            Some(Source::File(text)) => self.check_file(text, config),
            _ => self.check_variable(text, config),
        }
    }

    fn check_file(&self, text: &str, config: &Config) -> Result<(), WrongValue> {
        let wrong = |why: String, hint: &str| Err(WrongValue::at(&["file"], why).hint(hint));
        let parts: Vec<&str> = text.split(['/', std::path::MAIN_SEPARATOR]).collect();
        // Otherwise one issuer's name and a subject could read like another issuer's.
        if parts.iter().any(|part| part.contains(ISSUER) && *part != ISSUER) {
            return wrong(
                format!("the issuer must be a folder of its own: {text:?}"),
                "write { file = \"secrets/{issuer}/{subject}\", per = \"subject\" }",
            );
        }
        let own = "give the files of users a folder of their own: { file = \"secrets/{subject}\", per = \"subject\" }";
        let (Some(folder), false) = (self.folder_of_all(config), parts[0].contains('{')) else {
            return wrong(format!("must be in a folder: {text:?}"), own);
        };
        let chosen = parts.iter().skip_while(|part| !part.contains('{')).count();
        // One whose name is a subject would be that user's secret.
        let is_in_it = |path: &Path| path.strip_prefix(&folder).is_ok_and(|rest| rest.components().count() == chosen);
        if let Some(file) = config.private_files().iter().find(|file| !file.is_folder && is_in_it(&file.path)) {
            let why = format!("{} is in the same folder, and could be a user's: {text:?}", file.what);
            return wrong(why, own);
        }
        let is_other = |other: &SecretEntry| {
            other.file != self.file && other.folder_of_all(config).is_some_and(|other| other == folder)
        };
        match config.secrets.iter().find(|(_, other)| is_other(other)) {
            Some((name, _)) => wrong(
                format!("{name} has the same folder, and one could be the other: {text:?}"),
                "give each its own folder",
            ),
            None => Ok(()),
        }
    }

    fn check_variable(&self, text: &str, config: &Config) -> Result<(), WrongValue> {
        let wrong = |why: String| {
            let hint = "write { env = \"NOTES_TOKEN_OF_{subject}\", per = \"subject\" }";
            Err(WrongValue::at(&["env"], why).hint(hint))
        };
        let (before, after) = text.split_once('{').unwrap_or((text, ""));
        let (_, after) = after.rsplit_once('}').unwrap_or(("", after));
        let between = text.split_once(['}']).and_then(|(_, rest)| rest.split_once('{')).map(|(between, _)| between);
        let is_plain = |part: &str| part.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'));
        if !(before.ends_with('_') && is_plain(before) && is_plain(after) && between.is_none_or(|part| part == "_")) {
            return wrong(format!(
                "must be capitals, digits and underscores, with one before and one between {SUBJECT} and {ISSUER}: {text:?}"
            ));
        }
        // A subject that is the rest of its name would get that one.
        let is_like = |name: &&str| name.starts_with(before) && name.ends_with(after);
        if let Some(other) = config.variables().find(is_like) {
            return wrong(format!("could be the variable {other}, which is of something else: {text:?}"));
        }
        let of_users = config.secrets.values().filter(|secret| secret.is_personal());
        let is_like = |other: &&str| {
            *other != text
                && (other.starts_with(before) || {
                    let (other, _) = other.split_once('{').unwrap_or((other, ""));
                    text.starts_with(other)
                })
        };
        match of_users.filter_map(|secret| secret.env.as_deref()).find(is_like) {
            Some(other) => wrong(format!("begins as {other:?} does, and one could be the other: {text:?}")),
            None => Ok(()),
        }
    }
}

impl Config {
    /// The folders of secrets that each user has in a file.
    pub fn folders_of_secrets(&self) -> impl Iterator<Item = PathBuf> {
        self.secrets.values().filter_map(|secret| secret.folder_of_all(self))
    }
}
