//! Values that do not fit into one message: their parts are messages of a second stream.
//!
//! Parts are written before the entry that names them, under a name that is never used again, and removed by whoever sees
//! that the entry names others. What a node leaves behind that dies meanwhile is removed after a day.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::time::Instant;

use super::api::{Done, Found, Stream, Written};
use super::failure::{self, ApiError};
use super::link::Link;
use crate::random_id::random_id;
use crate::store::{StoreError, now};

/// Bytes of one message at most: more makes others wait on the same connection.
const MAX_PART: usize = 512 << 10;
/// Bytes of a message that its headers may take.
const HEADERS: usize = 1 << 10;
/// Parts of one value that are sent at the same time.
const AT_ONCE: usize = 4;
/// Parts that one value may have: the headers of an entry are not trusted to say how much is read.
const MAX_COUNT: usize = 4096;
/// Bytes that are read of one value: more than any that is written.
const MAX_SIZE: usize = 64 << 20;
/// When nobody writes any more what names a part. In milliseconds.
const ORPHANED: u64 = 24 * 60 * 60 * 1000;

/// Where the parts of a value are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    /// `MILLIS-RANDOM`: when they were written.
    pub(super) name: String,
    pub(super) count: usize,
    /// Of the value.
    pub(super) size: usize,
}

impl Parts {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (name, count, size) = (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let is_valid = written(name).is_some() && count <= MAX_COUNT && size <= MAX_SIZE;
        is_valid.then(|| Self { name: name.to_owned(), count, size })
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.count, self.size)
    }
}

/// When parts of that name were written, if it is one.
fn written(name: &str) -> Option<u64> {
    let (millis, random) = name.split_once('-')?;
    (!random.is_empty() && random.bytes().all(|byte| byte.is_ascii_alphanumeric())).then(|| millis.parse().ok())?
}

/// Bytes of a value that are in the entry itself, or of a part.
fn room(max_payload: usize) -> usize {
    MAX_PART.min(max_payload.saturating_sub(HEADERS))
}

/// Writes a value in parts; `None` if it fits into its entry.
pub(super) async fn write(link: &Link, deadline: Instant, value: &[u8]) -> Result<Option<Parts>, StoreError> {
    let room = room(link.session(deadline).await?.max_payload);
    if value.len() <= room {
        return Ok(None);
    }
    let random = random_id::<8>().map_err(|error| StoreError(error.to_string()))?;
    let name = format!("{}-{random}", now());
    let parts = Parts { name, count: value.len().div_ceil(room), size: value.len() };
    if parts.count > MAX_COUNT || parts.size > MAX_SIZE {
        return Err(StoreError(format!("a value has {} bytes, of {MAX_SIZE} at most", value.len())));
    }
    let writes = (0..parts.count).map(|number| {
        let subject = subject(link, &parts.name, number);
        async move {
            let part = &value[number * room..value.len().min((number + 1) * room)];
            let written = link.ask::<Written>(deadline, &subject, &[], part).await?;
            written.map(drop).map_err(|error| link.refused(&error))
        }
    });
    let done = stream::iter(writes).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await;
    if let Err(error) = done {
        // What of it was written would be found after a day.
        let _ = discard(link, deadline, &parts.name).await;
        return Err(error);
    }
    Ok(Some(parts))
}

/// The value; `None` if parts are gone, because the entry names others by now.
pub(super) async fn read(link: &Link, deadline: Instant, parts: &Parts) -> Result<Option<Vec<u8>>, StoreError> {
    let reads = (0..parts.count).map(|number| {
        let body = format!("{{\"last_by_subj\":\"{}\"}}", subject(link, &parts.name, number));
        let subject = format!("$JS.API.STREAM.MSG.GET.{}", link.settings.parts());
        async move {
            match link.ask::<Found>(deadline, &subject, &[], body.as_bytes()).await? {
                Ok(found) => {
                    let malformed = |error: base64::DecodeError| StoreError(error.to_string());
                    STANDARD.decode(&found.message.data).map(Some).map_err(malformed)
                }
                Err(error) if error.err_code == ApiError::NO_MESSAGE => Ok(None),
                Err(error) => Err(link.refused(&error)),
            }
        }
    });
    let read: Option<Vec<Vec<u8>>> =
        stream::iter(reads).buffered(AT_ONCE).try_collect::<Vec<_>>().await?.into_iter().collect();
    let Some(read) = read else { return Ok(None) };
    let value = read.concat();
    if value.len() == parts.size {
        return Ok(Some(value));
    }
    let why = format!("the parts of a value have {} bytes, not {}", value.len(), parts.size);
    Err(failure::with_advice(&why, &link.settings, "remove the task"))
}

/// Removes the parts of that name.
pub(super) async fn discard(link: &Link, deadline: Instant, name: &str) -> Result<(), StoreError> {
    let settings = &link.settings;
    let body = format!("{{\"filter\":\"{}{name}.*\"}}", settings.part_subjects());
    let subject = format!("$JS.API.STREAM.PURGE.{}", settings.parts());
    match link.ask::<Done>(deadline, &subject, &[], body.as_bytes()).await? {
        Ok(Done {}) => Ok(()),
        Err(error) => Err(link.refused(&error)),
    }
}

/// Names of parts that are older than a day and that nobody names.
pub(super) async fn orphans(
    link: &Link,
    deadline: Instant,
    is_named: impl Fn(&str) -> bool,
) -> Result<Vec<String>, StoreError> {
    let settings = &link.settings;
    let subject = format!("$JS.API.STREAM.INFO.{}", settings.parts());
    let found = link.ask::<Stream>(deadline, &subject, &[], br#"{"subjects_filter":">"}"#).await?;
    let found = found.map_err(|error| link.refused(&error))?;
    let before = now().saturating_sub(ORPHANED);
    let subjects = found.state.subjects.into_keys();
    let mut names: Vec<String> = subjects
        .filter_map(|subject| Some(subject.strip_prefix(&settings.part_subjects())?.split_once('.')?.0.to_owned()))
        .filter(|name| written(name).is_some_and(|time| time < before) && !is_named(name))
        .collect();
    names.dedup();
    Ok(names)
}

fn subject(link: &Link, name: &str, number: usize) -> String {
    format!("{}{name}.{number}", link.settings.part_subjects())
}
