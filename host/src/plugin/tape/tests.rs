use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::redacted::Redacting;
use super::{Part, Recorded, Tape, What, read};
use crate::plugin::policy::redact::Redactor;
use crate::plugin::policy::secret::Secret;
use crate::plugin::tape::{Answered, Asked};

const FIRST: &str = r#"{"recording":1,"wharf":"0.1.0","plugin":"guest","component":"0000000000000000000000000000000000000000000000000000000000000000","tool":"t","arguments":"{}","context":{"id":"1","client":[],"time_left_ms":5,"answers":[]},"grants":{"env":[],"config":[],"fs":false,"keyvalue":false,"tool":null,"json":false,"limits":{"timeout_ms":1,"cpu_ms":1,"memory":1,"output":1,"log":1}}}"#;
const LAST: &str = r#"{"outcome":{"complete":{}},"cost":{"cpu_us":1,"memory":1}}"#;

/// A recording with these lines between its first and last one.
fn recorded(lines: &[&str]) -> Recorded {
    let text = [&[FIRST], lines, &[LAST]].concat().join("\n");
    read(&text).expect("a recording").remove(0)
}

fn whats(tape: &Tape) -> Vec<What> {
    tape.differences().into_iter().map(|difference| difference.what).collect()
}

#[test]
fn what_is_written_is_what_was_read() {
    let lines = [
        r#"{"asks":"random","with":{"bytes":2},"gets":{"base64":"//4="}}"#,
        r#"{"asks":"http","with":{"url":"http://a"},"sends":"milk","gets":{"status":200},"body":["a",{"base64":"/w=="},{"trailers":[["x","y"]]},{"end":true}]}"#,
        r#"{"says":"log","with":["info","a"]}"#,
        r#"{"polls":"poll","with":[1],"gets":[0]}"#,
    ];
    let recorded = recorded(&lines);
    let written: String = recorded.lines().collect();
    assert_eq!(read(&written), Ok(vec![recorded.clone()]));
    let written: Vec<&str> = written.lines().collect();
    assert_eq!(written[1..5], lines);
    assert_eq!(written[5], LAST);
}

#[test]
fn another_order_is_answered_and_noted() {
    let lines = [r#"{"asks":"a","gets":1}"#, r#"{"asks":"b","gets":2}"#, r#"{"says":"c"}"#];
    let tape = Tape::replaying(&recorded(&lines));
    let ask = |what| tape.through(what, Value::Null, || panic!("nothing is really asked")).ok();
    assert_eq!((ask("b"), ask("a")), (Some(2_u64), Some(1_u64)));
    assert_eq!(whats(&tape), [What::Moved, What::Gone]);
    assert_eq!(ask("a"), None::<u64>, "each answer is used once");
    assert_eq!(whats(&tape), [What::Moved, What::Unanswered], "what came after is not known");
}

#[test]
fn an_answer_of_another_type_is_none() {
    let tape = Tape::replaying(&recorded(&[r#"{"asks":"a","gets":"text"}"#]));
    assert!(tape.through::<u64>("a", Value::Null, || Ok(1)).is_err());
}

#[test]
fn a_clock_that_is_read_more_often_stands_still() {
    let tape = Tape::replaying(&recorded(&[r#"{"asks":"stopwatch","gets":5}"#]));
    let now = || tape.through("stopwatch", Value::Null, || Ok(9_u64)).ok();
    assert_eq!((now(), now()), (Some(5), Some(5)));
    assert_eq!(whats(&tape), [What::Clock]);
    let tape = Tape::replaying(&recorded(&[]));
    assert!(tape.through("stopwatch", Value::Null, || Ok(9_u64)).is_err(), "it was never read");
}

/// Two requests to one address, in another order than was recorded, whose bodies are known only later.
#[test]
fn requests_to_one_address_are_told_apart_by_their_bodies() {
    let line = |sent: &str, got: u32| {
        format!(
            r#"{{"asks":"http","with":{{"url":"u"}},"sends":"{sent}","gets":{{"status":{got}}},"body":[{{"end":true}}]}}"#
        )
    };
    let (one, other) = (line("one", 201), line("other", 202));
    let replay = |sent: [&str; 2]| {
        let tape = Tape::replaying(&recorded(&[&one, &other]));
        let answers = sent.map(|body| {
            let ticket = tape.request(Asked { head: json!({"url": "u"}), body: None }).expect("it was recorded");
            match tape.answer(ticket, Some(body.as_bytes())).1 {
                Answered::Head(head) => head["status"].as_u64().expect("a status"),
                Answered::Never => panic!("it was answered"),
            }
        });
        (answers, whats(&tape))
    };
    assert_eq!(replay(["one", "other"]), ([201, 202], vec![]));
    assert_eq!(replay(["other", "one"]), ([202, 201], vec![]));
    assert_eq!(replay(["one", "new"]), ([201, 202], vec![What::Body]));
    let tape = Tape::replaying(&recorded(&[&one]));
    assert!(tape.request(Asked { head: json!({"url": "v"}), body: Some(b"one") }).is_none());
    assert_eq!(whats(&tape), [What::Unanswered]);
}

#[test]
fn a_secret_in_two_parts_of_a_body_is_redacted() {
    let secret = Secret::new("api".into(), false, Ok("tok-5ecret+/=value".into()));
    let redacting = Redacting(Redactor::of(&[secret]).map(Arc::new).into_iter().collect());
    let line =
        r#"{"asks":"http","with":{"url":"u"},"sends":"a tok-5ecret+/=value","gets":{"status":200},"body":["b"]}"#;
    let mut recorded = recorded(&[line]);
    let chunk = |text: &'static str| Part::Chunk(Bytes::from_static(text.as_bytes()));
    recorded.events[0].parts = vec![chunk("a tok-5e"), chunk("cret+/=value b"), Part::End];
    recorded.outcome = json!({"complete": {"data": {"base64": "AHRvay01ZWNyZXQrLz12YWx1Zf8="}}});
    redacting.recorded(&mut recorded);
    assert_eq!(recorded.events[0].parts, [chunk("a [redacted api] b"), Part::End]);
    assert_eq!(recorded.events[0].sent.as_deref(), Some(&b"a [redacted api]"[..]));
    let outcome = recorded.outcome.to_string();
    assert!(!outcome.contains("AHRvay01"), "bytes with a secret at any place: {outcome}");
}
