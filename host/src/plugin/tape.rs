//! What a call asks of the host and what it is answered: written down while the call runs, or answered from what was
//! written down.
//!
//! Everything that a guest sees comes from the host, so that a call which gets the same answers does the same. Each
//! host function whose answer differs from call to call goes through the tape of its call. A call without one pays for
//! one branch.

mod called;
mod event;
mod exchange;
mod file;
mod folder;
pub(in crate::plugin) mod kept;
mod outcome;
mod played;
mod recorded;
mod recorder;
mod redacted;
mod room;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::plugin::abi::CallContext;
use crate::plugin::limits::Limits;
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::redact::Redactor;
use crate::plugin::policy::redact::call::Redaction;
use crate::sync::lock;
pub(in crate::plugin) use called::{Called, Completing};
pub(in crate::plugin) use event::Part;
use event::{Event, Kind, size};
pub(in crate::plugin) use exchange::{Answered, Asked};
pub use file::{MAX_FILE, NotARecording, read};
pub use folder::{RecordFolder, Retention, recording_of};
use kept::Kept;
pub(in crate::plugin) use outcome::outcome;
use played::Played;
pub use played::{Difference, What};
pub(in crate::plugin) use recorded::Input;
use recorded::{Asking, Surroundings};
pub use recorded::{Recorded, Spending};
pub(in crate::plugin) use recorder::Taping;
pub use recorder::{RecordSettings, Recorder};
use redacted::Redacting;
use room::{Room, Share};

/// Maximum questions and messages of one call.
const MAX_EVENTS: usize = 100_000;
/// Maximum bytes of what one call asks and is answered.
pub const MAX_RECORDING: usize = 16 << 20;

/// The tape of one call.
#[derive(Clone)]
pub struct Tape(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Set when a replayed call asks for what was not recorded.
    unanswered: CancellationToken,
}

struct State {
    events: Vec<Event>,
    /// Bytes that may still be added.
    share: Share,
    /// Why it cannot be kept.
    spoilt: Option<&'static str>,
    /// What the call was given when it began; `None`: it did not reach the guest.
    began: Option<Began>,
    /// `None`: it is being recorded.
    played: Option<Played>,
    /// Where the events of a replay are that are being answered, by their place among those recorded.
    open: BTreeMap<usize, usize>,
}

/// What is known when the guest is about to run.
struct Began {
    asking: Asking,
    surroundings: Surroundings,
    redaction: Redaction,
}

/// A request of HTTP on a tape.
#[derive(Debug, Clone, Copy)]
pub(in crate::plugin) struct Ticket(usize);

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tape").finish_non_exhaustive()
    }
}

impl Tape {
    /// One that writes down at most so many bytes, which are those of a room, and some of which are taken already.
    fn recording(limit: usize, room: Option<Room>, taken: usize) -> Self {
        let tape = Self::with(Share::of(room, limit), None);
        lock(&tape.0.state).take(taken);
        tape
    }

    /// One that answers from a recorded call.
    pub(in crate::plugin) fn replaying(recorded: &Recorded) -> Self {
        Self::with(Share::of(None, MAX_RECORDING * 2), Some(Played::new(recorded)))
    }

    fn with(share: Share, played: Option<Played>) -> Self {
        let state = State { events: Vec::new(), share, spoilt: None, began: None, played, open: BTreeMap::new() };
        Self(Arc::new(Shared { state: Mutex::new(state), unanswered: CancellationToken::new() }))
    }

    /// The guest is about to run with that; returns the context that it gets.
    pub(in crate::plugin) fn begin(
        &self,
        context: CallContext,
        (grants, limits): (&Grants, &Limits),
        redaction: &Redaction,
    ) -> CallContext {
        let mut state = lock(&self.0.state);
        let context = state.played.as_ref().map_or(context, |played| played.context.clone());
        let folders = state.played.as_ref().map_or(!grants.folders.is_empty(), |played| played.folders);
        let mut surroundings = Surroundings::of(grants, limits);
        surroundings.folders = folders;
        let asking = Asking::of(&context);
        state.take(size(&asking.0) + surroundings.size());
        state.began = Some(Began { asking, surroundings, redaction: redaction.clone() });
        context
    }

    /// Whether the guest has folders, which are asked for in the recording.
    pub(in crate::plugin) fn has_folders(&self) -> bool {
        lock(&self.0.state).began.as_ref().is_some_and(|began| began.surroundings.folders)
    }

    /// Whether it answers from a recorded call.
    pub(in crate::plugin) fn replays(&self) -> bool {
        lock(&self.0.state).played.is_some()
    }

    /// A question whose answer is there at once: that of `real`, which is not asked in a replay.
    ///
    /// # Errors
    /// In a replay, if it has no answer: the guest is stopped.
    pub(in crate::plugin) fn through<A: Kept>(
        &self,
        what: &'static str,
        with: Value,
        real: impl FnOnce() -> wasmtime::Result<A>,
    ) -> wasmtime::Result<A> {
        match self.played(what, &with) {
            Some(Some(answer)) => Ok(answer),
            Some(None) => Err(wasmtime::format_err!("the recording does not answer {what}")),
            None => {
                let answer = real()?;
                self.add(Event::asks(what, with, Some(answer.keep())));
                Ok(answer)
            }
        }
    }

    /// The same for an answer that takes time. `real` is not polled in a replay, which ends where there is no answer.
    pub(in crate::plugin) async fn through_async<A: Kept>(
        &self,
        what: &'static str,
        with: Value,
        real: impl Future<Output = A>,
    ) -> A {
        match self.try_through_async(what, with, async { Ok::<_, Infallible>(real.await) }).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }

    /// The same for an answer in whose place the guest may be stopped, which is not recorded.
    pub(in crate::plugin) async fn try_through_async<A: Kept, E>(
        &self,
        what: &'static str,
        with: Value,
        real: impl Future<Output = Result<A, E>>,
    ) -> Result<A, E> {
        match self.played(what, &with) {
            Some(Some(answer)) => Ok(answer),
            Some(None) => std::future::pending().await,
            None => {
                let answer = real.await?;
                self.add(Event::asks(what, with, Some(answer.keep())));
                Ok(answer)
            }
        }
    }

    /// `None`: it is being recorded. `Some(None)`: there is no answer, and the replay ends.
    fn played<A: Kept>(&self, what: &'static str, with: &Value) -> Option<Option<A>> {
        let mut state = lock(&self.0.state);
        let answer = state.played.as_mut()?.answer(what, with);
        let read = answer.as_ref().and_then(A::read);
        match (&read, answer) {
            (Some(_), answer) => {
                state.add(Event::asks(what, with.clone(), answer));
            }
            // Also if the answer is not one of that question: the file was edited.
            (None, _) => self.0.unanswered.cancel(),
        }
        Some(read)
    }

    /// Something that the guest says, and that needs no answer.
    pub(in crate::plugin) fn tell(&self, what: &'static str, with: Value) {
        let mut state = lock(&self.0.state);
        if let Some(played) = &mut state.played {
            played.told(what, &with);
        }
        state.add(Event::says(what, with));
    }

    /// Which of these are ready, as recorded. `None`: it has to be found out, and told to [`Tape::polled`].
    pub(in crate::plugin) fn ready(&self, what: &'static str, with: &Value) -> Option<Vec<u32>> {
        let mut state = lock(&self.0.state);
        let answer = state.played.as_mut()?.poll(what, with)?;
        let ready = Vec::<u32>::read(&answer)?;
        state.add(Event { kind: Kind::Polls, ..Event::asks(what, with.clone(), Some(answer)) });
        Some(ready)
    }

    /// Which were ready.
    pub(in crate::plugin) fn polled(&self, what: &'static str, with: Value, ready: &[u32]) {
        let answer = Some(ready.to_vec().keep());
        self.add(Event { kind: Kind::Polls, ..Event::asks(what, with, answer) });
    }

    fn add(&self, event: Event) -> Option<usize> {
        lock(&self.0.state).add(event)
    }

    /// Completes when a replay has no answer for its guest.
    pub(in crate::plugin) async fn unanswered(&self) {
        self.0.unanswered.cancelled().await;
    }

    /// Whether a replay had no answer for its guest.
    pub(in crate::plugin) fn is_unanswered(&self) -> bool {
        self.0.unanswered.is_cancelled()
    }

    /// What was recorded of a call with this input and outcome, without its secrets and those that `hidden` finds. Takes
    /// long for a large one.
    ///
    /// # Errors
    /// Why there is nothing.
    pub(in crate::plugin) fn finish(
        &self,
        input: &Input,
        outcome: Value,
        cost: Spending,
        hidden: Option<Arc<Redactor>>,
    ) -> Result<Recorded, &'static str> {
        let mut state = lock(&self.0.state);
        state.take(size(&outcome));
        if let Some(why) = state.spoilt {
            return Err(why);
        }
        let Some(Began { asking, surroundings, redaction }) = state.began.take() else {
            return Err("the call did not reach the plugin");
        };
        let events = std::mem::take(&mut state.events);
        drop(state);
        let redacting = Redacting(redaction.each().chain(hidden).collect());
        let context = asking.context().ok_or("the context of the call cannot be read again")?;
        let mut recorded = Recorded { input: input.clone(), context, surroundings, events, outcome, cost };
        redacting.recorded(&mut recorded);
        Ok(recorded)
    }

    /// Where a finished replay differs from what was recorded, but for its outcome.
    pub(in crate::plugin) fn differences(&self) -> Vec<Difference> {
        let state = lock(&self.0.state);
        state.played.as_ref().map(Played::differences).unwrap_or_default()
    }
}

impl State {
    /// Adds an event, if there is room; returns its place.
    fn add(&mut self, event: Event) -> Option<usize> {
        if self.spoilt.is_some() || !self.take(event.size()) {
            return None;
        }
        if self.events.len() >= MAX_EVENTS {
            self.spoil("the call asks for too much");
            return None;
        }
        self.events.push(event);
        Some(self.events.len() - 1)
    }

    fn take(&mut self, bytes: usize) -> bool {
        if !self.share.take(bytes) {
            self.spoil("it is larger than the limit of recordings, or too many calls are recorded at a time");
        }
        self.spoilt.is_none()
    }

    /// Gives up what was written down.
    fn spoil(&mut self, why: &'static str) {
        self.spoilt = Some(why);
        self.events = Vec::new();
    }
}
