//! Answers a plugin's elicitation requests: from the command line, or on the terminal.
//!
//! Supports forms and URLs, but neither sampling nor roots.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;

use clap::Args;
use dialoguer::console::Term;
use dialoguer::{MultiSelect, Select};
use serde_json::{Map, Number, Value, json};
use wharf_report::line;

use super::arguments::Pair;
use super::confirm::{can_ask, yes_or_no};
use crate::plugin::Schema;
use crate::report::{self, Failure, NAME};
use crate::text::quote;

/// Bytes of a value in an error.
const MAX_SHOWN: usize = 60;

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
    /// The names of fields that forms had.
    asked: RefCell<BTreeSet<String>>,
}

impl AnswerOptions {
    pub(super) fn read(&self) -> Result<Answers, Failure> {
        let mut answers = Answers { confirmed: None, fields: Vec::new(), asked: RefCell::default() };
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

impl Answers {
    /// The client capabilities: none if no one can answer.
    pub(super) fn capabilities(&self) -> Value {
        if can_ask() || self.confirmed.is_some() || !self.fields.is_empty() {
            json!({ "elicitation": { "form": {}, "url": {} } })
        } else {
            json!({})
        }
    }

    /// Whether no question can be answered, so that plugins see a client without the capability.
    pub(super) fn are_impossible(&self) -> bool {
        self.capabilities() == json!({})
    }

    /// The names of answers to fields that no form had.
    pub(super) fn unused(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        self.fields.iter().map(Pair::key).filter(|key| !asked.contains(*key)).map(str::to_owned).collect()
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
        self.asked.borrow_mut().extend(fields.keys().cloned());
        // Without a field for it, it is the answer to the whole form.
        if self.confirmed == Some(false) && !fields.values().any(|field| field["type"] == "boolean") {
            return Ok(json!({ "action": "decline" }));
        }
        if can_ask() {
            report::message(&format!("{NAME}{message}{NAME:#}"));
        }
        let required = params["requestedSchema"]["required"].as_array();
        let mut content = Map::new();
        for (name, field) in fields {
            let required = required.is_some_and(|names| names.iter().any(|required| required == name));
            let value = match self.fields.iter().find(|pair| pair.key() == name) {
                Some(pair) => {
                    let value = pair.value_for(field, &params["requestedSchema"]);
                    if let Some(why) = objection(field, &value) {
                        let given = format!("{name}={}", quote(&value.to_string(), MAX_SHOWN));
                        return Err(Failure::usage(format!("answer the plugin's question: {message}: {given}: {why}"))
                            .hint(format!("give another value: --answer {name}=…; or decline: --answer no")));
                    }
                    Some(value)
                }
                None if field["type"] == "boolean" && self.confirmed.is_some() => self.confirmed.map(Value::from),
                None if can_ask() => match self::field(name, field, required)? {
                    Entered::Value(value) => Some(value),
                    Entered::Nothing => None,
                    Entered::Cancelled => return Ok(json!({ "action": "cancel" })),
                },
                None => match field.get("default") {
                    Some(default) => Some(default.clone()),
                    None if required => {
                        let missing = unanswered(message, &format!("{name}=…"));
                        // A misspelt name, most likely.
                        return Err(match self.unused().first() {
                            Some(other) => {
                                missing.hint(format!("its form has no field {other}: add --answer {name}=…"))
                            }
                            None => missing,
                        });
                    }
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
            None if can_ask() => yes_or_no(question, None),
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

/// What a person did about a field.
enum Entered {
    Value(Value),
    /// Left it empty, which is allowed.
    Nothing,
    /// Ended the form without an answer.
    Cancelled,
}

fn field(name: &str, field: &Value, required: bool) -> Result<Entered, Failure> {
    let label = ["title", "description"].iter().find_map(|key| field[*key].as_str()).unwrap_or(name);
    let label = label.trim_end_matches('.');
    let default = &field["default"];
    match field["type"].as_str() {
        Some("boolean") => {
            let entered = yes_or_no(label, Some(default.as_bool().unwrap_or(false)))?;
            Ok(Entered::Value(entered.into()))
        }
        Some("integer") => {
            input(label, "a whole number", field, required, |text| Some(text.parse::<i64>().ok()?.into()))
        }
        Some("number") => {
            input(label, "a number", field, required, |text| Some(Number::from_f64(text.parse().ok()?)?.into()))
        }
        Some("array") => {
            let (values, titles) = options(&field["items"]);
            let chosen = MultiSelect::new().with_prompt(label).items(&titles).interact_opt().map_err(failed)?;
            let values = chosen.map(|chosen| chosen.into_iter().map(|at| values[at].clone()).collect());
            Ok(values.map_or(Entered::Cancelled, Entered::Value))
        }
        _ => match options(field) {
            (values, _) if values.is_empty() => input(label, "a text", field, required, |text| Some(text.into())),
            (values, titles) => {
                let at = values.iter().position(|value| value == default).unwrap_or(0);
                let chosen = Select::new().with_prompt(label).items(&titles).default(at).interact_opt();
                Ok(chosen.map_err(failed)?.map_or(Entered::Cancelled, |at| Entered::Value(values[at].clone())))
            }
        },
    }
}

/// A line of text, asked for until its value is allowed. The end of the input, Ctrl-D, ends the form.
fn input(
    label: &str,
    what: &str,
    field: &Value,
    required: bool,
    parse: impl Fn(&str) -> Option<Value>,
) -> Result<Entered, Failure> {
    let default = match &field["default"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let shown = if default.is_empty() { String::new() } else { format!(" [{}]", line(&default)) };
    let terminal = Term::stderr();
    let ask = || {
        terminal.write_str(&format!("{}{shown}: ", line(label)))?;
        let mut text = String::new();
        // The terminal gives a line once it is edited.
        let read = io::stdin().read_line(&mut text)?;
        Ok((read > 0).then(|| text.trim_end_matches(['\r', '\n']).to_owned()))
    };
    loop {
        let asked = ask().map_err(|error: io::Error| failed(error.into()))?;
        let Some(text) = asked else {
            report::message("");
            return Ok(Entered::Cancelled);
        };
        let text = if text.is_empty() { default.as_str() } else { text.as_str() };
        if text.is_empty() && !required {
            return Ok(Entered::Nothing);
        }
        let objection = match parse(text).filter(|_| !text.is_empty()) {
            Some(value) => match self::objection(field, &value) {
                None => return Ok(Entered::Value(value)),
                Some(why) => why,
            },
            None => format!("enter {what}"),
        };
        report::message(&line(&objection));
    }
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
