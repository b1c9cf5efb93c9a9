//! The edge cases of the envelope, one table each.

mod envelope;
mod ids;
mod transcript;

use super::{Frame, Invalid, Message, decode};

/// The only message of a frame; a frame that cannot be decoded is an invalid message too.
fn single(bytes: &[u8]) -> Message<'_> {
    match decode(bytes) {
        Ok(Frame::Single(message)) => message,
        Ok(Frame::Batch(_)) => panic!("a batch"),
        Err(invalid) => Message::Invalid(invalid),
    }
}

fn invalid(bytes: &[u8]) -> Invalid {
    match single(bytes) {
        Message::Invalid(invalid) => invalid,
        other => panic!("{} is not refused: {other:?}", String::from_utf8_lossy(bytes)),
    }
}

fn reason(invalid: &Invalid) -> &str {
    invalid.error.data.as_ref().and_then(|data| data["reason"].as_str()).unwrap_or("none")
}
