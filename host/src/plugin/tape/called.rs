//! What a recorded call was about: one of the things that a plugin offers, with what it was given.

use serde_json::{Map, Value};

use super::kept::{Kept, member};
use crate::plugin::abi::Subject;

#[derive(Debug, Clone, PartialEq)]
pub(in crate::plugin) enum Called {
    /// With the text of its arguments.
    Tool(String, String),
    Resource(String),
    Prompt(String, Vec<(String, String)>),
    Completion(Completing),
    /// A method of an extension, with the text of its params.
    Method(String, String),
}

/// Which argument was typed, how far, and what the others were.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plugin) struct Completing {
    pub(in crate::plugin) subject: Subject,
    pub(in crate::plugin) argument: String,
    pub(in crate::plugin) value: String,
    pub(in crate::plugin) given: Vec<(String, String)>,
}

impl Called {
    /// For people.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tool(name, _) | Self::Resource(name) | Self::Prompt(name, _) | Self::Method(name, _) => name,
            Self::Completion(Completing {
                subject: Subject::Prompt(name) | Subject::ResourceTemplate(name), ..
            }) => name,
        }
    }

    /// The members of the first line that say it.
    pub(in crate::plugin) fn keep(&self) -> Map<String, Value> {
        let members = match self {
            Self::Tool(name, arguments) => vec![("tool", name.keep()), ("arguments", arguments.keep())],
            Self::Resource(uri) => vec![("resource", uri.keep())],
            Self::Prompt(name, arguments) => vec![("prompt", name.keep()), ("arguments", arguments.keep())],
            Self::Completion(Completing { subject, argument, value, given }) => vec![
                ("completion", subject.keep()),
                ("argument", member(argument, value.keep())),
                ("arguments", given.keep()),
            ],
            Self::Method(name, params) => vec![("method", name.keep()), ("params", params.keep())],
        };
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// `None`: the line says nothing, or two things.
    pub(in crate::plugin) fn read(line: &Value) -> Option<Self> {
        const KINDS: [&str; 5] = ["tool", "resource", "prompt", "completion", "method"];
        let mut kinds = KINDS.into_iter().filter(|kind| line.get(kind).is_some());
        let (kind, None) = (kinds.next()?, kinds.next()) else { return None };
        let text = |name: &str| String::read(&line[name]);
        Some(match kind {
            "tool" => Self::Tool(text(kind)?, text("arguments")?),
            "resource" => Self::Resource(text(kind)?),
            "prompt" => Self::Prompt(text(kind)?, Kept::read(&line["arguments"])?),
            "completion" => {
                let (argument, value) = line["argument"].as_object()?.iter().next()?;
                let (argument, value) = (argument.clone(), Kept::read(value)?);
                let (subject, given) = (Kept::read(&line[kind])?, Kept::read(&line["arguments"])?);
                Self::Completion(Completing { subject, argument, value, given })
            }
            _ => Self::Method(text(kind)?, text("params")?),
        })
    }

    /// Each text that a caller chose.
    pub(super) fn texts(&mut self) -> Vec<&mut String> {
        fn of(pairs: &mut [(String, String)]) -> impl Iterator<Item = &mut String> {
            pairs.iter_mut().flat_map(|(name, value)| [name, value])
        }
        match self {
            Self::Tool(name, given) | Self::Method(name, given) => vec![name, given],
            Self::Resource(uri) => vec![uri],
            Self::Prompt(name, arguments) => std::iter::once(name).chain(of(arguments)).collect(),
            Self::Completion(Completing { subject, argument, value, given }) => {
                let (Subject::Prompt(name) | Subject::ResourceTemplate(name)) = subject;
                [name, argument, value].into_iter().chain(of(given)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    fn each() -> [Called; 6] {
        let completing = |subject| {
            let (argument, value) = pair("topic", "te");
            Called::Completion(Completing { subject, argument, value, given: vec![pair("a", "b")] })
        };
        [
            Called::Tool("add".into(), "{}".into()),
            Called::Resource("notes://1".into()),
            Called::Prompt("ask".into(), vec![pair("topic", "tea")]),
            completing(Subject::Prompt("ask".into())),
            completing(Subject::ResourceTemplate("notes://{id}".into())),
            Called::Method("a/b".into(), "{}".into()),
        ]
    }

    #[test]
    fn each_kind_is_read_as_it_was_kept() {
        for called in each() {
            let line = Value::Object(called.keep());
            assert_eq!(Called::read(&line), Some(called), "{line}");
        }
    }

    #[test]
    fn a_line_has_one_kind() {
        let [tool, .., method] = each().map(|called| called.keep());
        assert_eq!(Called::read(&Value::Object(tool.into_iter().chain(method).collect())), None);
        assert_eq!(Called::read(&serde_json::json!({"argument": {"a": "b"}})), None);
    }

    #[test]
    fn no_text_of_a_caller_is_left_out() {
        for (mut called, texts) in each().into_iter().zip([2, 1, 3, 5, 5, 2]) {
            assert_eq!(called.texts().len(), texts);
            called.texts().into_iter().for_each(|text| *text = "x".into());
            let kept = Value::Object(called.keep()).to_string();
            for text in ["add", "notes", "ask", "topic", "tea", "\"te\"", "a/b", "{}"] {
                assert!(!kept.contains(text), "{text}: {kept}");
            }
        }
    }
}
