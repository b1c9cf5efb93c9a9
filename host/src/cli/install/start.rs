//! How a client starts the server.

use std::path::{Component, Path};

use wharf_report::{ShowPath as _, shell_word};

use crate::cli::options::Options;
use crate::report::Failure;

/// The option of the server that an entry repeats.
const CONFIG: &str = "--config";

pub(super) struct Start {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

impl Start {
    /// With absolute paths: clients start it in any folder, and often without the user's PATH.
    pub(super) fn of(options: &Options, dir: &Path, name: String) -> Result<Self, Failure> {
        let text = |path: &Path| {
            // Through a link, `..` leads elsewhere than the text says.
            let climbs = path.components().any(|part| part == Component::ParentDir);
            let found = climbs.then(|| std::fs::canonicalize(path).ok()).flatten();
            let path = found.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_owned());
            path.to_str().map(str::to_owned).ok_or_else(|| {
                Failure::usage(format!("write a path that is not UTF-8 into a configuration: {}", path.shown()))
            })
        };
        let program = std::env::current_exe().map_err(|error| Failure::new(format!("find this program: {error}")))?;
        let mut arguments = vec!["serve".to_owned(), text(dir)?];
        if let Some(config) = &options.config {
            arguments.extend([CONFIG.to_owned(), text(config)?]);
        }
        Ok(Self { name, program: text(&program)?, arguments })
    }

    pub(super) fn claude_code(&self) -> String {
        let words = [&self.program].into_iter().chain(&self.arguments);
        // A path that begins like an option is spelt otherwise; this one is an option.
        let word = |word: &String| if word == CONFIG { CONFIG.to_owned() } else { shell_word(word.as_ref()) };
        let words: Vec<String> = words.map(word).collect();
        format!("claude mcp add --scope user {} -- {}", self.name, words.join(" "))
    }
}

/// Whether it starts Wharf, itself or by its package, as `npx -y wharf-mcp serve` does.
pub(super) fn is_wharf(words: &[String]) -> bool {
    let is_program = |word: &String| Path::new(word).file_stem().is_some_and(|stem| stem == "wharf");
    let is_package = |word: &String| {
        let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ["wharf-mcp", "wharf-mcp.exe"].contains(&name.split('@').next().unwrap_or_default())
    };
    let is_named = |word: &String| !word.contains(['/', '\\']) && is_package(word);
    words.first().is_some_and(|word| is_program(word) || is_package(word)) || words.iter().any(is_named)
}
