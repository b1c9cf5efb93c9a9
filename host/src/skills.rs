//! Skills: folders of instructions for a model, each with a `SKILL.md`. Their files are read into memory once, under
//! limits; list, digests and bytes are those of one state of the folder.
//!
//! Sources: SEP-2640 (`io.modelcontextprotocol/skills`), and the specification of Agent Skills for `SKILL.md`.
//! Independent of MCP's messages, and of how a folder is watched.

mod collection;
mod error;
mod frontmatter;
mod packed;
mod place;
mod read;
mod survey;
mod tree;

pub use collection::{Collection, FOLDER, Found, MAX_SKILLS, State, collect, read_skill};
pub use error::SkillError;
pub use frontmatter::{MAX_FRONTMATTER, is_skill_name};
pub use packed::{MAX_PACKED, MAX_PACKED_SIZE, SECTION, pack, unpack};
pub use place::MARKDOWN;
pub use survey::{MAX_DEPTH, MAX_ENTRIES, MAX_FILE, MAX_SIZE};
pub use tree::{Child, MAX_COMPARED, Skill, SkillFile, Tree};

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

#[cfg(test)]
mod tests;
