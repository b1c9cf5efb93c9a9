//! Handles a plugin's elicitation requests on the terminal, for `wharf call`.
//!
//! Supports forms and URLs, but neither sampling nor roots.

use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::str::FromStr;

use dialoguer::{Confirm, Input, MultiSelect, Select};
use serde_json::{Map, Number, Value, json};

use crate::report::{self, Failure, NAME};

/// The client capabilities: none if this is not a terminal.
pub(super) fn capabilities() -> Value {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        json!({ "elicitation": { "form": {}, "url": {} } })
    } else {
        json!({})
    }
}

/// The answers to `inputRequests`, by their keys.
pub(super) fn answers(requests: &Value) -> Result<Value, Failure> {
    let requests = requests.as_object().into_iter().flatten();
    requests.map(|(key, request)| Ok((key.clone(), elicit(&request["params"])?))).collect()
}

fn elicit(params: &Value) -> Result<Value, Failure> {
    let message = params["message"].as_str().unwrap_or_default();
    if params["mode"] == "url" {
        let url = params["url"].as_str().unwrap_or_default();
        report::message(&format!("{NAME}{message}{NAME:#}\n  {url}"));
        return Ok(json!({ "action": if confirm("Will you visit this page?")? { "accept" } else { "decline" } }));
    }
    let empty = Map::new();
    let fields = params["requestedSchema"]["properties"].as_object().unwrap_or(&empty);
    if fields.is_empty() {
        return Ok(match confirm(message)? {
            true => json!({ "action": "accept", "content": {} }),
            false => json!({ "action": "decline" }),
        });
    }
    report::message(&format!("{NAME}{message}{NAME:#}"));
    let required = params["requestedSchema"]["required"].as_array();
    let mut content = Map::new();
    for (name, field) in fields {
        let required = required.is_some_and(|names| names.iter().any(|required| required == name));
        if let Some(value) = self::field(name, field, required)? {
            content.insert(name.clone(), value);
        }
    }
    Ok(json!({ "action": "accept", "content": content }))
}

/// One field's value; `None` if it is optional and was left empty.
fn field(name: &str, field: &Value, required: bool) -> Result<Option<Value>, Failure> {
    let label = ["title", "description"].iter().find_map(|key| field[*key].as_str()).unwrap_or(name);
    let label = label.trim_end_matches('.');
    let default = &field["default"];
    match field["type"].as_str() {
        Some("boolean") => {
            let entered = Confirm::new().with_prompt(label).default(default.as_bool().unwrap_or(false)).interact();
            Ok(Some(entered.map_err(failed)?.into()))
        }
        Some("integer") => Ok(input::<i64>(label, default, required)?.map(Value::from)),
        Some("number") => Ok(input::<f64>(label, default, required)?.and_then(Number::from_f64).map(Value::from)),
        Some("array") => {
            let (values, titles) = options(&field["items"]);
            let chosen = MultiSelect::new().with_prompt(label).items(&titles).interact().map_err(failed)?;
            Ok(Some(chosen.into_iter().map(|at| values[at].clone()).collect()))
        }
        _ => match options(field) {
            (values, _) if values.is_empty() => Ok(input::<String>(label, default, required)?.map(Value::from)),
            (values, titles) => {
                let at = values.iter().position(|value| value == default).unwrap_or(0);
                let chosen = Select::new().with_prompt(label).items(&titles).default(at).interact().map_err(failed)?;
                Ok(Some(values[chosen].clone()))
            }
        },
    }
}

/// The entered value; `None` for empty input where that is allowed.
fn input<T>(label: &str, default: &Value, required: bool) -> Result<Option<T>, Failure>
where
    T: FromStr,
    T::Err: Display,
{
    let initial = match default {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let entered = Input::<String>::new()
        .with_prompt(label)
        .with_initial_text(initial)
        .allow_empty(!required)
        .validate_with(|text: &String| match text.is_empty() && !required {
            true => Ok(()),
            false => text.parse::<T>().map(drop).map_err(|error| error.to_string()),
        })
        .interact_text()
        .map_err(failed)?;
    Ok(entered.parse().ok().filter(|_| required || !entered.is_empty()))
}

/// The values of a choice and their titles.
fn options(field: &Value) -> (Vec<Value>, Vec<String>) {
    let title = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(titled) = field["oneOf"].as_array().or(field["anyOf"].as_array()) {
        return titled.iter().map(|option| (option["const"].clone(), title(&option["title"]))).unzip();
    }
    let values = field["enum"].as_array().cloned().unwrap_or_default();
    let titles = match field["enumNames"].as_array() {
        Some(names) if names.len() == values.len() => names.iter().map(title).collect(),
        _ => values.iter().map(title).collect(),
    };
    (values, titles)
}

fn confirm(question: &str) -> Result<bool, Failure> {
    Confirm::new().with_prompt(question).interact().map_err(failed)
}

fn failed(error: dialoguer::Error) -> Failure {
    Failure::new(format!("ask on the terminal: {error}"))
}
