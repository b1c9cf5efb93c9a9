//! Type checkers agree with the wrapper's annotations.

use std::fs;
use std::path::Path;

use crate::project::{shell, shell_with, wharf};
use crate::support::home::{Home, repository, scratch};

/// The wrapper with its tests, a new project and the sample.
pub(crate) fn python() {
    let home = Home::new();
    // Elsewhere it would be among the files of the wrapper.
    let mypy = format!("mypy --cache-dir '{}'", scratch("languages-mypy").display());
    let check = |dir: &Path, line: &str| shell("python", &home, dir, &line.replace("mypy", &mypy));
    let root = repository();
    check(&root.join("plugin-sdk/python"), "mypy wharf_plugin tests/*.py && mypy tests/everything/plugin.py");
    wharf(&home, &home.path("home"), &["new", "typed", "--lang", "python"]);
    check(&home.path("home/typed"), "mypy --strict plugin.py test_plugin.py");
    let sample = "MYPYPATH=.:../../plugin-sdk/python; export MYPYPATH; mypy --strict plugin.py tests";
    check(&root.join("plugins/summary-python"), sample);
}

/// `npm test` of a new project checks its tests as well as its plugin.
pub(crate) fn typescript() {
    let home = Home::new();
    wharf(&home, &home.path("home"), &["new", "typed", "--lang", "typescript"]);
    let dir = home.path("home/typed");
    shell("typescript", &home, &dir, "npm install --ignore-scripts --no-audit --no-fund");
    for (file, wrong) in [("plugin.test.ts", "const count: number = plugin;"), ("plugin.ts", "process.exit(0);")] {
        let right = fs::read_to_string(dir.join(file)).expect("a file");
        fs::write(dir.join(file), format!("{right}{wrong}\n")).expect("a file");
        let failed = shell_with(&home, &dir, "npm test");
        let reported = String::from_utf8_lossy(&failed.stdout).into_owned();
        assert!(
            !failed.status.success() && reported.contains(&format!("{file}(")) && reported.contains("error TS"),
            "{reported}"
        );
        assert!(!dir.join("dist").exists(), "{reported}");
        fs::write(dir.join(file), right).expect("a file");
    }
    shell("typescript", &home, &dir, "npm test");
}
