//! The tool of a command: as the configuration describes it, or as any command is.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::given::MAX_ARGUMENTS;
use crate::json;
use crate::plugin::abi::{Tool, ToolAnnotations};
use crate::plugin::policy::command::CommandSettings;
use crate::plugin::surface::FrozenTool;

/// The name of each command's tool, which is shown after the plugin's.
pub const NAME: &str = "run";

const DESCRIPTION: &str = "Runs a command-line program and returns what it prints to its standard output. `args` are its \
                           arguments, one string for each and without a shell; [\"--help\"] prints how most programs \
                           are used. `stdin` is its standard input.";

/// What a file of the configuration says of the tool, with the members of MCP's `Tool`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Description {
    title: Option<String>,
    description: Option<String>,
    input_schema: Option<Box<RawValue>>,
    annotations: Option<Annotations>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

/// The tool of a command with these settings.
///
/// # Errors
/// What is wrong with what the configuration says, as a fragment.
pub(super) fn described(settings: &CommandSettings) -> Result<Tool, String> {
    let text = settings.tool.clone().transpose()?;
    let given: Description = match &text {
        Some(text) if json::Kind::of_text(text) != json::Kind::Object => return Err("it is not a JSON object".into()),
        Some(text) => json::read(text).map_err(|error| error.to_string())?,
        None => Description::default(),
    };
    let schema = given.input_schema.map_or_else(input_schema, |schema| schema.get().to_owned());
    let tool = Tool {
        title: given.title,
        description: Some(given.description.unwrap_or_else(|| DESCRIPTION.to_owned())),
        annotations: given.annotations.map(|hints| ToolAnnotations {
            read_only: hints.read_only_hint,
            destructive: hints.destructive_hint,
            idempotent: hints.idempotent_hint,
            open_world: hints.open_world_hint,
        }),
        ..Tool::new(NAME, schema)
    };
    // A tool that is not valid would only be left out of the list.
    FrozenTool::freeze(tool.clone())?;
    Ok(tool)
}

fn input_schema() -> String {
    format!(
        r#"{{"type":"object","properties":{{"args":{{"type":"array","items":{{"type":"string"}},"maxItems":{MAX_ARGUMENTS},"description":"The arguments, without the name of the program"}},"stdin":{{"type":"string","description":"The standard input; empty if absent"}}}},"required":["args"],"additionalProperties":false}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<Tool, String> {
        described(&CommandSettings { json: false, tool: Some(Ok(text.into())) })
    }

    #[test]
    fn a_command_is_described_without_a_file() {
        let tool = described(&CommandSettings::default()).expect("valid");
        assert_eq!((tool.name.as_str(), tool.description.as_deref()), (NAME, Some(DESCRIPTION)));
    }

    #[test]
    fn a_file_describes_the_tool() {
        let tool = with(
            r#"{"title":"jq","description":"Filters JSON.","inputSchema":{"type":"object","required":["stdin"]},
                "annotations":{"readOnlyHint":true}}"#,
        );
        let tool = tool.expect("valid");
        assert_eq!((tool.title.as_deref(), tool.description.as_deref()), (Some("jq"), Some("Filters JSON.")));
        assert_eq!(tool.input_schema, r#"{"type":"object","required":["stdin"]}"#);
        assert_eq!(tool.annotations.expect("some").read_only, Some(true));
        assert_eq!(with("{}").map(|tool| tool.description), Ok(Some(DESCRIPTION.to_owned())));
    }

    #[test]
    fn a_wrong_description_is_refused() {
        for wrong in ["", "[]", r#"{"name":"x"}"#, r#"{"inputSchema":{"type":"array"}}"#, r#"{"inputSchema":7}"#] {
            with(wrong).expect_err(wrong);
        }
        let long = format!(r#"{{"description":"{}"}}"#, "x".repeat(3 << 10));
        with(&long).expect_err("a description over its limit");
        let unread = CommandSettings { json: false, tool: Some(Err("no such file".into())) };
        assert_eq!(described(&unread).map(|_| ()), Err("no such file".into()));
    }
}
