//! Reads recordings, which may come from strangers: nothing is followed or run, and all is bounded.

use serde_json::Value;

use super::MAX_EVENTS;
use super::event::Event;
use super::recorded::{FORMAT, Recorded};
use crate::json;

/// Maximum bytes of a file.
pub const MAX_FILE: u64 = 64 << 20;
/// Maximum calls in a file.
const MAX_CALLS: usize = 64;

/// Why a text is not a recording. Reads after "read the recording".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotARecording {
    #[error("it is empty")]
    Empty,
    #[error("line {0}: {1}")]
    Line(usize, String),
    #[error("it is of format {0}, and this version of Wharf knows format {FORMAT}")]
    Format(u64),
    #[error("it has no end: the last line has to say how the call ended")]
    Truncated,
    #[error("it has more than {MAX_EVENTS} lines in a call")]
    TooLong,
    #[error("it has more than {MAX_CALLS} calls")]
    TooMany,
}

impl NotARecording {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Format(_) => "replay it with the version of Wharf that recorded it: its first line names it",
            Self::Truncated => "copy the whole file, or record the call again",
            _ => "make one with: wharf record TARGET TOOL [ARGUMENT…] -o FILE",
        }
    }
}

/// The calls in the text of a recording.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read(text: &str) -> Result<Vec<Recorded>, NotARecording> {
    let (mut calls, mut open) = (Vec::new(), None::<Recorded>);
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |why: &str| NotARecording::Line(number, why.to_owned());
        let line = json::tree(line, json::MAX_DEPTH)
            .map_err(|error| NotARecording::Line(number, format!("it is not JSON: {error}")))?;
        match &mut open {
            None => {
                check_format(&line).map_err(|why| why.unwrap_or_else(|| wrong("it does not begin a recording")))?;
                if calls.len() == MAX_CALLS {
                    return Err(NotARecording::TooMany);
                }
                let begun = Recorded::begin(&line);
                open = Some(begun.ok_or_else(|| wrong("a member of the call is missing or wrong"))?);
            }
            Some(call) if line.get("outcome").is_some() => {
                call.end(&line).ok_or_else(|| wrong("a member of the outcome is missing or wrong"))?;
                calls.extend(open.take());
            }
            Some(call) if call.events.len() == MAX_EVENTS => return Err(NotARecording::TooLong),
            Some(call) => {
                let event = Event::read(&line);
                call.events.push(event.ok_or_else(|| wrong("it is neither a question nor an outcome"))?);
            }
        }
    }
    match (open, calls.is_empty()) {
        (Some(_), _) => Err(NotARecording::Truncated),
        (None, true) => Err(NotARecording::Empty),
        (None, false) => Ok(calls),
    }
}

/// `Err(None)`: it is no first line at all.
fn check_format(line: &Value) -> Result<(), Option<NotARecording>> {
    match line["recording"].as_u64() {
        Some(FORMAT) => Ok(()),
        other => Err(other.map(NotARecording::Format)),
    }
}
