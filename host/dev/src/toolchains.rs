//! The compilers on this machine: what builds need that `wharf build --install` does not install into the
//! project.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::build::{on_path, rust};
use crate::child::printed;
use crate::os;

/// Maximum characters of a version.
const MAX_VERSION: usize = 32;

/// What the builds of some languages need.
pub struct Toolchain {
    /// Their names in `--lang`, and where the program is from unless it is theirs.
    pub languages: String,
    pub state: State,
}

/// Whether builds can use it.
#[derive(Debug, PartialEq, Eq)]
pub enum State {
    Ready {
        program: PathBuf,
        version: String,
    },
    Outdated {
        program: PathBuf,
        version: String,
        /// The name of what to install, and its oldest version.
        needed: String,
    },
    /// It prints no version.
    Unknown {
        program: PathBuf,
        /// What should make it print one.
        argument: &'static str,
    },
    /// The shell command that installs it.
    Missing(&'static str),
}

/// A program that prints its version.
struct Versioned {
    program: &'static str,
    argument: &'static str,
    /// For people.
    name: &'static str,
    /// The oldest version that builds work with, as docs/plugins.md has it.
    oldest: &'static [u32],
}

const VERSIONED: [Versioned; 6] = [
    Versioned { program: "rustc", argument: "--version", name: "Rust", oldest: &[1, 95] },
    Versioned { program: "node", argument: "--version", name: "Node.js", oldest: &[20] },
    Versioned { program: PYTHON, argument: "--version", name: "Python", oldest: &[3, 10] },
    Versioned { program: "go", argument: "version", name: "Go", oldest: &[1, 27] },
    Versioned { program: "clang-19", argument: "--version", name: "clang", oldest: &[19] },
    Versioned { program: "zig", argument: "version", name: "zig", oldest: &[] },
];

impl Versioned {
    fn of(program: &str) -> Option<&'static Self> {
        VERSIONED.iter().find(|known| known.program == program)
    }

    async fn state(&self, program: PathBuf) -> State {
        let mut command = Command::new(&program);
        command.arg(self.argument);
        let printed = printed(command).await;
        self.judged(program, &String::from_utf8_lossy(&printed))
    }

    fn judged(&self, program: PathBuf, printed: &str) -> State {
        let Some(version) = version(printed) else { return State::Unknown { program, argument: self.argument } };
        let numbers = version.split('.').map_while(|number| number.parse().ok());
        if numbers.collect::<Vec<u32>>().as_slice() >= self.oldest {
            return State::Ready { program, version };
        }
        let oldest: Vec<String> = self.oldest.iter().map(u32::to_string).collect();
        State::Outdated { program, version, needed: format!("{} {}", self.name, oldest.join(".")) }
    }
}

/// Numbers with points between them: `1.27.3` of `go version go1.27.3 linux/amd64`.
fn version(printed: &str) -> Option<String> {
    let start = printed.find(|c: char| c.is_ascii_digit())?;
    let end = printed[start..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(printed.len(), |end| start + end);
    Some(printed[start..end].trim_end_matches('.').chars().take(MAX_VERSION).collect())
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
pub(crate) const PYTHON: &str = "python3";
pub(crate) const INSTALL_PYTHON: &str = "apt-get install -y python3-venv";

/// Builds fetch all else into the project.
const NEEDS: [Need; 4] = [
    Need {
        languages: "typescript, javascript",
        programs: &["node"],
        by_python: "",
        install: "apt-get install -y --no-install-recommends nodejs npm",
    },
    Need { languages: "python", programs: &[PYTHON], by_python: "", install: INSTALL_PYTHON },
    // Python packages contain Go's and zig's compilers.
    Need {
        languages: "go",
        programs: &["go", PYTHON],
        by_python: "; `wharf build --install` gets its compiler by Python",
        install: INSTALL_PYTHON,
    },
    Need {
        languages: "c, cpp",
        programs: &["clang-19", "zig", PYTHON],
        by_python: "; `wharf build --install` gets their compiler by Python",
        install: INSTALL_PYTHON,
    },
];

/// The toolchains of all languages. Runs their programs.
pub async fn toolchains() -> Vec<Toolchain> {
    // Builds prefer the programs of the project, which may be this folder.
    let find = |program: &str| os::program(Path::new(os::VENV_PROGRAMS), program).or_else(|| on_path(program));
    let rust = rust::toolchain().await;
    let mut found = vec![Toolchain { languages: "rust".to_owned(), state: state("rustc", rust).await }];
    for need in &NEEDS {
        let (languages, program, path) = chosen(need, find);
        found.push(Toolchain { languages, state: state(program, path).await });
    }
    found
}

async fn state(program: &str, path: Result<PathBuf, &'static str>) -> State {
    match (path, Versioned::of(program)) {
        (Err(install), _) => State::Missing(install),
        (Ok(program), Some(versioned)) => versioned.state(program).await,
        (Ok(program), None) => State::Unknown { program, argument: "--version" },
    }
}

/// The languages, the name of the program that is used for them, and its path or what installs it.
fn chosen(
    need: &Need,
    find: impl Fn(&str) -> Option<PathBuf>,
) -> (String, &'static str, Result<PathBuf, &'static str>) {
    let found = need.programs.iter().find_map(|program| Some((*program, find(program)?)));
    let how = if matches!(found, Some((PYTHON, _))) { need.by_python } else { "" };
    let program = found.as_ref().map_or(need.programs[0], |(program, _)| program);
    (format!("{}{how}", need.languages), program, found.map(|(_, path)| path).ok_or(need.install))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{NEEDS, State, Versioned, chosen};

    /// What is shown of each language on a machine with these programs.
    fn shown(programs: &[&str]) -> Vec<String> {
        let find = |program: &str| programs.contains(&program).then(|| Path::new("/bin").join(program));
        let found = NEEDS.iter().map(|need| chosen(need, find));
        found.map(|(languages, _, path)| format!("{languages}: {:?}", path.unwrap_or_else(PathBuf::from))).collect()
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
        assert_eq!(with_python[2], "go; `wharf build --install` gets its compiler by Python: \"/bin/python3\"");
        assert_eq!(with_python[3], "c, cpp; `wharf build --install` gets their compiler by Python: \"/bin/python3\"");
        assert_eq!(shown(&[])[2], "go: \"apt-get install -y python3-venv\"");
    }

    #[test]
    fn versions_are_compared_with_the_oldest() {
        let judged = |program: &str, printed: &str| {
            let state = Versioned::of(program).expect(program).judged("/p".into(), printed);
            match state {
                State::Ready { version, .. } => version,
                State::Outdated { version, needed, .. } => format!("{version}, not {needed}"),
                State::Unknown { argument, .. } => format!("? {argument}"),
                State::Missing(install) => install.to_owned(),
            }
        };
        for (program, printed, expected) in [
            ("node", "v16.0.0\n", "16.0.0, not Node.js 20"),
            ("node", "v20.0.0\n", "20.0.0"),
            ("python3", "Python 3.9.18\n", "3.9.18, not Python 3.10"),
            ("python3", "Python 3.10.0rc1\n", "3.10.0"),
            ("go", "go version go1.27.3 linux/amd64\n", "1.27.3"),
            ("go", "go version go1.9 linux/amd64\n", "1.9, not Go 1.27"),
            ("clang-19", "Debian clang version 19.1.7 (3)\nTarget: x\n", "19.1.7"),
            ("rustc", "rustc 2.0.0-nightly (4d9f6f6 2026-01-01)\n", "2.0.0"),
            ("rustc", "rustc 1.94.1\n", "1.94.1, not Rust 1.95"),
            ("zig", "0.17.0\n", "0.17.0"),
            ("go", "no such thing\n", "? version"),
        ] {
            assert_eq!(judged(program, printed), expected, "{printed}");
        }
    }
}
