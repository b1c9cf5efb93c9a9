//! A plugin's sources: the folder with `plugin.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, InvalidToml, from_toml, toml_place};

use crate::language::Language;
use crate::name::PluginName;
use crate::{files, wrapper};

pub(crate) const FILE: &str = "plugin.toml";

/// Maximum bytes of a file that is read whole.
const MAX_TEXT: u64 = 1 << 20;
/// Folders of generated files, besides hidden folders.
const NOT_SOURCES: [&str; 6] = ["__pycache__", "build", "dist", "node_modules", "target", "venv"];

/// Whether a file or folder of that name is written by people, and not by editors and tools.
pub(crate) fn is_source(name: &str) -> bool {
    !name.starts_with('.') && !name.ends_with('~') && !NOT_SOURCES.contains(&name)
}

/// The content and folder of `plugin.toml`.
#[derive(Debug)]
pub(crate) struct Project {
    /// Absolute and without links: tools run in it and get paths in it.
    pub(crate) dir: PathBuf,
    pub(crate) name: PluginName,
    pub(crate) language: Language,
    /// The entry file, relative to that folder.
    source: Option<PathBuf>,
    /// The language's wrapper, relative to that folder.
    pub(crate) wrapper: PathBuf,
    /// The exports of the component, if they are stated.
    pub(crate) exports: Option<Vec<Export>>,
    /// The same for imports besides `wharf:plugin/host`.
    pub(crate) imports: Option<Vec<Import>>,
}

/// An interface of `wit/` that a plugin offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Export {
    Tools,
    Resources,
    Prompts,
    Completions,
    Extensions,
}

impl Export {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
            Self::Completions => "completions",
            Self::Extensions => "extensions",
        }
    }
}

/// A host interface that a plugin uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Import {
    Http,
    Keyvalue,
    Config,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    language: Language,
    source: Option<PathBuf>,
    wrapper: Option<PathBuf>,
    exports: Option<Vec<Export>>,
    imports: Option<Vec<Import>>,
}

impl Project {
    pub(crate) fn read(dir: &Path) -> Result<Self, Failure> {
        let file = dir.join(FILE);
        let failed = |reason: String| Failure::usage(format!("read the project: {reason}"));
        let shown = file.shown();
        let text = files::read_text(&file, MAX_TEXT).map_err(|error| {
            failed(format!("{error}: {shown}"))
                .hint("pass the folder of a plugin project; `wharf new NAME --lang LANG` creates one".to_owned())
        })?;
        let manifest: Manifest = from_toml(&text).map_err(|InvalidToml { place, reason, hint }| {
            failed(format!("{shown}: {place}{reason}")).hint(hint.map(|hint| hint.text))
        })?;
        let name = PluginName::parse(&manifest.name).map_err(|error| {
            let near = PluginName::near(&manifest.name).map(|near| format!("write name = \"{near}\""));
            failed(format!("{shown}: {}{error}", toml_place(&text, &["name"]))).hint(near)
        })?;
        let dir = dir.canonicalize().map_err(|error| failed(format!("{error}: {}", dir.shown())))?;
        Ok(Self {
            dir,
            name,
            language: manifest.language,
            source: manifest.source,
            wrapper: manifest.wrapper.unwrap_or_else(|| PathBuf::from(wrapper::FOLDER)),
            exports: manifest.exports,
            imports: manifest.imports,
        })
    }

    /// Whether the build takes the wrapper from `wharf/` in the project, and not from elsewhere.
    pub(crate) fn uses_wrapper_folder(&self) -> bool {
        let is_folder = |path: &str| path.trim_start_matches("./").trim_end_matches('/') == wrapper::FOLDER;
        let (file, _) = wrapper::reference(self.language, wrapper::FOLDER);
        let text = || files::read_text(&self.dir.join(file), MAX_TEXT).unwrap_or_default();
        match self.language {
            Language::Python | Language::C | Language::Cpp => self.wrapper.to_str().is_some_and(is_folder),
            Language::Rust => {
                let manifest: toml::Table = text().parse().unwrap_or_default();
                let dependency = manifest.get("dependencies").and_then(|all| all.get("wharf-plugin"));
                dependency.and_then(|one| one.get("path")?.as_str()).is_some_and(is_folder)
            }
            Language::Go => {
                let replaced = text();
                let mut lines = replaced.lines().filter_map(|line| line.split_once("wharf-plugin =>"));
                lines.any(|(_, path)| is_folder(path.trim()))
            }
            Language::TypeScript | Language::JavaScript => {
                let manifest: serde_json::Value = serde_json::from_str(&text()).unwrap_or_default();
                let dependency = manifest["dependencies"]["wharf-plugin"].as_str();
                dependency.and_then(|path| path.strip_prefix("file:")).is_some_and(is_folder)
            }
        }
    }

    /// The entry file, if the language has one.
    ///
    /// # Errors
    /// If it does not exist.
    pub(crate) fn source(&self) -> Result<PathBuf, Failure> {
        let usual = match self.language {
            Language::Python => "plugin.py",
            Language::TypeScript => "plugin.ts",
            Language::JavaScript => "plugin.js",
            Language::C => "src/plugin.c",
            Language::Cpp => "src/plugin.cpp",
            // cargo and go know theirs.
            Language::Rust | Language::Go => return Ok(PathBuf::new()),
        };
        let source = self.source.clone().unwrap_or_else(|| PathBuf::from(usual));
        if self.dir.join(&source).is_file() {
            return Ok(source);
        }
        let hint = match &self.source {
            Some(given) if given != Path::new(usual) => format!("correct `source` in {FILE}, or put the file there"),
            _ => format!("put it there, or name another file in {FILE}: source = \"PATH\""),
        };
        Err(Failure::usage(format!("find the source: no such file: {}", self.dir.join(source).shown())).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::{Export, Import, Language, Project};

    fn read(text: &str) -> Result<Project, String> {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("plugin.toml"), text).expect("a file");
        Project::read(dir.path()).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn a_project_is_parsed() {
        let text = "name = \"a-b\"\nlanguage = \"python\"\nexports = [\"tools\", \"prompts\"]\nimports = [\"http\"]\n";
        let project = read(text).expect("a project");
        assert_eq!((project.name.as_ref(), project.language), ("a-b", Language::Python));
        assert_eq!(project.exports, Some(vec![Export::Tools, Export::Prompts]));
        assert_eq!(project.imports, Some(vec![Import::Http]));
        let failure = format!("{:?}", project.source().expect_err("the folder is gone"));
        assert!(failure.contains("plugin.py") && failure.contains("in plugin.toml"), "{failure}");
    }

    #[test]
    fn errors_have_their_reason_and_a_suggestion() {
        for (text, expected) in [
            ("name = \"a\"\nlanguage = \"rust\"\nsourc = \"x\"\n", "did you mean `source`?"),
            ("name = \"a\"\nlanguage = \"pyton\"\n", "did you mean `python`?"),
            ("name = \"a\"\nlanguage = \"rust\"\nexports = [\"tool\"]\n", "did you mean `tools`?"),
            ("name = \"a_b\"\nlanguage = \"rust\"\n", "plugin.toml: line 1, column 8: the plugin name must be"),
            ("language = \"rust\"\nname = \"Tick\"\n", "write name = \\\"tick\\\""),
            ("name = \"a\"\n", "the key `language` is missing"),
            ("name = ", "line 1"),
        ] {
            let failure = read(text).expect_err(text);
            assert!(failure.contains(expected) && failure.contains("plugin.toml"), "{failure}");
        }
    }
}
