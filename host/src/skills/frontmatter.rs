//! The YAML at the start of `SKILL.md`, as JSON.
//!
//! Sources: the specification of Agent Skills, "Frontmatter"; SEP-2640, "Skill".

use serde_json::Value;
use serde_saphyr::{alias_limits, budget, from_str_with_options, options};

use super::tree::seen_by_nobody;
use crate::json::{self, Foreign};
use crate::text::{self, Leeway, hidden_in_json};

/// Maximum bytes of it.
pub const MAX_FRONTMATTER: usize = 64 << 10;
/// Maximum depth, and maximum number of values and of values that aliases repeat: a few aliases of each other are
/// gigabytes otherwise.
const MAX_DEPTH: usize = 16;
const MAX_NODES: usize = 4096;
/// Maximum bytes of it as JSON, where aliases are written out.
const MAX_JSON: usize = 4 * MAX_FRONTMATTER;
/// Maximum characters of a name and of a description.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;

#[derive(Debug, PartialEq)]
pub(super) struct Frontmatter {
    pub(super) name: String,
    pub(super) description: String,
    /// All of it: the text of a JSON object.
    pub(super) json: String,
}

/// Whether a skill may have that name: 1 to 64 of `a-z`, `0-9` and single hyphens between them.
pub fn is_skill_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= MAX_NAME && name.split('-').all(is_part)
}

/// The frontmatter of a `SKILL.md`.
///
/// # Errors
/// What is wrong with it; reads after "failed to".
pub(super) fn parse(file: &str) -> Result<Frontmatter, String> {
    let yaml = yaml_of(file)?;
    let options = options! {
        budget: budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_documents: 1,
        },
        alias_limits: alias_limits! {
            max_total_replayed_events: MAX_NODES,
        },
    };
    let Foreign(value) = from_str_with_options(yaml, options).map_err(|error| {
        // The first line: those below it repeat the text.
        let error = error.to_string();
        format!("read the frontmatter as YAML: {}", error.lines().next().unwrap_or_default())
    })?;
    let Value::Object(members) = &value else { return Err("read the frontmatter: it is not a mapping of YAML".into()) };
    let text = |key: &str| match members.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("read the frontmatter: {key} is not a text")),
        None => Err(format!("find {key} in the frontmatter")),
    };
    let (name, description) = (text("name")?, text("description")?);
    if !is_skill_name(&name) {
        return Err(format!(
            "read the frontmatter: name must be 1 to {MAX_NAME} of a-z, 0-9 and single - between them: {name:?}"
        ));
    }
    let length = description.chars().count();
    if !(1..=MAX_DESCRIPTION).contains(&length) || description.trim().is_empty() {
        return Err(format!("read the frontmatter: description must have 1 to {MAX_DESCRIPTION} characters: {length}"));
    }
    let json = json::to_text(&value).map_err(|error| format!("read the frontmatter: {error}"))?;
    // Escapes of YAML stand for any character.
    if let Some(hidden) = hidden_in_json(&json, &mut Leeway::default()) {
        return Err(seen_by_nobody(hidden, "in the frontmatter"));
    }
    if json.len() > MAX_JSON {
        return Err(format!("read the frontmatter: as JSON it has more than {MAX_JSON} bytes"));
    }
    Ok(Frontmatter { name, description, json })
}

/// The lines between the first two of `---`.
fn yaml_of(file: &str) -> Result<&str, String> {
    let marked = |line: &str| line.trim_end() == "---";
    let start = text::prefix(file, MAX_FRONTMATTER + 1);
    let start = start.strip_prefix('\u{feff}').unwrap_or(start);
    let mut lines = start.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| marked(line)) else {
        return Err("find the frontmatter: the first line is not ---".into());
    };
    let mut length = 0;
    for line in lines {
        if marked(line) {
            return Ok(&start[first.len()..first.len() + length]);
        }
        length += line.len();
    }
    Err(if start.len() > MAX_FRONTMATTER - 3 {
        format!("read the frontmatter: it has more than {MAX_FRONTMATTER} bytes")
    } else {
        "find the end of the frontmatter: no second line is ---".into()
    })
}
