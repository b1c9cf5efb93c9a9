use super::*;

fn icon(theme: Option<IconTheme>) -> Icon {
    let sizes = vec!["48x48".into(), "any".into()];
    Icon { src: "https://example.org/i.png".into(), mime_type: Some("image/png".into()), sizes, theme }
}

fn annotations() -> Option<Annotations> {
    let last_modified = Some("2026-01-02T03:04:05Z".into());
    Some(Annotations { audience: vec![Role::User, Role::Assistant], priority: Some(0.5), last_modified })
}

/// Lists with every member.
fn full() -> Listed {
    let title = || Some("A title".to_owned());
    let meta = || Some(r#"{"vendor.example/a":1}"#.to_owned());
    let tool = |name: &str, task_support| Tool {
        name: name.into(),
        title: title(),
        description: Some("Describes.".into()),
        input_schema: r#"{"type":"object","properties":{"a":{"type":["string","null"]},"b":true}}"#.into(),
        output_schema: Some(r#"{"type":"object","properties":{"z":{"type":"integer"}}}"#.into()),
        annotations: Some(ToolAnnotations {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: None,
            open_world: Some(false),
        }),
        task_support,
        icons: vec![icon(Some(IconTheme::Dark)), icon(None)],
        meta: meta(),
    };
    let argument = |name: &str, required| PromptArgument {
        name: name.into(),
        title: title(),
        description: Some("Whom.".into()),
        required,
    };
    let capability = |name: &str| Capability { name: name.into(), settings: r#"{"a":[1]}"#.into() };
    Listed {
        skills: Default::default(),
        // Not sorted by name.
        tools: Some(vec![tool("b", TaskSupport::Optional), tool("a", TaskSupport::Required)]),
        resources: Some(vec![ResourceDescription {
            uri: "file:///a".into(),
            name: "r".into(),
            title: title(),
            description: Some("Holds.".into()),
            mime_type: Some("text/plain".into()),
            size: Some(u64::MAX),
            annotations: annotations(),
            icons: vec![icon(Some(IconTheme::Light))],
            meta: meta(),
        }]),
        templates: vec![ResourceTemplate {
            uri_template: "note://{id}".into(),
            name: "t".into(),
            title: title(),
            description: Some("Makes.".into()),
            mime_type: Some("text/plain".into()),
            annotations: annotations(),
            icons: Vec::new(),
            meta: meta(),
        }],
        prompts: Some(vec![Prompt {
            name: "greet".into(),
            title: title(),
            description: Some("Greets.".into()),
            arguments: vec![argument("who", true), argument("how", false)],
            icons: Vec::new(),
            meta: meta(),
        }]),
        completions: true,
        offer: Some(Offer {
            experimental: vec![capability("x")],
            extensions: vec![capability("vendor.example/y")],
            methods: vec!["m".into()],
        }),
        pages: [("ui://p/a".to_owned(), Digest::of(b"a"))].into(),
        schemas: SchemaStyle::Compatible,
    }
}

fn frozen(listed: Listed) -> Surface {
    let (surface, warnings) = listed.freeze().expect("a surface");
    assert_eq!(warnings, []);
    surface
}

#[test]
fn a_surface_is_read_as_it_was_stored() {
    let nothing = || Listed { templates: Vec::new(), offer: None, completions: false, ..Listed::default() };
    for listed in [full(), nothing(), Listed { tools: Some(Vec::new()), ..nothing() }] {
        let surface = frozen(listed);
        let read = frozen(Listed::of_stored(&surface.stored()).expect("lists"));
        assert_eq!(read.stored(), surface.stored());
        assert_eq!(read.digest(), surface.digest());
        assert_eq!(read.offer, surface.offer);
        assert_eq!(
            (read.tools.is_some(), read.resources.is_some()),
            (surface.tools.is_some(), surface.resources.is_some())
        );
    }
}

#[test]
fn other_texts_are_not_read() {
    let stored = frozen(full()).stored();
    for (from, to) in [
        ("\"completions\":true,", ""),
        ("\"taskSupport\":\"optional\"", "\"taskSupport\":\"other\""),
        ("\"theme\":\"dark\"", "\"theme\":\"blue\""),
        ("\"required\":true", "\"required\":1"),
        ("\"name\":\"a\"", "\"name\":7"),
        ("\"methods\":[", "\"methods\":[1,"),
    ] {
        assert!(stored.contains(from), "{from} in {stored}");
        assert!(Listed::of_stored(&stored.replacen(from, to, 1)).is_none(), "{to}");
    }
    for text in ["", "{}", "[]", "null", "{\"tools\":null"] {
        assert!(Listed::of_stored(text).is_none(), "{text}");
    }
}
