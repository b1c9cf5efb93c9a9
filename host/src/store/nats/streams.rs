//! The two streams: the bucket of entries, and the parts of large values. The first node creates them.
//!
//! The bucket is one as tools of NATS know them, with a history of one: what is written replaces what was there.

use std::time::Duration;

use tokio::time::sleep;

use super::api::{self, Stream};
use super::failure::{self, ApiError, Failed};
use super::session::Session;
use super::settings::NatsSettings;
use crate::json;
use crate::store::StoreError;

/// How often it is looked again while others create a stream, and how soon.
const ATTEMPTS: u32 = 20;
const AGAIN: Duration = Duration::from_millis(50);
/// Bytes of a message that must be possible: room for a key, for headers and for something.
const MIN_PAYLOAD: usize = 16 << 10;
/// The first release in which of two writes with the same condition one alone succeeds if there are replicas: before, the
/// leader looked at the condition only when it proposed a write to them (issue 4320 of nats-server).
const REPLICATED: [u32; 3] = [2, 9, 21];

impl NatsSettings {
    /// The name of the stream of entries.
    pub(super) fn entries(&self) -> String {
        format!("KV_{}", self.bucket)
    }

    /// The name of the stream of parts.
    pub(super) fn parts(&self) -> String {
        format!("WHARF_{}", self.bucket)
    }

    /// What begins the subjects of entries.
    pub(super) fn entry_subjects(&self) -> String {
        format!("$KV.{}.", self.bucket)
    }

    /// What begins the subjects of parts.
    pub(super) fn part_subjects(&self) -> String {
        format!("$WHARF.{}.", self.bucket)
    }
}

/// Makes the streams if there are none, and looks whether they can be used.
///
/// # Errors
/// If they cannot.
pub(super) async fn prepare(session: &Session, settings: &NatsSettings) -> Result<(), StoreError> {
    if session.max_payload < MIN_PAYLOAD {
        let why = format!("max_payload is {} bytes, of {MIN_PAYLOAD} at least", session.max_payload);
        return Err(failure::with_advice(&why, settings, "raise max_payload there"));
    }
    for (stream, subjects, last) in
        [(settings.entries(), settings.entry_subjects(), true), (settings.parts(), settings.part_subjects(), false)]
    {
        let subject = format!("$JS.API.STREAM.INFO.{stream}");
        let mut found = ask(session, settings, &subject, "").await?;
        for _ in 0..ATTEMPTS {
            if matches!(&found, Err(error) if error.err_code == ApiError::NO_STREAM) {
                let config = config(&stream, &format!("{subjects}>"), settings.replicas, last);
                found = ask(session, settings, &format!("$JS.API.STREAM.CREATE.{stream}"), &config).await?;
            }
            // Another node has created it meanwhile, with other replicas, or creates it now.
            if !matches!(&found, Err(error) if [ApiError::EXISTS, ApiError::OVERLAPS].contains(&error.err_code)) {
                break;
            }
            sleep(AGAIN).await;
            found = ask(session, settings, &subject, "").await?;
        }
        let found = found.map_err(|error| failure::of_api(&error, settings))?;
        if found.config.num_replicas > 1 && session.release < REPLICATED {
            let why = format!("its stream {stream} has replicas, which lose writes before NATS 2.9.21");
            return Err(failure::with_advice(&why, settings, "update the servers, or use one replica"));
        }
        if let Some(why) = unusable(&found.config, &format!("{subjects}>"), last) {
            let why = format!("its stream {stream} {why}");
            let advice = "let wharf create it, or name another bucket in store.url";
            return Err(failure::with_advice(&why, settings, advice));
        }
    }
    Ok(())
}

async fn ask(
    session: &Session,
    settings: &NatsSettings,
    subject: &str,
    body: &str,
) -> Result<Result<Stream, ApiError>, StoreError> {
    let answer = session.request(subject, &[], body.as_bytes()).await;
    let read = answer.and_then(|answer| api::read(&answer));
    read.map_err(|failed: Failed| failure::of(&failed, settings))
}

/// Nothing is removed but by nodes: what does not fit is refused. No answers by replicas, which may be late.
fn config(stream: &str, subjects: &str, replicas: u8, last: bool) -> String {
    let history = if last { 1 } else { -1 };
    format!(
        "{{\"name\":{},\"subjects\":[{}],\"retention\":\"limits\",\"storage\":\"file\",\"discard\":\"new\",\
         \"max_msgs\":-1,\"max_bytes\":-1,\"max_age\":0,\"max_consumers\":-1,\"max_msgs_per_subject\":{history},\
         \"num_replicas\":{replicas},\"allow_rollup_hdrs\":true}}",
        json::quote(stream),
        json::quote(subjects)
    )
}

/// Why a stream that somebody else has made cannot be used.
fn unusable(config: &api::Config, subjects: &str, last: bool) -> Option<&'static str> {
    let has_limits = config.max_msgs >= 0 || config.max_bytes >= 0;
    let faults = [
        (config.subjects != [subjects], "has other subjects"),
        (config.retention != "limits", "does not keep what was read"),
        (config.storage != "file", "is in memory"),
        (config.max_age != 0, "forgets by age"),
        (last && config.max_msgs_per_subject != 1, "has another history than one"),
        (!last && config.max_msgs_per_subject > 0, "forgets by subject"),
        (has_limits && config.discard != "new", "discards old entries for new ones"),
        (last && config.deny_delete, "denies deletion"),
        (!last && config.deny_purge, "denies purging"),
    ];
    faults.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why)
}
