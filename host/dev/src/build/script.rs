//! TypeScript and JavaScript: checked by `tsc`, bundled by `esbuild`, and built into a component with
//! an interpreter by `componentize-qjs`.

mod lines;
mod missing;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wharf_report::ShowPath as _;
use wharf_report::{Failure, is_coloured, message};

use self::lines::lines;
use self::missing::{unbundled, unresolved, untyped, without_advice};
use super::guessed::{Outcome, corrected};
use super::packages::Packages;
use super::tool::{Tool, Tools, reported};
use super::world::{self, World};
use crate::files;
use crate::language::Language;
use crate::project::{Export, Project};

const NODE: Tool = Tool { program: "node", install: "apt-get install -y --no-install-recommends nodejs npm" };
pub(super) const PACKAGES: Packages =
    Packages { listed: &["package.json", "package-lock.json"], folder: "node_modules", install: INSTALL };
/// No package needs its install scripts. Not `npm ci`: componentize-qjs names optional packages that
/// were never published, and `npm ci` rejects a lockfile without them.
const INSTALL: &str = "npm install --ignore-scripts --no-save --no-audit --no-fund";

const BUNDLING: [&str; 14] = [
    "--bundle",
    "--format=esm",
    "--platform=neutral",
    "--main-fields=module,main",
    "--target=es2023",
    "--conditions=wharf",
    "--external:wharf:*",
    "--external:wasi:*",
    // Nothing runs the jobs of the engine's own promises during a call, so `async` functions become
    // generators that use the wrapper's.
    "--supported:async-await=false",
    "--supported:async-generator=false",
    "--supported:for-await=false",
    // Globals of the web, for the modules that use them.
    "--inject:wharf-plugin/web",
    "--sourcemap=external",
    "--log-level=warning",
];

/// Prefix of the wrapper's errors.
const REFUSED: &str = "BuildError: ";

/// Prefix of the interfaces that the component should have had, as JSON.
const OTHER_WORLD: &str = "OtherWorld: ";

/// What componentize-qjs prints before an error of the plugin.
const EVALUATED: &str = "module evaluation: Error: ";

pub(super) async fn build(tools: &Tools<'_>, work: &Path) -> Result<PathBuf, Failure> {
    let project = tools.project;
    let typed = project.language == Language::TypeScript;
    let source = project.source()?;
    tools.find(&NODE).await?;
    let tool = |program| Tool { program, install: INSTALL };
    if typed && project.dir.join("tsconfig.json").is_file() {
        let mut check = tools.command(&tools.find(&tool("tsc")).await?);
        check.args(["--noEmit", "-p", "."]);
        if is_coloured() {
            check.arg("--pretty");
        }
        if let Err(errors) = tools.checked(check).await? {
            let missing = not_installed(&project.dir).filter(|_| !tools.are_packages_outdated());
            let hint = missing.or_else(|| untyped(&errors));
            return Err(reported(&without_advice(&errors), Failure::new("build: tsc failed").hint(hint)));
        }
    }
    let bundle = bundle(tools, &tools.find(&tool("esbuild")).await?, work, &source).await?;
    let program = tools.find(&tool("componentize-qjs")).await?;
    let exports = project.exports.clone().unwrap_or_else(|| guess(&bundle.text));
    corrected(exports, "exports = [\"tools\"]", async |exports| {
        componentize(tools, &program, work, &bundle, exports).await
    })
    .await
}

struct Bundle {
    text: String,
    imports: Vec<String>,
    /// Where lines of the author's files are in it.
    lines: Value,
}

async fn bundle(tools: &Tools<'_>, program: &Path, work: &Path, source: &Path) -> Result<Bundle, Failure> {
    let project = tools.project;
    let failed = |error| Failure::new(format!("write {}: {error}", work.shown()));
    let [entry, bundle, map, meta] =
        ["entry.js", "bundle.js", "bundle.js.map", "meta.json"].map(|name| work.join(name));
    fs::write(&entry, entry_module(project, source)).map_err(failed)?;
    let mut bundler = tools.command(program);
    bundler.arg(&entry).args(BUNDLING);
    bundler.arg(format!("--metafile={}", meta.display())).arg(format!("--outfile={}", bundle.display()));
    let warnings = tools.captured(bundler).await?.map_err(|stderr| {
        unbundled(&stderr).unwrap_or_else(|| {
            reported(of_esbuild(&stderr), Failure::new("build: esbuild failed").hint(unresolved(&stderr)))
        })
    })?;
    if !warnings.is_empty() {
        message(warnings.trim_end());
    }
    let read = |path| fs::read(path).map_err(failed);
    Ok(Bundle {
        text: String::from_utf8_lossy(&read(&bundle)?).into_owned(),
        imports: externals(&read(&meta)?),
        lines: lines(&read(&map)?, work, project),
    })
}

async fn componentize(
    tools: &Tools<'_>,
    program: &Path,
    work: &Path,
    bundle: &Bundle,
    exports: &[Export],
) -> Result<Outcome<Vec<Export>>, Failure> {
    let wit = work.join("wit");
    World::new(world::exports(exports), bundle.imports.clone()).write(&wit)?;
    let [script, component] = ["bundle.js", "component.wasm"].map(|name| work.join(name));
    let names: Vec<&str> = exports.iter().map(|export| export.name()).collect();
    let mut built = bundle.lines.clone();
    built["exports"] = json!(names);
    built["stated"] = json!(tools.project.exports.is_some());
    // In the first line, so that the others keep their numbers.
    fs::write(&script, format!("globalThis.wharfBuild = {built}; {}", bundle.text))
        .map_err(|error| Failure::new(format!("write {}: {error}", script.shown())))?;
    let mut command = tools.command(program);
    command.arg("--wit").arg(wit).args(["-n", world::NAME, "--sync", "--js"]).arg(&script);
    command.arg("-o").arg(&component);
    let Err(stderr) = tools.captured(command).await? else { return Ok(Outcome::Built(component)) };
    match other_world(&stderr) {
        Some(right) => Ok(Outcome::OtherWorld(right)),
        None => Err(match explained(&stderr) {
            Some(Explained { what, stack }) => reported(&stack, Failure::new(format!("build: {what}"))),
            None => reported(&stderr, Failure::new("build: componentize-qjs failed")),
        }),
    }
}

/// The interfaces of the functions that the plugin and its packages seem to register.
fn guess(bundle: &str) -> Vec<Export> {
    let registers = [
        (Export::Tools, &[".tool("][..]),
        (Export::Resources, &[".resource(", ".resources("]),
        (Export::Prompts, &[".prompt("]),
        (Export::Completions, &[".completion("]),
        (Export::Extensions, &[".method(", ".extension(", ".experimental("]),
    ];
    let found = registers.iter().filter(|(_, calls)| calls.iter().any(|call| bundle.contains(call)));
    let found: Vec<Export> = found.map(|(export, _)| *export).collect();
    if found.is_empty() { vec![Export::Tools] } else { found }
}

/// The module that connects the plugin to the world's exports, of which a world needs some. The wrapper
/// comes first: it defines globals such as `console`, which the plugin's modules may use at top level.
fn entry_module(project: &Project, source: &Path) -> String {
    // JSON strings are valid JavaScript for any path.
    let source = Value::from(project.dir.join(source).to_string_lossy()).to_string();
    format!(
        "import {{ component }} from \"wharf-plugin/component\";\nimport plugin from {source};\n\n\
         export const {{ tools, resources, prompts, completions, extensions }} =\n  \
         component(plugin, globalThis.wharfBuild);\n"
    )
}

/// The imports left in the bundle, which are those of the world: all others are inlined or dropped.
fn externals(meta: &[u8]) -> Vec<String> {
    let meta: Value = serde_json::from_slice(meta).unwrap_or_default();
    let outputs = meta["outputs"].as_object().into_iter().flat_map(|outputs| outputs.values());
    let imports = outputs.flat_map(|output| output["imports"].as_array().into_iter().flatten());
    let external = imports.filter(|import| import["external"] == true);
    let mut paths: Vec<String> = external.filter_map(|import| import["path"].as_str().map(str::to_owned)).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// A package that the project lists and Node would not find: what to do.
fn not_installed(dir: &Path) -> Option<String> {
    let manifest: Value =
        serde_json::from_slice(&files::read(&dir.join("package.json"), files::MAX_SIZE).ok()?).ok()?;
    let listed = ["dependencies", "devDependencies"].map(|kind| manifest[kind].as_object());
    let mut names = listed.into_iter().flatten().flat_map(|packages| packages.keys());
    let is_there = |name: &str| dir.ancestors().any(|folder| folder.join("node_modules").join(name).exists());
    let name = names.find(|name| !is_there(name))?;
    Some(format!("package.json lists {name}, which is not installed; in {}: wharf build --install", dir.shown()))
}

/// What esbuild has written, without the stack of the script of its package that starts it.
fn of_esbuild(stderr: &str) -> &str {
    match stderr.split_once("\nnode:child_process:") {
        Some((messages, _)) if !messages.trim().is_empty() => messages,
        _ => stderr,
    }
}

fn other_world(stderr: &str) -> Option<Vec<Export>> {
    let (_, rest) = stderr.rsplit_once(OTHER_WORLD)?;
    serde_json::from_str(rest.lines().next()?).ok()
}

#[derive(Debug, PartialEq, Eq)]
struct Explained {
    what: String,
    /// The error with the lines of the author's files; empty if there are none.
    stack: String,
}

/// The plugin's error; `None` if the tool failed otherwise.
fn explained(stderr: &str) -> Option<Explained> {
    let (_, error) = stderr.split_once(EVALUATED)?;
    let first = error.lines().next().unwrap_or_default();
    if let Some(reason) = first.strip_prefix(REFUSED) {
        return Some(Explained { what: reason.to_owned(), stack: String::new() });
    }
    let stack = if error.trim().contains('\n') { error.trim_end() } else { "" };
    Some(Explained { what: format!("the plugin's modules failed: {first}"), stack: stack.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Explained, explained, externals, guess, not_installed, of_esbuild, other_world};
    use crate::project::Export;

    #[test]
    fn the_imports_of_the_bundle_are_found() {
        let meta = br#"{"outputs":{"dist/b.js":{"imports":[
            {"path":"wharf:plugin/host@0.1.0","kind":"import-statement","external":true},
            {"path":"src/a.js","kind":"import-statement"},
            {"path":"wharf:plugin/host@0.1.0","kind":"import-statement","external":true}]}}}"#;
        assert_eq!(externals(meta), ["wharf:plugin/host@0.1.0"]);
        assert!(externals(b"no JSON").is_empty());
    }

    #[test]
    fn errors_are_shown_without_the_stack_of_the_wrapper() {
        let failed = |error: &str| explained(&format!("Error: : Failed: module evaluation: Error: {error}"));
        let expected = |what: &str, stack: &str| Some(Explained { what: what.to_owned(), stack: stack.to_owned() });
        assert_eq!(failed("BuildError: add \"prompts\"\n    at x"), expected("add \"prompts\"", ""));
        assert_eq!(
            failed("no\n    at f (plugin.ts:3)\n    at plugin.ts:9\n\n"),
            expected("the plugin's modules failed: no", "no\n    at f (plugin.ts:3)\n    at plugin.ts:9")
        );
        assert_eq!(failed("no\n"), expected("the plugin's modules failed: no", ""));
        assert_eq!(explained("Error: odd\n"), None);
    }

    #[test]
    fn errors_of_the_bundler_are_shown_without_the_stack_of_its_launcher() {
        let error = "✘ [ERROR] Unexpected \";\"\n\n    plugin.ts:1:10:\n      1 │ const a = ;\n        ╵           ^\n";
        let stack = "\nnode:child_process:930\n    throw err;\n    ^\n\nError: Command failed: esbuild\n    at x\n";
        assert_eq!(of_esbuild(&format!("{error}{stack}")), error);
        assert_eq!(of_esbuild(error), error);
        // Without a message of its own, the stack is the only explanation.
        assert_eq!(of_esbuild(stack), stack);
    }

    #[test]
    fn a_listed_package_that_is_not_installed_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let manifest = r#"{"dependencies": {"@a/b": "1"}, "devDependencies": {"c": "1"}}"#;
        std::fs::write(dir.path().join("package.json"), manifest).expect("a file");
        let inner = dir.path().join("inner");
        for package in ["@a/b", "c"] {
            let hint = not_installed(dir.path()).expect("a hint");
            assert!(hint.contains(&format!("lists {package},")) && hint.ends_with("wharf build --install"), "{hint}");
            std::fs::create_dir_all(dir.path().join("node_modules").join(package)).expect("a folder");
        }
        assert_eq!(not_installed(dir.path()), None);
        // Node searches parent folders too.
        std::fs::create_dir(&inner).expect("a folder");
        std::fs::write(inner.join("package.json"), manifest).expect("a file");
        assert_eq!(not_installed(&inner), None);
    }

    #[test]
    fn interfaces_are_guessed_and_corrected() {
        assert_eq!(guess("plugin().prompt(\"a\") x.extension()"), [Export::Prompts, Export::Extensions]);
        assert_eq!(guess("register(plugin)"), [Export::Tools]);
        let stderr = "Error: : Failed: module evaluation: Error: OtherWorld: [\"tools\",\"prompts\"]\n    at x";
        assert_eq!(other_world(stderr), Some(vec![Export::Tools, Export::Prompts]));
        assert_eq!(other_world("Error: odd"), None);
    }
}
