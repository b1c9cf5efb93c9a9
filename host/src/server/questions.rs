//! The questions of a round and its state, as a client returns them with its answers.

use serde::{Deserialize, Serialize};

use crate::plugin::abi::{Ask, Sampling, SamplingContent};
use crate::protocol;

/// The plaintext of a state.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sealed {
    /// What the client was asked for, in the plugin's order.
    pub(in crate::server) asked: Vec<Question>,
    /// The plugin's state.
    #[serde(with = "base64_bytes", skip_serializing_if = "Option::is_none", default)]
    pub(in crate::server) state: Option<Vec<u8>>,
    /// Whether a person allowed the call, which must not be asked again: such a state is used once.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(in crate::server) approved: bool,
    /// Rounds so far.
    pub(in crate::server) round: u32,
}

/// The part of a question that is needed to parse its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::server) struct Question {
    pub(in crate::server) key: String,
    pub(in crate::server) kind: QuestionKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::server) enum QuestionKind {
    /// The JSON Schema of its answer.
    Form(String),
    Url,
    /// Whether the model is offered tools.
    Sample(bool),
    Roots,
}

impl QuestionKind {
    /// The client capability that the question needs.
    pub(in crate::server) fn needs(&self) -> protocol::Ask {
        match self {
            Self::Form(_) => protocol::Ask::ElicitationForm,
            Self::Url => protocol::Ask::ElicitationUrl,
            Self::Sample(true) => protocol::Ask::SamplingTools,
            Self::Sample(false) => protocol::Ask::Sampling,
            Self::Roots => protocol::Ask::Roots,
        }
    }
}

impl From<&Ask> for QuestionKind {
    fn from(ask: &Ask) -> Self {
        match ask {
            Ask::Form(form) => Self::Form(form.schema.clone()),
            Ask::Url(_) => Self::Url,
            Ask::Sample(sampling) => Self::Sample(offers_tools(sampling)),
            Ask::Roots => Self::Roots,
        }
    }
}

/// Whether the request offers tools to the model, which needs its own capability.
fn offers_tools(sampling: &Sampling) -> bool {
    let of_tools =
        |content: &SamplingContent| matches!(content, SamplingContent::ToolUse(_) | SamplingContent::ToolResult(_));
    !sampling.tools.is_empty()
        || sampling.tool_choice.is_some()
        || sampling.messages.iter().flat_map(|message| &message.content).any(of_tools)
}

mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes)),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD_NO_PAD.decode(text).map(Some).map_err(serde::de::Error::custom)
    }
}
