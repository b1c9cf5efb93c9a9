//! Type checkers agree with the wrapper's annotations.

use std::path::Path;

use crate::project::{shell, wharf};
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
