//! What differs between languages: how their own tests are run.

/// A language of `wharf new`.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    /// Runs a new project's own test, in its folder, given to a shell.
    pub(crate) test: &'static str,
    /// The wrapper's folder below `plugin-sdk/`, and what runs its tests there. The crate is tested
    /// with the workspace, and where two languages share a wrapper it is tested with one.
    pub(crate) wrapper: Option<(&'static str, &'static str)>,
}

pub(crate) const LANGUAGES: [Language; 7] = [
    Language { name: "rust", test: "cargo test --quiet", wrapper: None },
    Language {
        name: "python",
        test: "PYTHONPATH=wharf python3 -m unittest",
        wrapper: Some(("python", "python3 -m unittest discover -s tests")),
    },
    Language {
        name: "typescript",
        test: "npm test",
        wrapper: Some(("typescript", "npm ci --ignore-scripts && npm test")),
    },
    Language { name: "javascript", test: "npm test", wrapper: None },
    Language {
        name: "go",
        test: "GOTOOLCHAIN=local GOFLAGS=-mod=mod go test ./...",
        wrapper: Some(("go", "go test ./...")),
    },
    Language { name: "c", test: "make test", wrapper: Some(("c", "make test")) },
    Language { name: "cpp", test: "make test", wrapper: None },
];
