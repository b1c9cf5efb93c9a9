//! A plugin's sources: the folder with `plugin.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::language::Language;
use crate::config::from_toml;
use crate::plugin::PluginId;
use crate::report::Failure;

const FILE: &str = "plugin.toml";

/// What `plugin.toml` says, and where it is.
#[derive(Debug)]
pub(super) struct Project {
    /// Absolute, and without links: tools are started in it and told of files in it.
    pub(super) dir: PathBuf,
    pub(super) name: PluginId,
    pub(super) language: Language,
    /// The file to begin with, from that folder.
    source: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    language: Language,
    source: Option<PathBuf>,
}

impl Project {
    pub(super) fn read(dir: &Path) -> Result<Self, Failure> {
        let file = dir.join(FILE);
        let failed = |reason: String| Failure::usage(format!("read the project: {reason}"));
        let shown = file.display();
        let text = std::fs::read_to_string(&file).map_err(|error| {
            failed(format!("{error}: {shown}"))
                .hint("name a plugin's folder; `wharf new NAME --lang LANG` makes one".to_owned())
        })?;
        let manifest: Manifest =
            from_toml(&text).map_err(|(reason, hint)| failed(format!("{shown}: {reason}")).hint(hint))?;
        let name = PluginId::parse(&manifest.name).map_err(|error| failed(format!("{shown}: {error}")))?;
        let dir = dir.canonicalize().map_err(|error| failed(format!("{error}: {}", dir.display())))?;
        Ok(Self { dir, name, language: manifest.language, source: manifest.source })
    }

    /// The entry, for a language that needs one.
    pub(super) fn source(&self) -> Result<&Path, Failure> {
        let missing = |what: String| {
            Failure::usage(format!("find the source: {what}"))
                .hint(format!("{FILE} says it: source = \"FILE\", from the folder of {FILE}"))
        };
        let source = self.source.as_deref().ok_or_else(|| missing("no `source` is given".to_owned()))?;
        if self.dir.join(source).is_file() {
            Ok(source)
        } else {
            Err(missing(format!("no such file: {}", source.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, Project};

    fn read(text: &str) -> Result<Project, String> {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("plugin.toml"), text).expect("a file");
        std::fs::write(dir.path().join("here.py"), "").expect("a file");
        Project::read(dir.path())
            .and_then(|project| {
                let there = project.source().map(|_| ());
                // The folder is gone after this; what was found in it is not asked for again.
                there.or(Ok(())).map(|()| project)
            })
            .map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn a_project_is_read() {
        let project = read("name = \"a-b\"\nlanguage = \"python\"\nsource = \"here.py\"\n").expect("a project");
        assert_eq!((project.name.as_ref(), project.language), ("a-b", Language::Python));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_was_meant() {
        for (text, said) in [
            ("name = \"a\"\nlanguage = \"rust\"\nsourc = \"x\"\n", "did you mean `source`?"),
            ("name = \"a\"\nlanguage = \"pyton\"\n", "did you mean `python`?"),
            ("name = \"a_b\"\nlanguage = \"rust\"\n", "a_b"),
            ("name = \"a\"\n", "missing field `language`"),
            ("name = ", "line 1"),
        ] {
            let failure = read(text).expect_err(text);
            assert!(failure.contains(said) && failure.contains("plugin.toml"), "{failure}");
        }
    }
}
