//! Which era a message belongs to: every row of the two tables.

use super::{read, reason};
use crate::jsonrpc::{Frame, Message, decode};
use crate::protocol::Revision;
use crate::protocol::era::{self, PostKind, Verdict};
use crate::protocol::meta::LastMeta;

const META: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;

fn meta(version: &str, capabilities: &str, more: &str) -> String {
    format!(
        r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":{version},"io.modelcontextprotocol/clientCapabilities":{capabilities}{more}}}}}"#
    )
}

fn shown(verdict: Verdict) -> String {
    match verdict {
        Verdict::Modern(revision, meta) => {
            assert_eq!(revision.as_str(), meta.version);
            "modern".to_owned()
        }
        Verdict::Initialize => "initialize".to_owned(),
        Verdict::Legacy(revision) => format!("legacy {revision}"),
        Verdict::Ping => "ping".to_owned(),
        Verdict::Error(error) => format!("{} {}", error.code, reason(&error)),
    }
}

#[test]
fn each_line_is_classified_separately() {
    let legacy = Some(Revision::V2025_06_18);
    let unknown = meta("\"v999.0.0\"", "{}", "");
    let handshake_only = meta("\"2025-11-25\"", "{}", "");
    let mut last = LastMeta::default();
    for (method, params, state, expected) in [
        ("tools/list", META, None, "modern"),
        ("tools/list", META, legacy, "modern"),
        ("initialize", META, None, "modern"),
        ("ping", META, legacy, "modern"),
        ("tools/list", &unknown, None, "-32022 unsupported_protocol_version"),
        ("tools/list", &handshake_only, legacy, "-32022 unsupported_protocol_version"),
        ("initialize", "{}", None, "initialize"),
        ("initialize", "", legacy, "initialize"),
        ("tools/list", "{}", legacy, "legacy 2025-06-18"),
        ("ping", "", legacy, "legacy 2025-06-18"),
        ("server/discover", "", legacy, "legacy 2025-06-18"),
        ("ping", "", None, "ping"),
        ("ping", r#"{"_meta":{"progressToken":1}}"#, None, "ping"),
        ("tools/list", "", None, "-32602 missing_meta"),
        ("tools/list", "null", None, "-32602 missing_meta"),
        ("tools/list", "[1]", None, "-32602 missing_meta"),
        ("server/discover", "{}", None, "-32602 missing_meta"),
        ("tools/list", r#"{"_meta":{}}"#, None, "-32602 missing_meta"),
        ("tools/list", r#"{"_meta":null}"#, None, "-32602 missing_meta"),
        ("tools/list", r#"{"_meta":5}"#, None, "-32602 invalid_params"),
        ("tools/list", r#"{"_meta":[]}"#, legacy, "-32602 invalid_params"),
        ("tools/list", r#"{"_meta":{},"_meta":{}}"#, legacy, "-32602 invalid_params"),
    ] {
        assert_eq!(shown(era::request(method, &read(params), &mut last, state)), expected, "{method} {params}");
    }
}

/// Classifies a request over HTTP: first its handler, then by that handler.
fn posted(method: &str, params: &str, last: &mut LastMeta, header: Option<&str>, state: Option<Revision>) -> Verdict {
    let params = if params.is_empty() { "null" } else { params };
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let frame = decode(line.as_bytes()).unwrap();
    match era::post_kind(&frame, header) {
        PostKind::Stateless => era::stateless(method, &read(params), last, header),
        PostKind::Handshake | PostKind::InSession => era::handshake(method, state),
        PostKind::Refused(invalid) => Verdict::Error(invalid.error),
    }
}

#[test]
fn a_post_is_classified_with_its_header() {
    let modern = Some("2026-07-28");
    let session = Some(Revision::V2025_11_25);
    let unknown = meta("\"v999.0.0\"", "{}", "");
    let mut last = LastMeta::default();
    for (method, params, header, state, expected) in [
        ("tools/list", META, modern, None, "modern"),
        ("initialize", META, modern, None, "modern"),
        ("tools/list", META, modern, session, "modern"),
        ("tools/list", META, None, None, "-32020 header_mismatch"),
        ("tools/list", META, Some("2025-11-25"), session, "-32020 header_mismatch"),
        ("tools/list", &unknown, modern, None, "-32020 header_mismatch"),
        ("tools/list", &unknown, Some("v999.0.0"), None, "-32022 unsupported_protocol_version"),
        ("tools/list", "{}", modern, None, "-32602 missing_meta"),
        ("initialize", "{}", modern, None, "-32602 missing_meta"),
        ("tools/list", "{}", Some("v999.0.0"), None, "-32022 unsupported_protocol_version"),
        ("initialize", "{}", Some("1.0"), None, "-32022 unsupported_protocol_version"),
        ("initialize", "{}", None, None, "initialize"),
        ("initialize", "{}", Some("2024-11-05"), None, "initialize"),
        ("tools/list", "{}", Some("2025-11-25"), session, "legacy 2025-11-25"),
        ("tools/list", "", None, session, "legacy 2025-11-25"),
        ("server/discover", "", None, None, "-32602 missing_meta"),
    ] {
        let verdict = posted(method, params, &mut last, header, state);
        assert_eq!(shown(verdict), expected, "{method} {params} {header:?}");
    }
}

#[test]
fn a_modern_request_needs_complete_metadata() {
    const VERSION: &str = "\"2026-07-28\"";
    let mut last = LastMeta::default();
    for (params, place) in [
        (meta("5", "{}", ""), "protocolVersion"),
        (meta("null", "{}", ""), "protocolVersion"),
        (meta(VERSION, "null", ""), "clientCapabilities"),
        (meta(VERSION, "[]", ""), "clientCapabilities"),
        (meta(VERSION, r#"{"sampling":true}"#, ""), "clientCapabilities\"].sampling"),
        (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#.to_owned(), "clientCapabilities"),
        (meta(VERSION, "{}", r#","io.modelcontextprotocol/clientInfo":{"name":"x"}"#), "clientInfo\"].version"),
        (meta(VERSION, "{}", r#","io.modelcontextprotocol/clientInfo":"x""#), "clientInfo"),
        (meta(VERSION, "{}", r#","progressToken":1.5"#), "progressToken"),
        (meta(VERSION, "{}", r#","progressToken":null"#), "progressToken"),
        (meta(VERSION, "{}", r#","progressToken":{}"#), "progressToken"),
        (meta(VERSION, "{}", r#","io.modelcontextprotocol/logLevel":"loud""#), "logLevel"),
        (meta(VERSION, "{}", r#","io.modelcontextprotocol/logLevel":3"#), "logLevel"),
    ] {
        let Verdict::Error(error) = era::request("tools/list", &read(&params), &mut last, None) else {
            panic!("{params} is accepted");
        };
        let path = error.data.as_ref().unwrap()["path"].as_str().unwrap();
        assert!(error.code == -32602 && path.contains(place), "{params}: {path}");
    }
}

#[test]
fn the_error_before_a_handshake_names_both_ways_to_begin() {
    let Verdict::Error(error) = era::request("tools/list", &read(""), &mut LastMeta::default(), None) else {
        panic!("no error")
    };
    for word in ["initialize", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"]
    {
        assert!(error.message.contains(word), "{}", error.message);
    }
}

#[test]
fn a_notification_without_a_session_is_ignored_unless_it_cancels() {
    let legacy = Some(Revision::V2025_03_26);
    for (method, params, state, expected) in [
        ("notifications/initialized", "", None, None),
        ("notifications/initialized", "", legacy, legacy),
        ("notifications/cancelled", "{}", None, Some(Revision::V2026_07_28)),
        ("notifications/cancelled", "{}", legacy, legacy),
        ("notifications/anything", META, legacy, Some(Revision::V2026_07_28)),
        ("notifications/progress", r#"{"_meta":3}"#, None, None),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"{method}"{}}}"#,
            if params.is_empty() { String::new() } else { format!(",\"params\":{params}") }
        );
        let Ok(Frame::Single(Message::Notification(message))) = decode(line.as_bytes()) else { panic!("{line}") };
        assert_eq!(era::notification(&message, state), expected, "{line}");
    }
}

fn batch(line: &str, legacy: Option<Revision>) -> String {
    let Ok(Frame::Batch(messages)) = decode(line.as_bytes()) else { panic!("{line}") };
    match era::batch(&messages, legacy) {
        Err(error) => format!("{} {}", error.code, reason(&error)),
        Ok(verdicts) => {
            let shown = |verdict: &Option<crate::jsonrpc::ErrorObject>| {
                verdict.as_ref().map_or("serve".to_owned(), |error| reason(error).to_owned())
            };
            verdicts.iter().map(shown).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn a_batch_is_served_where_the_revision_has_batches() {
    const ONE: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    for (legacy, expected) in [
        (None, "-32600 batch_not_allowed"),
        (Some(Revision::V2024_11_05), "serve"),
        (Some(Revision::V2025_03_26), "serve"),
        (Some(Revision::V2025_06_18), "-32600 batch_not_allowed"),
        (Some(Revision::V2025_11_25), "-32600 batch_not_allowed"),
    ] {
        assert_eq!(batch(ONE, legacy), expected, "{legacy:?}");
    }
    let modern = format!(
        r#"[{{"jsonrpc":"2.0","method":"n"}},{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}}]"#
    );
    for (line, expected) in [
        (modern.as_str(), "-32600 batch_not_allowed"),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
            "batch_not_allowed serve",
        ),
        (r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "serve serve"),
        (
            r#"[[{"jsonrpc":"2.0","id":1,"method":"ping"}],{"foo":"boo"},{"jsonrpc":"2.0","method":"n"}]"#,
            "not_an_object jsonrpc_version serve",
        ),
    ] {
        assert_eq!(batch(line, Some(Revision::V2025_03_26)), expected, "{line}");
    }
}
