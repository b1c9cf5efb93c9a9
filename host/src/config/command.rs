//! `[plugins.NAME.command]`: how a command-line program is described, and how what it prints is read.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wharf_report::ShowPath as _;

use crate::os::private;
use crate::plugin::CommandSettings;

/// Maximum bytes of a description: that of a tool, with its schema, has a lower limit.
const MAX_SIZE: u64 = 128 << 10;

#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CommandConfig {
    /// Output that is JSON is structured content.
    pub json: bool,
    /// The path of the file that describes the tool, checked with the configuration. It is never looked for: one in the
    /// plugin folder is of whoever wrote the plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl CommandConfig {
    /// The settings, with the file as it is now. `resolve` makes its path absolute.
    pub(super) fn settings(&self, resolve: impl Fn(&str) -> PathBuf) -> CommandSettings {
        let read = |path: &String| {
            let path = resolve(path);
            private::read_text(&path, MAX_SIZE).map(Arc::from).map_err(|error| format!("{error}: {}", path.shown()))
        };
        CommandSettings { json: self.json, tool: self.tool.as_ref().map(read) }
    }
}
