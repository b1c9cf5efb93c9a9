//! Tools for every kind of content and result.

use wharf_plugin::*;

use crate::{PIXEL, SILENCE};

pub(crate) fn add(tools: &mut Tools) {
    other_than_objects(tools);
    tools
        .add("test_simple_text", "Gives a text.", |_, _: NoArguments| Ok("This is a simple text response for testing."))
        .title("Simple text")
        .read_only()
        .icon(Icon::new("https://example.org/light.png").mime_type("image/png").size("48x48").theme(IconTheme::Light))
        .meta(&json!({ "example.org/first": true }));
    tools.add("test_image_content", "Gives a picture.", |_, _: NoArguments| Ok(Content::image(PIXEL, "image/png")));
    tools.add("test_audio_content", "Gives a sound.", |_, _: NoArguments| Ok(Content::audio(SILENCE, "audio/wav")));
    tools.add("test_embedded_resource", "Gives a resource with its contents.", |_, _: NoArguments| {
        let text = "This is an embedded resource content.";
        Ok(Content::embedded(ResourceContents::text("test://embedded-resource", text).mime_type("text/plain")))
    });
    tools.add("test_embedded_blob", "Gives a resource of bytes.", |_, _: NoArguments| {
        Ok(Content::embedded(ResourceContents::bytes("test://embedded-blob", PIXEL).mime_type("image/png")))
    });
    tools.add("test_resource_link", "Gives a link to a resource.", |_, _: NoArguments| {
        let link = Resource::new("test://static-text", "Static text").title("A text").mime_type("text/plain").size(48);
        Ok(Content::link(link.description("A text that never changes")))
    });
    tools.add("test_multiple_content_types", "Gives a text, a picture and a resource.", |_, _: NoArguments| {
        let json = json!({ "test": "data", "value": 123 }).to_string();
        Ok(vec![
            Content::text("Multiple content types test:"),
            Content::image(PIXEL, "image/png"),
            Content::embedded(
                ResourceContents::text("test://mixed-content-resource", json).mime_type("application/json"),
            ),
        ])
    });
    tools.add("test_annotated_content", "Gives content with annotations and metadata.", |_, _: NoArguments| {
        let meta = json!({ "example.org/number": 1 });
        let text = Content::text("for the user").audience([Role::User]).priority(1.0).meta(&meta);
        let picture = Content::image(PIXEL, "image/png").last_modified("2026-11-20T10:00:00Z").meta(&meta);
        let link = Content::link(Resource::new("test://static-text", "Static text")).audience([Role::Assistant]);
        Ok(ToolResult::new([text, picture, link]).meta(&json!({ "example.org/result": "annotated" })))
    });
    tools
        .add("test_structured_content", "Gives an object with a schema.", |_, args: Structured| {
            Ok(Json(Measured { length: args.text.chars().count(), text: args.text, note: None }))
        })
        .read_only();
    tools.add("test_structured_and_text", "Gives an object and a text beside it.", |_, args: Structured| {
        let length = args.text.chars().count();
        Ok((Json(Measured { length, text: args.text, note: Some("beside".into()) }), "beside the object"))
    });
    tools
        .add("test_wrong_structure", "Gives an object that its own schema refuses.", |_, _: NoArguments| {
            ToolResult::json(&json!({ "length": "long" }))
        })
        .output_schema(r#"{"type":"object","properties":{"length":{"type":"integer"}},"required":["length"]}"#);
    tools.add("test_empty", "Gives nothing.", |_, _: NoArguments| Ok(()));
    tools.add("test_error_handling", "Fails.", |_, _: NoArguments| {
        Err::<(), _>(Error::failed("This tool intentionally returns an error for testing"))
    });
    tools.add("test_error_result", "Fails with content of its own.", |_, _: NoArguments| {
        Ok(ToolResult::text("2 of 3 copied").failed())
    });
    tools.add("test_invalid_input", "Refuses its argument.", |_, _: Structured| {
        Err::<(), _>(Error::invalid("/text", "must be something else"))
    });
    tools
        .add("test_destructive", "Says of itself that it destroys.", |_, _: NoArguments| Ok("destroyed"))
        .destructive(true)
        .idempotent(false)
        .open_world(true);
    tools
        .add("test_custom_header", "Takes an argument that may come in a header.", |_, args: Header| Ok(args.value))
        .input_schema(
            r#"{"type":"object","properties":{"value":{"type":"string","x-mcp-header":"Value"}},"required":["value"]}"#,
        );
    tools
        .add("json_schema_2020_12_tool", "Has an input schema that must arrive as it is.", |_, args: Value| {
            Ok(args.to_string())
        })
        .input_schema(include_str!("schema.json").trim_end());
}

/// Structured content that older revisions have no place for.
fn other_than_objects(tools: &mut Tools) {
    tools
        .add("test_list", "Gives a list with a schema.", |_, _: NoArguments| ToolResult::json(&[1, u128::MAX]))
        .output_schema(
            r##"{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer","minimum":0}}}"##,
        );
    tools
        .add("test_failed_list", "Fails, with a list.", |_, _: NoArguments| Ok(ToolResult::json(&["half"])?.failed()))
        .output_schema(r#"{"type":"array","items":{"type":"string"},"minItems":2}"#);
    tools
        .add("test_null", "Gives null with a schema.", |_, _: NoArguments| ToolResult::json(&()))
        .output_schema(r#"{"type":"null"}"#);
    tools
        .add("test_tree", "Gives a list of lists.", |_, _: NoArguments| ToolResult::json(&json!([[], [[]]])))
        .output_schema(r##"{"type":"array","items":{"$ref":"#"}}"##);
    tools.add("test_bare_list", "Gives a list without a schema.", |_, _: NoArguments| ToolResult::json(&[3, 1, 2]));
    tools.add("test_ordered", "Gives an object without a schema.", |_, _: NoArguments| {
        ToolResult::json(&Ordered { z: u128::MAX, a: [0.5] })
    });
}

#[derive(Serialize)]
struct Ordered {
    z: u128,
    a: [f64; 1],
}

#[derive(Deserialize, JsonSchema)]
struct Structured {
    /// Any text.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Measured {
    /// The text again.
    text: String,
    /// How many characters it has.
    length: usize,
    /// What is to be said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Header {
    value: String,
}
