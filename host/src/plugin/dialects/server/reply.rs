//! The answer in the body of a response: one JSON value, or a stream of events of which one has it.

use serde_json::Value;

use crate::json::check;
use crate::plugin::json;

/// Maximum values of one message: each takes about a hundred bytes while it is read.
const MAX_VALUES: usize = 256 << 10;
const DATA: &[u8] = b"data:";

/// What a server answered.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Result(Value),
    Error { code: i64, message: String, data: Value },
}

/// A fragment of the host for people.
pub(super) type Wrong = String;

/// The answer in a JSON text; `None`: it is another message, or an answer to another request.
///
/// # Errors
/// If it is not a message.
pub(super) fn answer(text: &[u8], id: u64) -> Result<Option<Answer>, Wrong> {
    let text = str::from_utf8(text).map_err(|_| "a message that is not UTF-8".to_owned())?;
    if check(text, json::MAX_DEPTH).is_ok_and(|seen| seen.values > MAX_VALUES) {
        return Err(format!("a message of more than {MAX_VALUES} values"));
    }
    let message = json::tree(text).map_err(|why| format!("a message that is {why}"))?;
    Ok(match message {
        // A batch of 2025-03-26.
        Value::Array(messages) => messages.into_iter().find_map(|message| of_message(message, id)),
        message => of_message(message, id),
    })
}

fn of_message(mut message: Value, id: u64) -> Option<Answer> {
    // A server that could not read the id answers with none.
    let is_nameless = message.get("id").is_none_or(Value::is_null);
    let is_answer = is_nameless || message["id"].as_u64() == Some(id);
    if let Some(error) = message.get_mut("error").filter(|error| error.is_object()) {
        let code = error["code"].as_i64().unwrap_or_default();
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        return is_answer.then(|| Answer::Error { code, message, data: error["data"].take() });
    }
    if message["id"].as_u64() != Some(id) {
        return None;
    }
    message.get_mut("result").map(|result| Answer::Result(result.take()))
}

/// The events of a stream, as its bytes arrive.
#[derive(Default)]
pub(super) struct Events {
    /// The line that is not at its end yet.
    line: Vec<u8>,
    /// The data of the event so far.
    data: Vec<u8>,
    after_return: bool,
}

impl Events {
    /// Adds bytes, and returns the data of the events that are complete with them.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut complete = Vec::new();
        for &byte in bytes {
            // A line ends with "\r", "\n" or "\r\n".
            let is_second = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match byte {
                b'\n' if is_second => {}
                b'\n' | b'\r' => self.end_line(&mut complete),
                byte => self.line.push(byte),
            }
        }
        complete
    }

    fn end_line(&mut self, complete: &mut Vec<Vec<u8>>) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            complete.extend((!data.is_empty()).then_some(data));
        } else if let Some(value) = line.strip_prefix(DATA) {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_found_however_the_bytes_arrive() {
        let stream = ": hello\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nid: 7\n\ndata:last\r\r";
        for size in [1, 2, 3, 7, 1000] {
            let mut events = Events::default();
            let found: Vec<Vec<u8>> = stream.as_bytes().chunks(size).flat_map(|part| events.push(part)).collect();
            assert_eq!(found, [&b"{\"a\":\n1}"[..], b"last"], "{size}");
        }
    }

    #[test]
    fn the_answer_is_the_one_with_the_id() {
        let result = |text: &str| answer(text.as_bytes(), 1);
        assert_eq!(result(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#), Ok(Some(Answer::Result(json!({ "a": 1 })))));
        assert_eq!(result(r#"{"id":2,"result":{}}"#), Ok(None));
        assert_eq!(result(r#"{"id":"1","result":{}}"#), Ok(None));
        assert_eq!(result(r#"{"method":"notifications/message"}"#), Ok(None));
        assert_eq!(result(r#"[{"method":"x"},{"id":1,"result":7}]"#), Ok(Some(Answer::Result(json!(7)))));
        let error = |id: &str| result(&format!(r#"{{"id":{id},"error":{{"code":-32601,"message":"no"}}}}"#));
        let no = || Answer::Error { code: -32601, message: "no".into(), data: Value::Null };
        assert_eq!(error("1"), Ok(Some(no())));
        assert_eq!((error("null"), error("2")), (Ok(Some(no())), Ok(None)));
        let nested = format!(r#"{{"id":1,"result":{}1{}}}"#, "[".repeat(100), "]".repeat(100));
        for wrong in ["", "<html>", "{", &nested] {
            result(wrong).expect_err(wrong);
        }
    }
}
