//! Methods by revision, and the params of each.

use super::{ALL, raw, read, reason};
use crate::protocol::methods::methods;
use crate::protocol::request::{ClientNotification, ClientRequest, Reference};
use crate::protocol::{Level, Revision};

const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;

fn refused(revision: Revision, method: &str, params: &str) -> (i64, String) {
    match ClientRequest::parse(revision, method, &read(params)) {
        Ok(request) => panic!("{method} {params} is {request:?}"),
        Err(error) => {
            let path = error.data.as_ref().and_then(|data| data["path"].as_str());
            (error.code, path.map_or_else(|| reason(&error).to_owned(), str::to_owned))
        }
    }
}

/// The minimal params of each method.
fn minimal(method: &str) -> &'static str {
    match method {
        "initialize" => r#"{"protocolVersion":"2025-11-25"}"#,
        "tools/call" | "prompts/get" => r#"{"name":"x"}"#,
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => r#"{"uri":"a:b"}"#,
        "skills/get" | "resources/directory/read" => r#"{"uri":"skill://a"}"#,
        "completion/complete" => r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}"#,
        "logging/setLevel" => r#"{"level":"info"}"#,
        "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" => r#"{"taskId":"x"}"#,
        "subscriptions/listen" => r#"{"notifications":{}}"#,
        _ => "",
    }
}

#[test]
fn every_method_is_known_in_its_revisions_and_in_no_other() {
    let every: std::collections::BTreeSet<&str> = ALL.iter().flat_map(|revision| methods(*revision)).copied().collect();
    assert_eq!(every.len(), 23);
    for revision in ALL {
        for method in &every {
            let parsed = ClientRequest::parse(revision, method, &read(minimal(method)));
            match parsed {
                Ok(_) => assert!(methods(revision).contains(method), "{revision} {method}"),
                Err(error) => {
                    assert!(!methods(revision).contains(method), "{revision} {method}: {error:?}");
                    assert_eq!(error.code, -32601, "{revision} {method}");
                }
            }
        }
        for method in ["", "Tools/List", "tools/list ", "rpc.discover", "notifications/initialized", "tasks/set"] {
            assert_eq!(refused(revision, method, "").0, -32601, "{revision} {method:?}");
        }
    }
    assert_eq!(ClientRequest::parse(MODERN, "ping", &read("")).unwrap_err().code, -32601);
    assert_eq!(ClientRequest::parse(LEGACY, "server/discover", &read("")).unwrap_err().code, -32601);
}

#[test]
fn a_method_that_is_nearly_right_is_suggested() {
    let error = ClientRequest::parse(LEGACY, "tools/lst", &read("")).unwrap_err();
    assert_eq!(error.message, "Method not found: tools/lst; did you mean tools/list?");
    assert_eq!(error.data.unwrap()["didYouMean"], "tools/list");
    let error = ClientRequest::parse(LEGACY, "qqqqqqqqqqq", &read("")).unwrap_err();
    assert!(error.data.unwrap().get("didYouMean").is_none());
}

#[test]
fn malformed_params_are_refused_with_their_path() {
    for (method, params, path) in [
        ("tools/list", "[]", "params"),
        ("no/such", "[1]", "params"),
        ("ping", r#"{"_meta":1}"#, "params._meta"),
        ("tools/list", r#"{"cursor":5}"#, "params.cursor"),
        ("tools/call", "", "params.name"),
        ("tools/call", r#"{"name":null}"#, "params.name"),
        ("tools/call", r#"{"name":["x"]}"#, "params.name"),
        ("tools/call", r#"{"name":"x","name":"y"}"#, "params"),
        ("tools/call", r#"{"name":"x","arguments":[]}"#, "params.arguments"),
        ("tools/call", r#"{"name":"x","arguments":"{}"}"#, "params.arguments"),
        ("prompts/get", r#"{"name":"x","arguments":{"a":1}}"#, "params.arguments.a"),
        ("prompts/get", r#"{"name":"x","arguments":{"a":"1","a":"2"}}"#, "params.arguments.a"),
        ("resources/read", "{}", "params.uri"),
        ("resources/subscribe", r#"{"uri":1}"#, "params.uri"),
        ("logging/setLevel", "{}", "params.level"),
        ("logging/setLevel", r#"{"level":"loud"}"#, "params.level"),
        ("logging/setLevel", r#"{"level":"Info"}"#, "params.level"),
        ("completion/complete", r#"{"argument":{"name":"a","value":""}}"#, "params.ref"),
        ("completion/complete", r#"{"ref":{"type":"ref/x"},"argument":{"name":"a","value":""}}"#, "params.ref.type"),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt"},"argument":{"name":"a","value":""}}"#,
            "params.ref.name",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/resource"},"argument":{"name":"a","value":""}}"#,
            "params.ref.uri",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a"}}"#,
            "params.argument.value",
        ),
        ("initialize", "", "params.protocolVersion"),
        ("initialize", r#"{"protocolVersion":1}"#, "params.protocolVersion"),
        ("initialize", r#"{"protocolVersion":"x","capabilities":[]}"#, "params.capabilities"),
        ("initialize", r#"{"protocolVersion":"x","clientInfo":{"name":"x"}}"#, "params.clientInfo.version"),
    ] {
        assert_eq!(refused(LEGACY, method, params), (-32602, path.to_owned()), "{method} {params}");
    }
    for (method, params, path) in [
        ("tools/call", r#"{"name":"x","inputResponses":[]}"#, "params.inputResponses"),
        ("tools/call", r#"{"name":"x","requestState":{}}"#, "params.requestState"),
        ("subscriptions/listen", "{}", "params.notifications"),
        (
            "subscriptions/listen",
            r#"{"notifications":{"toolsListChanged":1}}"#,
            "params.notifications.toolsListChanged",
        ),
        (
            "subscriptions/listen",
            r#"{"notifications":{"resourceSubscriptions":["a:b",2]}}"#,
            "params.notifications.resourceSubscriptions[1]",
        ),
    ] {
        assert_eq!(refused(MODERN, method, params), (-32602, path.to_owned()), "{method} {params}");
    }
}

#[test]
fn a_call_keeps_its_arguments_verbatim() {
    for (params, expected) in [
        (r#"{"name":"x"}"#, None),
        (r#"{"name":"x","arguments":null}"#, None),
        (r#"{"name":"x","arguments":{},"task":{},"unknown":[1]}"#, Some("{}")),
        (
            r#"{"arguments":{"b": 123456789012345678901234567890,"a":1e400},"name":"\u0078"}"#,
            Some(r#"{"b": 123456789012345678901234567890,"a":1e400}"#),
        ),
    ] {
        let Ok(ClientRequest::CallTool(call)) = ClientRequest::parse(LEGACY, "tools/call", &read(params)) else {
            panic!("{params}");
        };
        assert_eq!((&*call.name, call.arguments.map(|raw| raw.get())), ("x", expected), "{params}");
    }
}

#[test]
fn retry_members_are_parsed_only_in_revisions_that_have_them() {
    const PARAMS: &str = r#"{"name":"x","inputResponses":{"a":{}},"requestState":"s"}"#;
    for (revision, expected) in [(LEGACY, (None, None)), (MODERN, (Some(r#"{"a":{}}"#), Some("s")))] {
        let Ok(ClientRequest::CallTool(call)) = ClientRequest::parse(revision, "tools/call", &read(PARAMS)) else {
            panic!("{revision}");
        };
        let retry = &call.retry;
        assert_eq!((retry.input_responses.map(|raw| raw.get()), retry.request_state.as_deref()), expected);
    }
}

#[test]
fn the_other_requests_have_the_sent_values() {
    let Ok(ClientRequest::ListTools { cursor }) = ClientRequest::parse(MODERN, "tools/list", &read(r#"{"cursor":""}"#))
    else {
        panic!("no list");
    };
    assert_eq!(cursor.as_deref(), Some(""));
    let Ok(ClientRequest::GetPrompt { arguments, .. }) =
        ClientRequest::parse(LEGACY, "prompts/get", &read(r#"{"name":"p","arguments":{"z":"1","a":"\u0032"}}"#))
    else {
        panic!("no prompt");
    };
    assert_eq!(arguments, [("z".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())]);
    const COMPLETE: &str = r#"{"ref":{"type":"ref/resource","uri":"a:{b}"},"argument":{"name":"b","value":"v"},"context":{"arguments":{"c":"d"}}}"#;
    for (revision, settled) in [(Revision::V2025_03_26, 0), (Revision::V2025_06_18, 1), (MODERN, 1)] {
        let Ok(ClientRequest::Complete(complete)) =
            ClientRequest::parse(revision, "completion/complete", &read(COMPLETE))
        else {
            panic!("{revision}");
        };
        assert_eq!(complete.reference, Reference::Resource { uri: "a:{b}".into() });
        assert_eq!((&*complete.argument, &*complete.value, complete.context.len()), ("b", "v", settled));
    }
    assert!(matches!(
        ClientRequest::parse(LEGACY, "logging/setLevel", &read(r#"{"level":"critical"}"#)),
        Ok(ClientRequest::SetLevel { level: Level::Critical })
    ));
    let Ok(ClientRequest::Listen(filter)) = ClientRequest::parse(
        MODERN,
        "subscriptions/listen",
        &read(
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a:b"],"taskIds":[]}}"#,
        ),
    ) else {
        panic!("no filter");
    };
    assert_eq!(
        (filter.tools_list_changed, filter.prompts_list_changed, filter.resources),
        (true, false, vec!["a:b".to_owned()])
    );
}

#[test]
fn a_handshake_is_never_refused_for_its_version() {
    for (requested, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let params = format!(
            r#"{{"protocolVersion":"{requested}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}"#
        );
        let Ok(ClientRequest::Initialize(initialize)) = ClientRequest::parse(LEGACY, "initialize", &read(&params))
        else {
            panic!("{requested}");
        };
        assert_eq!(initialize.revision.as_str(), answered);
        assert_eq!(initialize.requested, requested);
        assert_eq!(initialize.capabilities.elicitation_form, initialize.revision.has_elicitation());
        assert_eq!(initialize.client.unwrap().name, "c");
    }
}

#[test]
fn an_invalid_notification_is_an_error_for_the_log() {
    let parse = |revision, method: &str, params| ClientNotification::parse(revision, method, raw(params));
    let cancelled = parse(MODERN, "notifications/cancelled", r#"{"requestId":"1","reason":5}"#);
    assert!(
        matches!(cancelled, Ok(ClientNotification::Cancelled { request_id, reason: None }) if request_id.as_json() == "\"1\"")
    );
    for params in ["", "[]", "{}", r#"{"requestId":null}"#, r#"{"requestId":1.5}"#, "5"] {
        assert!(parse(LEGACY, "notifications/cancelled", params).is_err(), "{params}");
    }
    assert!(matches!(
        parse(LEGACY, "notifications/progress", r#"{"progressToken":1,"progress":0.5,"total":2,"message":"m"}"#),
        Ok(ClientNotification::Progress { progress: 0.5, total: Some(2.0), message: Some(_), .. })
    ));
    assert!(parse(LEGACY, "notifications/progress", r#"{"progressToken":1,"progress":1e400}"#).is_err());
    assert!(matches!(parse(LEGACY, "notifications/initialized", ""), Ok(ClientNotification::Initialized)));
    for (revision, method) in [(MODERN, "notifications/initialized"), (MODERN, "notifications/progress"), (LEGACY, "x")]
    {
        assert!(matches!(parse(revision, method, ""), Ok(ClientNotification::Other)), "{method}");
    }
}

#[test]
fn a_method_with_two_segments_outside_the_protocol_is_custom() {
    for revision in ALL {
        for method in ["notes/sync", "a-b/c_D9"] {
            let parsed = ClientRequest::parse(revision, method, &read(r#"{"a": 1.0,"_meta":{"x":1},"b":[]}"#));
            match parsed {
                Ok(ClientRequest::Custom(custom)) => {
                    assert_eq!((&*custom.method, &*custom.params), (method, r#"{"a":1.0,"b":[]}"#));
                }
                other => panic!("{revision} {method}: {other:?}"),
            }
            let parsed = ClientRequest::parse(revision, method, &read(""));
            assert!(matches!(parsed, Ok(ClientRequest::Custom(custom)) if custom.params == "{}"), "{revision}");
            assert_eq!(refused(revision, method, "[1]"), (-32602, "params".into()));
            assert_eq!(refused(revision, method, r#"{"_meta":1}"#), (-32602, "params._meta".into()));
        }
        let standard = [
            "initialize/x",
            "ping/x",
            "server/x",
            "tools/x",
            "Tools/list",
            "resources/x",
            "prompts/x",
            "completion/x",
            "logging/x",
            "subscriptions/x",
            "notifications/x",
            "tasks/x",
            "roots/list",
            "sampling/createMessage",
            "elicitation/create",
            "rpc.x/y",
        ];
        for method in
            standard.into_iter().chain(["notes", "notes/", "/sync", "notes/a/b", "notes/a b", "notes//a", "a.b/c"])
        {
            assert_eq!(refused(revision, method, "").0, -32601, "{revision} {method}");
        }
    }
}
