//! The compilers on this machine: what builds need that `wharf build --install` does not install into the
//! project.

use std::path::{Path, PathBuf};

use crate::build::{on_path, rust};
use crate::os;

/// What the builds of some languages need.
pub struct Toolchain {
    /// Their names in `--lang`, and where the program is from unless it is theirs.
    pub languages: String,
    /// The program; or a shell command that installs it.
    pub found: Result<PathBuf, &'static str>,
}

/// One of these programs is needed; `install` installs the first.
struct Need {
    languages: &'static str,
    programs: &'static [&'static str],
    /// How Python, if it is the one that is found, gets another language's compiler.
    by_python: &'static str,
    install: &'static str,
}

/// Its packages contain compilers.
const PYTHON: &str = "python3";

/// Builds fetch all else into the project.
const NEEDS: [Need; 4] = [
    Need {
        languages: "typescript, javascript",
        programs: &["node"],
        by_python: "",
        install: "apt-get install --no-install-recommends nodejs npm",
    },
    Need { languages: "python", programs: &[PYTHON], by_python: "", install: "apt-get install python3-venv" },
    // Python packages contain Go's and zig's compilers.
    Need {
        languages: "go",
        programs: &["go", PYTHON],
        by_python: ", which `wharf build --install` installs with",
        install: "apt-get install python3-venv",
    },
    Need {
        languages: "c, cpp",
        programs: &["clang-19", "zig", PYTHON],
        by_python: ", with the package ziglang of",
        install: "apt-get install python3-venv",
    },
];

/// The toolchains of all languages. Runs `rustc`.
pub async fn toolchains() -> Vec<Toolchain> {
    // Builds prefer the programs of the project, which may be this folder.
    let find = |program: &str| os::program(Path::new(os::VENV_PROGRAMS), program).or_else(|| on_path(program));
    let mut found = vec![Toolchain { languages: "rust".to_owned(), found: rust::toolchain().await }];
    found.extend(NEEDS.iter().map(|need| toolchain(need, find)));
    found
}

fn toolchain(need: &Need, find: impl Fn(&str) -> Option<PathBuf>) -> Toolchain {
    let found = need.programs.iter().find_map(|program| Some((*program, find(program)?)));
    let how = if matches!(found, Some((PYTHON, _))) { need.by_python } else { "" };
    Toolchain { languages: format!("{}{how}", need.languages), found: found.map(|(_, path)| path).ok_or(need.install) }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{NEEDS, toolchain};

    /// What is shown of each language on a machine with these programs.
    fn shown(programs: &[&str]) -> Vec<String> {
        let find = |program: &str| programs.contains(&program).then(|| Path::new("/bin").join(program));
        let found = NEEDS.iter().map(|need| toolchain(need, find));
        found.map(|one| format!("{}: {:?}", one.languages, one.found.unwrap_or_else(PathBuf::from))).collect()
    }

    #[test]
    fn the_path_is_that_of_the_compiler_or_says_what_installs_it() {
        assert_eq!(
            shown(&["node", "python3", "go", "zig"]),
            [
                "typescript, javascript: \"/bin/node\"",
                "python: \"/bin/python3\"",
                "go: \"/bin/go\"",
                "c, cpp: \"/bin/zig\""
            ]
        );
        let with_python = shown(&["python3"]);
        assert_eq!(with_python[1], "python: \"/bin/python3\"");
        assert_eq!(with_python[2], "go, which `wharf build --install` installs with: \"/bin/python3\"");
        assert_eq!(with_python[3], "c, cpp, with the package ziglang of: \"/bin/python3\"");
        assert_eq!(shown(&[])[2], "go: \"apt-get install python3-venv\"");
    }
}
