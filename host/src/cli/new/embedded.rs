//! What this program carries for new projects: pairs of a path and what is in it.
//!
//! The build script made the table; a path is that of the repository.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::crate_manifest;
use crate::cli::language::Language;

static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The files of a new project, by their paths in it, before the names are put in.
pub(super) fn files_of(language: Language) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut add = |path: &str, bytes: &[u8]| files.insert(PathBuf::from(path), bytes.to_owned());
    let template = format!("plugin-sdk/templates/{}/", language.name());
    let wrapper = format!("plugin-sdk/{}/", wrapper(language));
    for (path, bytes) in FILES {
        if let Some(below) = path.strip_prefix(&template) {
            add(below, bytes);
        } else if let Some(below) = path.strip_prefix(&wrapper) {
            let below = if language == Language::Rust { format!("src/{below}") } else { below.to_owned() };
            add(&format!("wharf/{below}"), bytes);
        } else if path.starts_with("wit/") && path.ends_with(".wit") {
            add(&format!("wharf/{path}"), bytes);
        }
    }
    if language == Language::Rust {
        let manifest = crate_manifest::alone(text("plugin-sdk/Cargo.toml"), text("Cargo.toml"));
        add("wharf/Cargo.toml", manifest.as_bytes());
    }
    files
}

/// The folder of what plugins in that language are written with.
fn wrapper(language: Language) -> &'static str {
    match language {
        Language::Rust => "src",
        Language::TypeScript | Language::JavaScript => "typescript",
        Language::Python => "python",
        Language::Go => "go",
        Language::C => "c",
    }
}

fn text(path: &str) -> &'static str {
    let found = FILES.iter().find(|(name, _)| *name == path);
    found.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}
