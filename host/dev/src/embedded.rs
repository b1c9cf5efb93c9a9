//! What this program carries for projects of plugins: pairs of a path and what is in it.
//!
//! The build script made the table; a path is that of the repository.

mod crate_manifest;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::language::Language;

static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The files of a new project, by their paths in it, before the names are put in.
pub(crate) fn files_of(language: Language) -> BTreeMap<PathBuf, Vec<u8>> {
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
        }
    }
    for (path, bytes) in interface() {
        add(&format!("wharf/wit/{path}"), bytes);
    }
    if language == Language::Rust {
        let manifest = crate_manifest::alone(text("plugin-sdk/Cargo.toml"), text("Cargo.toml"));
        add("wharf/Cargo.toml", manifest.as_bytes());
    }
    files
}

/// The files of the interface, by their paths below `wit/`.
pub(crate) fn interface() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let files = FILES.iter().filter_map(|(path, bytes)| Some((path.strip_prefix("wit/")?, *bytes)));
    files.filter(|(path, _)| path.ends_with(".wit"))
}

/// The folder of what plugins in that language are written with.
fn wrapper(language: Language) -> &'static str {
    match language {
        Language::Rust => "src",
        Language::TypeScript | Language::JavaScript => "typescript",
        Language::Python => "python",
        Language::Go => "go",
        Language::C | Language::Cpp => "c",
    }
}

fn text(path: &str) -> &'static str {
    let found = FILES.iter().find(|(name, _)| *name == path);
    found.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}
