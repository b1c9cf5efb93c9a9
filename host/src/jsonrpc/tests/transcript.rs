//! Replays the specification's own examples against a dispatcher that knows its methods.

use serde_json::{Value, json};

use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{ErrorObject, Frame, Message, Request, decode};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/transcripts/jsonrpc-2.0.txt");

/// The error as the specification prints it, without the details and data that this host adds. Checks
/// that its message begins with the specified one.
fn printed(error: &ErrorObject) -> ErrorObject {
    let message = match error.code {
        -32700 => "Parse error",
        -32600 => "Invalid Request",
        -32601 => "Method not found",
        code => panic!("no example has {code}"),
    };
    assert!(error.message.starts_with(message), "{}", error.message);
    ErrorObject { code: error.code, message: message.to_owned(), data: None }
}

fn call(request: &Request<'_>) -> Result<Value, ErrorObject> {
    let params: Value = request.params.map_or(Value::Null, |raw| serde_json::from_str(raw.get()).unwrap());
    let number = |value: &Value| value.as_i64().unwrap();
    match &*request.method {
        "subtract" if params.is_object() => Ok(json!(number(&params["minuend"]) - number(&params["subtrahend"]))),
        "subtract" => Ok(json!(number(&params[0]) - number(&params[1]))),
        "sum" => Ok(json!(params.as_array().unwrap().iter().map(number).sum::<i64>())),
        "get_data" => Ok(json!(["hello", 5])),
        _ => Err(ErrorObject::new(-32601, "Method not found", Value::Null)),
    }
}

fn answer(message: Message<'_>) -> Option<String> {
    match message {
        Message::Request(request) => Some(match call(&request) {
            Ok(result) => encode::result(&request.id, result.to_string()),
            Err(error) => encode::error(Some(&request.id), UnreadableId::Null, &printed(&error)),
        }),
        Message::Invalid(invalid) => {
            Some(encode::error(invalid.id.as_ref(), UnreadableId::Null, &printed(&invalid.error)))
        }
        Message::Notification(_) | Message::Response(_) => None,
    }
}

fn serve(line: &str) -> Option<String> {
    match decode(line.as_bytes()) {
        Ok(Frame::Single(message)) => answer(message),
        Ok(Frame::Batch(messages)) => {
            let answers: Vec<String> = messages.into_iter().filter_map(answer).collect();
            (!answers.is_empty()).then(|| encode::batch(&answers))
        }
        Err(invalid) => answer(Message::Invalid(invalid)),
    }
}

#[test]
fn every_example_is_answered_as_printed() {
    let text = std::fs::read_to_string(FILE).unwrap();
    let mut lines = text.lines().peekable();
    let mut sent = 0;
    while let Some(line) = lines.next() {
        let Some(line) = line.strip_prefix("> ") else {
            assert!(line.is_empty() || line.starts_with('#'), "stray line: {line}");
            continue;
        };
        sent += 1;
        let expected = lines.next_if(|line| line.starts_with("< ")).map(|line| &line[2..]);
        let expected: Option<Value> = expected.map(|line| serde_json::from_str(line).unwrap());
        let answered = serve(line).map(|line| serde_json::from_str::<Value>(&line).unwrap());
        assert_eq!(answered, expected, "{line}");
    }
    assert_eq!(sent, 15);
}
