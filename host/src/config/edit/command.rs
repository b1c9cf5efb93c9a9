//! Names the file that describes the tool of a command.

use toml_edit::DocumentMut;

use super::{checked, set, table_of, with_line_ends};
use crate::config::ConfigError;
use crate::plugin::PluginId;

/// Sets `plugins.NAME.command.tool` in the text of a configuration.
///
/// # Errors
/// If the result is no valid configuration.
pub fn set_tool_file(text: &str, id: &PluginId, file: &str) -> Result<String, ConfigError> {
    let invalid = |why: String| ConfigError::new(why, None);
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| invalid(error.to_string()))?;
    let command = table_of(&mut document, id, "command")
        .ok_or_else(|| invalid(format!("[plugins.{id}.command] is not a table")))?;
    set(command, "tool", file.into());
    checked(with_line_ends(text, &document.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_the_file_stays() {
        let id = PluginId::parse("jq").expect("an id");
        let set = |text: &str| set_tool_file(text, &id, "jq.tool.json").expect("valid");
        assert_eq!(set(""), "[plugins.jq.command]\ntool = \"jq.tool.json\"\n");
        let with_comment = "[plugins.jq]\ncommand = { json = true } # mine\n";
        assert_eq!(set(with_comment), "[plugins.jq]\ncommand = { json = true, tool = \"jq.tool.json\" } # mine\n");
        let replaced = "[plugins.jq.command]\ntool = \"other\" # mine\n";
        assert_eq!(set(replaced), "[plugins.jq.command]\ntool = \"jq.tool.json\" # mine\n");
        set_tool_file("[plugins.jq]\ncommand = 1\n", &id, "x").expect_err("not a table");
    }
}
