//! Decoded messages round-trip through the encoder.

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
                panic!("not decoded as a request: {text}");
            };
            same_id(&request.id, &again.id);
            assert_eq!(request.method, again.method);
            assert_eq!(params.map(wharf::json::single_line).as_deref(), again.params.map(|params| params.get()));
        }
        Message::Notification(notification) => {
            let text = encode::notification(&notification.method, notification.params.map(|params| params.get()));
            let Ok(Frame::Single(Message::Notification(again))) = decode(text.as_bytes()) else {
                panic!("not decoded as a notification: {text}");
            };
            assert_eq!(notification.method, again.method);
        }
        Message::Response(response) => {
            let (Some(id), Outcome::Result(result)) = (&response.id, &response.outcome) else { return };
            let text = encode::result(id, result.get());
            let Ok(Frame::Single(Message::Response(again))) = decode(text.as_bytes()) else {
                panic!("not decoded as a response: {text}");
            };
            same_id(id, again.id.as_ref().expect("the id"));
        }
        Message::Invalid(invalid) => refused(invalid),
    }
}

/// Equal by comparison and byte by byte.
fn same_id(id: &RequestId, again: &RequestId) {
    assert_eq!(id, again);
    assert_eq!(id.as_json(), again.as_json());
}

/// The error for a refused message is a valid response on one line.
fn refused(invalid: &Invalid) {
    assert!([PARSE_ERROR, INVALID_REQUEST].contains(&invalid.error.code));
    let text = encode::error(invalid.id.as_ref(), UnreadableId::Omit, &invalid.error);
    assert!(!text.contains(['\n', '\r']), "{text}");
    assert!(matches!(decode(text.as_bytes()), Ok(Frame::Single(Message::Response(_)))), "{text}");
}
