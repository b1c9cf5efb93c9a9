use std::collections::BTreeMap;

use crate::plugin::abi::{
    Capability, Offer, Prompt, PromptArgument, ResourceDescription, ResourceTemplate, TaskSupport, Tool,
    ToolAnnotations,
};
use crate::plugin::surface::{Listed, SchemaStyle, Surface};

fn tool(name: &str) -> Tool {
    Tool {
        name: name.into(),
        title: Some("A title".into()),
        description: Some("Describes.".into()),
        input_schema: r#"{"type":"object","properties":{"a":{"type":"string"}}}"#.into(),
        output_schema: None,
        annotations: Some(ToolAnnotations {
            read_only: Some(true),
            destructive: None,
            idempotent: None,
            open_world: None,
        }),
        task_support: TaskSupport::Forbidden,
        icons: Vec::new(),
        meta: Some(r#"{"vendor.example/a":1}"#.into()),
    }
}

fn prompt() -> Prompt {
    let argument =
        PromptArgument { name: "who".into(), title: None, description: Some("Whom.".into()), required: true };
    let (title, description) = (None, Some("Greets.".into()));
    Prompt { name: "greet".into(), title, description, arguments: vec![argument], icons: Vec::new(), meta: None }
}

fn resource(uri: &str) -> ResourceDescription {
    ResourceDescription {
        uri: uri.into(),
        name: "r".into(),
        title: None,
        description: Some("Holds.".into()),
        mime_type: None,
        size: Some(1),
        annotations: None,
        icons: Vec::new(),
        meta: None,
    }
}

fn template() -> ResourceTemplate {
    ResourceTemplate {
        uri_template: "note://{id}".into(),
        name: "t".into(),
        title: None,
        description: Some("Makes.".into()),
        mime_type: None,
        annotations: None,
        icons: Vec::new(),
        meta: None,
    }
}

fn listed() -> Listed {
    Listed {
        skills: Default::default(),
        tools: Some(vec![tool("a"), tool("b")]),
        resources: Some(vec![resource("file:///a")]),
        templates: vec![template()],
        prompts: Some(vec![prompt()]),
        completions: false,
        offer: None,
        pages: BTreeMap::new(),
        schemas: SchemaStyle::default(),
    }
}

fn surface(edit: impl FnOnce(&mut Listed)) -> Surface {
    let mut listed = listed();
    edit(&mut listed);
    let (surface, warnings) = listed.freeze().expect("a surface");
    assert_eq!(warnings, []);
    surface
}

fn first(listed: &mut Listed) -> &mut Tool {
    listed.tools.as_mut().and_then(|tools| tools.first_mut()).expect("a tool")
}

#[test]
fn equal_surfaces_have_equal_digests() {
    let one = surface(|_| {});
    let canonical = one.canonical();
    assert!(canonical.contains(r#""description":"Describes.""#) && canonical.contains("Makes."), "{canonical}");
    let same: [fn(&mut Listed); 4] = [
        |_| {},
        |listed| listed.tools.as_mut().expect("tools").reverse(),
        |listed| {
            let text = "{ \"type\":\"object\",\n\"properties\":{\"\\u0061\":{\"type\":\"string\"}}}";
            first(listed).input_schema = text.into();
        },
        // A resource that matches a template is data.
        |listed| listed.resources.as_mut().expect("resources").push(resource("note://7")),
    ];
    for edit in same {
        assert_eq!(surface(edit).digest(), one.digest());
    }
}

#[test]
fn any_difference_changes_the_digest() {
    let others: [fn(&mut Listed); 15] = [
        |listed| first(listed).name = "c".into(),
        |listed| first(listed).title = None,
        |listed| first(listed).description = Some("Describes!".into()),
        |listed| first(listed).input_schema = r#"{"type":"object","properties":{"a":{"type":"number"}}}"#.into(),
        // Clients get and show the members in this order.
        |listed| first(listed).input_schema = r#"{"properties":{"a":{"type":"string"}},"type":"object"}"#.into(),
        |listed| first(listed).output_schema = Some(r#"{"type":"object"}"#.into()),
        |listed| first(listed).annotations = None,
        |listed| first(listed).task_support = TaskSupport::Optional,
        |listed| first(listed).meta = None,
        |listed| listed.tools.as_mut().expect("tools").push(tool("c")),
        |listed| listed.resources.as_mut().expect("resources").push(resource("file:///b")),
        |listed| listed.templates[0].description = Some("Makes more.".into()),
        |listed| listed.prompts.as_mut().expect("prompts")[0].arguments[0].description = None,
        |listed| listed.prompts.as_mut().expect("prompts")[0].description = None,
        |listed| listed.completions = true,
    ];
    let mut seen = vec![surface(|_| {}).digest()];
    for edit in others {
        let digest = surface(edit).digest();
        assert!(!seen.contains(&digest));
        seen.push(digest);
    }
}

/// An entry is dropped, by name, if clients could distinguish what the canonical text cannot.
#[test]
fn ambiguous_json_is_dropped() {
    let bad = [
        r#"{"type":"object","description":"one","description":"two"}"#,
        r#"{"type":"object","properties":{"a":{"title":"one","t\u0069tle":"two"}}}"#,
        r#"{"type":"object","properties":{"a":{"$serde_json::private::RawValue":"{}"}}}"#,
        r#"{"type":"object","\u0024serde_json::private::Number":"1"}"#,
        r#"{"type":"object","minProperties":1e9999}"#,
    ];
    for text in bad {
        let edits: [&dyn Fn(&mut Listed); 7] = [
            &|listed| first(listed).input_schema = text.into(),
            &|listed| first(listed).output_schema = Some(text.into()),
            &|listed| first(listed).meta = Some(text.into()),
            &|listed| listed.prompts.as_mut().expect("prompts")[0].meta = Some(text.into()),
            &|listed| listed.resources.as_mut().expect("resources")[0].meta = Some(text.into()),
            &|listed| listed.templates[0].meta = Some(text.into()),
            &|listed| {
                let declared = Capability { name: "vendor.example/x".into(), settings: text.into() };
                listed.offer = Some(Offer { experimental: vec![], extensions: vec![declared], methods: vec![] });
            },
        ];
        for (n, edit) in edits.into_iter().enumerate() {
            let mut listed = listed();
            edit(&mut listed);
            let (_, warnings) = listed.freeze().expect("a surface");
            assert!(
                matches!(&warnings[..], [why] if why.to_string().contains("read differently")),
                "{n}: {warnings:?} for {text}"
            );
        }
    }
    // Hidden characters too, verbatim or escaped.
    for hidden in ["a\u{202e}b", "\\u202e", "\\udb40\\udc41"] {
        let mut listed = listed();
        first(&mut listed).meta = Some(format!(r#"{{"a":["{hidden}"]}}"#));
        let (_, warnings) = listed.freeze().expect("a surface");
        assert!(
            matches!(&warnings[..], [why] if why.to_string().contains("its meta has an invisible")),
            "{warnings:?}"
        );
    }
}

/// JSON of the maximum depth, on half of the stack of the host's threads.
#[test]
fn the_deepest_listing_fits_a_small_stack() {
    let nested = |open: &str, levels: usize, close: &str| format!("{}1{}", open.repeat(levels), close.repeat(levels));
    let work = move || {
        let mut listed = listed();
        let tool = first(&mut listed);
        let inside = [nested("{\"b\":", 62, "}"), nested("[", 62, "]")];
        tool.input_schema = format!(r#"{{"type":"object","z":{},"default":{{"a":{}}}}}"#, inside[0], inside[1]);
        tool.meta = Some(nested("{\"b\":", 64, "}"));
        tool.output_schema = Some(r##"{"type":"object","additionalProperties":{"$ref":"#"}}"##.into());
        let (surface, warnings) = listed.freeze().expect("a surface");
        assert_eq!(warnings, []);
        assert!(surface.canonical().contains(&nested("{\"b\":", 64, "}")));
        let output = surface.tool("a").and_then(|tool| tool.output.as_ref()).expect("a schema");
        let deepest = "{\"b\":".repeat(126) + "{}" + &"}".repeat(126);
        assert_eq!(output.validate_text(&deepest), Ok(()));
        assert!(output.validate_text(&deepest.replace("{}", "7")).is_err());
        assert!(output.validate_text(&format!("[{deepest}]")).is_err());
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread").join().expect("no panic");
}
