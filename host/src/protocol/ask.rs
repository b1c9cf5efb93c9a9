//! The client features that plugins can use, by the names of their capabilities.

use serde_json::{Value, json};

/// A client feature.
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
    pub const ALL: [Self; 6] = [
        Self::Roots,
        Self::Sampling,
        Self::SamplingTools,
        Self::SamplingContext,
        Self::ElicitationForm,
        Self::ElicitationUrl,
    ];

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

    /// What a plugin does with it. Reads after "to".
    pub const fn purpose(self) -> &'static str {
        match self {
            Ask::Roots => "learn which folders the user works in",
            Ask::Sampling => "use the client's model",
            Ask::SamplingTools => "let the client's model call tools",
            Ask::SamplingContext => "give the client's model the context of other servers",
            Ask::ElicitationForm => "ask the user with a form",
            Ask::ElicitationUrl => "ask the user to visit a page",
        }
    }

    /// The minimal `ClientCapabilities` that allow it.
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
