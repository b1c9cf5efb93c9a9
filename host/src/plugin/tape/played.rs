//! Answers a replayed call from what was recorded, and notes where the call differs.
//!
//! A question is answered by the first recorded answer to the same question that was not used, so that another version
//! may ask in another order, or leave questions out.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::event::{Event, Kind, Part};
use super::recorded::Recorded;
use crate::json;
use crate::plugin::abi::CallContext;

/// Maximum differences that are noted.
const MAX_DIFFERENCES: usize = 100;
/// Characters of a question in a difference.
const MAX_SHOWN: usize = 200;

pub(super) struct Played {
    pub(super) context: CallContext,
    /// Whether it had folders.
    pub(super) folders: bool,
    events: Vec<Event>,
    used: Vec<bool>,
    /// The events that are not used, in order, by what they are about.
    places: HashMap<Key, VecDeque<usize>>,
    /// The place after the last event that was used in order.
    after: usize,
    found: Vec<Difference>,
}

/// A kind of event, and the text of what it is about.
type Key = (Kind, String);

/// Where a replay differs from what was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub what: What,
    /// A call of the host, as text; or the text of a value.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It asks what the recording does not answer: the replay ended there.
    Unanswered,
    /// It says what was not said.
    New,
    /// It does not ask or say any more what it did.
    Gone,
    /// It asks or says it earlier or later.
    Moved,
    /// It sends another body.
    Body,
    /// It reads more of a response than was recorded.
    Unread,
    /// It reads a clock more often; the clock stands still.
    Clock,
}

/// Clocks, which tell the last recorded time when there is no other.
const CLOCKS: [&str; 3] = ["clock", "stopwatch", "cancelled"];

fn key(kind: Kind, what: &str, with: &Value) -> Key {
    (kind, format!("{what} {}", json::canonical(with)))
}

impl Played {
    pub(super) fn new(recorded: &Recorded) -> Self {
        let events = recorded.events.clone();
        let mut places: HashMap<Key, VecDeque<usize>> = HashMap::new();
        for (place, event) in events.iter().enumerate() {
            places.entry(key(event.kind, &event.what, &event.with)).or_default().push_back(place);
        }
        let used = vec![false; events.len()];
        let (context, folders) = (recorded.context.clone(), recorded.surroundings.folders);
        Self { context, folders, events, used, places, after: 0, found: Vec::new() }
    }

    /// The answer to a question.
    pub(super) fn answer(&mut self, what: &str, with: &Value) -> Option<Value> {
        match self.take(Kind::Asks, what, with) {
            Some(place) => self.events[place].gets.clone(),
            None if CLOCKS.contains(&what) => {
                let last = self.events.iter().rfind(|event| event.kind == Kind::Asks && event.what == what);
                let last = last.and_then(|event| event.gets.clone());
                self.note(if last.is_some() { What::Clock } else { What::Unanswered }, what, with);
                last
            }
            None => {
                self.note(What::Unanswered, what, with);
                None
            }
        }
    }

    /// Which were ready. `None`: it is not known.
    pub(super) fn poll(&mut self, what: &str, with: &Value) -> Option<Value> {
        let places = self.places.get_mut(&key(Kind::Polls, what, with))?;
        let place = places.pop_front()?;
        self.events[place].gets.clone()
    }

    pub(super) fn told(&mut self, what: &str, with: &Value) {
        if self.take(Kind::Says, what, with).is_none() {
            self.note(What::New, what, with);
        }
    }

    /// The place of a request of HTTP; `sent`: its whole body, if it is known.
    pub(super) fn request(&mut self, what: &str, with: &Value, sent: Option<&[u8]>) -> Option<usize> {
        let own = key(Kind::Asks, what, with);
        let events = &self.events;
        let same = |place: &usize| sent.is_none() || events[*place].sent.as_deref() == sent;
        let at = self.places.get(&own).and_then(|places| places.iter().position(same));
        let place = self.places.get_mut(&own).and_then(|places| places.remove(at.unwrap_or(0)));
        match place {
            Some(place) => {
                self.mark(place);
                if sent.is_some() && at.is_none() {
                    self.note(What::Body, what, with);
                }
            }
            None => self.note(What::Unanswered, what, with),
        }
        place
    }

    /// The place of a request whose body turns out to be that: another one of the same head may have it.
    pub(super) fn with_body(&mut self, place: usize, sent: &[u8]) -> usize {
        if self.events[place].sent.as_deref().unwrap_or_default() == sent {
            return place;
        }
        let Event { what, with, .. } = &self.events[place];
        let (what, with) = (what.clone(), with.clone());
        let events = &self.events;
        let places = self.places.entry(key(Kind::Asks, &what, &with)).or_default();
        match places.iter().position(|other| events[*other].sent.as_deref() == Some(sent)) {
            Some(at) => {
                let other = places.remove(at).unwrap_or(place);
                places.push_front(place);
                self.used[place] = false;
                self.mark(other);
                other
            }
            None => {
                self.note(What::Body, &what, &with);
                place
            }
        }
    }

    pub(super) fn head(&self, place: usize) -> Option<&Value> {
        self.events[place].gets.as_ref()
    }

    /// A part of a response. `None`: no more was recorded.
    pub(super) fn part(&mut self, place: usize, number: usize) -> Option<Part> {
        let part = self.events[place].parts.get(number).cloned();
        if part.is_none() {
            let Event { what, with, .. } = &self.events[place];
            let (what, with) = (what.clone(), with.clone());
            self.note(What::Unread, &what, &with);
        }
        part
    }

    /// What differs, with what is not asked or said any more.
    pub(super) fn differences(&self) -> Vec<Difference> {
        let gone = |(event, used): (&Event, &bool)| {
            let is_gone = !used && event.kind != Kind::Polls;
            is_gone.then(|| Difference { what: What::Gone, text: shown(&event.what, &event.with) })
        };
        let ended = self.found.iter().any(|difference| difference.what == What::Unanswered);
        let gone = self.events.iter().zip(&self.used).filter_map(gone).filter(|_| !ended);
        self.found.iter().cloned().chain(gone).take(MAX_DIFFERENCES).collect()
    }

    fn take(&mut self, kind: Kind, what: &str, with: &Value) -> Option<usize> {
        let place = self.places.get_mut(&key(kind, what, with))?.pop_front()?;
        if place < self.after {
            self.note(What::Moved, what, with);
        }
        self.mark(place);
        Some(place)
    }

    fn mark(&mut self, place: usize) {
        self.used[place] = true;
        self.after = self.after.max(place);
    }

    fn note(&mut self, what: What, function: &str, with: &Value) {
        if self.found.len() < MAX_DIFFERENCES {
            self.found.push(Difference { what, text: shown(function, with) });
        }
    }
}

/// A call of the host, for people.
fn shown(what: &str, with: &Value) -> String {
    match with {
        Value::Null => what.to_owned(),
        with => crate::text::quote(&format!("{what} {with}"), MAX_SHOWN),
    }
}
