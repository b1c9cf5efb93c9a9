//! The clients whose configuration is known, and its places and forms, as their makers document them: Claude Desktop
//! (modelcontextprotocol.io, "Connect to local MCP servers"), Claude Code (`claude mcp add --help`), Cursor
//! (cursor.com/docs, "MCP"), VS Code (code.visualstudio.com, "MCP configuration reference"), Gemini CLI
//! (docs/tools/mcp-server.md in its repository), Codex (developers.openai.com/codex/mcp).

use std::path::PathBuf;

use clap::ValueEnum;

use crate::config;
use crate::os::application_settings;
use crate::report::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    Gemini,
    Codex,
}

impl Client {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Whether its JSON may have comments.
    pub(super) fn takes_comments(self) -> bool {
        self != Self::ClaudeDesktop
    }
}

/// The key of the servers, in a JSON or TOML file.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// `"mcpServers"`
    Json,
    /// `"servers"`, each with its type
    VsCode,
    /// `[mcp_servers.NAME]`
    Toml,
}

impl Form {
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Json => "mcpServers",
            Self::VsCode => "servers",
            Self::Toml => "mcp_servers",
        }
    }
}

/// The file of a client; `None` for one that is configured by its own command.
pub(super) fn place(client: Client) -> Result<Option<(PathBuf, Form)>, Failure> {
    let unknown = || Failure::usage("find the client's configuration: no home folder");
    let home = || config::base().map(|base| base.home).ok_or_else(unknown);
    let settings = || application_settings().ok_or_else(unknown);
    Ok(Some(match client {
        Client::ClaudeCode => return Ok(None),
        Client::ClaudeDesktop => (settings()?.join("Claude/claude_desktop_config.json"), Form::Json),
        Client::Cursor => (home()?.join(".cursor/mcp.json"), Form::Json),
        Client::Vscode => (settings()?.join("Code/User/mcp.json"), Form::VsCode),
        Client::Gemini => (home()?.join(".gemini/settings.json"), Form::Json),
        Client::Codex => {
            let own = std::env::var_os("CODEX_HOME").filter(|own| !own.is_empty()).map(PathBuf::from);
            (own.map_or_else(|| Ok(home()?.join(".codex")), Ok)?.join("config.toml"), Form::Toml)
        }
    }))
}
