use super::{Listed, ListingWarning, checks, extension};
use crate::plugin::abi::{Capability, Offer, Prompt, Tool};
use crate::plugin::error::LoadError;
use crate::plugin::schema::allowance::Allowance;
use crate::text::Leeway;

fn settings(text: &str) -> Result<String, String> {
    extension::settings(text, &mut Leeway::default())
}

#[test]
fn uris() {
    for good in ["file:///a", "note://x/1", "urn:a:b", "https://e.x/%20"] {
        assert_eq!(checks::uri(good), Ok(()), "{good}");
    }
    for bad in ["", "a b", "/path", "x", "http://[", "a:\n"] {
        assert!(checks::uri(bad).is_err(), "{bad}");
    }
}

#[test]
fn extension_names_have_a_prefix_of_their_owner() {
    for good in ["vendor.example/name", "a/b", "com.example.mcp/x", "a-b.c9/x_y.z-1", "io.modelcontextprotocol/ui"] {
        assert_eq!(extension::name(good), Ok(()), "{good}");
    }
    for bad in [
        "",
        "name",
        "/name",
        "vendor.example/",
        "vendor..example/x",
        "9a/x",
        "a-/x",
        "a/-x",
        "a/x_",
        "a/b/c",
        "a b/c",
        "io.modelcontextprotocol/tasks",
        "modelcontextprotocol.io/x",
        "mcp.dev/x",
        "com.mcp.tools/x",
        "a.b.mcp.c/x",
        "wharf/x",
    ] {
        assert!(extension::name(bad).is_err(), "{bad}");
    }
    assert!(extension::name(&format!("a/{}", "x".repeat(127))).is_err());
}

#[test]
fn settings_are_objects_that_the_schema_allows() {
    assert_eq!(settings("{\n\"a\": [1, \"x\", {}]}"), Ok(r#"{"a":[1,"x",{}]}"#.into()));
    for bad in ["", "[]", "1", "{", r#"{"a":1.5}"#, r#"{"a":[1e3]}"#, r#"{"a":null}"#, r#"{"a":99999999999999999999}"#]
    {
        assert!(settings(bad).is_err(), "{bad}");
    }
    assert!(settings(&format!(r#"{{"a":"{}"}}"#, "x".repeat(8 << 10))).is_err());
}

#[test]
fn invalid_parts_of_an_offer_are_dropped_alone() {
    let capability = |name: &str, settings: &str| Capability { name: name.into(), settings: settings.into() };
    let offer = Offer {
        experimental: vec![
            capability("any.thing/goes-1", "{}"),
            capability("with space", "{}"),
            capability(&"x".repeat(65), "{}"),
        ],
        extensions: vec![
            capability("vendor.example/a", "{}"),
            capability("vendor.example/a", "{}"),
            capability("vendor.example/b", "1"),
            capability("unprefixed", "{}"),
        ],
        methods: ["echo", "echo", "a/b", ""].map(str::to_owned).into(),
    };
    let listed = |offer| Listed { offer: Some(offer), ..Listed::default() };
    let (surface, warnings) = listed(offer).freeze().expect("a surface");
    let kept = Offer {
        experimental: vec![capability("any.thing/goes-1", "{}")],
        extensions: vec![capability("vendor.example/a", "{}")],
        methods: vec!["echo".into()],
    };
    assert_eq!(surface.offer, Some(kept));
    assert_eq!(warnings.len(), 8, "{warnings:#?}");
    let taken =
        |warning: &ListingWarning| warning.to_string() == "dropped the method 'echo': the name is already in use";
    assert!(warnings.iter().any(taken), "{warnings:#?}");

    let methods = (0..33).map(|n| format!("m{n}")).collect();
    let many = listed(Offer { experimental: Vec::new(), extensions: Vec::new(), methods }).freeze();
    assert!(matches!(many, Err(LoadError::ListingTooLarge { limit: 32, .. })));
}

/// How many of a hundred prompts with these descriptions are kept.
fn kept(description: impl Fn(usize) -> String) -> usize {
    let prompt = |n| Prompt {
        name: format!("p{n}"),
        title: None,
        description: Some(description(n)),
        arguments: Vec::new(),
        icons: Vec::new(),
        meta: None,
    };
    let listed = Listed { prompts: Some((0..100).map(prompt).collect()), ..Listed::default() };
    let (surface, warnings) = listed.freeze().expect("a surface");
    let kept = surface.prompts.map_or(0, |prompts| prompts.len());
    assert_eq!(kept + warnings.len(), 100);
    kept
}

#[test]
fn the_entries_of_a_listing_share_one_leeway() {
    // French typography, and a star as phones write it.
    assert_eq!(kept(|n| format!("Fichier {n}\u{a0}: ouvrir\u{202f}? «\u{a0}Oui\u{a0}» ⚠\u{fe0f} ⭐\u{fe0f}")), 100);
    // Two choices each, of 32 in all.
    assert_eq!(kept(|_| "one\u{a0}two\u{2009}three".into()), 16);
    // An entry that is dropped, for more than eight choices, uses up none.
    let many = "one\u{a0}two\u{2009}three ".repeat(5);
    assert_eq!(kept(|n| if n < 50 { many.clone() } else { "one\u{a0}two".into() }), 32);
    // Which entries have a plain space is a choice, too: 50 plain ones, the first other one, and 32 more.
    assert_eq!(kept(|n| format!("Fichier{}: ouvrir", if n % 2 == 0 { ' ' } else { '\u{a0}' })), 83);
}

#[test]
fn a_listing_that_was_not_in_time_is_refused_as_a_whole() {
    let listed = || Listed { tools: Some(vec![Tool::new("one", r#"{"type":"object"}"#)]), ..Listed::default() };
    let (surface, warnings) = listed().freeze_within(Allowance::new()).expect("a surface");
    assert!(surface.tool("one").is_some() && warnings.is_empty(), "{warnings:?}");
    assert_eq!(listed().freeze_within(Allowance::late()).expect_err("late"), LoadError::ListingTimeout);
}
