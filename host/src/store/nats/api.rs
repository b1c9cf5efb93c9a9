//! What JetStream answers.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::failure::{ApiError, Failed};
use super::wire::Message;
use crate::json;

/// Of a message that was written.
#[derive(Deserialize)]
pub(super) struct Written {
    pub(super) seq: u64,
}

/// Of a message that was asked for; headers and data in base64.
#[derive(Deserialize)]
pub(super) struct Found {
    pub(super) message: Stored,
}

#[derive(Deserialize)]
pub(super) struct Stored {
    pub(super) seq: u64,
    #[serde(default)]
    pub(super) hdrs: String,
    #[serde(default)]
    pub(super) data: String,
}

/// What a stream is, and what is in it.
#[derive(Deserialize)]
pub(super) struct Stream {
    pub(super) config: Config,
    pub(super) state: State,
}

#[derive(Deserialize)]
#[serde(default)]
pub(super) struct Config {
    pub(super) subjects: Vec<String>,
    pub(super) retention: String,
    pub(super) storage: String,
    pub(super) discard: String,
    pub(super) max_msgs: i64,
    pub(super) max_bytes: i64,
    /// Nanoseconds.
    pub(super) max_age: u64,
    pub(super) max_msgs_per_subject: i64,
    pub(super) deny_delete: bool,
    pub(super) deny_purge: bool,
    pub(super) num_replicas: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            subjects: Vec::new(),
            retention: "limits".into(),
            storage: "file".into(),
            discard: "old".into(),
            max_msgs: -1,
            max_bytes: -1,
            max_age: 0,
            max_msgs_per_subject: -1,
            deny_delete: false,
            deny_purge: false,
            num_replicas: 1,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct State {
    pub(super) last_seq: u64,
    /// Messages by subject, if they were asked for.
    #[serde(default)]
    pub(super) subjects: std::collections::BTreeMap<String, u64>,
}

/// Of a consumer that was created.
#[derive(Deserialize)]
pub(super) struct Consumer {
    /// Messages that come first.
    #[serde(default)]
    pub(super) num_pending: u64,
}

/// Nothing more than that it was done.
#[derive(Deserialize)]
pub(super) struct Done {}

#[derive(Deserialize)]
struct Refused {
    error: ApiError,
}

/// The answer to a request, or why it is refused.
///
/// # Errors
/// If it is neither.
pub(super) fn read<T: DeserializeOwned>(message: &Message) -> Result<Result<T, ApiError>, Failed> {
    let malformed = |error: String| Failed::Malformed(error);
    let text = std::str::from_utf8(&message.payload).map_err(|error| malformed(error.to_string()))?;
    // Values are in base64: the word is in no other answer.
    if text.contains("\"err_code\"") {
        return json::read(text).map(|Refused { error }| Err(error)).map_err(|error| malformed(error.to_string()));
    }
    json::read(text).map(Ok).map_err(|error| malformed(error.to_string()))
}
