//! The plugins of `docs/cookbook.md` are complete: each compiles, or is imported, unchanged.

use std::fs;

use crate::project::{shell, wharf};
use crate::support::home::{Home, repository};

/// The code blocks of the page in that language, one per recipe.
fn pieces(language: &str) -> Vec<String> {
    let page = fs::read_to_string(repository().join("docs/cookbook.md")).expect("a page");
    let recipes = page.matches("\n## ").count();
    let fence = format!("\n```{language}\n");
    let pieces = page.split(&fence).skip(1).map(|piece| piece.split("\n```").next().unwrap_or(piece));
    let pieces: Vec<String> = pieces.map(|piece| format!("{piece}\n")).collect();
    assert_eq!(pieces.len(), recipes, "a recipe has no plugin in {language}");
    pieces
}

pub(crate) fn rust() {
    let home = Home::new();
    wharf(&home, &home.path("home"), &["new", "demo", "--lang", "rust"]);
    let dir = home.path("home/demo");
    for piece in pieces("rust") {
        fs::write(dir.join("src/lib.rs"), piece).expect("a file");
        shell("rust", &home, &dir, "cargo check --quiet");
    }
}

/// Importing a plugin inspects its functions.
pub(crate) fn python() {
    let home = Home::new();
    let dir = home.path("home");
    let wrapper = repository().join("plugin-sdk/python");
    let line =
        format!("PYTHONPATH='{}' python3 -c 'from piece import plugin; assert plugin.offers()'", wrapper.display());
    for piece in pieces("python") {
        fs::write(dir.join("piece.py"), piece).expect("a file");
        // The bytecode cache of the previous block would be used, if it was compiled in the same second.
        let _ = fs::remove_dir_all(dir.join("__pycache__"));
        shell("python", &home, &dir, &line);
    }
}
