//! Values of the border as JSON, and back: numbers, texts, bytes, and the types of the ABI member by member.
//!
//! Not `Serialize`: what is on the wire is no matter of the ABI. A record is an object without its empty members, a
//! variant an object with one member, bytes are a text if they are UTF-8.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use crate::json;
use crate::plugin::abi::*;

/// A value that can be kept in a recording.
pub(in crate::plugin) trait Kept: Sized {
    fn keep(&self) -> Value;

    /// `None`: it is not such a value.
    fn read(value: &Value) -> Option<Self>;
}

impl Kept for () {
    fn keep(&self) -> Value {
        Value::Null
    }

    fn read(value: &Value) -> Option<Self> {
        value.is_null().then_some(())
    }
}

impl Kept for bool {
    fn keep(&self) -> Value {
        (*self).into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Kept for u64 {
    fn keep(&self) -> Value {
        (*self).into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_u64()
    }
}

impl Kept for u32 {
    fn keep(&self) -> Value {
        (*self).into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

impl Kept for f64 {
    fn keep(&self) -> Value {
        json::number(*self).map_or(Value::Null, Value::Number)
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl Kept for String {
    fn keep(&self) -> Value {
        self.as_str().into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

/// Bytes: their text, or in base64.
impl Kept for Vec<u8> {
    fn keep(&self) -> Value {
        bytes(self)
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text.as_bytes().to_vec()),
            other => BASE64_STANDARD.decode(other.get("base64")?.as_str()?).ok(),
        }
    }
}

/// Bytes as [`Kept`] keeps them.
pub(in crate::plugin) fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => member("base64", BASE64_STANDARD.encode(bytes).into()),
    }
}

/// An object with one member.
pub(in crate::plugin) fn member(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

impl<T: Kept> Kept for Option<T> {
    fn keep(&self) -> Value {
        self.as_ref().map_or(Value::Null, Kept::keep)
    }

    fn read(value: &Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::read(value).map(Some) }
    }
}

impl<T: Kept> Kept for Vec<T> {
    fn keep(&self) -> Value {
        self.iter().map(Kept::keep).collect()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }
}

impl<A: Kept, B: Kept> Kept for (A, B) {
    fn keep(&self) -> Value {
        Value::Array(vec![self.0.keep(), self.1.keep()])
    }

    fn read(value: &Value) -> Option<Self> {
        match value.as_array()?.as_slice() {
            [first, second] => Some((A::read(first)?, B::read(second)?)),
            _ => None,
        }
    }
}

impl<T: Kept, E: Kept> Kept for Result<T, E> {
    fn keep(&self) -> Value {
        match self {
            Ok(value) => member("ok", value.keep()),
            Err(error) => member("error", error.keep()),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        match value.get("ok") {
            Some(value) => T::read(value).map(Ok),
            None => E::read(value.get("error")?).map(Err),
        }
    }
}

/// Records, member by member. Where it is used, what it names and [`Kept`] have to be in scope, for variants `member`.
macro_rules! records {
    ($($record:ident { $($member:ident),* })*) => {$(
        impl Kept for $record {
            fn keep(&self) -> serde_json::Value {
                let Self { $($member),* } = self;
                let mut kept = serde_json::Map::new();
                $(
                    let value = $member.keep();
                    if !value.is_null() {
                        kept.insert(stringify!($member).to_owned(), value);
                    }
                )*
                serde_json::Value::Object(kept)
            }

            fn read(value: &serde_json::Value) -> Option<Self> {
                value.as_object()?;
                Some(Self { $($member: Kept::read(&value[stringify!($member)])?),* })
            }
        }
    )*};
}

/// Variants: those with a value, then those without.
macro_rules! variants {
    ($($variant:ident { $($case:ident = $name:literal),* $(; $($empty:ident = $text:literal),*)? })*) => {$(
        impl Kept for $variant {
            fn keep(&self) -> serde_json::Value {
                match self {
                    $(Self::$case(value) => member($name, value.keep()),)*
                    $($(Self::$empty => $text.into(),)*)?
                }
            }

            fn read(value: &serde_json::Value) -> Option<Self> {
                $($(
                    if value == $text {
                        return Some(Self::$empty);
                    }
                )*)?
                $(
                    if let Some(value) = value.get($name) {
                        return Kept::read(value).map(Self::$case);
                    }
                )*
                None
            }
        }
    )*};
}

/// Flags: a list of the names of those that are set.
macro_rules! flags {
    ($($flags:ident { $($flag:ident = $name:literal),* })*) => {$(
        impl Kept for $flags {
            fn keep(&self) -> serde_json::Value {
                let flags = [$(($name, Self::$flag)),*];
                flags.into_iter().filter(|(_, flag)| self.contains(*flag)).map(|(name, _)| name).collect()
            }

            fn read(value: &serde_json::Value) -> Option<Self> {
                let flag = |name: &serde_json::Value| match name.as_str()? {
                    $($name => Some(Self::$flag),)*
                    _ => None,
                };
                value.as_array()?.iter().try_fold(Self::empty(), |all, name| Some(all | flag(name)?))
            }
        }
    )*};
}

pub(in crate::plugin) use {flags, records, variants};

records! {
    ToolResult { content, structured, is_error, meta }
    PromptMessage { role, content }
    PromptResult { description, messages, meta }
    ResourceDescription { uri, name, title, description, mime_type, size, annotations, icons, meta }
    ResourceContents { uri, mime_type, body, meta }
    Caching { ttl_ms, scope }
    ReadResult { contents, caching, meta }
    EmbeddedResource { contents, annotations, meta }
    MediaContent { data, mime_type, annotations, meta }
    TextContent { text, annotations, meta }
    Icon { src, mime_type, sizes, theme }
    Annotations { audience, priority, last_modified }
    InvalidInput { path, reason }
    InputRequired { questions, state }
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
    Answer { key, reply }
    Elicited { action, content }
    Sampled { role, content, model, stop_reason }
    Root { uri, name }
    Completion { values, total, has_more }
}

variants! {
    ToolOutcome { Complete = "complete", InputRequired = "input_required" }
    PromptOutcome { Complete = "complete", InputRequired = "input_required" }
    ReadOutcome { Complete = "complete", InputRequired = "input_required" }
    GuestError { Failed = "failed", InvalidInput = "invalid_input"; NotFound = "not_found" }
    Content { Text = "text", Image = "image", Audio = "audio", Embedded = "embedded", Link = "link" }
    SamplingContent {
        Text = "text", Image = "image", Audio = "audio", ToolUse = "tool_use", ToolResult = "tool_result"
    }
    ResourceBody { Text = "text", Blob = "blob" }
    Subject { Prompt = "prompt", ResourceTemplate = "resource_template" }
    Ask { Form = "form", Url = "url", Sample = "sample"; Roots = "roots" }
    Reply { Elicited = "elicited", Sampled = "sampled", Roots = "roots", Unavailable = "unavailable" }
    Role { ; User = "user", Assistant = "assistant" }
    IconTheme { ; Light = "light", Dark = "dark" }
    CacheScope { ; Public = "public", Private = "private" }
    ElicitAction { ; Accept = "accept", Decline = "decline", Cancel = "cancel" }
    ToolChoice { ; Auto = "auto", Required = "required", None = "none" }
    ContextScope { ; None = "none", ThisServer = "this_server", AllServers = "all_servers" }
    Listing { ; Tools = "tools", Resources = "resources", Prompts = "prompts" }
    LogLevel {
        ;
        Debug = "debug", Info = "info", Notice = "notice", Warning = "warning", Error = "error", Critical = "critical",
        Alert = "alert", Emergency = "emergency"
    }
}

flags! {
    ClientFeatures {
        ELICIT_FORM = "elicit_form", ELICIT_URL = "elicit_url", SAMPLE = "sample", SAMPLE_TOOLS = "sample_tools",
        SAMPLE_CONTEXT = "sample_context", ROOTS = "roots"
    }
}

records! { CallContext { id, client, time_left_ms, answers, state, meta } }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_as_it_was() {
        let media = MediaContent { data: vec![0xff, 0], mime_type: "image/png".into(), annotations: None, meta: None };
        let answer = ToolAnswer {
            tool_use_id: "1".into(),
            content: vec![Content::Image(media), Content::Text(TextContent::new("a"))],
            structured: Some("{}".into()),
            is_error: true,
        };
        let sampled = Sampled {
            role: Role::Assistant,
            content: vec![SamplingContent::ToolResult(answer)],
            model: "m".into(),
            stop_reason: None,
        };
        let replies = [
            Reply::Elicited(Elicited { action: ElicitAction::Accept, content: Some(r#"{"a":1}"#.into()) }),
            Reply::Sampled(sampled),
            Reply::Roots(vec![Root { uri: "file:///a".into(), name: None }]),
            Reply::Unavailable("no".into()),
        ];
        let answers = replies.map(|reply| Answer { key: "k".into(), reply }).to_vec();
        let context = CallContext {
            id: "7".into(),
            client: ClientFeatures::ELICIT_FORM | ClientFeatures::ROOTS,
            time_left_ms: u64::MAX,
            answers,
            state: Some(b"\xfe".to_vec()),
            meta: None,
        };
        let kept = context.keep();
        assert_eq!(kept["client"], serde_json::json!(["elicit_form", "roots"]));
        assert_eq!(kept["state"], serde_json::json!({"base64": "/g=="}));
        assert_eq!(CallContext::read(&kept), Some(context));
        let text = json::canonical(&kept);
        assert_eq!(json::tree(&text, json::MAX_DEPTH), Ok(kept));
    }

    #[test]
    fn bytes_are_a_text_where_they_are_one() {
        for value in [&b"text"[..], b"", b"\xff\xfe"] {
            assert_eq!(Vec::<u8>::read(&value.to_vec().keep()).as_deref(), Some(value));
        }
        assert_eq!(Result::<Option<u64>, String>::read(&Ok::<_, String>(None::<u64>).keep()), Some(Ok(None)));
        assert_eq!(u32::read(&(1u64 << 32).keep()), None);
    }
}
