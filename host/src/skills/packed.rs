//! Skills in the custom section of a component: how `wharf build` writes them, and how a server reads them.
//!
//! The section is a JSON object of skills by name, each an object of files by path, each `{"text": …}` or, if it is not
//! text, `{"base64": …}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::frontmatter::is_skill_name;
use super::survey::{MAX_DEPTH, MAX_ENTRIES, MAX_FILE, MAX_PATH, check_name};
use super::tree::{SkillFile, Tree};
use crate::json;

/// The name of the custom section.
pub const SECTION: &str = "wharf:skills";
/// Maximum skills in a component, nested ones not counted.
pub const MAX_PACKED: usize = 16;
/// Maximum bytes of all files in a component: they are kept in memory, of every plugin.
pub const MAX_PACKED_SIZE: u64 = 4 << 20;
/// Maximum bytes of the section: base64 and escapes make it longer than the files.
const MAX_SECTION: usize = 2 * MAX_PACKED_SIZE as usize;

type Packed = BTreeMap<String, BTreeMap<String, Content>>;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Content {
    Text(String),
    Base64(String),
}

/// The content of the section with these skills.
///
/// # Errors
/// Which limit they exceed; reads after "failed to".
pub fn pack(skills: &[Arc<Tree>]) -> Result<Vec<u8>, String> {
    let content = |file: &SkillFile| match file.text() {
        Some(text) => Content::Text(text.to_owned()),
        None => Content::Base64(STANDARD.encode(&file.bytes)),
    };
    let files = |tree: &Tree| tree.files().map(|(path, file)| (path.to_owned(), content(file))).collect();
    let packed: Packed = skills.iter().map(|tree| (tree.name().to_owned(), files(tree))).collect();
    let section = serde_json::to_vec(&packed).map_err(|error| format!("write the skills: {error}"))?;
    // What a server would refuse.
    unpack(&section, "").map(|_| section)
}

/// The skills of a component, served below `skill://PLUGIN/`.
///
/// # Errors
/// What is wrong with the section; reads after "failed to".
pub fn unpack(section: &[u8], plugin: &str) -> Result<Vec<Arc<Tree>>, String> {
    if section.len() > MAX_SECTION {
        return Err(format!("read skills of more than {MAX_SECTION} bytes"));
    }
    let text = std::str::from_utf8(section).map_err(|_| "read the skills: they are not UTF-8 text".to_owned())?;
    let packed: Packed = json::read(text).map_err(|error| format!("read the skills: {error}"))?;
    if packed.len() > MAX_PACKED {
        return Err(format!("read more than {MAX_PACKED} skills"));
    }
    if packed.values().map(BTreeMap::len).sum::<usize>() > MAX_ENTRIES {
        return Err(format!("read more than {MAX_ENTRIES} files of skills"));
    }
    let mut left = MAX_PACKED_SIZE;
    packed.into_iter().map(|(name, files)| tree(plugin, &name, files, &mut left).map(Arc::new)).collect()
}

fn tree(plugin: &str, name: &str, files: BTreeMap<String, Content>, left: &mut u64) -> Result<Tree, String> {
    if !is_skill_name(name) {
        return Err(format!("use the name of a skill, which must be 1 to 64 of a-z, 0-9 and single -: {name:?}"));
    }
    let mut contents = Vec::new();
    for (path, content) in files {
        let failed = |why: &str| Err(format!("{why}: skills/{name}/{}", path.escape_debug()));
        if path.len() > MAX_PATH || path.split('/').count() > MAX_DEPTH {
            return failed("read a file whose path is too long or too deep");
        }
        if let Some(wrong) = path.split('/').find_map(|part| check_name(part).err()) {
            return failed(wrong);
        }
        let bytes = match content {
            Content::Text(text) => text.into_bytes(),
            Content::Base64(text) => match STANDARD.decode(text) {
                Ok(bytes) => bytes,
                Err(_) => return failed("read a file that is not base64"),
            },
        };
        let size = bytes.len() as u64;
        if size > MAX_FILE || size > *left {
            return Err(format!("read more than {MAX_PACKED_SIZE} bytes of skills"));
        }
        *left -= size;
        contents.push((path, bytes));
    }
    // A file is no folder of another one.
    let clash = contents.windows(2).find(|pair| pair[1].0.starts_with(&format!("{}/", pair[0].0)));
    if let Some([(path, _), _]) = clash {
        return Err(format!("read what is a file and a folder: skills/{name}/{}", path.escape_debug()));
    }
    Tree::new(&format!("{plugin}/{name}"), name, contents)
        .map_err(|(path, reason)| format!("{reason}: skills/{name}/{}", path.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str, path: &str, content: &str) -> Vec<u8> {
        let skill = format!("---\nname: {name}\ndescription: d\n---\n");
        serde_json::to_vec(&serde_json::json!({
            name: { "SKILL.md": { "text": skill }, path: { content: "aGk=" } }
        }))
        .expect("JSON")
    }

    #[test]
    fn what_is_packed_is_read_again() {
        let trees = unpack(&section("one", "deep/er.bin", "base64"), "plugin").expect("a skill");
        let skills = trees[0].skills();
        assert_eq!(skills[0].uri(), "skill://plugin/one/SKILL.md");
        assert_eq!(trees[0].file("skill://plugin/one/deep/er.bin").expect("the file").bytes, b"hi");
        assert!(trees[0].file("skill://one/deep/er.bin").is_none());
        let again = pack(&trees).expect("within limits");
        assert_eq!(unpack(&again, "plugin").expect("a skill")[0].skills(), skills);
    }

    #[test]
    fn files_outside_of_the_folder_and_damaged_ones_are_refused() {
        for path in ["../x", "/x", "a//b", ".hidden", "a\\b", "a\nb", "a/../b", "", "1/2/3/4/5/6/7/8/9", "SKILL.md/x"] {
            assert!(unpack(&section("one", path, "text"), "p").is_err(), "{path:?}");
        }
        for name in ["", "One", "a--b", "../x", "a/b"] {
            assert!(unpack(&section(name, "x", "text"), "p").is_err(), "{name:?}");
        }
        assert!(unpack(br#"{"one":{"SKILL.md":{"base64":"?"}}}"#, "p").is_err());
        assert!(unpack(br#"{"one":{}}"#, "p").is_err());
        assert!(unpack(b"[]", "p").is_err());
        assert!(unpack(b"{}", "p").expect("none").is_empty());
    }

    #[test]
    fn limits_hold_in_sum() {
        let file = "x".repeat(MAX_FILE as usize);
        let skill = |name: &str| serde_json::json!({ "text": format!("---\nname: {name}\ndescription: d\n---\n") });
        let large = |text: &str| serde_json::json!({ "one": { "SKILL.md": skill("one"), "x": { "text": text } } });
        let read = |section: &serde_json::Value| unpack(section.to_string().as_bytes(), "p");
        let fits = MAX_PACKED_SIZE as usize - "---\nname: one\ndescription: d\n---\n".len();
        read(&large(&file[..fits])).expect("at the limit");
        read(&large(&file[..=fits])).expect_err("a byte more");
        let many = |count: usize| -> serde_json::Value {
            let names = (0..count).map(|number| format!("s{number}"));
            names.map(|name| (name.clone(), serde_json::json!({ "SKILL.md": skill(&name) }))).collect()
        };
        read(&many(MAX_PACKED)).expect("at the limit");
        read(&many(MAX_PACKED + 1)).expect_err("one more");
        let files = |count: usize| {
            let mut files: serde_json::Map<String, serde_json::Value> =
                (1..count).map(|number| (number.to_string(), serde_json::json!({ "text": "" }))).collect();
            files.insert("SKILL.md".into(), skill("one"));
            serde_json::json!({ "one": files })
        };
        read(&files(MAX_ENTRIES)).expect("at the limit");
        read(&files(MAX_ENTRIES + 1)).expect_err("one more");
    }
}
