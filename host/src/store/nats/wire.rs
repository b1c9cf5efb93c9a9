//! The text protocol of NATS: frames in both directions.
//!
//! The server is trusted as a database is; what it can make this process keep is bounded all the same.

use bytes::{Buf as _, Bytes, BytesMut};
use serde::Deserialize;

use crate::json;

/// Bytes of a line. The longest is the greeting of a large cluster.
const MAX_LINE: usize = 64 << 10;
/// Bytes of a message with its headers. The longest lists parts of values; a value has less than one.
const MAX_MESSAGE: usize = 16 << 20;
const END: &[u8] = b"\r\n";
/// The first line of headers.
const HEADERS: &str = "NATS/1.0";

/// What a server says of itself when it greets.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) headers: bool,
    pub(super) max_payload: usize,
    pub(super) nonce: Option<String>,
    pub(super) tls_required: bool,
    pub(super) tls_available: bool,
}

impl Default for Greeting {
    fn default() -> Self {
        Self {
            version: String::new(),
            headers: false,
            max_payload: 1 << 20,
            nonce: None,
            tls_required: false,
            tls_available: false,
        }
    }
}

impl Greeting {
    /// The numbers of its version; unknown ones are 0.
    pub(super) fn release(&self) -> [u32; 3] {
        let mut numbers = self.version.split(['.', '-', '+']).map(|number| number.parse().unwrap_or_default());
        [(); 3].map(|()| numbers.next().unwrap_or_default())
    }
}

/// What a server sends.
#[derive(Debug)]
pub(super) enum Frame {
    Greeting(Greeting),
    Message(Message),
    Ping,
    /// The answer to a ping, or to nothing.
    Other,
    Error(String),
}

/// A message for a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) subscription: u64,
    pub(super) subject: String,
    /// Where an answer goes.
    pub(super) reply: String,
    /// With the line that precedes them.
    pub(super) headers: Bytes,
    pub(super) payload: Bytes,
}

impl Message {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The number after the version of the headers: of messages that the server itself makes.
    pub(super) fn status(&self) -> Option<u16> {
        let first = self.headers.strip_prefix(HEADERS.as_bytes())?;
        let line = std::str::from_utf8(first.split(|byte| *byte == b'\r').next()?).ok()?;
        line.split_whitespace().next()?.parse().ok()
    }
}

/// The value of a header in a block of them; names are compared as they are written.
pub(super) fn header<'a>(headers: &'a [u8], name: &str) -> Option<&'a str> {
    let lines = std::str::from_utf8(headers).ok()?.split("\r\n").skip(1);
    lines.filter_map(|line| line.split_once(':')).find(|(found, _)| *found == name).map(|(_, value)| value.trim())
}

/// Takes a frame from what was received; `None` if it is not complete.
///
/// # Errors
/// If it is no frame, or larger than it may be.
pub(super) fn take(received: &mut BytesMut) -> Result<Option<Frame>, String> {
    let Some(length) = received.windows(END.len()).take(MAX_LINE).position(|bytes| bytes == END) else {
        return if received.len() > MAX_LINE {
            Err(format!("a line has more than {MAX_LINE} bytes"))
        } else {
            Ok(None)
        };
    };
    // Subjects of others may have any bytes.
    let line = String::from_utf8_lossy(&received[..length]);
    let (verb, rest) = line.split_once([' ', '\t']).unwrap_or((&line, ""));
    let frame = match verb {
        "MSG" | "HMSG" => return message(received, length),
        "PING" => Frame::Ping,
        "PONG" | "+OK" => Frame::Other,
        "-ERR" => Frame::Error(rest.trim().trim_matches('\'').to_owned()),
        "INFO" => Frame::Greeting(json::read(rest.trim()).map_err(|error| format!("read its greeting: {error}"))?),
        _ => return Err("it does not speak the protocol of NATS".into()),
    };
    received.advance(length + END.len());
    Ok(Some(frame))
}

/// `MSG SUBJECT SUBSCRIPTION [REPLY] SIZE`, and with headers `HMSG SUBJECT SUBSCRIPTION [REPLY] HEADERS SIZE`.
fn message(received: &mut BytesMut, length: usize) -> Result<Option<Frame>, String> {
    let wrong = || "a message has no valid first line".to_owned();
    let line = String::from_utf8_lossy(&received[..length]);
    let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let with_headers = words.first() == Some(&"HMSG");
    let (subject, subscription, reply, sizes) = match (with_headers, &words[..]) {
        (false, [_, subject, subscription, size]) => (subject, subscription, "", ["0", *size]),
        (false, [_, subject, subscription, reply, size]) => (subject, subscription, *reply, ["0", *size]),
        (true, [_, subject, subscription, headers, size]) => (subject, subscription, "", [*headers, *size]),
        (true, [_, subject, subscription, reply, headers, size]) => (subject, subscription, *reply, [*headers, *size]),
        _ => return Err(wrong()),
    };
    let [headers, size] = sizes.map(str::parse::<usize>);
    let (headers, size) = (headers.map_err(|_| wrong())?, size.map_err(|_| wrong())?);
    if headers > size {
        return Err(wrong());
    }
    if size > MAX_MESSAGE {
        return Err(format!("a message has more than {MAX_MESSAGE} bytes: {size}"));
    }
    let start = length + END.len();
    if received.len() < start + size + END.len() {
        return Ok(None);
    }
    let subscription = subscription.parse().map_err(|_| wrong())?;
    let (subject, reply) = ((*subject).to_owned(), reply.to_owned());
    received.advance(start);
    let headers = received.split_to(headers).freeze();
    let payload = received.split_to(size - headers.len()).freeze();
    received.advance(END.len());
    Ok(Some(Frame::Message(Message { subscription, subject, reply, headers, payload })))
}

pub(super) fn subscribe(subject: &str, subscription: u64) -> Vec<u8> {
    format!("SUB {subject} {subscription}\r\n").into_bytes()
}

pub(super) const PING: &[u8] = b"PING\r\n";
pub(super) const PONG: &[u8] = b"PONG\r\n";

/// A message to a subject. Nothing in it but the payload may have spaces or ends of lines.
pub(super) fn publish(subject: &str, reply: &str, headers: &[(&str, String)], payload: &[u8]) -> Vec<u8> {
    let space = if reply.is_empty() { "" } else { " " };
    let mut frame;
    if headers.is_empty() {
        frame = format!("PUB {subject} {reply}{space}{}\r\n", payload.len()).into_bytes();
    } else {
        let mut block = format!("{HEADERS}\r\n");
        for (name, value) in headers {
            block.extend([*name, ": ", value, "\r\n"]);
        }
        block.push_str("\r\n");
        let (length, size) = (block.len(), block.len() + payload.len());
        frame = format!("HPUB {subject} {reply}{space}{length} {size}\r\n{block}").into_bytes();
    }
    frame.extend_from_slice(payload);
    frame.extend_from_slice(END);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Result<Vec<Frame>, String> {
        let (mut received, mut found) = (BytesMut::from(text), Vec::new());
        while let Some(frame) = take(&mut received)? {
            found.push(frame);
        }
        Ok(found)
    }

    #[test]
    fn frames_are_read_however_they_arrive() {
        let text = b"INFO {\"headers\":true,\"max_payload\":7,\"nonce\":\"n\",\"more\":[1]} \r\nPING\r\n\
            MSG a.b 1 3\r\na\r\n\r\nHMSG a 2 r.1 27 29\r\nNATS/1.0 100 Idle\r\nK: v\r\n\r\nxy\r\n-ERR 'Stale'\r\n";
        let mut received = BytesMut::new();
        let mut found = Vec::new();
        for byte in text {
            received.extend_from_slice(&[*byte]);
            while let Some(frame) = take(&mut received).expect("frames") {
                found.push(frame);
            }
        }
        assert_eq!(format!("{found:?}"), format!("{:?}", all(text).expect("frames")));
        let [Frame::Greeting(greeting), Frame::Ping, Frame::Message(plain), Frame::Message(with), Frame::Error(error)] =
            &found[..]
        else {
            panic!("{found:?}");
        };
        assert_eq!(greeting.release(), [0; 3]);
        let known = |version: &str| Greeting { version: version.into(), ..Greeting::default() }.release();
        assert_eq!((known("2.9.10"), known("2.12.0-RC.1")), ([2, 9, 10], [2, 12, 0]));
        assert_eq!((greeting.headers, greeting.max_payload, greeting.nonce.as_deref()), (true, 7, Some("n")));
        assert_eq!((&*plain.subject, plain.subscription, &plain.payload[..]), ("a.b", 1, &b"a\r\n"[..]));
        assert_eq!(
            (&*with.reply, with.header("K"), with.header("k"), with.status()),
            ("r.1", Some("v"), None, Some(100))
        );
        assert_eq!((&with.payload[..], &**error, plain.status()), (&b"xy"[..], "Stale", None));
    }

    /// Of whoever can write to the store.
    #[test]
    fn subjects_may_have_any_bytes() {
        for subject in [&b"a.\xff"[..], "a.\u{a0}b".as_bytes(), b"a.\x0c"] {
            let found = all(&[b"MSG ", subject, b" 1 1\r\nx\r\nPING\r\n"].concat()).expect("frames");
            let [Frame::Message(message), Frame::Ping] = &found[..] else { panic!("{found:?}") };
            assert_eq!(message.subject, String::from_utf8_lossy(subject));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let frame = publish("s", "r", &[("A", "1".into()), ("B", "2".into())], b"body");
        let frame = [b"HMSG s 9 r ", frame.strip_prefix(b"HPUB s r ").expect("as above")].concat();
        let found = all(&frame).expect("a frame");
        let [Frame::Message(message)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            (message.header("A"), message.header("B"), &message.payload[..]),
            (Some("1"), Some("2"), &b"body"[..])
        );
        assert_eq!(publish("s", "", &[], b"x"), b"PUB s 1\r\nx\r\n");
    }

    #[test]
    fn what_is_no_frame_or_too_large_is_refused() {
        let long = "x".repeat(MAX_LINE + 9);
        for (text, why) in [
            ("HTTP/1.1 400 Bad Request\r\n", "does not speak"),
            (&*long, "a line has more than"),
            (&*format!("INFO {long}\r\n"), "a line has more than"),
            ("INFO {\r\n", "read its greeting"),
            ("MSG a 1\r\n", "no valid first line"),
            ("MSG a b 1\r\nx\r\n", "no valid first line"),
            ("MSG a 1 -1\r\n", "no valid first line"),
            ("HMSG a 1 3 2\r\n", "no valid first line"),
            ("MSG a 1 99999999999999999999\r\n", "no valid first line"),
            ("MSG a 1 16777217\r\n", "a message has more than"),
        ] {
            let error = all(text.as_bytes()).expect_err(why);
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
