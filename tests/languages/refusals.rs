//! Builds that cannot succeed say why, in one sentence.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::project::{build, wharf, wharf_with};
use crate::support::home::Home;

/// A package with compiled parts, in the project's own environment.
pub(crate) fn python() {
    let home = Home::new();
    wharf(&home, &home.path("home"), &["new", "slow", "--lang", "python"]);
    let dir = home.path("home/slow");
    let packages = dir.join(".venv/lib/python3.14/site-packages");
    for folder in ["pydantic", "pydantic_core", "pydantic-2.0.dist-info"] {
        fs::create_dir_all(packages.join(folder)).expect("a folder");
    }
    fs::write(packages.join("pydantic/__init__.py"), "import pydantic_core\n").expect("a file");
    fs::write(packages.join("pydantic_core/__init__.py"), "from ._pydantic_core import x\n").expect("a file");
    fs::write(packages.join("pydantic_core/_pydantic_core.cpython-314-x86_64-linux-gnu.so"), "").expect("a file");
    let source = fs::read_to_string(dir.join("plugin.py")).expect("the plugin");
    fs::write(dir.join("plugin.py"), source.replace("import re\n", "import re\nimport pydantic\n")).expect("a file");
    let failed = wharf_with(&home, &dir, &["build"]);
    let reported = reported(&failed);
    assert_eq!(failed.status.code(), Some(1), "{reported}");
    assert_eq!(
        reported,
        "error: failed to build: pydantic cannot be part of a plugin: it needs \
         pydantic_core/_pydantic_core.cpython-314-x86_64-linux-gnu.so, which is compiled for another platform, and a \
         component contains only Python code; use dataclasses or TypedDict for arguments and results, or pydantic<2 \
         (docs/python.md, Packages)"
    );
    for (name, expected) in [
        ("made", "plugin.py must define `plugin = Plugin()`; it is called `made` there"),
        (
            "plugin",
            "the plugin has nothing to call: add a tool, a resource or a prompt, for example a function with \
             @plugin.tool above it",
        ),
    ] {
        fs::write(dir.join("plugin.py"), format!("from wharf_plugin import Plugin\n\n{name} = Plugin()\n"))
            .expect("a file");
        let failed = wharf_with(&home, &dir, &["build"]);
        assert_eq!(self::reported(&failed), format!("error: failed to build: {expected}"));
    }
}

/// What a component in JavaScript cannot have, and interfaces that are stated wrongly.
pub(crate) fn typescript() {
    let home = Home::new();
    wharf(&home, &home.path("home"), &["new", "wrong", "--lang", "javascript"]);
    let dir = home.path("home/wrong");
    let manifest = fs::read_to_string(dir.join("plugin.toml")).expect("the manifest");
    let source = fs::read_to_string(dir.join("plugin.js")).expect("the plugin");
    // Installs the packages. The template makes no requests, so its component needs no grant for them.
    let imports = imports(&home, &build(&home, &dir, "wrong"));
    assert!(imports.contains("wharf:plugin/host@") && !imports.contains("http"), "{imports}");
    let failed = |prefix: &str, stated: &str| {
        fs::write(dir.join("plugin.js"), format!("{prefix}{source}")).expect("a file");
        fs::write(dir.join("plugin.toml"), format!("{manifest}{stated}")).expect("a file");
        let failed = wharf_with(&home, &dir, &["build"]);
        let reported = reported(&failed);
        assert_eq!(failed.status.code(), Some(1), "{reported}");
        reported
    };
    assert_eq!(
        failed("import fs from \"node:fs\";\nfs.readFileSync(\"x\");\n", ""),
        "error: failed to build: plugin.js:1:15: node:fs is a part of Node, which a component does not contain\n\
         hint: use Store for values; a plugin in JavaScript has no files"
    );
    for (wrong, what, place) in [
        ("const a = ;\n", "Unexpected \";\"", "plugin.js:1:10:"),
        ("import a from \"./missing.js\";\na();\n", "Could not resolve \"./missing.js\"", "plugin.js:1:14:"),
    ] {
        let reported = failed(wrong, "");
        assert!(reported.contains(what) && reported.contains(place) && !reported.contains("    at "), "{reported}");
        assert!(
            !reported.contains("node:") && reported.ends_with("\nerror: failed to build: esbuild failed"),
            "{reported}"
        );
    }
    assert_eq!(
        failed("const ready = await load();\nasync function load() {}\n", ""),
        "error: failed to build: plugin.js:1:14: await is only available in functions\n\
         hint: await it in a function that is called: module-level code runs during the build, without HTTP and stores"
    );
    let missing = "process is not defined in a plugin: settings.environment() has the variables of the grant `env`";
    assert_eq!(
        failed("function mode() {\n  return process.env.MODE;\n}\nmode();\n", ""),
        format!(
            "{missing}\n    at mode (plugin.js:2)\n    at plugin.js:4\n\
         error: failed to build: the plugin's modules failed: {missing}"
        )
    );
    let misspelt = "tool count has no option 'descripton'; did you mean 'description'? there are: title, description, \
        icons, meta, input, output, readOnly, destructive, idempotent, openWorld, tasks, page, appOnly";
    assert_eq!(
        failed("plugin().tool(\"count\", { descripton: \"Counts.\" }, () => \"\");\n", ""),
        format!("{misspelt}\n    at plugin.js:1\nerror: failed to build: the plugin's modules failed: {misspelt}")
    );
    fs::write(dir.join("plugin.js"), source.replace("export default ", "export const made = ")).expect("a file");
    assert_eq!(
        self::reported(&wharf_with(&home, &dir, &["build"])),
        "error: failed to build: plugin.js has no default export\n\
         hint: export the plugin: export default plugin().tool(…)"
    );
    assert_eq!(
        failed("", "exports = [\"prompts\"]\n"),
        "error: failed to build: this plugin has tools: add \"tools\" to `exports` in plugin.toml, or remove the line"
    );
    // A wrong guess is corrected: this registers no prompt.
    fs::write(dir.join("plugin.js"), format!("const other = {{ prompt() {{}} }};\nother.prompt(1);\n{source}"))
        .expect("a file");
    fs::write(dir.join("plugin.toml"), manifest).expect("a file");
    build(&home, &dir, "wrong");
}

/// The messages of a build, without those about steps that take long.
fn reported(build: &Output) -> String {
    let reported = String::from_utf8_lossy(&build.stderr);
    reported.lines().filter(|line| !line.ends_with(" …")).collect::<Vec<_>>().join("\n")
}

/// What `wharf check` says that the component imports.
fn imports(home: &Home, component: &Path) -> String {
    let findings =
        wharf(home, component.parent().expect("a folder"), &["check", "--json", &component.display().to_string()]);
    let findings: serde_json::Value = serde_json::from_slice(&findings.stdout).expect("one JSON document");
    findings["imports"].to_string()
}
