//! Takes the secrets out of a recorded call, in all spellings that are redacted elsewhere too.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::event::{Event, Part};
use super::kept::Kept;
use super::recorded::Recorded;
use crate::plugin::abi::CallContext;
use crate::plugin::policy::redact::Redactor;

/// What finds secrets, one after the other.
pub(super) struct Redacting(pub(super) Vec<Arc<Redactor>>);

impl Redacting {
    pub(super) fn recorded(&self, call: &mut Recorded) {
        let Recorded { input, context, surroundings, events, outcome, cost: _ } = call;
        input.called.texts().into_iter().for_each(|text| self.text(text));
        let mut kept = context.keep();
        self.value(&mut kept);
        // A replacement is a text where a text was.
        if let Some(redacted) = CallContext::read(&kept) {
            *context = redacted;
        }
        self.pairs(&mut surroundings.variables);
        self.pairs(&mut surroundings.settings);
        surroundings.tool.iter_mut().for_each(|tool| self.text(tool));
        events.iter_mut().for_each(|event| self.event(event));
        self.value(outcome);
    }

    fn event(&self, event: &mut Event) {
        let Event { kind: _, what: _, with, gets, sent, parts } = event;
        self.value(with);
        gets.iter_mut().for_each(|gets| self.value(gets));
        if let Some(sent) = sent
            && let Some(redacted) = self.bytes(sent)
        {
            *sent = redacted;
        }
        self.parts(parts);
    }

    /// A body is searched as a whole, since a secret may be in two of its parts. One that has some becomes one part.
    fn parts(&self, parts: &mut Vec<Part>) {
        let chunk = |part: &Part| match part {
            Part::Chunk(chunk) => chunk.to_vec(),
            _ => Vec::new(),
        };
        if let Some(redacted) = self.bytes(&parts.iter().flat_map(chunk).collect::<Vec<_>>()) {
            parts.retain(|part| !matches!(part, Part::Chunk(_)));
            parts.insert(0, Part::Chunk(Bytes::from(redacted)));
        }
        for part in parts {
            match part {
                Part::Trailers(fields) => {
                    for (_, value) in fields {
                        if let Some(redacted) = self.bytes(value) {
                            *value = redacted;
                        }
                    }
                }
                Part::Error(error) => self.value(error),
                Part::Chunk(_) | Part::End => {}
            }
        }
    }

    fn value(&self, value: &mut Value) {
        // Bytes that are no text are kept in base64, in which a secret is found only at the right place.
        if let Some(bytes) = Vec::<u8>::read(value).filter(|_| value.is_object())
            && let Some(redacted) = self.bytes(&bytes)
        {
            *value = redacted.keep();
            return;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                let kept = std::mem::take(members);
                members.extend(kept.into_iter().map(|(mut name, mut value)| {
                    self.text(&mut name);
                    self.value(&mut value);
                    (name, value)
                }));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn pairs(&self, pairs: &mut [(String, String)]) {
        for (name, value) in pairs {
            self.text(name);
            self.text(value);
        }
    }

    fn text(&self, text: &mut String) {
        for redactor in &self.0 {
            *text = redactor.text(text);
        }
    }

    /// `None`: there is nothing to redact.
    fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut redacted = None::<Vec<u8>>;
        for redactor in &self.0 {
            let now = redacted.as_deref().unwrap_or(bytes);
            if let Cow::Owned(changed) = redactor.bytes(now) {
                redacted = Some(changed);
            }
        }
        redacted
    }
}
