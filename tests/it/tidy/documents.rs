//! Links, files and functions in documents exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::{none, sources};
use crate::support::home::repository;

/// Folders to which paths in documents may be relative.
const BASES: [&str; 14] = [
    "",
    "docs/",
    "docs/design/",
    "host/src/",
    "host/src/catalog/",
    "host/src/os/",
    "host/src/plugin/",
    "host/src/plugin/component/",
    "host/src/plugin/policy/",
    "host/src/protocol/",
    "host/src/server/",
    "host/src/transport/http/",
    "tests/",
    "tests/it/",
];

/// Pages about this code; others also name files of plugins.
const ABOUT_THE_CODE: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/design", "docs/security.md"];

struct Document {
    /// From the repository's root.
    path: PathBuf,
    /// Without code blocks.
    text: String,
}

fn documents() -> Vec<Document> {
    let mut paths = vec!["ARCHITECTURE.md".into(), "CONTRIBUTING.md".into(), "README.md".into()];
    for folder in ["docs", "docs/design"] {
        for entry in fs::read_dir(repository().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
                paths.push(Path::new(folder).join(name));
            }
        }
    }
    paths.sort();
    let block = Regex::new(r"(?s)```.*?```").expect("a pattern");
    let read = |path: PathBuf| Document {
        text: block.replace_all(&fs::read_to_string(repository().join(&path)).expect("a page"), "").into_owned(),
        path,
    };
    paths.into_iter().map(read).collect()
}

fn about_the_code() -> impl Iterator<Item = Document> {
    documents().into_iter().filter(|document| ABOUT_THE_CODE.iter().any(|path| document.path.starts_with(path)))
}

#[test]
fn links_in_documents_exist() {
    let link = Regex::new(r"\]\(([^)#\s]+)[^)]*\)").expect("a pattern");
    let mut broken = Vec::new();
    for document in documents() {
        let folder = document.path.parent().unwrap_or(Path::new(""));
        for found in link.captures_iter(&document.text) {
            let target = &found[1];
            if !target.contains("://") && !repository().join(folder).join(target).exists() {
                broken.push(format!("{}: {target} does not exist", document.path.display()));
            }
        }
    }
    none(&broken);
}

#[test]
fn source_files_named_in_documents_exist() {
    let file = Regex::new(r"`([a-z0-9_./-]+/[a-z0-9_]+\.rs)`").expect("a pattern");
    let mut missing = Vec::new();
    for document in about_the_code() {
        for found in file.captures_iter(&document.text) {
            if !BASES.iter().any(|base| repository().join(base).join(&found[1]).exists()) {
                missing.push(format!("{}: {} does not exist", document.path.display(), &found[1]));
            }
        }
    }
    none(&missing);
}

#[test]
fn functions_named_in_documents_exist() {
    let function = Regex::new(r"fn ([a-z0-9_]+)").expect("a pattern");
    let code: Vec<String> = ["host", "tests"].iter().flat_map(|folder| sources(folder)).map(|file| file.text).collect();
    let known: BTreeSet<&str> =
        code.iter().flat_map(|text| function.captures_iter(text)).map(|found| found.extract::<1>().1[0]).collect();
    // Names of tests have several words; shorter names with a `_` may be anything.
    let sentence = Regex::new(r"`((?:[a-z0-9]+_){3,}[a-z0-9]+)`").expect("a pattern");
    let mut missing = Vec::new();
    for document in about_the_code() {
        for found in sentence.captures_iter(&document.text) {
            if !known.contains(&found[1]) {
                missing.push(format!("{}: no function {}", document.path.display(), &found[1]));
            }
        }
    }
    none(&missing);
}

/// Those of Rust; the table itself says which of the others did not run.
#[test]
fn tests_that_the_table_of_oauth_names_exist() {
    let table = fs::read_to_string(repository().join("tests/oauth/rows.txt")).expect("a table");
    let code = |folder: &str| sources(folder).into_iter().map(|source| source.text).collect::<String>();
    let [it, lib] = [code("tests/it"), code("host/src")];
    let named = table.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(' '));
    let rust = named.filter_map(|(kind, path)| match kind {
        "it" => Some((&it, path)),
        "lib" => Some((&lib, path)),
        _ => None,
    });
    let missing: Vec<String> = rust
        .filter(|(code, path)| !code.contains(&format!("fn {}(", path.rsplit("::").next().unwrap_or(path))))
        .map(|(_, path)| format!("tests/oauth/rows.txt: {path} is no test"))
        .collect();
    none(&missing);
}
