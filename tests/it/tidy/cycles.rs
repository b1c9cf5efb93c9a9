//! Imports between files: the largest import cycle of each crate of the host, and the order of modules in its large parts.
//!
//! It reads `use` declarations and paths in code, follows re-exports, and ignores tests. A module
//! and its submodules are separate files.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::{HOST, Source, none, sources};

/// Maximum number of files in an import cycle. The context, view and host traits that wasmtime
/// requires take six.
const LARGEST: usize = 8;

/// The modules of large parts of the host, by path. Each may import only those before it.
const ORDERS: [(&str, &[&str]); 7] = [
    (
        "plugin",
        &[
            "threads",
            "limits",
            "json",
            "abi",
            "id",
            "policy",
            "events",
            "schema",
            "fault",
            "tape",
            "error",
            "skills",
            "surface",
            "provider",
            "pending",
            "component",
            "imports",
            "instance",
            "outcome",
            "dialects",
            "sandbox",
            "stored_listing",
            "pinned_pages",
            "process",
            "loaded",
            "load",
            "replay",
        ],
    ),
    (
        "catalog",
        &[
            "names",
            "settings",
            "extensions",
            "snapshot",
            "files",
            "event",
            "lookalike",
            "choice",
            "watcher",
            "again",
            "admission",
            "skill_provider",
            "folder",
        ],
    ),
    (
        "server",
        &[
            "response",
            "cost",
            "attribute",
            "measured",
            "unapproved",
            "refusal",
            "questions",
            "seal",
            "keys",
            "bounds",
            "outgoing",
            "pages",
            "wire",
            "client",
            "changes",
            "own_stream",
            "tasks",
            "promotion",
            "scope",
            "call_metrics",
            "call_trace",
            "rejected",
            "fault",
            "relay",
            "built_in",
            "permissions",
            "call_record",
            "discovery",
            "proposing",
            "handlers",
            "connection",
        ],
    ),
    (
        "oauth",
        &[
            "refusal",
            "settings",
            "clock",
            "crypto",
            "token",
            "keys",
            "claims",
            "fetch",
            "discovery",
            "flight",
            "key_cache",
            "verified",
            "introspection",
            "issuer",
            "verifier",
            "exchange",
        ],
    ),
    ("pins", &["pin", "decision", "file", "surfaces", "verdict", "guard", "approval"]),
    (
        "config",
        &[
            "base",
            "duration",
            "error",
            "size",
            "nodes",
            "path",
            "format",
            "outbound",
            "record",
            "sandbox",
            "schemas",
            "trust",
            "limits",
            "command",
            "tasks",
            "source",
            "private",
            "address",
            "metrics",
            "page",
            "telemetry",
            "store",
            "oauth",
            "server_card",
            "exchange",
            "secret",
            "personal",
            "folders",
            "audit",
            "edit",
            "grants",
            "http",
            "live",
            "program",
            "registries",
            "rights",
            "budgets",
            "extra",
        ],
    ),
    ("transport/http", &["caller", "responses", "mcp", "nodes", "request", "socket"]),
];

/// Files for other systems, which replace those for Linux: they are never compiled together.
const OTHER_SYSTEMS: [&str; 3] = ["os/absent", "os/macos", "os/windows"];

/// Segments of a path below the crate.
pub(super) type Path = Vec<String>;

pub(super) struct Module {
    /// Absolute paths that its code uses.
    names: Vec<Path>,
    /// Its re-exports, by name.
    exports: BTreeMap<String, Path>,
}

/// The modules of a crate, by path; that of the crate's own file is empty.
pub(super) struct Graph(BTreeMap<Path, Module>);

impl Graph {
    /// Without tests, and without files whose path below `folder`, the crate's sources, begins with one of `left_out`.
    pub(super) fn of(sources: &[Source], folder: &str, left_out: &[&str]) -> Self {
        let path = |source: &Source| -> Option<Path> {
            let file = source.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
            if source.is_test() || file == "main" || left_out.iter().any(|of| file.starts_with(of)) {
                return None;
            }
            Some(if file == "lib" { Path::new() } else { file.split('/').map(str::to_owned).collect() })
        };
        let files: BTreeMap<Path, &Source> =
            sources.iter().filter_map(|source| Some((path(source)?, source))).collect();
        let read = |(path, source): (&Path, &&Source)| (path.clone(), Module::read(path, &source.text, &files));
        Self(files.iter().map(read).collect())
    }

    /// Each module with the paths that its code uses, re-exports not followed.
    pub(super) fn uses(&self) -> impl Iterator<Item = (&Path, &[Path])> {
        self.0.iter().map(|(path, module)| (path, module.names.as_slice()))
    }

    /// The file in which an absolute path is defined.
    fn home(&self, path: &[String], depth: usize) -> Option<Path> {
        let longest = (0..=path.len()).rev().find(|length| self.0.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(longest);
        let exported = rest.first().and_then(|name| self.0[module].exports.get(name));
        match exported {
            Some(target) if depth < 8 && target != path => {
                let whole: Path = target.iter().chain(&rest[1..]).cloned().collect();
                self.home(&whole, depth + 1).or_else(|| Some(module.to_vec()))
            }
            _ => Some(module.to_vec()),
        }
    }

    fn imports(&self) -> BTreeMap<&Path, BTreeSet<Path>> {
        let imports = |(path, module): (_, &Module)| {
            let homes = module.names.iter().filter_map(|name| self.home(name, 0));
            (path, homes.filter(|home| home != path).collect())
        };
        self.0.iter().map(imports).collect()
    }
}

impl Module {
    fn read(own: &Path, text: &str, files: &BTreeMap<Path, &Source>) -> Self {
        let code = without_tests_and_comments(text);
        let declares = |name: &str| files.contains_key(&joined(own, [name]));
        let absolute = |path: &[String]| -> Option<Path> {
            match path.first()?.as_str() {
                "crate" => Some(path[1..].to_vec()),
                "self" => Some(joined(own, &path[1..])),
                "super" => {
                    let up = path.iter().take_while(|segment| *segment == "super").count();
                    Some(joined(&own[..own.len().checked_sub(up)?], &path[up..]))
                }
                first if declares(first) => Some(joined(own, path)),
                _ => None,
            }
        };
        let (mut names, mut exports, mut imported) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let declaration = Regex::new(r"(?m)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").expect("a pattern");
        for found in declaration.captures_iter(&code) {
            for (path, name) in leaves(&found[2]) {
                let Some(path) = absolute(&path) else { continue };
                imported.insert(name.clone(), path.clone());
                let of_own_part = path.starts_with(own);
                if found.get(1).is_some() {
                    exports.insert(name, path.clone());
                }
                // Re-exporting an item of a submodule is not an import: a path through it is followed to the file that
                // defines the item, so each dependency is counted once, where it is used. If the re-export counted
                // too, each `mod` file would import all its submodules.
                if found.get(1).is_none() || !of_own_part {
                    names.push(path);
                }
            }
        }
        let body = declaration.replace_all(&code, "");
        let path = Regex::new(r"\w+(?:::\w+)+").expect("a pattern");
        for found in path.find_iter(&body) {
            let path: Path = found.as_str().split("::").map(str::to_owned).collect();
            match imported.get(&path[0]) {
                Some(target) => names.push(joined(target, &path[1..])),
                None => names.extend(absolute(&path)),
            }
        }
        Self { names, exports }
    }
}

fn joined<S: AsRef<str>>(start: &[String], end: impl IntoIterator<Item = S>) -> Path {
    start.iter().cloned().chain(end.into_iter().map(|segment| segment.as_ref().to_owned())).collect()
}

pub(super) fn without_tests_and_comments(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let comment = Regex::new(r"//[^\n]*|pub\(in [^)]*\)").expect("a pattern");
    comment
        .replace_all(&text[..end], |found: &regex::Captures<'_>| if found[0].starts_with("pub") { "pub" } else { "" })
        .into_owned()
}

/// The paths of a `use` tree, each with the name under which it is imported.
fn leaves(tree: &str) -> Vec<(Path, String)> {
    let (mut found, mut prefixes, mut current) = (Vec::new(), vec![String::new()], String::new());
    let mut end = |prefix: &str, leaf: &mut String| {
        let leaf = std::mem::take(leaf);
        if leaf.trim().is_empty() {
            return;
        }
        let (path, alias) = match leaf.split_once(" as ") {
            Some((path, alias)) => (path.trim().to_owned(), Some(alias.trim().to_owned())),
            None => (leaf.trim().to_owned(), None),
        };
        let mut path: Path = format!("{prefix}{path}").split("::").map(|segment| segment.trim().to_owned()).collect();
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        found.push((path, name));
    };
    for symbol in tree.chars() {
        let prefix = prefixes.last().cloned().unwrap_or_default();
        match symbol {
            '{' => prefixes.push(format!("{prefix}{}", std::mem::take(&mut current).trim())),
            '}' => {
                end(&prefix, &mut current);
                prefixes.pop();
            }
            ',' => end(&prefix, &mut current),
            _ => current.push(symbol),
        }
    }
    end("", &mut current);
    found
}

/// Strongly connected sets of files.
fn cycles(imports: &BTreeMap<&Path, BTreeSet<Path>>) -> Vec<BTreeSet<Path>> {
    let reached = |from: &Path| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(path) = left.pop() {
            for next in imports.get(&path).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    left.push(next.clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&Path, BTreeSet<Path>> = imports.keys().map(|path| (*path, reached(path))).collect();
    let (mut found, mut placed) = (Vec::new(), BTreeSet::new());
    for (path, reaches) in &reach {
        if placed.contains(*path) || !reaches.contains(*path) {
            continue;
        }
        let back = |other: &&Path| reach.get(other).is_some_and(|reaches| reaches.contains(*path));
        let cycle: BTreeSet<Path> = reaches.iter().filter(back).cloned().collect();
        placed.extend(cycle.iter().cloned());
        found.push(cycle);
    }
    found
}

#[test]
fn import_cycles_are_small() {
    let description = |cycle: &BTreeSet<Path>, folder: &str| {
        let files: Vec<String> = cycle.iter().map(|path| path.join("/")).collect();
        format!("{folder}: {} files import each other: {}", files.len(), files.join(", "))
    };
    let mut offences = Vec::new();
    for folder in HOST {
        let graph = Graph::of(&sources(folder), folder, &OTHER_SYSTEMS);
        let imports = graph.imports();
        assert!(!imports.is_empty(), "there is nothing in {folder}");
        let found = cycles(&imports);
        offences.extend(found.iter().filter(|cycle| cycle.len() > LARGEST).map(|cycle| description(cycle, folder)));
    }
    none(&offences);
}

#[test]
fn modules_import_only_earlier_ones() {
    let graph = Graph::of(&sources("host/src"), "host/src", &OTHER_SYSTEMS);
    let imports = graph.imports();
    let mut offences = Vec::new();
    for (part, order) in ORDERS {
        let place = |path: &Path| {
            let (whole, part) = (path.join("/"), format!("{part}/"));
            let module = whole.strip_prefix(&part)?.split('/').next()?;
            Some(order.iter().position(|known| *known == module))
        };
        assert!(imports.keys().any(|path| place(path).is_some()), "there is no `{part}`");
        for (path, imports) in &imports {
            let Some(own) = place(path) else { continue };
            if own.is_none() {
                offences.push(format!("{} is not in `ORDERS`", path.join("/")));
            }
            for import in imports.iter().filter(|import| place(import).is_some_and(|other| other > own)) {
                offences.push(format!("{} imports {}, which comes later", path.join("/"), import.join("/")));
            }
        }
    }
    none(&offences);
}

#[test]
fn imports_and_cycles_are_found() {
    let source = |path: &str, text: &str| Source { path: format!("host/src/{path}"), text: text.into() };
    let graph = Graph::of(
        &[
            source("a.rs", "mod b;\npub use b::Given;\n"),
            source("a/b.rs", "use crate::{c::{self, D as E}, d};\n// crate::never\n"),
            source("c.rs", "fn f() { super::d::g(); c::h() }\n"),
            source("d.rs", "use crate::a::Given;\n#[cfg(test)]\nmod tests {\n    use crate::never;\n}\n"),
            source("e.rs", "use crate::Root;\n"),
            source("lib.rs", "mod e;\npub struct Root(e::Part);\n"),
        ],
        "host/src",
        &[],
    );
    let imports = graph.imports();
    let of = |path: &str| -> Vec<String> {
        let path: Path = path.split('/').map(str::to_owned).collect();
        imports[&path].iter().map(|import| import.join("/")).collect()
    };
    assert!(of("a").is_empty(), "a re-export is not an import");
    assert_eq!(of("a/b"), ["c", "d"]);
    assert_eq!(of("d"), ["a/b"], "a re-export resolves to its definition");
    let found = cycles(&imports);
    let sizes: Vec<usize> = found.iter().map(BTreeSet::len).collect();
    assert_eq!(sizes, [2, 3], "e and the crate's own file; b, c and d");
}
