//! Redacts all texts and bytes of a plugin's outcome, member by member.
//!
//! Members are destructured in full, so that a new one does not compile before it is handled
//! here. The types are those of the ABI.

use std::borrow::Cow;

use super::Redactor;
use crate::plugin::abi::*;

/// A value whose texts may contain secrets.
pub(in crate::plugin) trait Redactable {
    fn redact(&mut self, redactor: &Redactor);
}

impl Redactable for String {
    fn redact(&mut self, redactor: &Redactor) {
        if let Cow::Owned(bytes) = redactor.bytes(self.as_bytes()) {
            *self = String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}

fn bytes(bytes: &mut Vec<u8>, redactor: &Redactor) {
    if let Cow::Owned(redacted) = redactor.bytes(bytes) {
        *bytes = redacted;
    }
}

impl<T: Redactable> Redactable for Option<T> {
    fn redact(&mut self, redactor: &Redactor) {
        self.iter_mut().for_each(|value| value.redact(redactor));
    }
}

impl<T: Redactable> Redactable for Vec<T> {
    fn redact(&mut self, redactor: &Redactor) {
        self.iter_mut().for_each(|value| value.redact(redactor));
    }
}

impl<T: Redactable, E: Redactable> Redactable for Result<T, E> {
    fn redact(&mut self, redactor: &Redactor) {
        match self {
            Ok(value) => value.redact(redactor),
            Err(value) => value.redact(redactor),
        }
    }
}

macro_rules! records {
    ($($record:ident { $($member:ident),* })*) => {$(
        impl Redactable for $record {
            fn redact(&mut self, redactor: &Redactor) {
                let Self { $($member),* } = self;
                $($member.redact(redactor);)*
            }
        }
    )*};
}

macro_rules! variants {
    ($($variant:ident { $($case:ident),* $(; $($empty:ident),*)? })*) => {$(
        impl Redactable for $variant {
            fn redact(&mut self, redactor: &Redactor) {
                match self {
                    $(Self::$case(value) => value.redact(redactor),)*
                    $($(Self::$empty => {})*)?
                }
            }
        }
    )*};
}

/// Types without text: numbers, flags and enums.
macro_rules! without_texts {
    ($($kind:ident)*) => {$(
        impl Redactable for $kind {
            fn redact(&mut self, _: &Redactor) {}
        }
    )*};
}

without_texts! {
    bool u32 u64 f64 Role IconTheme TaskSupport ToolAnnotations CacheScope Caching ToolChoice ContextScope
}

records! {
    Tool { name, title, description, input_schema, output_schema, annotations, task_support, icons, meta }
    ToolResult { content, structured, is_error, meta }
    Prompt { name, title, description, arguments, icons, meta }
    PromptArgument { name, title, description, required }
    PromptMessage { role, content }
    PromptResult { description, messages, meta }
    ResourceDescription { uri, name, title, description, mime_type, size, annotations, icons, meta }
    ResourceTemplate { uri_template, name, title, description, mime_type, annotations, icons, meta }
    ResourceContents { uri, mime_type, body, meta }
    ReadResult { contents, caching, meta }
    EmbeddedResource { contents, annotations, meta }
    Completion { values, total, has_more }
    Capability { name, settings }
    Offer { experimental, extensions, methods }
    TextContent { text, annotations, meta }
    Icon { src, mime_type, sizes, theme }
    Annotations { audience, priority, last_modified }
    InvalidInput { path, reason }
    Question { key, ask }
    Form { message, schema }
    UrlVisit { message, url }
    Sampling {
        messages, max_tokens, system_prompt, temperature, stop_sequences, model_preferences, include_context, tools,
        tool_choice, metadata
    }
    SamplingMessage { role, content }
    SamplingTool { name, description, input_schema }
    ModelPreferences { hints, cost_priority, speed_priority, intelligence_priority }
    ToolUse { id, name, input }
    ToolAnswer { tool_use_id, content, structured, is_error }
}

variants! {
    ToolOutcome { Complete, InputRequired }
    PromptOutcome { Complete, InputRequired }
    ReadOutcome { Complete, InputRequired }
    GuestError { Failed, InvalidInput; NotFound }
    Content { Text, Image, Audio, Embedded, Link }
    SamplingContent { Text, Image, Audio, ToolUse, ToolResult }
    Ask { Form, Url, Sample; Roots }
}

impl Redactable for ResourceBody {
    fn redact(&mut self, redactor: &Redactor) {
        match self {
            Self::Text(text) => text.redact(redactor),
            Self::Blob(blob) => bytes(blob, redactor),
        }
    }
}

impl Redactable for MediaContent {
    fn redact(&mut self, redactor: &Redactor) {
        let Self { data, mime_type, annotations, meta } = self;
        bytes(data, redactor);
        mime_type.redact(redactor);
        annotations.redact(redactor);
        meta.redact(redactor);
    }
}

impl Redactable for InputRequired {
    fn redact(&mut self, redactor: &Redactor) {
        // The state is encrypted before it leaves, and the plugin needs it unchanged.
        let Self { questions, state: _ } = self;
        questions.redact(redactor);
    }
}
