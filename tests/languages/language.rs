//! The languages, and how their own tests are run.

/// A language of `wharf new`. Commands are run by a shell in the folder of the project.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    /// The file of a new project that has the text of its greeting.
    pub(crate) source: &'static str,
    /// Runs a new project's own test.
    pub(crate) test: &'static str,
    /// The same for a sample.
    pub(crate) sample_test: &'static str,
    /// The wrapper's folder below `plugin-sdk/`, and the command for its tests. The crate is tested with
    /// the workspace; a wrapper of two languages is tested with one of them.
    pub(crate) wrapper: Option<(&'static str, &'static str)>,
}

const GO: &str = "export GOTOOLCHAIN=local GOFLAGS=-mod=mod; go vet ./... && go test ./...";

/// Fails also if the tests pass without a line that says so.
const MAKE: &str = "make test | grep -x 'the tests passed'";

pub(crate) const LANGUAGES: [Language; 7] = [
    Language {
        name: "rust",
        source: "src/lib.rs",
        test: "cargo test --quiet",
        sample_test: "cargo test --quiet",
        wrapper: None,
    },
    Language {
        name: "python",
        source: "plugin.py",
        test: "PATH=\".venv/bin:$PATH\" PYTHONPATH=wharf python3 -m unittest",
        sample_test: "PYTHONPATH=.:../../plugin-sdk/python python3 -m unittest discover -s tests",
        wrapper: Some(("python", "python3 -m unittest discover -s tests")),
    },
    Language {
        name: "typescript",
        source: "plugin.ts",
        test: "npm test",
        sample_test: "npm test",
        wrapper: Some(("typescript/test", "npm install --ignore-scripts --no-save --no-audit --no-fund && npm test")),
    },
    Language { name: "javascript", source: "plugin.js", test: "npm test", sample_test: "npm test", wrapper: None },
    Language { name: "go", source: "tools.go", test: GO, sample_test: GO, wrapper: Some(("go", GO)) },
    Language { name: "c", source: "src/plugin.c", test: MAKE, sample_test: MAKE, wrapper: Some(("c", MAKE)) },
    Language { name: "cpp", source: "src/plugin.cpp", test: MAKE, sample_test: MAKE, wrapper: None },
];
