//! The compilers on this machine: what builds need that `wharf build --install` does not install into the
//! project.

use std::path::PathBuf;

use crate::build::{on_path, rust};

/// What the builds of some languages need.
pub struct Toolchain {
    /// Their names in `--lang`.
    pub languages: &'static str,
    /// The program; or a shell command that installs it.
    pub found: Result<PathBuf, &'static str>,
}

/// One of these programs is needed; `install` installs the first.
struct Need {
    languages: &'static str,
    programs: &'static [&'static str],
    install: &'static str,
}

/// Builds fetch all else into the project.
const NEEDS: [Need; 4] = [
    Need {
        languages: "typescript, javascript",
        programs: &["node"],
        install: "apt-get install --no-install-recommends nodejs npm",
    },
    Need { languages: "python", programs: &["python3"], install: "apt-get install python3-venv" },
    // Python packages contain Go's and zig's compilers.
    Need { languages: "go", programs: &["go", "python3"], install: "apt-get install python3-venv" },
    Need { languages: "c, cpp", programs: &["clang-19", "zig", "python3"], install: "apt-get install python3-venv" },
];

/// The toolchains of all languages. Runs `rustc`.
pub async fn toolchains() -> Vec<Toolchain> {
    let mut found = vec![Toolchain { languages: "rust", found: rust::toolchain().await }];
    found.extend(NEEDS.iter().map(|need| Toolchain {
        languages: need.languages,
        found: need.programs.iter().find_map(|program| on_path(program)).ok_or(need.install),
    }));
    found
}
