//! Revisions, capabilities, `_meta`, errors, cursors and results.

use serde::Serialize;
use serde_json::json;

use super::{ALL, parsed, raw, read, reason};
use crate::json::Raw;
use crate::jsonrpc::encode::UnreadableId;
use crate::protocol::cursor::{Cursor, ListKind};
use crate::protocol::meta::{is_reserved, parse_legacy, unreserved};
use crate::protocol::nearest::{did_you_mean, near, nearest};
use crate::protocol::result::{self, CacheScope, Caching, Empty, Envelope, ResultType};
use crate::protocol::revision::StructuredContent;
use crate::protocol::{Ask, ClientCapabilities, Implementation, Level, Revision, ServerCapabilities};
use crate::protocol::{discover, error, initialize};

fn server() -> Implementation {
    Implementation {
        name: "wharf".to_owned(),
        version: "0.1.0".to_owned(),
        title: Some("Wharf".to_owned()),
        description: Some("d".to_owned()),
        website_url: None,
    }
}

#[test]
fn each_revision_allows_what_its_specification_says() {
    // Rows: what; columns: the five revisions.
    type Has = fn(Revision) -> bool;
    let table: [(&str, Has, &str); 11] = [
        ("batch", |r| r.allows_batch(), "yy..."),
        ("null id", |r| r.unreadable_id() == UnreadableId::Null, "yyy.."),
        ("annotations", |r| r.has_tool_annotations(), ".yyyy"),
        ("title", |r| r.has_title(), "..yyy"),
        ("icons", |r| r.has_icons(), "...yy"),
        ("arguments are results", |r| r.invalid_arguments_are_results(), "...yy"),
        ("audio", |r| r.has_audio(), ".yyyy"),
        ("resource link", |r| r.has_resource_link(), "..yyy"),
        ("object content", |r| r.structured_content() == StructuredContent::Object, "..yy."),
        ("any content", |r| r.structured_content() == StructuredContent::Any, "....y"),
        ("result type", |r| r.has_result_type(), "....y"),
    ];
    for (what, has, expected) in table {
        let found: String = ALL.map(|revision| if has(revision) { 'y' } else { '.' }).iter().collect();
        assert_eq!(found, expected, "{what}");
    }
    for revision in ALL {
        assert_eq!(Revision::parse(revision.as_str()), Some(revision));
    }
    assert!(ALL.is_sorted());
    assert_eq!(Revision::parse("v999.0.0"), None);
}

#[test]
fn declared_capabilities_allow_their_features() {
    use Ask::*;
    let r3 = Revision::V2025_06_18;
    let r4 = Revision::V2025_11_25;
    for (revision, json, expected) in [
        (r4, "{}", vec![]),
        (r4, r#"{"roots":{"listChanged":true},"sampling":{}}"#, vec![Roots, Sampling]),
        (r4, r#"{"elicitation":{}}"#, vec![ElicitationForm]),
        (r4, r#"{"elicitation":{"url":{}}}"#, vec![ElicitationUrl]),
        (r4, r#"{"elicitation":{"form":{},"url":{}}}"#, vec![ElicitationForm, ElicitationUrl]),
        (r3, r#"{"elicitation":{"url":{}}}"#, vec![ElicitationForm]),
        (Revision::V2025_03_26, r#"{"elicitation":{}}"#, vec![]),
        (r4, r#"{"sampling":{"tools":{},"context":{}}}"#, vec![Sampling, SamplingTools, SamplingContext]),
        (r3, r#"{"sampling":{"tools":{}}}"#, vec![Sampling]),
        (r4, r#"{"roots":null,"tasks":7,"extensions":{"x/y":{}}}"#, vec![]),
    ] {
        let capabilities = ClientCapabilities::parse(revision, raw(json).unwrap(), "p").unwrap();
        let allowed: Vec<Ask> = Ask::ALL.into_iter().filter(|ask| capabilities.allows(*ask)).collect();
        assert_eq!(allowed, expected, "{revision} {json}");
    }
    // What an error reports as required is sufficient.
    for ask in Ask::ALL {
        let required = ask.required().to_string();
        let capabilities = ClientCapabilities::parse(r4, raw(&required).unwrap(), "p").unwrap();
        assert!(capabilities.allows(ask), "{ask:?}");
    }
}

#[test]
fn reserved_keys_are_hidden_from_plugins() {
    for (key, expected) in [
        ("wharf/fault", "yyyyy"),
        ("progressToken", "yyyyy"),
        ("io.modelcontextprotocol/serverInfo", "yyyyy"),
        ("com.mcp/x", "yyyyy"),
        ("tools.mcp.com/x", "yyyyy"),
        ("mcp.dev/x", "yyy.."),
        ("modelcontextprotocol.io/x", "yyy.."),
        ("com.example.mcp/x", "....."),
        ("com.example/x", "....."),
        ("traceparent", "....."),
        ("ui", "....."),
        ("", "....."),
    ] {
        let found: String = ALL.map(|revision| if is_reserved(revision, key) { 'y' } else { '.' }).iter().collect();
        assert_eq!(found, expected, "{key}");
    }
    let (token, rest) = parse_legacy(
        Revision::V2025_06_18,
        &read(r#"{"_meta":{"progressToken":"\u0061","a\"b":[1, 2],"mcp.dev/x":1,"n":1e400}}"#),
    )
    .unwrap();
    assert_eq!(token.unwrap().as_json(), r#""\u0061""#);
    assert_eq!(rest, r#"{"a\"b":[1, 2],"n":1e400}"#);
    assert!(unreserved(Revision::V2025_06_18, "[]").is_err());
}

#[test]
fn errors_have_suggestions_and_are_bounded() {
    let names: Vec<String> = (0..50).map(|number| format!("tool_{number}")).chain(["weather".to_owned()]).collect();
    let unknown = error::unknown_tool("wether", names.iter().map(String::as_str));
    let data = unknown.data.unwrap();
    assert_eq!(
        (unknown.code, &data["toolName"], &data["availableTools"][0]),
        (-32602, &json!("wether"), &json!("weather"))
    );
    assert_eq!(data["availableTools"].as_array().unwrap().len(), 20);
    for revision in ALL {
        let code = if revision.is_modern() { -32602 } else { -32002 };
        let missing = error::resource_not_found(revision, "a:b");
        assert_eq!((missing.code, &missing.data.unwrap()["uri"]), (code, &json!("a:b")));
    }
    let version = error::unsupported_version("2025-11-25");
    assert_eq!(version.code, -32022);
    assert_eq!(version.data.unwrap()["supported"], json!(["2026-07-28"]));
    let capability = error::missing_client_capability(Ask::Sampling);
    assert_eq!(capability.code, -32021);
    assert_eq!(capability.data.unwrap()["requiredCapabilities"], json!({ "sampling": {} }));
    let long = "é".repeat(1 << 20);
    assert!(error::unknown_tool(&long, []).to_json().len() < 2048);
    assert!(error::method_not_found(Revision::V2025_11_25, &long).to_json().len() < 2048);
    let missing = error::resource_not_found(Revision::V2026_07_28, &long);
    assert_eq!(missing.data.unwrap()["uri"], json!(format!("{}…", "é".repeat(256))));
}

#[test]
fn only_near_names_are_suggested() {
    let names = ["notes_add", "notes_list", "survey_ask", "text_hash", "text_regex_find", "time_now"];
    for (name, expected) in [
        ("hash", &["text_hash"][..]),
        ("hsh", &["text_hash"]),
        ("text_hsah", &["text_hash"]),
        ("notes", &["notes_add", "notes_list"]),
        ("Time_Now", &["time_now"]),
        ("regex_find", &["text_regex_find"]),
        ("a", &[]),
        ("notes://1", &[]),
        ("something_else", &[]),
        ("", &[]),
    ] {
        assert_eq!(near(name, names, 5), expected, "{name}");
    }
}

#[test]
fn nearest_is_deterministic() {
    let names = ["delete_file", "read_file", "write_file", "list"];
    assert_eq!(nearest("raed_file", names, 2), ["read_file", "write_file"]);
    let mut reversed = names;
    reversed.reverse();
    assert_eq!(nearest("x", names, 9), nearest("x", reversed, 9));
    assert_eq!(did_you_mean("Read_File", names), Some("read_file"));
    assert_eq!(did_you_mean("zzz", names), None);
    assert_eq!(did_you_mean("a", []), None);
}

#[test]
fn a_cursor_is_valid_for_one_list_and_key() {
    let (key, other) = ([7; 32], [8; 32]);
    let cursor = Cursor { kind: ListKind::Tools, list: u64::MAX - 1, offset: 100 };
    let text = cursor.encode(&key);
    assert_eq!(text.len(), 43);
    let decode = |text: &str, key, kind, list| Cursor::decode(text, key, kind, list);
    assert_eq!(decode(&text, &key, ListKind::Tools, u64::MAX - 1), Ok(100));
    for refused in [
        decode(&text, &other, ListKind::Tools, u64::MAX - 1),
        decode(&text, &key, ListKind::Prompts, u64::MAX - 1),
        decode(&text, &key, ListKind::Tools, 5),
        decode("", &key, ListKind::Tools, u64::MAX - 1),
        decode(&text[1..], &key, ListKind::Tools, u64::MAX - 1),
        decode(&format!("{text}="), &key, ListKind::Tools, u64::MAX - 1),
        decode(&"é".repeat(22)[..42], &key, ListKind::Tools, 0),
    ] {
        let error = refused.unwrap_err();
        assert_eq!((error.code, reason(&error)), (-32602, "invalid_cursor"));
    }
    for at in 0..text.len() {
        let mut forged = text.clone().into_bytes();
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).unwrap();
        assert!(decode(&forged, &key, ListKind::Tools, u64::MAX - 1).is_err(), "{at}");
    }
}

#[test]
fn a_handshake_result_has_the_form_of_its_revision() {
    let capabilities = ServerCapabilities {
        tools: true,
        resources: true,
        resources_subscribe: true,
        list_changed: true,
        logging: true,
        completions: true,
        ..ServerCapabilities::default()
    };
    assert_eq!(
        initialize::result(Revision::V2024_11_05, &server(), &capabilities, None),
        r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}},"serverInfo":{"name":"wharf","version":"0.1.0"}}"#
    );
    let newest = parsed(&initialize::result(Revision::V2025_11_25, &server(), &capabilities, Some("do\nthis")));
    assert_eq!(
        newest["serverInfo"],
        json!({ "name": "wharf", "version": "0.1.0", "title": "Wharf", "description": "d" })
    );
    assert_eq!((&newest["instructions"], &newest["capabilities"]["completions"]), (&json!("do\nthis"), &json!({})));
    let caching = Caching { ttl_ms: 5, scope: CacheScope::Public };
    let discovered = parsed(&discover::result(Revision::V2026_07_28, &server(), &capabilities, None, caching).unwrap());
    assert_eq!(discovered["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(
        (&discovered["resultType"], &discovered["ttlMs"], &discovered["cacheScope"]),
        (&json!("complete"), &json!(5), &json!("public"))
    );
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "wharf");
    assert!(discovered.get("serverInfo").is_none());
}

#[test]
fn capabilities_that_plugins_declare_are_in_every_revision() {
    let settings = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let capabilities = ServerCapabilities {
        experimental: settings(json!({ "thing": {} })),
        extensions: settings(json!({ "vendor.example/a": { "n": 1 } })),
        ..ServerCapabilities::default()
    };
    for revision in super::ALL {
        assert_eq!(
            capabilities.to_json(revision),
            json!({ "experimental": { "thing": {} }, "extensions": { "vendor.example/a": { "n": 1 } } })
        );
        assert_eq!(ServerCapabilities::default().to_json(revision), json!({}));
    }
}

#[derive(Serialize)]
struct Tools {
    tools: Raw<'static>,
}

fn made(revision: Revision, members: &impl Serialize, envelope: Envelope<'_>) -> String {
    result::object(revision, &server(), members, envelope).unwrap()
}

#[test]
fn a_result_has_only_members_of_its_revision() {
    let r4 = Revision::V2025_11_25;
    let r5 = Revision::V2026_07_28;
    let list = Envelope { caching: Some(Caching::NONE), ..Envelope::default() };
    assert_eq!(made(r4, &Empty {}, Envelope::default()), "{}");
    assert_eq!(made(r4, &Tools { tools: Raw("[\n]") }, list), r#"{"tools":[]}"#);
    let modern = parsed(&made(r5, &Tools { tools: Raw("[]") }, list));
    let info = json!({ "name": "wharf", "version": "0.1.0", "title": "Wharf", "description": "d" });
    assert_eq!(
        modern,
        json!({ "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private", "_meta": { "io.modelcontextprotocol/serverInfo": info } })
    );
    let input = Envelope { result_type: ResultType::InputRequired, ..Envelope::default() };
    assert_eq!(parsed(&made(r5, &Empty {}, input))["resultType"], "input_required");
    let meta = Envelope {
        plugin_meta: Some(r#"{"ui":{"x":1},"io.modelcontextprotocol/serverInfo":{"name":"forged"}}"#),
        host_meta: &[("io.modelcontextprotocol/subscriptionId", Raw("\"7\""))],
        ..Envelope::default()
    };
    let expected = r#"{"_meta":{"ui":{"x":1},"io.modelcontextprotocol/subscriptionId":"7"}}"#;
    assert_eq!(made(r4, &Empty {}, meta), expected);
    assert_eq!(parsed(&made(r5, &Empty {}, meta))["_meta"]["io.modelcontextprotocol/serverInfo"], info);
}

#[test]
fn levels_are_ordered_by_severity() {
    assert!(Level::ALL.is_sorted());
    for level in Level::ALL {
        assert_eq!(Level::parse(level.as_str()), Some(level));
    }
    assert_eq!(Level::parse("warn"), None);
}
