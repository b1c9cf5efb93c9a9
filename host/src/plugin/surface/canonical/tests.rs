use super::super::{Listed, Surface};
use crate::plugin::abi::{
    Prompt, PromptArgument, ResourceDescription, ResourceTemplate, TaskSupport, Tool, ToolAnnotations,
};

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

fn surface(edit: impl FnOnce(&mut Listed)) -> Surface {
    let mut listed = Listed {
        tools: Some(vec![tool("a"), tool("b")]),
        resources: Some(vec![resource("file:///a")]),
        templates: vec![template()],
        prompts: Some(vec![prompt()]),
        completions: false,
        offer: None,
    };
    edit(&mut listed);
    let (surface, warnings) = listed.freeze().expect("a surface");
    assert_eq!(warnings, [""; 0]);
    surface
}

fn first(listed: &mut Listed) -> &mut Tool {
    listed.tools.as_mut().and_then(|tools| tools.first_mut()).expect("a tool")
}

#[test]
fn the_same_words_are_the_same_text() {
    let one = surface(|_| {});
    let canonical = one.canonical();
    assert!(canonical.contains(r#""description":"Describes.""#) && canonical.contains("Makes."), "{canonical}");
    let same: [fn(&mut Listed); 4] = [
        |_| {},
        |listed| listed.tools.as_mut().expect("tools").reverse(),
        |listed| {
            first(listed).input_schema = "{ \"properties\":{\"a\":{\"type\":\"string\"}},\n\"type\":\"object\"}".into();
        },
        // What a template makes is what the plugin keeps.
        |listed| listed.resources.as_mut().expect("resources").push(resource("note://7")),
    ];
    for edit in same {
        assert_eq!(surface(edit).digest(), one.digest());
    }
}

#[test]
fn any_other_word_is_another_text() {
    let others: [fn(&mut Listed); 14] = [
        |listed| first(listed).name = "c".into(),
        |listed| first(listed).title = None,
        |listed| first(listed).description = Some("Describes!".into()),
        |listed| first(listed).input_schema = r#"{"type":"object","properties":{"a":{"type":"number"}}}"#.into(),
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
