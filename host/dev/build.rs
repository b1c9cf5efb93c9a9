//! Puts into the program what `wharf new` writes: the templates, what plugins are written with
//! in each language, and the interface.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// From the repository's root; the manifest has what the crate of plugins in Rust inherits.
const EMBEDDED: [&str; 3] = ["Cargo.toml", "plugin-sdk", "wit"];
/// What builds and tests leave behind in a working copy.
const LEFT_BEHIND: [&str; 6] = ["__pycache__", "build", "dist", "node_modules", "target", "venv"];
/// Of the wrappers alone: a template's tests are for whoever begins with it.
const FOR_US: [&str; 5] = ["bindings", "example", "examples", "test", "tests"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..").canonicalize()?;
    let mut found = Found::default();
    for path in EMBEDDED.map(|name| root.join(name)) {
        if found.collect(&path)? {
            found.watched.push(path);
        }
    }
    for path in &found.watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    found.files.sort();
    let mut table = String::from("&[\n");
    for file in &found.files {
        let path = file.strip_prefix(&root).map_err(io::Error::other)?;
        let path = path.to_string_lossy().replace('\\', "/");
        table += &format!("    ({path:?}, include_bytes!({file:?})),\n");
    }
    table += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("embedded.rs"), table)
}

#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    /// Where a change means another program. Cargo looks at all that is in a folder, so one
    /// with something in it that is left out is not among them, but what else is in it.
    watched: Vec<PathBuf>,
}

impl Found {
    /// Whether nothing in it is left out.
    fn collect(&mut self, path: &Path) -> io::Result<bool> {
        let kind = fs::symlink_metadata(path)?;
        if kind.is_file() {
            self.files.push(path.to_owned());
        }
        // A link leads to what is embedded as itself.
        if !kind.is_dir() {
            return Ok(true);
        }
        if is_left_out(path) {
            return Ok(false);
        }
        let (mut is_whole, mut whole) = (true, Vec::new());
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            if self.collect(&path)? {
                whole.push(path);
            } else {
                is_whole = false;
            }
        }
        if !is_whole {
            self.watched.append(&mut whole);
        }
        Ok(is_whole)
    }
}

fn is_left_out(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let in_template = folder.components().any(|part| part.as_os_str() == "templates");
    name.starts_with('.')
        || name.ends_with(".egg-info")
        || LEFT_BEHIND.contains(&&*name)
        || (!in_template && FOR_US.contains(&&*name))
}
