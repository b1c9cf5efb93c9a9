//! What a server asks before it can finish: MCP's `InputRequiredResult` as the type of `wharf:plugin`.
//!
//! Source: MCP 2026-07-28, basic/patterns/mrtr; client/elicitation, sampling and roots.

use serde_json::Value;

use super::convert::{self, Converted, json_text, list, maybe, text};
use crate::plugin::abi::{
    Ask, ContextScope, Form, InputRequired, ModelPreferences, Question, Sampling, SamplingContent, SamplingMessage,
    SamplingTool, ToolAnswer, ToolChoice, ToolUse, UrlVisit,
};
use crate::text::quote;

/// The `resultType` of a result that asks.
pub(super) const INPUT_REQUIRED: &str = "input_required";

/// What the result asks, if it does.
pub(super) fn asked(result: &Value) -> Converted<Option<InputRequired>> {
    if result["resultType"] != INPUT_REQUIRED {
        return Ok(None);
    }
    let state = match &result["requestState"] {
        Value::Null => None,
        Value::String(state) => Some(state.clone().into_bytes()),
        _ => return Err("a `requestState` that is no text".into()),
    };
    let question = |(key, request): (&String, &Value)| match ask(request) {
        Ok(ask) => Ok(Question { key: key.clone(), ask }),
        Err(why) => Err(format!("the question '{}' with {why}", quote(key, 60))),
    };
    let questions = match &result["inputRequests"] {
        Value::Null => Vec::new(),
        Value::Object(requests) => requests.iter().map(question).collect::<Converted<_>>()?,
        _ => return Err("`inputRequests` that are no object".into()),
    };
    Ok(Some(InputRequired { questions, state }))
}

fn ask(request: &Value) -> Converted<Ask> {
    let params = &request["params"];
    match (request["method"].as_str().unwrap_or_default(), params["mode"].as_str()) {
        ("elicitation/create", None | Some("form")) => Ok(Ask::Form(Form {
            message: text(params, "message")?,
            schema: json_text(params, "requestedSchema").ok_or("a form without a schema")?,
        })),
        ("elicitation/create", Some("url")) => {
            Ok(Ask::Url(UrlVisit { message: text(params, "message")?, url: text(params, "url")? }))
        }
        ("sampling/createMessage", _) => sampling(params).map(Ask::Sample),
        ("roots/list", _) => Ok(Ask::Roots),
        ("elicitation/create", Some(mode)) => Err(format!("the unknown mode '{}'", quote(mode, 60))),
        (method, _) => Err(format!("the unknown method '{}'", quote(method, 60))),
    }
}

fn sampling(params: &Value) -> Converted<Sampling> {
    let tool = |tool: &Value| {
        Ok(SamplingTool {
            name: text(tool, "name")?,
            description: maybe(tool, "description"),
            input_schema: json_text(tool, "inputSchema").ok_or("a tool without an input schema")?,
        })
    };
    Ok(Sampling {
        messages: list(params, "messages", message)?,
        max_tokens: tokens(&params["maxTokens"]).ok_or("no `maxTokens` that is an integer from 0 to 4294967295")?,
        system_prompt: given(params, "systemPrompt", Value::as_str)?.map(str::to_owned),
        temperature: given(params, "temperature", Value::as_f64)?,
        stop_sequences: given(params, "stopSequences", |all| texts(all, |text| text))?.unwrap_or_default(),
        model_preferences: given(params, "modelPreferences", preferences)?,
        include_context: given(params, "includeContext", |scope| match scope.as_str()? {
            "none" => Some(ContextScope::None),
            "thisServer" => Some(ContextScope::ThisServer),
            "allServers" => Some(ContextScope::AllServers),
            _ => None,
        })?,
        tools: if params["tools"].is_null() { Vec::new() } else { list(params, "tools", tool)? },
        tool_choice: given(params, "toolChoice", |choice| match choice["mode"].as_str()? {
            "auto" => Some(ToolChoice::Auto),
            "required" => Some(ToolChoice::Required),
            "none" => Some(ToolChoice::None),
            _ => None,
        })?,
        metadata: json_text(params, "metadata"),
    })
}

/// A member that may be missing, but not be anything else than it ought to be.
fn given<'a, T>(of: &'a Value, name: &str, read: impl FnOnce(&'a Value) -> Option<T>) -> Converted<Option<T>> {
    let value = &of[name];
    match value.is_null() {
        true => Ok(None),
        false => read(value).map(Some).ok_or_else(|| format!("an invalid `{name}`")),
    }
}

/// Integers may be written as any number without a fraction.
fn tokens(number: &Value) -> Option<u32> {
    let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
    number.as_f64().filter(is_whole).map(|number| number as u32)
}

fn preferences(of: &Value) -> Option<ModelPreferences> {
    let priority = |name: &str| given(of, name, Value::as_f64).ok();
    Some(ModelPreferences {
        hints: if of["hints"].is_null() { Vec::new() } else { texts(&of["hints"], |hint| &hint["name"])? },
        cost_priority: priority("costPriority")?,
        speed_priority: priority("speedPriority")?,
        intelligence_priority: priority("intelligencePriority")?,
    })
}

/// The texts of a list, of those of its entries that have one.
fn texts(of: &Value, text: fn(&Value) -> &Value) -> Option<Vec<String>> {
    let all = of.as_array()?.iter().map(text).filter(|text| !text.is_null());
    all.map(|text| text.as_str().map(str::to_owned)).collect()
}

fn message(message: &Value) -> Converted<SamplingMessage> {
    let content = match &message["content"] {
        Value::Array(all) => all.iter().map(content).collect::<Converted<_>>()?,
        one => vec![content(one)?],
    };
    Ok(SamplingMessage { role: convert::role(&message["role"])?, content })
}

fn content(content: &Value) -> Converted<SamplingContent> {
    Ok(match content["type"].as_str().unwrap_or_default() {
        "text" => SamplingContent::Text(convert::text_content(content)?),
        "image" => SamplingContent::Image(convert::media(content)?),
        "audio" => SamplingContent::Audio(convert::media(content)?),
        "tool_use" => SamplingContent::ToolUse(ToolUse {
            id: text(content, "id")?,
            name: text(content, "name")?,
            input: json_text(content, "input").ok_or("a use of a tool without input")?,
        }),
        "tool_result" => SamplingContent::ToolResult(ToolAnswer {
            tool_use_id: text(content, "toolUseId")?,
            content: list(content, "content", convert::content)?,
            structured: json_text(content, "structuredContent"),
            is_error: content["isError"].as_bool().unwrap_or(false),
        }),
        _ => return Err("content of an unknown type".into()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(request: Value) -> Converted<Option<InputRequired>> {
        asked(&json!({ "resultType": INPUT_REQUIRED, "inputRequests": { "a": request } }))
    }

    fn one(request: Value) -> Ask {
        of(request).expect("a question").expect("input is required").questions.remove(0).ask
    }

    #[test]
    fn questions_of_each_kind_are_read() {
        assert!(asked(&json!({ "content": [] })).expect("a result").is_none());
        let state = asked(&json!({ "resultType": INPUT_REQUIRED, "requestState": "é" })).expect("a state");
        assert_eq!(state.expect("input is required").state.as_deref(), Some("é".as_bytes()));
        for mode in [json!(null), json!("form")] {
            let params = json!({ "mode": mode, "message": "m", "requestedSchema": { "type": "object" } });
            let Ask::Form(form) = one(json!({ "method": "elicitation/create", "params": params })) else {
                panic!("{mode}")
            };
            assert_eq!((form.message.as_str(), form.schema.as_str()), ("m", r#"{"type":"object"}"#));
        }
        let params = json!({ "mode": "url", "message": "m", "url": "https://a.example/" });
        let Ask::Url(visit) = one(json!({ "method": "elicitation/create", "params": params })) else { panic!() };
        assert_eq!(visit.url, "https://a.example/");
        assert!(matches!(one(json!({ "method": "roots/list" })), Ask::Roots));
    }

    #[test]
    fn all_that_a_model_is_asked_is_read() {
        let params = json!({
            "maxTokens": 100.0, "systemPrompt": "s", "temperature": 0.5, "stopSequences": ["x"],
            "modelPreferences": { "hints": [{ "name": "h" }, {}], "speedPriority": 1 }, "includeContext": "thisServer",
            "tools": [{ "name": "t", "inputSchema": { "type": "object" } }], "toolChoice": { "mode": "required" },
            "metadata": { "k": 1 },
            "messages": [
                { "role": "user", "content": { "type": "image", "data": "AAEC", "mimeType": "image/png" } },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "t", "input": {} }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "toolUseId": "1", "content": [{ "type": "text", "text": "r" }] },
                    { "type": "text", "text": "go on" },
                ] },
            ],
        });
        let Ask::Sample(sampling) = one(json!({ "method": "sampling/createMessage", "params": params })) else {
            panic!()
        };
        assert_eq!((sampling.max_tokens, sampling.temperature), (100, Some(0.5)));
        assert_eq!((sampling.stop_sequences, sampling.metadata), (vec!["x".to_owned()], Some(r#"{"k":1}"#.into())));
        let preferences = sampling.model_preferences.expect("preferences");
        assert_eq!((preferences.hints, preferences.speed_priority), (vec!["h".to_owned()], Some(1.0)));
        assert_eq!(sampling.include_context, Some(ContextScope::ThisServer));
        assert_eq!((sampling.tools[0].name.as_str(), sampling.tool_choice), ("t", Some(ToolChoice::Required)));
        let contents: Vec<usize> = sampling.messages.iter().map(|message| message.content.len()).collect();
        assert_eq!(contents, [1, 1, 2]);
    }

    #[test]
    fn what_is_no_question_is_said() {
        let sample = |params: Value| json!({ "method": "sampling/createMessage", "params": params });
        for (request, why) in [
            (json!(1), "unknown method ''"),
            (json!({ "method": "tools/list" }), "the question 'a' with the unknown method 'tools/list'"),
            (json!({ "method": "elicitation/create", "params": { "mode": "pigeon" } }), "unknown mode 'pigeon'"),
            (json!({ "method": "elicitation/create", "params": { "message": "m" } }), "without a schema"),
            (json!({ "method": "elicitation/create", "params": { "mode": "url", "message": "m" } }), "`url`"),
            (sample(json!({ "messages": [] })), "maxTokens"),
            (sample(json!({ "messages": [], "maxTokens": -1 })), "maxTokens"),
            (sample(json!({ "messages": [], "maxTokens": 1.5 })), "maxTokens"),
            (sample(json!({ "messages": [], "maxTokens": 1e300 })), "maxTokens"),
            (sample(json!({ "messages": [], "maxTokens": 1, "temperature": "x" })), "an invalid `temperature`"),
            (sample(json!({ "messages": [], "maxTokens": 1, "stopSequences": [1] })), "an invalid `stopSequences`"),
            (sample(json!({ "messages": [], "maxTokens": 1, "toolChoice": {} })), "an invalid `toolChoice`"),
            (sample(json!({ "messages": [], "maxTokens": 1, "includeContext": 5 })), "an invalid `includeContext`"),
            (sample(json!({ "messages": [], "maxTokens": 1, "modelPreferences": { "hints": 1 } })), "modelPreferences"),
            (sample(json!({ "maxTokens": 1 })), "messages"),
            (sample(json!({ "maxTokens": 1, "messages": [{ "role": "user", "content": {} }] })), "unknown type"),
        ] {
            let said = of(request.clone()).expect_err("no question");
            assert!(said.contains(why), "{request}: {said}");
        }
        for (result, why) in [
            (json!({ "resultType": INPUT_REQUIRED, "requestState": 1 }), "requestState"),
            (json!({ "resultType": INPUT_REQUIRED, "inputRequests": [] }), "inputRequests"),
        ] {
            assert!(asked(&result).expect_err("no question").contains(why));
        }
    }
}
