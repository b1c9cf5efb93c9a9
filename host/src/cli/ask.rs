//! Answers a plugin's elicitation requests: from the command line, or on the terminal.
//!
//! Supports forms and URLs, but neither sampling nor roots.

use std::io::{self, IsTerminal};

use clap::Args;
use dialoguer::{Input, MultiSelect, Select};
use serde_json::{Map, Number, Value, json};

use super::arguments::Pair;
use super::confirm::yes_or_no;
use crate::plugin::Schema;
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
        // Without a field for it, it is the answer to the whole form.
        if self.confirmed == Some(false) && !fields.values().any(|field| field["type"] == "boolean") {
            return Ok(json!({ "action": "decline" }));
        }
        if is_terminal() {
            report::message(&format!("{NAME}{message}{NAME:#}"));
        }
        let required = params["requestedSchema"]["required"].as_array();
        let mut content = Map::new();
        for (name, field) in fields {
            let required = required.is_some_and(|names| names.iter().any(|required| required == name));
            let value = match self.fields.iter().find(|pair| pair.is_for(name)) {
                Some(pair) => {
                    let value = pair.value_for(field, &params["requestedSchema"]);
                    if let Some(why) = objection(field, &value) {
                        return Err(Failure::usage(format!("answer the plugin's question: {message}: {name}: {why}"))
                            .hint(format!("give another value: --answer {name}=…; or decline: --answer no")));
                    }
                    Some(value)
                }
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
            None if is_terminal() => yes_or_no(question, None),
            None => Err(unanswered(question, "yes")),
        }
    }
}

fn unanswered(question: &str, answer: &str) -> Failure {
    Failure::usage(format!("answer the plugin's question: {question}"))
        .hint(format!("add --answer {answer}, or run this on a terminal"))
}

/// Why a field cannot have this value.
fn objection(field: &Value, value: &Value) -> Option<String> {
    // The host, which has sent the form, compiled it before.
    let violations = Schema::compile(&field.to_string()).ok()?.validate(value).err()?;
    violations.into_iter().next().map(|violation| violation.reason)
}

/// One field's value; `None` if it is optional and was left empty.
fn field(name: &str, field: &Value, required: bool) -> Result<Option<Value>, Failure> {
    let label = ["title", "description"].iter().find_map(|key| field[*key].as_str()).unwrap_or(name);
    let label = label.trim_end_matches('.');
    let default = &field["default"];
    match field["type"].as_str() {
        Some("boolean") => {
            let entered = yes_or_no(label, Some(default.as_bool().unwrap_or(false)))?;
            Ok(Some(entered.into()))
        }
        Some("integer") => {
            input(label, "a whole number", field, required, |text| Some(text.parse::<i64>().ok()?.into()))
        }
        Some("number") => {
            input(label, "a number", field, required, |text| Some(Number::from_f64(text.parse().ok()?)?.into()))
        }
        Some("array") => {
            let (values, titles) = options(&field["items"]);
            let chosen = MultiSelect::new().with_prompt(label).items(&titles).interact().map_err(failed)?;
            Ok(Some(chosen.into_iter().map(|at| values[at].clone()).collect()))
        }
        _ => match options(field) {
            (values, _) if values.is_empty() => input(label, "a text", field, required, |text| Some(text.into())),
            (values, titles) => {
                let at = values.iter().position(|value| value == default).unwrap_or(0);
                let chosen = Select::new().with_prompt(label).items(&titles).default(at).interact().map_err(failed)?;
                Ok(Some(values[chosen].clone()))
            }
        },
    }
}

/// The entered value; `None` for empty input where that is allowed.
fn input(
    label: &str,
    what: &str,
    field: &Value,
    required: bool,
    parse: impl Fn(&str) -> Option<Value>,
) -> Result<Option<Value>, Failure> {
    let initial = match &field["default"] {
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
            false => match parse(text) {
                Some(value) => objection(field, &value).map_or(Ok(()), Err),
                None => Err(format!("enter {what}")),
            },
        })
        .interact_text()
        .map_err(failed)?;
    Ok(parse(&entered).filter(|_| required || !entered.is_empty()))
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
