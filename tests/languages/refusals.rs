//! Builds that cannot succeed say why, in one sentence.

use std::fs;

use crate::project::{wharf, wharf_with};
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
    let said = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert_eq!(
        said.trim_end(),
        "error: failed to build: pydantic cannot be part of a plugin: it needs \
         pydantic_core/_pydantic_core.cpython-314-x86_64-linux-gnu.so, which is compiled for another platform, and a \
         component contains only Python code; use dataclasses or TypedDict for arguments and results, or pydantic<2 \
         (docs/python.md, Packages)"
    );
}
