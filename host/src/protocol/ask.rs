//! What a client can be asked for, as capabilities name it.

use serde_json::{Value, json};

/// Something a plugin may ask of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ask {
    Roots,
    Sampling,
    SamplingTools,
    SamplingContext,
    ElicitationForm,
    ElicitationUrl,
}

impl Ask {
    pub const fn name(self) -> &'static str {
        match self {
            Ask::Roots => "roots",
            Ask::Sampling => "sampling",
            Ask::SamplingTools => "sampling.tools",
            Ask::SamplingContext => "sampling.context",
            Ask::ElicitationForm => "elicitation.form",
            Ask::ElicitationUrl => "elicitation.url",
        }
    }

    /// The least `ClientCapabilities` that allows it.
    pub fn required(self) -> Value {
        match self {
            Ask::Roots => json!({ "roots": {} }),
            Ask::Sampling => json!({ "sampling": {} }),
            Ask::SamplingTools => json!({ "sampling": { "tools": {} } }),
            Ask::SamplingContext => json!({ "sampling": { "context": {} } }),
            Ask::ElicitationForm => json!({ "elicitation": { "form": {} } }),
            Ask::ElicitationUrl => json!({ "elicitation": { "url": {} } }),
        }
    }
}
