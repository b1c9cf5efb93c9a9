//! Dependencies of the host checked against `deny.toml`: licences, bans, duplicates and sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;
use toml::Table;

use crate::support::home::repository;

/// `deny.toml`.
pub(crate) fn rules() -> Table {
    let text = fs::read_to_string(repository().join("deny.toml")).expect("it is there");
    text.parse().expect("it is TOML")
}

pub(crate) fn strings(list: &toml::Value) -> Vec<String> {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item.as_str().expect("a text").to_owned()).collect()
}

/// What servers and images get has all features but those for authors of plugins.
#[test]
fn server_builds_have_every_feature_of_a_server() {
    let manifest: Table =
        fs::read_to_string(repository().join("host/Cargo.toml")).expect("a file").parse().expect("TOML");
    let mut features = strings(&manifest["features"]["default"]);
    features.retain(|feature| feature != "dev");
    let features = features.join(",");
    for file in ["dist/compile.sh", "dist/packages/crates.py", "docs/commands.md", "docs/team.md"] {
        let text = fs::read_to_string(repository().join(file)).expect("a file");
        assert!(text.contains(&features), "{file} has not: {features}");
    }
}

/// The member `crate` of each entry of a list.
fn crates(list: &toml::Value) -> Vec<String> {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item["crate"].as_str().expect("a crate's name").to_owned()).collect()
}

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(repository()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

/// `cargo metadata` for this platform; packages of others may not have been downloaded.
fn metadata() -> Value {
    let version = cargo(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host");
    let arguments = ["metadata", "--locked", "--format-version", "1", "--filter-platform", host];
    serde_json::from_str(&cargo(&arguments)).expect("cargo writes JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The packages that are compiled into the host, without tests. Cargo's resolution also has
/// packages that no feature enables; its tree does not.
fn shipped(metadata: &Value) -> Vec<&Value> {
    let kinds = ["--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let tree = cargo(&[&["tree", "--locked", "--package", "wharf-mcp"][..], &kinds].concat());
    // A line is `name v1.2.3`, and what may follow.
    let named: BTreeSet<(&str, &str)> =
        tree.lines().filter_map(|line| line.split_once(" v")).map(|(name, rest)| (name, word(rest))).collect();
    let packages = list(&metadata["packages"]).iter();
    packages.filter(|package| named.contains(&(text(&package["name"]), text(&package["version"])))).collect()
}

fn word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[test]
fn all_licences_are_allowed() {
    let allowed = strings(&rules()["licenses"]["allow"]);
    let metadata = metadata();
    let mut offences = Vec::new();
    for package in shipped(&metadata) {
        let licence = text(&package["license"]);
        if !permits(licence, &allowed) {
            offences.push(format!("{} {}: {licence:?}", package["name"], package["version"]));
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

/// Whether an SPDX expression can be satisfied with allowed licences only.
fn permits(licence: &str, allowed: &[String]) -> bool {
    // `/` is an older spelling of `OR`; exceptions are joined with their licence.
    let licence = licence.replace(" / ", " OR ").replace('/', " OR ").replace(" WITH ", "+WITH+");
    let licence = licence.replace('(', " ( ").replace(')', " ) ");
    let mut words = licence.split_whitespace().peekable();
    let allowed = |word: &str| allowed.iter().any(|name| *name == word.replace("+WITH+", " WITH "));
    any_of(&mut words, &allowed) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut any = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        any |= all_of(words, allowed);
    }
    any
}

fn all_of(words: &mut Words<'_>, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut all = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        all &= one(words, allowed);
    }
    all
}

fn one(words: &mut Words<'_>, allowed: &dyn Fn(&str) -> bool) -> bool {
    match words.next() {
        Some("(") => any_of(words, allowed) & (words.next() == Some(")")),
        Some(word) => allowed(word),
        None => false,
    }
}

#[test]
fn licence_expressions_are_parsed() {
    let allowed = ["MIT".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()];
    for yes in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "Apache-2.0 WITH LLVM-exception", "(GPL-3.0 OR MIT) AND MIT"] {
        assert!(permits(yes, &allowed), "{yes}");
    }
    for no in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT", "MIT GPL-3.0", "(GPL-3.0 OR MIT) AND X"] {
        assert!(!permits(no, &allowed), "{no}");
    }
}

#[test]
fn one_version_of_each_crate_is_shipped() {
    let rules = rules();
    let skipped = crates(&rules["bans"]["skip"]);
    let metadata = metadata();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in shipped(&metadata) {
        versions.entry(text(&package["name"])).or_default().insert(text(&package["version"]));
    }
    versions.retain(|name, versions| versions.len() > 1 && !skipped.contains(&(*name).to_owned()));
    assert!(versions.is_empty(), "more than one version: {versions:?}");
}

/// The build without default features has no dependencies for plugin development or migration.
#[test]
fn the_server_alone_has_fewer_dependencies() {
    let linked = |features: &[&str]| -> BTreeSet<String> {
        let arguments = ["tree", "--locked", "--offline", "--package", "wharf-mcp", "--edges", "normal,no-proc-macro"];
        let tree = cargo(&[&arguments[..], &["--prefix", "none", "--format", "{p}"], features].concat());
        tree.lines().map(word).map(str::to_owned).collect()
    };
    let (all, alone) = (linked(&[]), linked(&["--no-default-features"]));
    for name in ["indicatif", "wasi-preview1-component-adapter-provider", "wharf-dev", "wit-component", "wit-parser"] {
        assert!(all.contains(name), "{name} is not in the full build");
        assert!(!alone.contains(name), "{name} is linked into the server alone");
    }
    assert!(alone.contains("wasmtime") && alone.is_subset(&all), "{alone:?}");
}

#[test]
fn no_banned_crate_is_shipped_and_all_come_from_one_registry() {
    let rules = rules();
    let banned = crates(&rules["bans"]["deny"]);
    let metadata = metadata();
    let mut sources = BTreeSet::new();
    for package in shipped(&metadata) {
        assert!(!banned.iter().any(|name| package["name"] == **name), "{} is shipped", package["name"]);
        sources.insert(text(&package["source"]));
    }
    // Workspace packages have no source.
    sources.remove("");
    assert!(sources.len() == 1 && sources.iter().all(|source| source.starts_with("registry+")), "{sources:?}");
}
