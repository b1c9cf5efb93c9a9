//! Python: componentize-py, which puts an interpreter and the sources into one component.

mod guess;
mod image;
mod source;
mod trace;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use wharf_report::Failure;
use wharf_report::ShowPath as _;

use self::guess::{Found, guess};
use super::guessed::{Outcome, corrected};
use super::packages::Packages;
use super::tool::{Tool, Tools, reported};
use super::world::{self, World};
use crate::files;
use crate::project::{Export, Import, Project};

pub(super) const PACKAGES: Packages = Packages {
    listed: &["requirements.txt"],
    folder: ".venv",
    install: "python3 -m venv .venv && .venv/bin/pip install --requirement requirements.txt",
};
const COMPONENTIZE: Tool = Tool { program: "componentize-py", install: PACKAGES.install };

/// Bytes of the list of packages that are looked at.
const MAX_REQUIREMENTS: u64 = 1 << 16;

/// Prefix of the wrapper's errors.
const REFUSED: &str = "wharf_plugin.component.BuildError: ";

/// Prefix of the interfaces that the component should have had, as JSON.
const OTHER_WORLD: &str = "wharf_plugin.component.OtherWorld: ";

pub(super) async fn build(tools: &Tools<'_>, work: &Path) -> Result<PathBuf, Failure> {
    let project = tools.project;
    let source = project.source()?;
    let program = tools.find(&COMPONENTIZE).await?;
    let Found { exports, imports } = guess(&project.dir, packages(project).as_deref(), &source);
    let (exports, imports) = (Vec::from_iter(exports), Vec::from_iter(imports));
    let exports = if exports.is_empty() { vec![Export::Tools] } else { exports };
    let guessed = Interfaces {
        exports: project.exports.clone().unwrap_or(exports),
        imports: project.imports.clone().unwrap_or(imports),
    };
    corrected(guessed, "exports = [\"tools\"] and imports = [\"http\"]", async |interfaces| {
        componentize(tools, &program, work, &source, interfaces).await
    })
    .await
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Interfaces {
    exports: Vec<Export>,
    imports: Vec<Import>,
}

async fn componentize(
    tools: &Tools<'_>,
    program: &Path,
    work: &Path,
    source: &Path,
    interfaces: &Interfaces,
) -> Result<Outcome<Interfaces>, Failure> {
    let project = tools.project;
    let wit = work.join("wit");
    World::new(world::exports(&interfaces.exports), world::imports(&interfaces.imports)).write(&wit)?;
    let entry = work.join("entry");
    fs::create_dir_all(&entry)
        .and_then(|()| fs::write(entry.join("wharf_entry.py"), entry_module(project, source)))
        .map_err(|error| Failure::new(format!("write {}: {error}", entry.shown())))?;
    let component = work.join("component.wasm");
    // The module search path, in this order; traces refer to entries by number.
    let paths = [entry, project.dir.clone(), project.dir.join(&project.wrapper)];
    let mut command = tools.command(program);
    command.env("RUST_BACKTRACE", "0").env("PYTHONDONTWRITEBYTECODE", "1");
    if project.dir.join(".venv").is_dir() {
        command.env("VIRTUAL_ENV", project.dir.join(".venv"));
    }
    command.arg("-d").arg(wit).args(["-w", world::NAME, "componentize"]);
    for path in &paths {
        command.arg("-p").arg(path);
    }
    command.arg("wharf_entry").arg("-o").arg(&component);
    let Err(stderr) = tools.captured(command).await? else {
        return settle(&component).map(|()| Outcome::Built(component));
    };
    match other_world(&stderr) {
        Some(right) => Ok(Outcome::OtherWorld(right)),
        None => Err(explained(&stderr, &paths, (&requirements(project), tools.are_packages_outdated()))),
    }
}

/// Makes the objects in the component's memory immortal.
fn settle(component: &Path) -> Result<(), Failure> {
    let settled = || -> anyhow::Result<()> {
        let mut bytes = fs::read(component)?;
        image::settle(&mut bytes)?;
        Ok(fs::write(component, bytes)?)
    };
    settled().map_err(|error| Failure::new(format!("change {}: {error:#}", component.shown())))
}

/// Where the packages are that the plugin can import: in the folder that componentize-py adds.
fn packages(project: &Project) -> Option<PathBuf> {
    let own = project.dir.join(".venv");
    let venv = if own.is_dir() { own } else { env::var_os("VIRTUAL_ENV")?.into() };
    let unversioned = venv.join("Lib/site-packages");
    if unversioned.is_dir() {
        return Some(unversioned);
    }
    let versions = fs::read_dir(venv.join("lib")).ok()?;
    versions.filter_map(|entry| Some(entry.ok()?.path().join("site-packages"))).find(|folder| folder.is_dir())
}

/// The module that connects the plugin to the world's exports.
fn entry_module(project: &Project, source: &Path) -> String {
    let module = source.with_extension("").to_string_lossy().replace('/', ".");
    let python = |stated: bool| if stated { "True" } else { "False" };
    format!(
        "from wharf_plugin import component\n\nwith component.loading():\n    from {module} import plugin\n\n\
         globals().update(component.exports(plugin, exports_stated={}, imports_stated={}))\n",
        python(project.exports.is_some()),
        python(project.imports.is_some()),
    )
}

fn other_world(stderr: &str) -> Option<Interfaces> {
    let (_, rest) = stderr.rsplit_once(OTHER_WORLD)?;
    serde_json::from_str(rest.lines().next()?).ok()
}

/// The plugin's error, without the tool's own stack frames.
fn explained(stderr: &str, paths: &[PathBuf; 3], packages: (&str, bool)) -> Failure {
    let own = stderr.split_once("AssertionError: ").map_or(stderr, |(_, own)| own);
    let own = match own.split_once("\nCaused by:") {
        Some((reason, causes)) if reason.trim().is_empty() => causes,
        Some((reason, _)) => reason,
        None => own,
    };
    let own = own.trim();
    if let Some((_, reason)) = own.rsplit_once(REFUSED) {
        return Failure::new(format!("build: {}", reason.trim()));
    }
    match own.strip_prefix(trace::START) {
        Some(_) => {
            let [_, project, _] = paths;
            let failure = Failure::new(format!("build: the plugin's modules failed: {}", trace::error(own)));
            reported(&trace::of_author(own, project), failure.hint(missing_module(own, packages)))
        }
        None => {
            let hint = own.contains("too much data is being copied").then(|| TOO_LARGE.to_owned());
            reported(own, Failure::new("build: componentize-py failed").hint(hint))
        }
    }
}

/// componentize-py copies the memory out of the component.
const TOO_LARGE: &str =
    "what the plugin's modules make when they are imported is too large: make less of it, or make it in a call";

/// The text that lists the project's packages; empty if there is none.
fn requirements(project: &Project) -> String {
    // What cannot be read lists nothing: it is only for a hint.
    files::read_text(&project.dir.join("requirements.txt"), MAX_REQUIREMENTS).unwrap_or_default()
}

/// Whether a line of the requirements begins with the package of a module, as packages spell names.
fn is_required(module: &str, requirements: &str) -> bool {
    let spelt = |name: &str| name.to_lowercase().replace(['_', '.'], "-");
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let package = module.split('.').next().unwrap_or_default();
    let mut names = requirements.lines().map(|line| line.trim().split(|c| !is_name(c)).next().unwrap_or_default());
    names.any(|name| spelt(name) == spelt(package))
}

/// What to do about a package that is not installed; nothing if the advice for outdated ones says it. `requirements` is
/// the list.
fn missing_module(trace: &str, (requirements, are_outdated): (&str, bool)) -> Option<String> {
    let name = trace::error(trace).strip_prefix("ModuleNotFoundError: No module named ")?;
    if is_required(name.trim_matches('\''), requirements) {
        // `--install` installs nothing again, or into another environment.
        let install = PACKAGES.install;
        let hint = format!("requirements.txt lists {name}, which is not installed; in the project, run: {install}");
        return (!are_outdated).then_some(hint);
    }
    Some(format!(
        "if {name} comes from a package, list that package in requirements.txt, then run: wharf build --install"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Interfaces, entry_module, explained, other_world};
    use crate::project::{Export, Import, Project};

    const STDERR: &str = "Traceback (most recent call last):\n  File \"/x/bin/componentize-py\", line 8, in <module>\n    \
        sys.exit(script())\nAssertionError: Traceback (most recent call last):\n  File \"/1/plugin.py\", line 2, in <module>\n    \
        f()\nValueError: what\n\n\nCaused by:\n    ValueError: what\n";

    #[test]
    fn errors_are_those_of_the_plugin() {
        let paths = ["/w/entry", "/p", "/p/wharf"].map(PathBuf::from);
        let explained = |stderr| explained(stderr, &paths, ("# yaml\nPy_Yaml.x >= 6\n", false)).into_parts();
        assert_eq!(explained(STDERR), ("build: the plugin's modules failed: ValueError: what".into(), None));
        let refused =
            "AssertionError: Traceback\n  x\nwharf_plugin.component.BuildError: add \"prompts\"\n\n\nCaused by:\n";
        assert_eq!(explained(refused), ("build: add \"prompts\"".into(), None));
        assert_eq!(explained("no space left\n"), ("build: componentize-py failed".into(), None));
        let large =
            "AssertionError: \n\nCaused by:\n    0: retrieving memory\n    1: too much data is being copied between\n";
        assert_eq!(explained(large), ("build: componentize-py failed".into(), Some(super::TOO_LARGE.into())));
        let missing = STDERR.replace("ValueError: what", "ModuleNotFoundError: No module named 'yaml'");
        let (_, hint) = explained(&missing);
        assert!(hint.is_some_and(
            |hint| hint.starts_with("if 'yaml' comes from a package") && hint.ends_with("wharf build --install")
        ));
        let (_, hint) = explained(&missing.replace("'yaml'", "'py_yaml_x.a'"));
        let listed =
            "requirements.txt lists 'py_yaml_x.a', which is not installed; in the project, run: python3 -m venv";
        assert!(hint.as_ref().is_some_and(|hint| hint.starts_with(listed)), "{hint:?}");
    }

    #[test]
    fn the_entry_says_what_is_stated() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("plugin.toml"), "name = \"a\"\nlanguage = \"python\"\nimports = []\n")
            .expect("a file");
        let entry = entry_module(&Project::read(dir.path()).expect("a project"), Path::new("app/main.py"));
        assert!(entry.contains("    from app.main import plugin\n"), "{entry}");
        assert!(entry.contains("exports_stated=False, imports_stated=True"), "{entry}");
    }

    #[test]
    fn the_right_interfaces_are_read() {
        let stderr = "Traceback\nwharf_plugin.component.OtherWorld: {\"exports\": [\"tools\", \"prompts\"], \
            \"imports\": [\"keyvalue\"]}\n\nCaused by:\n    x\n";
        let right = Interfaces { exports: vec![Export::Tools, Export::Prompts], imports: vec![Import::Keyvalue] };
        assert_eq!(other_world(stderr), Some(right));
        assert_eq!(other_world(STDERR), None);
    }
}
