//! What a server is told about its client: what may be asked, and the answers to what it asked.
//!
//! Source: MCP 2026-07-28, `ClientCapabilities` and `InputResponses`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::json;
use crate::plugin::abi::{Answer, ClientFeatures, ElicitAction, MediaContent, Reply, Root, SamplingContent};

/// `clientCapabilities`.
pub(super) fn capabilities(client: ClientFeatures) -> Value {
    let has = |features: ClientFeatures| client.contains(features);
    let object = |members: &[(&str, ClientFeatures)]| -> Value {
        members.iter().filter(|(_, feature)| has(*feature)).map(|(name, _)| ((*name).to_owned(), json!({}))).collect()
    };
    let mut capabilities = Map::new();
    if client.intersects(ClientFeatures::ELICIT_FORM | ClientFeatures::ELICIT_URL) {
        let modes = [("form", ClientFeatures::ELICIT_FORM), ("url", ClientFeatures::ELICIT_URL)];
        capabilities.insert("elicitation".into(), object(&modes));
    }
    if has(ClientFeatures::SAMPLE) {
        let more = [("tools", ClientFeatures::SAMPLE_TOOLS), ("context", ClientFeatures::SAMPLE_CONTEXT)];
        capabilities.insert("sampling".into(), object(&more));
    }
    if has(ClientFeatures::ROOTS) {
        capabilities.insert("roots".into(), json!({}));
    }
    capabilities.into()
}

/// `inputResponses`. What was not answered is missing: the server asks again if it cannot do without.
pub(super) fn responses(answers: &[Answer]) -> Value {
    answers.iter().filter_map(|answer| Some((answer.key.clone(), response(&answer.reply)?))).collect()
}

fn response(reply: &Reply) -> Option<Value> {
    Some(match reply {
        Reply::Unavailable(_) => return None,
        Reply::Elicited(elicited) => {
            let action = match elicited.action {
                ElicitAction::Accept => "accept",
                ElicitAction::Decline => "decline",
                ElicitAction::Cancel => "cancel",
            };
            match elicited.content.as_deref().and_then(|content| json::tree(content, json::MAX_DEPTH).ok()) {
                Some(content) => json!({ "action": action, "content": content }),
                None => json!({ "action": action }),
            }
        }
        Reply::Sampled(sampled) => {
            let contents: Vec<Value> = sampled.content.iter().filter_map(content).collect();
            let content = match <[Value; 1]>::try_from(contents) {
                Ok([one]) => one,
                Err(several) => several.into(),
            };
            let mut response = json!({ "role": sampled.role.name(), "content": content, "model": sampled.model });
            if let Some(reason) = &sampled.stop_reason {
                response["stopReason"] = json!(reason);
            }
            response
        }
        Reply::Roots(roots) => json!({ "roots": roots.iter().map(root).collect::<Vec<Value>>() }),
    })
}

fn root(root: &Root) -> Value {
    match &root.name {
        Some(name) => json!({ "uri": root.uri, "name": name }),
        None => json!({ "uri": root.uri }),
    }
}

fn media(kind: &str, media: &MediaContent) -> Value {
    json!({ "type": kind, "data": STANDARD.encode(&media.data), "mimeType": media.mime_type })
}

fn content(content: &SamplingContent) -> Option<Value> {
    Some(match content {
        SamplingContent::Text(text) => json!({ "type": "text", "text": text.text }),
        SamplingContent::Image(image) => media("image", image),
        SamplingContent::Audio(audio) => media("audio", audio),
        SamplingContent::ToolUse(used) => {
            let input = json::tree(&used.input, json::MAX_DEPTH).unwrap_or_else(|_| json!({}));
            json!({ "type": "tool_use", "id": used.id, "name": used.name, "input": input })
        }
        // A model uses tools, and does not say what they return.
        SamplingContent::ToolResult(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::abi::{Elicited, Role, Sampled, TextContent, ToolUse};

    #[test]
    fn a_server_is_told_what_may_be_asked() {
        assert_eq!(capabilities(ClientFeatures::empty()), json!({}));
        let form = ClientFeatures::ELICIT_FORM | ClientFeatures::SAMPLE_TOOLS;
        assert_eq!(capabilities(form), json!({ "elicitation": { "form": {} } }));
        let all = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {}, "context": {} }, "roots": {} });
        assert_eq!(capabilities(ClientFeatures::all()), all);
    }

    #[test]
    fn answers_of_each_kind_are_written() {
        let media = MediaContent { data: vec![0, 1, 2], mime_type: "image/png".into(), annotations: None, meta: None };
        let used = ToolUse { id: "1".into(), name: "t".into(), input: r#"{"a":1}"#.into() };
        let sampled = |content, stop_reason| Sampled { role: Role::Assistant, content, model: "m".into(), stop_reason };
        let text = || SamplingContent::Text(TextContent::new("hi"));
        let replies = [
            ("form", Reply::Elicited(Elicited { action: ElicitAction::Accept, content: Some(r#"{"n":1}"#.into()) })),
            ("url", Reply::Elicited(Elicited { action: ElicitAction::Decline, content: None })),
            ("one", Reply::Sampled(sampled(vec![text()], Some("endTurn".into())))),
            ("two", Reply::Sampled(sampled(vec![SamplingContent::Image(media), SamplingContent::ToolUse(used)], None))),
            ("roots", Reply::Roots(vec![Root { uri: "file:///a".into(), name: Some("a".into()) }])),
            ("none", Reply::Unavailable("no".into())),
        ];
        let answers = replies.map(|(key, reply)| Answer { key: key.into(), reply });
        let expected = json!({
            "form": { "action": "accept", "content": { "n": 1 } },
            "url": { "action": "decline" },
            "one": { "role": "assistant", "model": "m", "stopReason": "endTurn", "content": { "type": "text", "text": "hi" } },
            "two": { "role": "assistant", "model": "m", "content": [
                { "type": "image", "data": "AAEC", "mimeType": "image/png" },
                { "type": "tool_use", "id": "1", "name": "t", "input": { "a": 1 } },
            ] },
            "roots": { "roots": [{ "uri": "file:///a", "name": "a" }] },
        });
        assert_eq!(responses(&answers), expected);
    }
}
