//! WIT values in the wire's form, for the client's revision: borrowed views that are serialized
//! once, with the message.
//!
//! JSON texts of a plugin were validated when they left the sandbox and are passed through
//! verbatim.

pub(in crate::server) mod answer;
pub(in crate::server) mod completion;
pub(in crate::server) mod content;
mod form;
mod page;
pub(in crate::server) mod prompt;
pub(in crate::server) mod question;
pub(in crate::server) mod resource;
pub(in crate::server) mod skill;
pub(in crate::server) mod task;
pub(in crate::server) mod tool;

use serde::{Serialize, Serializer};

use crate::json::{self, Raw};
use crate::protocol::{ErrorObject, error};

/// An object whose values are all strings.
pub(in crate::server) struct Strings<'a>(pub(in crate::server) &'a [(String, String)]);

impl Serialize for Strings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

pub(in crate::server) const CANCELLED: &str = "notifications/cancelled";

/// The wire's `CancelledNotificationParams`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Cancelled<'a> {
    pub(in crate::server) request_id: Raw<'a>,
    pub(in crate::server) reason: &'static str,
}

/// Why a question cannot be sent to a client.
pub(in crate::server) enum Unrepresentable {
    /// The client's revision does not have it; the reason, for the plugin.
    NotInRevision(&'static str),
    /// It violates every revision, which is the plugin's fault.
    Invalid(String),
}

/// The text of params, or of a part of a result.
pub(in crate::server) fn text(view: &impl Serialize) -> Result<String, ErrorObject> {
    json::to_text(view).map_err(|fault| {
        tracing::error!("failed to serialize a message: {fault}");
        error::unwritable(&fault)
    })
}
