//! Embeds the files that `wharf new` writes: the templates, the SDK of each language, and the interface.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use miniz_oxide::deflate::compress_to_vec;

/// Relative to the repository's root; the Rust SDK's manifest inherits from the root manifest.
const EMBEDDED: [&str; 3] = ["Cargo.toml", "plugin-sdk", "wit"];
/// Folders that builds and tests generate in a working copy.
const GENERATED: [&str; 6] = ["__pycache__", "build", "dist", "node_modules", "target", "venv"];
/// Excluded from the SDKs only: a template's tests belong to the new project.
const NOT_SHIPPED: [&str; 5] = ["bindings", "example", "examples", "test", "tests"];

/// What the published crate has instead of a repository around it; `dist/crates.py` writes it: the paths, one on each
/// line, and beside them the files, whose names are the numbers of these lines from 0.
const PUBLISHED: &str = "embedded/paths";
/// Of deflate: the smallest.
const LEVEL: u8 = 10;

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    let published = own.join(PUBLISHED);
    let files = if published.exists() { published_files(&published)? } else { repository_files(&own.join("../.."))? };
    let mut table = String::from("&[\n");
    for (number, (path, file)) in files.iter().enumerate() {
        fs::write(out.join(number.to_string()), compress_to_vec(&fs::read(file)?, LEVEL))?;
        // The folder of builds may be moved.
        table += &format!("    ({path:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{number}\"))),\n");
    }
    fs::write(out.join("embedded.rs"), table + "]\n")?;
    // For `dist/crates.py`.
    let paths: Vec<_> = files.into_iter().map(|(path, _)| path).collect();
    fs::write(out.join("paths"), paths.join("\n"))
}

/// The files with their paths in the repository.
fn published_files(paths: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let lines = fs::read_to_string(paths)?;
    Ok(lines.lines().enumerate().map(|(n, path)| (path.to_owned(), paths.with_file_name(n.to_string()))).collect())
}

/// The files with their paths in the repository.
fn repository_files(root: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let root = root.canonicalize()?;
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
    let name = |file: PathBuf| {
        let path = file.strip_prefix(&root).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
        Ok((path, file))
    };
    found.files.into_iter().map(name).collect()
}

#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    /// Paths whose change requires a rebuild. Cargo watches everything in a folder, so a folder with
    /// excluded entries is replaced by its other entries.
    watched: Vec<PathBuf>,
}

impl Found {
    /// Returns whether the path has no excluded entries.
    fn collect(&mut self, path: &Path) -> io::Result<bool> {
        let kind = fs::symlink_metadata(path)?;
        if kind.is_file() {
            self.files.push(path.to_owned());
        }
        // The target of a link is embedded separately.
        if !kind.is_dir() {
            return Ok(true);
        }
        if is_excluded(path) {
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

fn is_excluded(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let in_template = folder.components().any(|part| part.as_os_str() == "templates");
    name.starts_with('.')
        || name.ends_with(".egg-info")
        || GENERATED.contains(&&*name)
        || (!in_template && NOT_SHIPPED.contains(&&*name))
}
