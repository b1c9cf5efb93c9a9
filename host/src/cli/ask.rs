//! Answers a plugin's elicitation requests: from the command line, or on the terminal.
//!
//! Supports forms and URLs, but neither sampling nor roots.

use std::io::{self, IsTerminal};
use std::str::FromStr;

use clap::Args;
use dialoguer::{Confirm, Input, MultiSelect, Select};
use serde_json::{Map, Number, Value, json};

use super::arguments::Pair;
use crate::report::{self, Failure, NAME};

#[derive(Args)]
pub(super) struct AnswerOptions {
    /// Answer the plugin's questions without a terminal: `yes` or `no` to what is to be confirmed, NAME=VALUE or
    /// NAME:=JSON for a field of a form; repeat it for each answer
    #[arg(long = "answer", value_name = "ANSWER")]
    answers: Vec<String>,
}

/// How questions are answered.
pub(super) struct Answers {
    /// Of confirmations, and of fields that are yes or no.
    confirmed: Option<bool>,
    /// Of fields.
    fields: Vec<Pair>,
}

impl AnswerOptions {
    pub(super) fn read(&self) -> Result<Answers, Failure> {
        let mut answers = Answers { confirmed: None, fields: Vec::new() };
        for answer in &self.answers {
            match answer.as_str() {
                "yes" | "no" => answers.confirmed = Some(answer == "yes"),
                field => answers.fields.push(Pair::parse(field).map_err(|_| {
                    Failure::usage(format!("read --answer {field}"))
                        .hint("write --answer yes, --answer no, or --answer NAME=VALUE".to_owned())
                })?),
            }
        }
        Ok(answers)
    }
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

impl Answers {
    /// The client capabilities: none if no one can answer.
    pub(super) fn capabilities(&self) -> Value {
        if is_terminal() || self.confirmed.is_some() || !self.fields.is_empty() {
            json!({ "elicitation": { "form": {}, "url": {} } })
        } else {
            json!({})
        }
    }

    /// Whether no question can be answered, so that plugins see a client without the capability.
    pub(super) fn are_impossible(&self) -> bool {
        self.capabilities() == json!({})
    }

    /// The answers to `inputRequests`, by their keys.
    pub(super) fn to(&self, requests: &Value) -> Result<Value, Failure> {
        let requests = requests.as_object().into_iter().flatten();
        requests.map(|(key, request)| Ok((key.clone(), self.elicit(&request["params"])?))).collect()
    }

    fn elicit(&self, params: &Value) -> Result<Value, Failure> {
        let message = params["message"].as_str().unwrap_or_default();
        if params["mode"] == "url" {
            let url = params["url"].as_str().unwrap_or_default();
            report::message(&format!("{NAME}{message}{NAME:#}\n  {url}"));
            let visits = self.confirm("Will you visit this page?")?;
            return Ok(json!({ "action": if visits { "accept" } else { "decline" } }));
        }
        let empty = Map::new();
        let fields = params["requestedSchema"]["properties"].as_object().unwrap_or(&empty);
        if fields.is_empty() {
            return Ok(match self.confirm(message)? {
                true => json!({ "action": "accept", "content": {} }),
                false => json!({ "action": "decline" }),
            });
        }
        if is_terminal() {
            report::message(&format!("{NAME}{message}{NAME:#}"));
        }
        let required = params["requestedSchema"]["required"].as_array();
        let mut content = Map::new();
        for (name, field) in fields {
            let required = required.is_some_and(|names| names.iter().any(|required| required == name));
            let value = match self.fields.iter().find(|pair| pair.is_for(name)) {
                Some(pair) => Some(pair.value_for(field, &params["requestedSchema"])),
                None if field["type"] == "boolean" && self.confirmed.is_some() => self.confirmed.map(Value::from),
                None if is_terminal() => self::field(name, field, required)?,
                None => match field.get("default") {
                    Some(default) => Some(default.clone()),
                    None if required => return Err(unanswered(message, &format!("{name}=…"))),
                    None => None,
                },
            };
            if let Some(value) = value {
                content.insert(name.clone(), value);
            }
        }
        Ok(json!({ "action": "accept", "content": content }))
    }

    fn confirm(&self, question: &str) -> Result<bool, Failure> {
        match self.confirmed {
            Some(confirmed) => Ok(confirmed),
            None if is_terminal() => Confirm::new().with_prompt(question).interact().map_err(failed),
            None => Err(unanswered(question, "yes")),
        }
    }
}

fn unanswered(question: &str, answer: &str) -> Failure {
    Failure::usage(format!("answer the plugin's question: {question}"))
        .hint(format!("add --answer {answer}, or run this on a terminal"))
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
        Some("integer") => Ok(input::<i64>(label, "a whole number", default, required)?.map(Value::from)),
        Some("number") => {
            Ok(input::<f64>(label, "a number", default, required)?.and_then(Number::from_f64).map(Value::from))
        }
        Some("array") => {
            let (values, titles) = options(&field["items"]);
            let chosen = MultiSelect::new().with_prompt(label).items(&titles).interact().map_err(failed)?;
            Ok(Some(chosen.into_iter().map(|at| values[at].clone()).collect()))
        }
        _ => match options(field) {
            (values, _) if values.is_empty() => {
                Ok(input::<String>(label, "a text", default, required)?.map(Value::from))
            }
            (values, titles) => {
                let at = values.iter().position(|value| value == default).unwrap_or(0);
                let chosen = Select::new().with_prompt(label).items(&titles).default(at).interact().map_err(failed)?;
                Ok(Some(values[chosen].clone()))
            }
        },
    }
}

/// The entered value; `None` for empty input where that is allowed.
fn input<T: FromStr>(label: &str, what: &str, default: &Value, required: bool) -> Result<Option<T>, Failure> {
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
            false => text.parse::<T>().map(drop).map_err(|_| format!("enter {what}")),
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

fn failed(error: dialoguer::Error) -> Failure {
    Failure::new(format!("ask on the terminal: {error}"))
}
