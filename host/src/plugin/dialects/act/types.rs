//! The types of `act:core/types@0.4` and of `act:tools`.

use wasmtime::component::{ComponentType, Lift, Lower, StreamReader};

/// Values by key, each a text of CBOR.
pub(super) type Metadata = Vec<(String, Vec<u8>)>;

#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
pub(super) enum LocalizedString {
    #[component(name = "plain")]
    Plain(String),
    /// By language.
    #[component(name = "localized")]
    Localized(Vec<(String, String)>),
}

#[derive(ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct Error {
    pub(super) kind: String,
    pub(super) message: LocalizedString,
    pub(super) metadata: Metadata,
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(super) struct ToolDefinition {
    pub(super) name: String,
    pub(super) description: LocalizedString,
    #[component(name = "parameters-schema")]
    pub(super) parameters_schema: String,
    pub(super) metadata: Metadata,
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(super) struct ListToolsResponse {
    #[allow(dead_code, reason = "it is part of the type")]
    pub(super) metadata: Metadata,
    pub(super) tools: Vec<ToolDefinition>,
}

#[derive(ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct ContentPart {
    pub(super) data: Vec<u8>,
    #[component(name = "mime-type")]
    pub(super) mime_type: Option<String>,
    pub(super) metadata: Metadata,
}

#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
pub(super) enum ToolEvent {
    #[component(name = "content")]
    Content(ContentPart),
    /// The last event.
    #[component(name = "error")]
    Error(Error),
}

#[derive(ComponentType, Lift)]
#[component(variant)]
pub(super) enum ToolResult {
    #[component(name = "immediate")]
    Immediate(Vec<ToolEvent>),
    #[component(name = "streaming")]
    Streaming(StreamReader<ToolEvent>),
}

impl LocalizedString {
    /// In English, if there is such a text, and else the first.
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Plain(text) => text,
            Self::Localized(mut texts) => {
                let is_english = |(language, _): &(String, String)| language == "en" || language.starts_with("en-");
                let at = texts.iter().position(is_english).unwrap_or(0);
                if at < texts.len() { texts.swap_remove(at).1 } else { String::new() }
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Localized(texts) => texts.iter().map(|(language, text)| language.len() + text.len()).sum(),
        }
    }
}

impl ToolEvent {
    /// Bytes that it takes, about.
    pub(super) fn size(&self) -> usize {
        let of_all = |metadata: &Metadata| metadata.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        size_of::<Self>()
            + match self {
                Self::Content(part) => part.data.len() + of_all(&part.metadata),
                Self::Error(error) => error.kind.len() + error.message.size() + of_all(&error.metadata),
            }
    }
}
