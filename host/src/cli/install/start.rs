//! How a client starts the server.

use std::path::Path;

use wharf_report::{ShowPath as _, shell_text};

use crate::cli::options::Options;
use crate::os::paths::absolute;
use crate::report::Failure;

pub(super) struct Start {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

impl Start {
    /// With absolute paths: clients start it in any folder, and often without the user's PATH.
    pub(super) fn of(options: &Options, dir: &Path, name: String) -> Result<Self, Failure> {
        let text = |path: &Path| {
            let path = absolute(path);
            path.to_str().map(str::to_owned).ok_or_else(|| {
                Failure::usage(format!("write a path that is not UTF-8 into a configuration: {}", path.shown()))
            })
        };
        let program = std::env::current_exe().map_err(|error| Failure::new(format!("find this program: {error}")))?;
        let mut arguments = vec!["serve".to_owned(), text(dir)?];
        if let Some(config) = &options.config {
            arguments.extend(["--config".to_owned(), text(config)?]);
        }
        Ok(Self { name, program: text(&program)?, arguments })
    }

    pub(super) fn claude_code(&self) -> String {
        let words = [&self.program].into_iter().chain(&self.arguments);
        let words: Vec<String> = words.map(|word| shell_text(word)).collect();
        format!("claude mcp add --scope user {} -- {}", self.name, words.join(" "))
    }
}

/// Programs that run that of a package, and what may be between them and the package, besides options.
const RUNNERS: [&str; 9] = ["bun", "bunx", "cmd", "npm", "npx", "pipx", "pnpm", "uv", "uvx"];
const SUBCOMMANDS: [&str; 7] = ["/c", "/C", "dlx", "exec", "run", "tool", "x"];

/// Whether it starts Wharf, itself or by its package, as `npx -y wharf-mcp serve` does.
pub(super) fn is_wharf(words: &[String]) -> bool {
    let is_program = |word: &String| Path::new(word).file_stem().is_some_and(|stem| stem == "wharf");
    let is_package = |word: &String| {
        let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ["wharf-mcp", "wharf-mcp.exe"].contains(&name.split('@').next().unwrap_or_default())
    };
    let is_ours = |word: &String| is_program(word) || is_package(word);
    let Some((program, rest)) = words.split_first() else { return false };
    let is_runner = |word: &String| {
        let stem = Path::new(word).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        RUNNERS.contains(&stem.to_ascii_lowercase().as_str())
    };
    let is_before = |word: &&String| word.starts_with('-') || SUBCOMMANDS.contains(&word.as_str()) || is_runner(word);
    is_ours(program) || is_runner(program) && rest.iter().find(|word| !is_before(word)).is_some_and(is_ours)
}

#[cfg(test)]
mod tests {
    use super::is_wharf;

    #[test]
    fn only_what_starts_wharf_is_wharf() {
        for (words, expected) in [
            ("/usr/bin/wharf serve /plugins", true),
            ("wharf.exe serve", true),
            ("wharf-mcp serve", true),
            ("npx -y wharf-mcp serve /plugins", true),
            ("npx.cmd -y wharf-mcp@0.1.0", true),
            ("cmd /c npx -y wharf-mcp", true),
            ("uvx wharf-mcp serve", true),
            ("uvx --from wharf-mcp wharf serve", true),
            ("uv tool run wharf-mcp", true),
            ("pnpm dlx wharf-mcp", true),
            ("npx -y other wharf-mcp", false),
            ("node server.js wharf-mcp", false),
            ("cat wharf", false),
            ("my-wharf serve", false),
            ("npx -y wharf-mcp-other", false),
            ("npx", false),
            ("", false),
        ] {
            let split: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            assert_eq!(is_wharf(&split), expected, "{words}");
        }
    }
}
