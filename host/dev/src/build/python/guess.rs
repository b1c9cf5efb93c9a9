//! Guesses the interfaces of a plugin from its sources, before it is built.
//!
//! The interfaces must be known before componentize-py runs the plugin, and only then is it certain
//! what the plugin registers and imports. A wrong guess costs a second build, so no file is an error.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::source::{Statement, statements};
use crate::files;
use crate::project::{Export, Import};

/// Files and bytes that are read at most: a plugin that imports more is rare.
const MAX_FILES: usize = 2000;
const MAX_BYTES: u64 = 1 << 20;

/// The interfaces of a component.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) exports: BTreeSet<Export>,
    pub(super) imports: BTreeSet<Import>,
}

/// What the module `source` and all modules that it imports use. Modules are looked for in the
/// project's folder and in `packages`, where installed packages are.
pub(super) fn guess(project: &Path, packages: Option<&Path>, source: &Path) -> Found {
    let mut scan = Scan { project, packages, found: Found::default(), queue: Vec::new(), seen: BTreeSet::new() };
    scan.enqueue(project.join(source));
    while let Some(file) = scan.queue.pop() {
        if scan.seen.len() <= MAX_FILES {
            scan.read(&file);
        }
    }
    scan.found
}

struct Scan<'p> {
    project: &'p Path,
    packages: Option<&'p Path>,
    found: Found,
    queue: Vec<PathBuf>,
    seen: BTreeSet<PathBuf>,
}

impl Scan<'_> {
    fn enqueue(&mut self, file: PathBuf) {
        if file.is_file() && self.seen.insert(file.clone()) {
            self.queue.push(file);
        }
    }

    fn read(&mut self, file: &Path) {
        let Ok(bytes) = files::read(file, MAX_BYTES) else { return };
        let text = String::from_utf8_lossy(&bytes);
        let installed = self.packages.is_some_and(|folder| file.starts_with(folder));
        // Blocks that do not run when the module is imported: the indentation of their heads.
        let mut skipped: Option<usize> = None;
        for statement in statements(text.trim_start_matches('\u{feff}')) {
            if !installed {
                self.registration(&statement);
            }
            if skipped.is_some_and(|head| statement.indent > head) {
                continue;
            }
            skipped = is_skipped(&statement).then_some(statement.indent);
            self.import(file, &statement);
        }
    }

    /// `@plugin.tool`, or a call of `plugin.extension`.
    fn registration(&mut self, statement: &Statement) {
        let word = statement.word(usize::from(statement.word(0) == "@"));
        let Some((object, method)) = word.rsplit_once('.') else { return };
        let is_call = statement.word(1) == "(" && object.rsplit('.').next() == Some("plugin");
        if statement.word(0) != "@" && !is_call {
            return;
        }
        self.found.exports.extend(match method {
            "tool" => Some(Export::Tools),
            "resource" | "resource_list" => Some(Export::Resources),
            "prompt" => Some(Export::Prompts),
            "completion" => Some(Export::Completions),
            "method" | "extension" | "experimental" => Some(Export::Extensions),
            _ => None,
        });
    }

    fn import(&mut self, file: &Path, statement: &Statement) {
        match statement.word(0) {
            "import" => {
                for name in names(&statement.tokens[1..]) {
                    self.module(name);
                }
            }
            // A relative import has its dots in front of the name or of `import`.
            "from" => {
                let Some(at) = statement.tokens.iter().position(|word| word == "import") else { return };
                let module: String = statement.tokens[1..at].concat();
                let below = module.trim_start_matches('.');
                for name in names(&statement.tokens[at + 1..]) {
                    let whole = if below.is_empty() { name.to_owned() } else { format!("{below}.{name}") };
                    match module.len() - below.len() {
                        0 => self.module(&whole),
                        levels => self.relative(file, levels, &whole),
                    }
                }
            }
            _ => {}
        }
    }

    /// A module, or a name in a module.
    fn module(&mut self, name: &str) {
        let is = |module: &str| name == module || name.strip_prefix(module).is_some_and(|rest| rest.starts_with('.'));
        if is("wharf_plugin") {
            self.found.imports.extend(match name.split('.').nth(1) {
                Some("http") => Some(Import::Http),
                Some("store") => Some(Import::Keyvalue),
                Some("settings") => Some(Import::Config),
                _ => None,
            });
        } else if is("urllib.request") || is("requests") || is("httpx") {
            self.found.imports.insert(Import::Http);
        } else {
            for folder in [Some(self.project), self.packages].into_iter().flatten() {
                self.files(folder, name);
            }
        }
    }

    fn relative(&mut self, file: &Path, levels: usize, name: &str) {
        if let Some(folder) = file.ancestors().nth(levels) {
            self.files(folder, name);
        }
    }

    /// The files of a module and of the packages that it is in.
    fn files(&mut self, folder: &Path, name: &str) {
        let mut path = folder.to_owned();
        for part in name.split('.') {
            path.push(part);
            self.enqueue(path.with_extension("py"));
            self.enqueue(path.join("__init__.py"));
        }
    }
}

/// A function's body is not run by an import, nor what is for type checkers or the command line.
fn is_skipped(statement: &Statement) -> bool {
    match statement.word(0) {
        "def" => true,
        "async" => statement.word(1) == "def",
        "if" => matches!(statement.word(1), "TYPE_CHECKING" | "typing.TYPE_CHECKING" | "__name__"),
        _ => false,
    }
}

/// The names of an import's list, without `as` and what follows it.
fn names(tokens: &[String]) -> impl Iterator<Item = &str> {
    let items = tokens.split(|token| token == ",");
    items.filter_map(|item| item.iter().map(String::as_str).find(|token| !matches!(*token, "(" | ")")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Found, guess};
    use crate::project::{Export, Import};

    fn guessed(files: &[(&str, &str)]) -> Found {
        let dir = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            fs::write(path, text).expect("a file");
        }
        guess(dir.path(), Some(&dir.path().join("site")), Path::new("plugin.py"))
    }

    fn found(exports: &[Export], imports: &[Import]) -> Found {
        Found { exports: exports.iter().copied().collect(), imports: imports.iter().copied().collect() }
    }

    #[test]
    fn interfaces_are_found_in_all_modules_that_are_imported() {
        let sources = [
            (
                "plugin.py",
                "from wharf_plugin import Plugin, settings\nimport app.more, site_package as s\nplugin = Plugin()\n",
            ),
            ("app/__init__.py", "from . import other\nfrom .deep.er import (\n  x,\n)\n"),
            ("app/more.py", "from plugin import plugin\n@plugin.tool(read_only=True)\nasync def f(): ...\n"),
            ("app/other.py", "def add(plugin):\n    plugin.extension('a/b')\n"),
            ("app/deep/er.py", "from ..last import *\n"),
            (
                "app/last.py",
                "if True:\n    from wharf_plugin.store import Store\n@p.completion(f, 'x')\ndef g(): ...\n",
            ),
            ("unused.py", "@plugin.prompt\ndef f(): import httpx\n"),
            ("site/site_package.py", "import httpx\n@click.prompt\ndef f(): ...\n"),
        ];
        assert_eq!(
            guessed(&sources),
            found(
                &[Export::Tools, Export::Completions, Export::Extensions],
                &[Import::Http, Import::Keyvalue, Import::Config]
            )
        );
    }

    #[test]
    fn what_is_not_imported_is_not_needed() {
        let source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from wharf_plugin.http import Response\n\
            else:\n    pass\n'''\nimport httpx\n'''\ndef f():\n    # import requests\n    import urllib.request\n\
            import urllib.parse, requests_oauth, wharf_plugin.testing\n@plugin.resource('a://b')\ndef g(): ...\n\
            if __name__ == '__main__':\n    import wharf_plugin.store\n";
        assert_eq!(guessed(&[("plugin.py", source)]), found(&[Export::Resources], &[]));
        assert_eq!(guessed(&[]), Found::default());
    }

    #[test]
    fn each_library_that_makes_requests_is_known() {
        for line in [
            "import urllib.request as u",
            "from urllib import request",
            "from urllib.request import urlopen",
            "import requests",
            "from httpx import Client",
            "from wharf_plugin import http",
        ] {
            assert_eq!(guessed(&[("plugin.py", line)]), found(&[], &[Import::Http]), "{line}");
        }
    }
}
