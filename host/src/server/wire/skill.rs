//! Skills (`io.modelcontextprotocol/skills`), and what is in their folders.
//!
//! Source: SEP-2640.

use serde::Serialize;

use crate::json::Raw;
use crate::skills;

const DIRECTORY: &str = "inode/directory";

/// The wire's `Skill`.
#[derive(Serialize)]
pub(in crate::server) struct Skill<'a> {
    uri: &'a str,
    frontmatter: Raw<'a>,
    resources: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    uri: &'a str,
    digest: &'a str,
    size: usize,
}

impl<'a> Skill<'a> {
    pub(in crate::server) fn new(skill: &'a skills::Skill) -> Self {
        let files = skill.files().map(|file| File { uri: &file.uri, digest: &file.digest, size: file.bytes.len() });
        Self { uri: skill.uri(), frontmatter: Raw(skill.frontmatter()), resources: files.collect() }
    }
}

/// The result of `skills/get`.
#[derive(Serialize)]
pub(in crate::server) struct GetSkillResult<'a> {
    pub(in crate::server) skill: Skill<'a>,
}

/// The result of `resources/directory/read`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct ReadDirectoryResult<'a> {
    pub(in crate::server) resources: Vec<Child<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::server) next_cursor: Option<String>,
}

/// The wire's `Resource`, of a file or a folder.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Child<'a> {
    uri: &'a str,
    name: &'a str,
    mime_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<usize>,
}

impl<'a> Child<'a> {
    pub(in crate::server) fn new(child: &'a skills::Child<'_>) -> Self {
        Self {
            uri: &child.uri,
            name: child.name,
            mime_type: child.file.map_or(DIRECTORY, |file| file.media_type),
            size: child.file.map(|file| file.bytes.len()),
        }
    }
}
