//! How the tool of a command-line program is described, and how what it prints is read.

use std::sync::Arc;

/// The settings of a command. They are part of the grants, so that a change of them lists the plugin again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandSettings {
    /// Whether output that is JSON becomes structured content.
    pub json: bool,
    /// The description of its tool, the text of a JSON object; or why it cannot be read.
    pub tool: Option<Result<Arc<str>, String>>,
}

impl CommandSettings {
    /// What of them decides what is listed; a part of the key of stored listings.
    pub(in crate::plugin) fn listing_key(&self) -> &str {
        match &self.tool {
            Some(Ok(text)) => text,
            _ => "",
        }
    }
}
