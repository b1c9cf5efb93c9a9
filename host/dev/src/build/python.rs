//! Python: componentize-py, which puts an interpreter and the sources into one component.

use std::fs;
use std::path::{Path, PathBuf};

use wharf_report::Failure;
use wharf_report::ShowPath as _;

use super::tool::{Tool, Tools, captured};
use super::world::{self, World};

const COMPONENTIZE: Tool = Tool {
    program: "componentize-py",
    install: "python3 -m venv .venv && .venv/bin/pip install --requirement requirements.txt",
};

/// Prefix of the wrapper's errors.
const REFUSED: &str = "wharf_plugin.component.BuildError: ";

pub(super) async fn build(tools: &Tools<'_>, work: &Path) -> Result<PathBuf, Failure> {
    let project = tools.project;
    let source = project.source("plugin.py")?;
    let program = tools.find(&COMPONENTIZE).await?;
    World::new(world::exports(&project.exports), world::imports(&project.imports)).write(&work.join("wit"))?;
    let entry = work.join("entry");
    fs::create_dir_all(&entry)
        .and_then(|()| fs::write(entry.join("wharf_entry.py"), entry_module(&source)))
        .map_err(|error| Failure::new(format!("write {}: {error}", entry.shown())))?;
    let component = work.join("component.wasm");
    // The module search path, in this order; errors refer to entries by number.
    let paths = [entry, project.dir.clone(), project.dir.join(&project.wrapper)];
    let mut command = tools.command(&program);
    command.env("RUST_BACKTRACE", "0").env("PYTHONDONTWRITEBYTECODE", "1");
    if project.dir.join(".venv").is_dir() {
        command.env("VIRTUAL_ENV", project.dir.join(".venv"));
    }
    command.arg("-d").arg(work.join("wit")).args(["-w", world::NAME, "componentize"]);
    for path in &paths {
        command.arg("-p").arg(path);
    }
    command.arg("wharf_entry").arg("-o").arg(&component);
    captured(command).await?.map_err(|stderr| Failure::new(explained(&stderr, &paths)))?;
    Ok(component)
}

/// The module that connects the plugin to the world's exports.
fn entry_module(source: &Path) -> String {
    let module = source.with_extension("").to_string_lossy().replace('/', ".");
    format!(
        "from {module} import plugin\n\nfrom wharf_plugin import component\n\nglobals().update(component.exports(plugin))\n"
    )
}

/// The tool's error without its own stack frames, with real file paths.
fn explained(stderr: &str, paths: &[PathBuf]) -> String {
    let own = stderr.split_once("AssertionError: ").map_or(stderr, |(_, own)| own);
    let own = own.split_once("\nCaused by:").map_or(own, |(own, _)| own).trim();
    if let Some((_, reason)) = own.rsplit_once(REFUSED) {
        return format!("build: {}", reason.trim());
    }
    let mut text = own.to_owned();
    for (number, path) in paths.iter().enumerate() {
        text = text.replace(&format!("File \"/{number}/"), &format!("File \"{}/", path.display()));
    }
    format!("build: componentize-py reports:\n{text}")
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{entry_module, explained};

    const STDERR: &str = "Traceback (most recent call last):\n  File \"/x/bin/componentize-py\", line 8, in <module>\n    \
        sys.exit(script())\nAssertionError: Traceback (most recent call last):\n  File \"/1/plugin.py\", line 2, in <module>\n    \
        f()\nValueError: what\n\n\nCaused by:\n    ValueError: what\n";

    #[test]
    fn errors_have_the_project_file_paths() {
        let paths = ["/w/entry", "/p", "/p/wharf"].map(PathBuf::from);
        let text = explained(STDERR, &paths);
        assert!(text.contains("File \"/p/plugin.py\", line 2"), "{text}");
        assert!(text.ends_with("ValueError: what") && !text.contains("sys.exit"), "{text}");
        let refused =
            "AssertionError: Traceback\n  x\nwharf_plugin.component.BuildError: add \"prompts\"\n\n\nCaused by:\n";
        assert_eq!(explained(refused, &paths), "build: add \"prompts\"");
        assert_eq!(explained("no space left\n", &paths), "build: componentize-py reports:\nno space left");
    }

    #[test]
    fn a_source_in_a_folder_is_a_module_of_a_package() {
        assert!(entry_module(Path::new("app/main.py")).starts_with("from app.main import plugin\n"));
    }
}
