//! Looks through the folder for files and lines.

use regex_lite::{Regex, RegexBuilder};
use wharf_plugin::*;

use super::folder::{Folder, Kind};

/// Matches that are given.
const FOUND: usize = 200;
/// Files that are looked at.
const FILES: usize = 10_000;
/// Bytes of a longer line that are given.
const LINE: usize = 300;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Query {
    /// What to look for.
    pub(crate) query: String,
    /// Where to look: files' names, or the lines in them.
    #[serde(default)]
    pub(crate) within: Within,
    /// Take the query as a regular expression; else it is a text, in whatever case.
    #[serde(default)]
    pub(crate) regex: bool,
    /// The folder to look in, with all below it; all if absent.
    #[serde(default)]
    pub(crate) path: String,
}

#[derive(Deserialize, JsonSchema, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Within {
    Names,
    #[default]
    Lines,
}

#[derive(Serialize, JsonSchema, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) path: String,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The line itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// What was found, by path, and whether a limit was reached.
pub(crate) fn search(folder: &Folder, query: &Query) -> Result<(Vec<Found>, bool)> {
    let pattern = pattern(query)?;
    let mut found = Vec::new();
    let mut folders = vec![query.path.trim_end_matches('/').to_owned()];
    let mut files = 0;
    while let Some(path) = folders.pop() {
        let (entries, cut) = match folder.list(&path) {
            Err(error) if path == query.path.trim_end_matches('/') => return Err(error),
            Err(_) => continue,
            Ok(listed) => listed,
        };
        for entry in &entries {
            let below = if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
            match entry.kind {
                Kind::Folder => folders.push(below),
                Kind::File => {
                    files += 1;
                    look(folder, query, &pattern, below, &mut found);
                }
                Kind::Other => {}
            }
            if found.len() > FOUND || files == FILES {
                return Ok((sorted(found), true));
            }
        }
        if cut {
            return Ok((sorted(found), true));
        }
    }
    Ok((sorted(found), false))
}

fn sorted(mut found: Vec<Found>) -> Vec<Found> {
    found.truncate(FOUND);
    found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    found
}

fn pattern(query: &Query) -> Result<Regex> {
    if query.query.is_empty() {
        return Err(Error::invalid("/query", "must not be empty"));
    }
    let built = if query.regex {
        Regex::new(&query.query)
    } else {
        RegexBuilder::new(&regex_lite::escape(&query.query)).case_insensitive(true).build()
    };
    built.map_err(|error| Error::invalid("/query", error.to_string()))
}

/// What is no text has no lines.
fn look(folder: &Folder, query: &Query, pattern: &Regex, path: String, found: &mut Vec<Found>) {
    if query.within == Within::Names {
        if pattern.is_match(&path) {
            found.push(Found { path, line: None, text: None });
        }
        return;
    }
    let Ok(text) = folder.text(&path) else { return };
    let lines = (1..).zip(text.lines()).filter(|(_, line)| pattern.is_match(line));
    found.extend(lines.take(FOUND + 1).map(|(number, line)| Found {
        path: path.clone(),
        line: Some(number),
        text: Some(line[..line.floor_char_boundary(LINE)].to_owned()),
    }));
}
