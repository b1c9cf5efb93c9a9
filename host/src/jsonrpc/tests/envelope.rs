//! Framing, the envelope, params, responses and batches.

use super::{invalid, reason, single};
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{BATCH_LIMIT, ErrorObject, Frame, Message, Outcome, RequestId, decode};

#[test]
fn bytes_that_are_not_json_are_parse_errors() {
    let nested = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{}{}}}"#, "[".repeat(127), "]".repeat(127));
    let huge = "[".repeat(2_000_000);
    let cases: &[(&[u8], &str)] = &[
        (b"", "invalid_json"),
        (b"  \r\n", "invalid_json"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\"}", "invalid_utf8"),
        (b"{\0}\0", "invalid_json"),
        (b"\xff\xfe{\0}\0", "invalid_utf8"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"\ud800"}}"#, "invalid_json"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"a","x":{"\udc00":1}}"#, "invalid_json"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"a"}"#, "invalid_json"),
        (br#"{"jsonrpc":"2.0","id":1,"#, "invalid_json"),
        (br#""method":"a"}"#, "invalid_json"),
        (b"NaN", "invalid_json"),
        (br#"{"id":Infinity}"#, "invalid_json"),
        (br#"{"id":1} // why"#, "invalid_json"),
        (br#"{"id":1,}"#, "invalid_json"),
        (br#"{'id':1}"#, "invalid_json"),
        (b"{\"id\":1,\"method\":\"a\0\"}", "invalid_json"),
        (b"{\"id\":1,\0\"method\":\"a\"}", "invalid_json"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "invalid_json"),
        (nested.as_bytes(), "nesting_limit"),
        (huge.as_bytes(), "nesting_limit"),
    ];
    for (bytes, expected) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        let invalid = decode(bytes).expect_err(&shown);
        assert_eq!((invalid.error.code, reason(&invalid), &invalid.id), (-32700, *expected, &None), "{shown}");
    }
    assert!(decode(huge.as_bytes()).unwrap_err().error.message.contains("nesting"));
}

#[test]
fn harmless_deviations_are_accepted() {
    let nested = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{}{}}}"#, "[".repeat(126), "]".repeat(126));
    let cases: &[&[u8]] = &[
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\r\n",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}",
        br#"{"m\u0065thod":"\u0061","\u0069d":1,"jsonrpc":"\u0032.0"}"#,
        br#"{"method":"a","params":null,"id":1,"jsonrpc":"2.0"}"#,
        br#"{"method":"a","params":[1,2],"id":1,"jsonrpc":"2.0"}"#,
        br#"{"method":"a","foo":1,"Foo":2,"Id":7,"id":1,"jsonrpc":"2.0"}"#,
        br#"{"method":"a","params":{"x":1e400,"y":123456789012345678901234567890},"id":1,"jsonrpc":"2.0"}"#,
        nested.as_bytes(),
    ];
    for bytes in cases {
        match single(bytes) {
            Message::Request(request) => {
                assert_eq!((&*request.method, request.id), ("a", RequestId::new_number(1)));
            }
            other => panic!("{}: {other:?}", String::from_utf8_lossy(bytes)),
        }
    }
    let Message::Request(request) = single(cases[6]) else { panic!("no request") };
    assert_eq!(request.params.unwrap().get(), r#"{"x":1e400,"y":123456789012345678901234567890}"#);
    let Message::Request(request) = single(cases[3]) else { panic!("no request") };
    assert!(request.params.is_none());
}

#[test]
fn an_invalid_envelope_is_an_invalid_request_with_its_id_if_readable() {
    for (line, id, expected) in [
        ("null", None, "not_an_object"),
        ("true", None, "not_an_object"),
        ("1", None, "not_an_object"),
        ("\"x\"", None, "not_an_object"),
        ("[]", None, "empty_batch"),
        ("{}", None, "jsonrpc_version"),
        (r#"{"id":7,"method":"a"}"#, Some("7"), "jsonrpc_version"),
        (r#"{"jsonrpc":"1.0","id":"7","method":"a"}"#, Some("\"7\""), "jsonrpc_version"),
        (r#"{"jsonrpc":2.0,"id":7,"method":"a"}"#, Some("7"), "jsonrpc_version"),
        (r#"{"jsonrpc":null,"id":7,"method":"a"}"#, Some("7"), "jsonrpc_version"),
        (r#"{"jsonrpc":"2.0","id":7}"#, Some("7"), "missing_method"),
        (r#"{"jsonrpc":"2.0"}"#, None, "missing_method"),
        (r#"{"jsonrpc":"2.0","id":7,"method":1}"#, Some("7"), "invalid_method"),
        (r#"{"jsonrpc":"2.0","id":7,"method":null}"#, Some("7"), "invalid_method"),
        (r#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, None, "invalid_method"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, None, "repeated_member"),
        (r#"{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"a"}"#, None, "repeated_member"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"a"}"#, None, "repeated_member"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}}"#, None, "repeated_member"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"a","result":{}}"#, Some("7"), "request_and_response"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"a","error":null}"#, Some("7"), "request_and_response"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"a","params":"x"}"#, Some("7"), "invalid_params_type"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"a","params":5}"#, Some("7"), "invalid_params_type"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"a","params":true}"#, Some("7"), "invalid_params_type"),
    ] {
        let invalid = invalid(line.as_bytes());
        assert_eq!((invalid.error.code, reason(&invalid)), (-32600, expected), "{line}");
        assert_eq!(invalid.id.as_ref().map(RequestId::as_json), id, "{line}");
    }
}

/// The error for an ambiguous message has its request id; the message is not processed.
#[test]
fn ambiguous_json_is_refused_at_any_depth() {
    for (inside, expected) in [
        (r#"{"a":1,"a":2}"#, "repeated_member"),
        (r#"{"_meta":{"b":[{"a":1,"\u0061":2}]}}"#, "repeated_member"),
        (r#"{"arguments":{"$serde_json::private::RawValue":"{}"}}"#, "reserved_name"),
        (r#"{"arguments":{"n":{"\u0024serde_json::private::Number":"7"}}}"#, "reserved_name"),
        (r#"{"n":1e1000}"#, "number_limit"),
    ] {
        let request = format!(r#"{{"params":{inside},"jsonrpc":"2.0","id":7,"method":"a"}}"#);
        let refused = invalid(request.as_bytes());
        assert_eq!((refused.error.code, reason(&refused)), (-32600, expected), "{request}");
        assert_eq!(refused.id.as_ref().map(RequestId::as_json), Some("7"), "{request}");
        let other = r#"{"jsonrpc":"2.0","id":8,"method":"b"}"#;
        let batch = format!("[{request},{other}]");
        let Ok(Frame::Batch(messages)) = decode(batch.as_bytes()) else {
            panic!("no batch");
        };
        assert!(matches!(&messages[0], Message::Invalid(refused) if reason(refused) == expected), "{messages:?}");
        assert!(matches!(&messages[1], Message::Request(request) if request.method == "b"), "{messages:?}");
        // A response gets no response: the outcome is a failure.
        let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{inside}}}"#);
        let Message::Response(response) = single(answer.as_bytes()) else { panic!("no response: {answer}") };
        assert!(matches!(response.outcome, Outcome::Malformed(_)), "{response:?}");
        // Invalid JSON further on is reported as such.
        let refused = invalid(format!("{},}}", &request[..request.len() - 1]).as_bytes());
        assert_eq!((refused.error.code, refused.id.is_none()), (-32700, true), "{request}");
    }
}

#[test]
fn an_empty_method_is_decoded() {
    let Message::Request(request) = single(br#"{"jsonrpc":"2.0","id":1,"method":""}"#) else {
        panic!("no request");
    };
    assert_eq!(request.method, "");
}

#[test]
fn a_notification_is_not_refused_for_its_params() {
    for params in ["", r#","params":"x""#, r#","params":[1]"#, r#","params":null"#] {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"tools/call"{params}}}"#);
        assert!(matches!(single(line.as_bytes()), Message::Notification(_)), "{line}");
    }
}

#[test]
fn a_response_never_gets_a_response() {
    for (line, id, kind) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some("1"), "result"),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Some("1"), "result"),
        (r#"{"jsonrpc":"2.0","id":"5","error":{"code":-1,"message":"no","data":[1]}}"#, Some("\"5\""), "error"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#, None, "error"),
        (r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#, None, "error"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#, Some("1"), "malformed"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}"#, Some("1"), "malformed"),
        (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, Some("1"), "malformed"),
        (r#"{"id":1,"result":{}}"#, Some("1"), "malformed"),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, None, "result"),
    ] {
        let Message::Response(response) = single(line.as_bytes()) else { panic!("{line}") };
        let found = match response.outcome {
            Outcome::Result(_) => "result",
            Outcome::Error(_) => "error",
            Outcome::Malformed(_) => "malformed",
        };
        assert_eq!((response.id.as_ref().map(RequestId::as_json), found), (id, kind), "{line}");
    }
}

#[test]
fn batch_elements_are_decoded_separately() {
    let line = br#" [ {"jsonrpc":"2.0","id":1,"method":"a"}, [1], "x", {"jsonrpc":"2.0","method":"n"}, {"foo":1} ]"#;
    let Ok(Frame::Batch(messages)) = decode(line) else { panic!("no batch") };
    let kinds: Vec<char> = messages
        .iter()
        .map(|message| match message {
            Message::Request(_) => 'q',
            Message::Notification(_) => 'n',
            Message::Response(_) => 'r',
            Message::Invalid(_) => 'x',
        })
        .collect();
    assert_eq!(kinds, ['q', 'x', 'x', 'n', 'x']);
}

#[test]
fn a_batch_has_a_limit() {
    let batch = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    assert!(matches!(decode(batch(BATCH_LIMIT).as_bytes()), Ok(Frame::Batch(all)) if all.len() == BATCH_LIMIT));
    let refused = decode(batch(BATCH_LIMIT + 1).as_bytes()).unwrap_err();
    assert_eq!((refused.error.code, reason(&refused)), (-32600, "batch_too_long"));
    assert!(refused.error.message.contains("101"), "{}", refused.error.message);
}

#[test]
fn messages_are_written_on_one_line() {
    let id = RequestId::new_number(5);
    let error = ErrorObject::new(-32603, "a \"b\"\n\u{1}\u{2028}", serde_json::json!({ "reason": "x" }));
    for (text, expected) in [
        (encode::result(&id, "{\n \"a b\": [1, 2]\r\n}"), r#"{"jsonrpc":"2.0","id":5,"result":{"a b":[1,2]}}"#),
        (encode::notification("n/m", None), r#"{"jsonrpc":"2.0","method":"n/m"}"#),
        (encode::notification("n", Some("{ }")), r#"{"jsonrpc":"2.0","method":"n","params":{ }}"#),
        (
            encode::request(&id, "roots/list", Some("{\n}")),
            r#"{"jsonrpc":"2.0","id":5,"method":"roots/list","params":{}}"#,
        ),
        (
            encode::error(Some(&id), UnreadableId::Null, &error),
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":\"a \\\"b\\\"\\n\\u0001\u{2028}\",\"data\":{\"reason\":\"x\"}}}",
        ),
        (encode::batch(&["1".into(), "2".into()]), "[1,2]"),
    ] {
        assert_eq!(text, expected);
    }
    assert!(encode::error(None, UnreadableId::Null, &error).starts_with(r#"{"jsonrpc":"2.0","id":null,"error":"#));
    assert!(encode::error(None, UnreadableId::Omit, &error).starts_with(r#"{"jsonrpc":"2.0","error":"#));
}
