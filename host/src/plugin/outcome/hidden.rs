//! Drops hidden characters from all texts of an outcome, which share one leeway.
//!
//! Members are destructured in full, so that a new one does not compile before it is handled
//! here: first those with text, then JSON text, then those without text or with their own check
//! (URIs, timestamps, names).

use crate::plugin::abi::*;
use crate::text::{Leeway, drop_hidden, drop_hidden_in_json};

/// A value with texts that people or models read.
pub(super) trait DropHidden {
    fn drop_hidden(&mut self, leeway: &mut Leeway);
}

impl DropHidden for String {
    fn drop_hidden(&mut self, leeway: &mut Leeway) {
        drop_hidden(self, leeway);
    }
}

impl<T: DropHidden> DropHidden for Option<T> {
    fn drop_hidden(&mut self, leeway: &mut Leeway) {
        self.iter_mut().for_each(|value| value.drop_hidden(leeway));
    }
}

impl<T: DropHidden> DropHidden for Vec<T> {
    fn drop_hidden(&mut self, leeway: &mut Leeway) {
        self.iter_mut().for_each(|value| value.drop_hidden(leeway));
    }
}

/// JSON text.
trait Json {
    fn drop_hidden_in_strings(&mut self, leeway: &mut Leeway);
}

impl Json for String {
    fn drop_hidden_in_strings(&mut self, leeway: &mut Leeway) {
        drop_hidden_in_json(self, leeway);
    }
}

impl Json for Option<String> {
    fn drop_hidden_in_strings(&mut self, leeway: &mut Leeway) {
        self.iter_mut().for_each(|json| json.drop_hidden_in_strings(leeway));
    }
}

macro_rules! records {
    ($($record:ident { $($text:ident),*; $($json:ident),*; $($other:ident),* })*) => {$(
        impl DropHidden for $record {
            fn drop_hidden(&mut self, leeway: &mut Leeway) {
                let Self { $($text,)* $($json,)* $($other: _,)* } = self;
                $($text.drop_hidden(leeway);)*
                $($json.drop_hidden_in_strings(leeway);)*
            }
        }
    )*};
}

macro_rules! variants {
    ($($variant:ident { $($case:ident),*; $($empty:pat),* })*) => {$(
        impl DropHidden for $variant {
            fn drop_hidden(&mut self, leeway: &mut Leeway) {
                match self {
                    $(Self::$case(value) => value.drop_hidden(leeway),)*
                    $($empty => {})*
                }
            }
        }
    )*};
}

records! {
    ToolResult { content; structured, meta; is_error }
    ReadResult { contents; meta; caching }
    PromptResult { description, messages; meta; }
    PromptMessage { content; ; role }
    TextContent { text; meta; annotations }
    MediaContent { mime_type; meta; data, annotations }
    EmbeddedResource { contents; meta; annotations }
    ResourceContents { mime_type, body; meta; uri }
    ResourceDescription { name, title, description, mime_type, icons; meta; uri, size, annotations }
    Icon { src, mime_type, sizes; ; theme }
    // The state is encrypted before it leaves.
    InputRequired { questions; ; state }
    Question { ask; ; key }
    Form { message; schema; }
    UrlVisit { message; ; url }
    Sampling {
        messages, system_prompt, stop_sequences, model_preferences, tools; metadata;
        max_tokens, temperature, include_context, tool_choice
    }
    SamplingMessage { content; ; role }
    SamplingTool { description; input_schema; name }
    ModelPreferences { hints; ; cost_priority, speed_priority, intelligence_priority }
    ToolUse { ; input; id, name }
    ToolAnswer { content; structured; tool_use_id, is_error }
    InvalidInput { path, reason; ; }
}

variants! {
    ToolOutcome { Complete, InputRequired; }
    ReadOutcome { Complete, InputRequired; }
    PromptOutcome { Complete, InputRequired; }
    Content { Text, Image, Audio, Embedded, Link; }
    // A plugin that needs every character of a text can send a blob.
    ResourceBody { Text; Self::Blob(_) }
    Ask { Form, Url, Sample; Self::Roots }
    SamplingContent { Text, Image, Audio, ToolUse, ToolResult; }
    GuestError { Failed, InvalidInput; Self::NotFound }
}
