//! TypeScript and JavaScript: checked by `tsc`, bundled by `esbuild`, and built into a component with
//! an interpreter by `componentize-qjs`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, is_coloured};

use super::tool::{Tool, Tools};
use super::world::{self, World};
use crate::language::Language;
use crate::project::{Export, Project};

const NODE: Tool = Tool { program: "node", install: "apt-get install --no-install-recommends nodejs npm" };
/// No package needs its install scripts. Not `npm ci`: componentize-qjs names optional packages that
/// were never published, and `npm ci` rejects a lockfile without them.
const INSTALL: &str = "npm install --ignore-scripts --no-save --no-audit --no-fund";

const BUNDLING: [&str; 9] = [
    "--bundle",
    "--format=esm",
    "--platform=neutral",
    "--main-fields=module,main",
    "--target=es2023",
    "--conditions=wharf",
    "--external:wharf:*",
    "--external:wasi:*",
    "--log-level=warning",
];

/// Prefix of the wrapper's errors.
const REFUSED: &str = "BuildError: ";

pub(super) async fn build(tools: &Tools<'_>, work: &Path) -> Result<PathBuf, Failure> {
    let project = tools.project;
    let typed = project.language == Language::TypeScript;
    let source = project.source(if typed { "plugin.ts" } else { "plugin.js" })?;
    tools.find(&NODE).await?;
    let tool = |program| Tool { program, install: INSTALL };
    if typed && project.dir.join("tsconfig.json").is_file() {
        let mut check = tools.command(&tools.find(&tool("tsc")).await?);
        check.args(["--noEmit", "-p", "."]);
        if is_coloured() {
            check.arg("--pretty");
        }
        tools.run(check).await?;
    }
    let failed = |error| Failure::new(format!("write {}: {error}", work.shown()));
    let [entry, bundle, meta] = ["entry.js", "bundle.js", "meta.json"].map(|name| work.join(name));
    fs::write(&entry, entry_module(project, &source)).map_err(failed)?;
    let mut bundler = tools.command(&tools.find(&tool("esbuild")).await?);
    bundler.arg(&entry).args(BUNDLING);
    if is_coloured() {
        bundler.arg("--color=true");
    }
    bundler.arg(format!("--metafile={}", meta.display())).arg(format!("--outfile={}", bundle.display()));
    tools.run(bundler).await?;
    let meta = fs::read(&meta).map_err(failed)?;
    World::new(world::exports(exports(project)), externals(&meta)).write(&work.join("wit"))?;
    let component = work.join("component.wasm");
    let mut command = tools.command(&tools.find(&tool("componentize-qjs")).await?);
    command.arg("--wit").arg(work.join("wit")).args(["-n", world::NAME, "--sync", "--js"]).arg(&bundle);
    command.arg("-o").arg(&component);
    tools.captured(command).await?.map_err(|stderr| Failure::new(explained(&stderr)))?;
    Ok(component)
}

fn exports(project: &Project) -> &[Export] {
    project.exports.as_deref().unwrap_or(&[Export::Tools])
}

/// The module that connects the plugin to the world's exports. The wrapper comes first: it defines
/// globals such as `console`, which the plugin's modules may use at top level.
fn entry_module(project: &Project, source: &Path) -> String {
    let names: Vec<&str> = exports(project).iter().map(|export| export.name()).collect();
    // JSON strings are valid JavaScript for any path.
    let source = Value::from(project.dir.join(source).to_string_lossy()).to_string();
    format!(
        "import {{ component }} from \"wharf-plugin/component\";\nimport plugin from {source};\n\n\
         export const {{ {} }} = component(plugin, {});\n",
        names.join(", "),
        Value::from(names.clone())
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

fn explained(stderr: &str) -> String {
    match stderr.split_once(REFUSED) {
        Some((_, reason)) => format!("build: {}", reason.lines().next().unwrap_or_default()),
        None => format!("build: componentize-qjs reports:\n{}", stderr.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::{explained, externals};

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
    fn errors_of_the_wrapper_are_shown_without_the_stack() {
        assert_eq!(
            explained("Error: : Failed: BuildError: add \"prompts\"\n    at <anonymous>"),
            "build: add \"prompts\""
        );
        assert!(explained("Error: odd\n").ends_with("reports:\nError: odd"));
    }
}
