//! A message that was understood says the same when it is written anew.

use wharf::jsonrpc::encode::{self, UnreadableId};
use wharf::jsonrpc::{BATCH_LIMIT, Frame, INVALID_REQUEST, Invalid, Message, Outcome, PARSE_ERROR, RequestId, decode};

use super::{JSON_WORDS, MESSAGES, Target, bytes};

pub(super) fn target() -> Target {
    Target { name: "jsonrpc", seeds: bytes(MESSAGES), words: JSON_WORDS.to_vec(), run }
}

fn run(input: &[u8]) {
    match decode(input) {
        Ok(Frame::Single(message)) => check(&message),
        Ok(Frame::Batch(messages)) => {
            assert!((1..=BATCH_LIMIT).contains(&messages.len()));
            messages.iter().for_each(check);
        }
        Err(invalid) => refused(&invalid),
    }
}

fn check(message: &Message<'_>) {
    match message {
        Message::Request(request) => {
            let params = request.params.map(|params| params.get());
            let text = encode::request(&request.id, &request.method, params);
            let Ok(Frame::Single(Message::Request(again))) = decode(text.as_bytes()) else {
                panic!("no request any more: {text}");
            };
            same_id(&request.id, &again.id);
            assert_eq!(request.method, again.method);
            assert_eq!(params.map(wharf::json::single_line).as_deref(), again.params.map(|params| params.get()));
        }
        Message::Notification(said) => {
            let text = encode::notification(&said.method, said.params.map(|params| params.get()));
            let Ok(Frame::Single(Message::Notification(again))) = decode(text.as_bytes()) else {
                panic!("no notification any more: {text}");
            };
            assert_eq!(said.method, again.method);
        }
        Message::Response(response) => {
            let (Some(id), Outcome::Result(result)) = (&response.id, &response.outcome) else { return };
            let text = encode::result(id, result.get());
            let Ok(Frame::Single(Message::Response(again))) = decode(text.as_bytes()) else {
                panic!("no response any more: {text}");
            };
            same_id(id, again.id.as_ref().expect("the id"));
        }
        Message::Invalid(invalid) => refused(invalid),
    }
}

/// To the byte, and by comparison.
fn same_id(id: &RequestId, again: &RequestId) {
    assert_eq!(id, again);
    assert_eq!(id.as_json(), again.as_json());
}

/// What is refused can be answered, on one line.
fn refused(invalid: &Invalid) {
    assert!([PARSE_ERROR, INVALID_REQUEST].contains(&invalid.error.code));
    let text = encode::error(invalid.id.as_ref(), UnreadableId::Omit, &invalid.error);
    assert!(!text.contains(['\n', '\r']), "{text}");
    assert!(matches!(decode(text.as_bytes()), Ok(Frame::Single(Message::Response(_)))), "{text}");
}
