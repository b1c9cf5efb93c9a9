//! The files of one skill folder at one moment, and the skills in it: the folder's own, and nested ones.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::SKILL_FILE;
use super::frontmatter::{self, Frontmatter};
use super::place::{decoded, encoded, media_type};
use crate::text::hidden_in_file;

/// Maximum bytes of texts that are compared word for word with those that were approved; others are compared by digest.
pub const MAX_COMPARED: usize = 256 << 10;

/// Never changes.
pub struct Tree {
    /// `skill://`, and the folders down to this one.
    root: String,
    /// By path within the folder.
    files: BTreeMap<String, SkillFile>,
    skills: Vec<(String, Frontmatter)>,
}

pub struct SkillFile {
    pub uri: String,
    pub media_type: &'static str,
    /// `sha256:` and 64 hexadecimal digits, of the bytes.
    pub digest: String,
    pub bytes: Vec<u8>,
}

/// A file or folder directly in a folder.
#[derive(Debug, PartialEq, Eq)]
pub struct Child<'a> {
    pub uri: String,
    pub name: &'a str,
    /// `None`: a folder.
    pub file: Option<&'a SkillFile>,
}

/// One skill: a folder with a `SKILL.md`.
#[derive(Clone)]
pub struct Skill {
    tree: Arc<Tree>,
    /// Its place among those of the tree.
    at: usize,
    uri: String,
}

impl Tree {
    /// The files of the folder of that name, by path within it. `place`: that of the folder below `skill://`.
    ///
    /// # Errors
    /// The path of a file, and what is wrong with it; reads after "failed to".
    pub(super) fn new(place: &str, name: &str, contents: Vec<(String, Vec<u8>)>) -> Result<Self, (String, String)> {
        let root = format!("skill://{place}");
        let (mut files, mut skills) = (BTreeMap::new(), Vec::new());
        for (path, bytes) in contents {
            if let Some((line, hidden)) = text_of(&bytes).and_then(hidden_in_file) {
                return Err((path, seen_by_nobody(hidden, &format!("in line {line}"))));
            }
            if let Some(within) =
                path.strip_suffix(SKILL_FILE).filter(|within| within.is_empty() || within.ends_with('/'))
            {
                let text =
                    text_of(&bytes).ok_or_else(|| (path.clone(), "read the file: it is not UTF-8 text".into()))?;
                let parsed = frontmatter::parse(text).map_err(|reason| (path.clone(), reason))?;
                let folder = within.trim_end_matches('/').rsplit('/').next().filter(|folder| !folder.is_empty());
                let folder = folder.unwrap_or(name);
                if parsed.name != folder {
                    let reason = format!("use the name '{}', which is not that of its folder, '{folder}'", parsed.name);
                    return Err((path, reason));
                }
                skills.push((within.to_owned(), parsed));
            }
            files.insert(path.clone(), SkillFile::new(format!("{root}/{}", encoded(&path)), &path, bytes));
        }
        if !files.contains_key(SKILL_FILE) {
            return Err((String::new(), format!("find {SKILL_FILE} in the skill's folder")));
        }
        skills.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self { root, files, skills })
    }

    /// The skills in it, the folder's own first.
    pub fn skills(self: &Arc<Self>) -> Vec<Skill> {
        let skill = |(at, (within, _)): (usize, &(String, Frontmatter))| Skill {
            tree: self.clone(),
            at,
            uri: format!("{}/{}{SKILL_FILE}", self.root, encoded(within)),
        };
        self.skills.iter().enumerate().map(skill).collect()
    }

    /// The folder's name.
    pub fn name(&self) -> &str {
        self.root.rsplit('/').next().unwrap_or(&self.root)
    }

    /// The file at a URI, however that is encoded.
    pub fn file(&self, uri: &str) -> Option<&SkillFile> {
        self.files.get(&self.within(uri)?)
    }

    /// What is directly in the folder at a URI, by name. `None`: there is no folder, or it is spelled otherwise: rules
    /// name folders as lists do.
    pub fn children(&self, uri: &str) -> Option<Vec<Child<'_>>> {
        let mut prefix = self.within(uri)?;
        if !prefix.is_empty() && uri != format!("{}/{}", self.root, encoded(&prefix)) {
            return None;
        }
        if !prefix.is_empty() {
            prefix.push('/');
        }
        let mut children: BTreeMap<&str, Child<'_>> = BTreeMap::new();
        for (path, file) in self.files.range(prefix.clone()..) {
            let Some(rest) = path.strip_prefix(&prefix) else { break };
            let (name, file) = match rest.split_once('/') {
                Some((folder, _)) => (folder, None),
                None => (rest, Some(file)),
            };
            let uri = format!("{}/{}", self.root, encoded(&path[..prefix.len() + name.len()]));
            children.entry(name).or_insert(Child { uri, name, file });
        }
        (!children.is_empty()).then(|| children.into_values().collect())
    }

    /// The path within the folder.
    fn within(&self, uri: &str) -> Option<String> {
        let rest = uri.strip_prefix(&self.root)?;
        match rest.strip_prefix('/') {
            Some(path) => decoded(path).filter(|path| !path.is_empty() && !path.ends_with('/')),
            None => rest.is_empty().then(String::new),
        }
    }

    /// The files by path within the folder.
    pub fn files(&self) -> impl Iterator<Item = (&str, &SkillFile)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    pub fn size(&self) -> u64 {
        self.files.values().map(|file| file.bytes.len() as u64).sum()
    }

    /// The number of files.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// All that a person approves, as a JSON object of a list of files; equal texts mean equal files. It has the texts
    /// word for word, up to a limit.
    pub fn canonical(&self) -> String {
        json!({ "files": self.approved_files("", &mut { MAX_COMPARED }) }).to_string()
    }

    /// The files as [`Tree::canonical`] has them, with `prefix` before their names. `room`: how many bytes of texts may
    /// be word for word; the others are by digest.
    pub fn approved_files(&self, prefix: &str, room: &mut usize) -> Vec<Value> {
        // `SKILL.md` first: a model reads it first, too.
        let own = |(path, _): &(&String, &SkillFile)| path.as_str() != SKILL_FILE;
        let mut files: Vec<(&String, &SkillFile)> = self.files.iter().collect();
        files.sort_by_key(own);
        let entry = |(path, file): (&String, &SkillFile)| -> Value {
            let name = format!("{prefix}{path}");
            let whole = file.text();
            let text = whole.filter(|text| text.len() <= *room);
            *room -= text.map_or(0, str::len);
            match text {
                Some(text) => json!({ "name": name, "text": text }),
                None if whole.is_some() => {
                    let why = "a text that is too long to be shown here";
                    json!({ "name": name, "digest": file.digest, "size": file.bytes.len(), "is": why })
                }
                None => json!({ "name": name, "digest": file.digest, "size": file.bytes.len() }),
            }
        };
        files.into_iter().map(entry).collect()
    }
}

/// A model would read what a person who approves it cannot see.
pub(super) fn seen_by_nobody(hidden: char, place: &str) -> String {
    format!("accept an invisible character, U+{:04X}, {place}", u32::from(hidden))
}

impl SkillFile {
    fn new(uri: String, path: &str, bytes: Vec<u8>) -> Self {
        let hex: String = digest(&SHA256, &bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let media_type = media_type(path, text_of(&bytes).is_some());
        Self { uri, media_type, digest: format!("sha256:{hex}"), bytes }
    }
}

impl SkillFile {
    /// Its text, if it is one.
    pub fn text(&self) -> Option<&str> {
        text_of(&self.bytes)
    }
}

/// What models and people may be shown as a text.
fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|_| !bytes.contains(&0))
}

impl Skill {
    /// That of its `SKILL.md`.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    pub fn name(&self) -> &str {
        &self.own().1.name
    }

    pub fn description(&self) -> &str {
        &self.own().1.description
    }

    /// All of the frontmatter: the text of a JSON object.
    pub fn frontmatter(&self) -> &str {
        &self.own().1.json
    }

    /// Its files, with those of skills nested in it.
    pub fn files(&self) -> impl Iterator<Item = &SkillFile> {
        let prefix = &self.own().0;
        let in_it = self.tree.files.range(prefix.clone()..).take_while(move |(path, _)| path.starts_with(prefix));
        in_it.map(|(_, file)| file)
    }

    pub fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    fn own(&self) -> &(String, Frontmatter) {
        &self.tree.skills[self.at]
    }
}

/// Whether clients see no difference.
impl PartialEq for Skill {
    fn eq(&self, other: &Self) -> bool {
        let same = |(one, other): (&SkillFile, &SkillFile)| one.uri == other.uri && one.digest == other.digest;
        let count = |skill: &Self| skill.files().count();
        self.uri == other.uri
            && (Arc::ptr_eq(&self.tree, &other.tree)
                || count(self) == count(other) && self.files().zip(other.files()).all(same))
    }
}

impl PartialEq for SkillFile {
    fn eq(&self, other: &Self) -> bool {
        self.uri == other.uri && self.digest == other.digest
    }
}

impl Eq for SkillFile {}

// Without the bytes.
impl fmt::Debug for SkillFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.uri, self.digest)
    }
}

impl fmt::Debug for Skill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.uri)
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.files.values()).finish()
    }
}
