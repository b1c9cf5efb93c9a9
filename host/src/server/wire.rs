//! WIT's values as the wire's, shaped for the client's revision: borrowed views that are written
//! once, when the message is.
//!
//! Texts that a plugin gives as JSON were checked when they left the sandbox and are passed
//! on as spelt.

pub(in crate::server) mod answer;
pub(in crate::server) mod completion;
pub(in crate::server) mod content;
mod form;
pub(in crate::server) mod prompt;
pub(in crate::server) mod question;
pub(in crate::server) mod resource;
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

/// Why a question cannot be put to a client.
pub(in crate::server) enum Unaskable {
    /// Its revision does not have it: a sentence for the plugin.
    NotInRevision(&'static str),
    /// It breaks a rule of every revision, which is the plugin's fault.
    Broken(String),
}

/// The text of what is no whole result: params, or a part of a result.
pub(in crate::server) fn text(view: &impl Serialize) -> Result<String, ErrorObject> {
    json::to_text(view).map_err(|fault| {
        tracing::error!("a message cannot be written: {fault}");
        error::unwritable(&fault)
    })
}
