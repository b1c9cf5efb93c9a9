use std::path::Path;

use clap::ValueEnum as _;
use toml::Table;

use super::embedded::{template, wrapper};
use super::{Language, PluginName, plugin_name, run, substitute};

#[test]
fn an_invalid_name_has_a_suggestion() {
    for (name, near) in [
        ("my_plugin", "my-plugin"),
        ("MyPlugin", "myplugin"),
        ("-x", "x"),
        ("a  b!", "a-b"),
        ("@acme/tool", "acme-tool"),
    ] {
        assert_eq!(PluginName::near(name).expect("a suggestion").as_ref(), near);
        assert!(plugin_name(name).is_err(), "{name}");
    }
    assert!(PluginName::near("___").is_none());
    assert!(PluginName::near("ü").is_none());
    assert_eq!(PluginName::near(&"long_".repeat(40)).expect("it is truncated").as_ref().len(), 48);
}

/// Each template has the common files, and the interface in its wrapper.
#[test]
fn each_language_has_a_complete_project() {
    for language in Language::value_variants() {
        let (files, library) = (template(*language), wrapper(*language));
        for path in ["plugin.toml", "README.md", ".gitignore", "recordings/greet.jsonl"] {
            assert!(files.contains_key(Path::new(path)), "{}: no {path}", language.name());
        }
        for path in ["wit/tools.wit", "wit/wasi-keyvalue/store.wit"] {
            assert!(library.contains_key(path), "{}: no {path}", language.name());
        }
        let text = std::str::from_utf8(&files[Path::new("plugin.toml")]).expect("UTF-8");
        let table: Table = text.parse().expect("TOML");
        assert_eq!(table["name"].as_str(), Some("{{name}}"));
        assert_eq!(table["language"].as_str(), Some(language.name()));
    }
}

/// All placeholders are substituted, and no generated files are copied.
#[test]
fn a_project_has_no_placeholders_and_no_generated_files() {
    for language in Language::value_variants() {
        let root = tempfile::tempdir().expect("a folder");
        let dir = root.path().join("my-plugin");
        run("my-plugin", *language, Some(dir.clone()), false).expect("it is created");
        let mut folders = vec![dir];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let shown = path.display().to_string();
                assert!(!shown.contains("node_modules") && !shown.contains("__pycache__"), "{shown}");
                if path.is_dir() && !path.ends_with("wharf") {
                    folders.push(path);
                } else if let Ok(text) = std::fs::read_to_string(&path) {
                    assert!(!text.contains("{{name}}") && !text.contains("{{ident}}"), "{shown}");
                }
            }
        }
    }
}

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    run("one", Language::Rust, Some(root.path().to_owned()), false).expect("an empty folder is accepted");
    let before = std::fs::read(root.path().join("Cargo.toml")).expect("a file");
    assert!(run("two", Language::Rust, Some(root.path().to_owned()), false).is_err());
    assert_eq!(std::fs::read(root.path().join("Cargo.toml")).expect("a file"), before);
}

#[test]
fn the_wrapper_crate_of_a_rust_project_inherits_nothing() {
    let files = wrapper(Language::Rust);
    let text = std::str::from_utf8(&files["Cargo.toml"]).expect("UTF-8");
    let manifest: Table = text.parse().expect("TOML");
    assert_eq!(manifest["package"]["name"].as_str(), Some("wharf-plugin"));
    assert_eq!(manifest["package"]["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    assert!(!text.contains("workspace") && !manifest.contains_key("dev-dependencies"), "{text}");
    assert!(files.contains_key("src/lib.rs"));
}

#[test]
fn names_are_substituted() {
    let id = plugin_name("a-b").expect("a name");
    assert_eq!(substitute("{{name}} {{ident}} {{other}}", &id), "a-b a_b {{other}}");
}
