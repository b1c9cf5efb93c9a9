//! Requests of HTTP on a tape: the head and body that are sent, and the response as it is read.

use serde_json::Value;

use super::event::{Event, Part};
use super::{Tape, Ticket, size};
use crate::sync::lock;

/// The name of the function in recordings.
const HTTP: &str = "http";

/// What is sent.
pub(in crate::plugin) struct Asked<'a> {
    /// Method, URL and header fields.
    pub(in crate::plugin) head: Value,
    /// `None`: it is sent later.
    pub(in crate::plugin) body: Option<&'a [u8]>,
}

/// What came back.
pub(in crate::plugin) enum Answered {
    /// The head of a response, or why there is none.
    Head(Value),
    /// Nothing, while the call ran.
    Never,
}

impl Tape {
    /// A request begins. `None`: it is recorded no more, or the replay has no answer and ends.
    pub(in crate::plugin) fn request(&self, asked: Asked<'_>) -> Option<Ticket> {
        let mut state = lock(&self.0.state);
        let Asked { head, body } = asked;
        let place = match &mut state.played {
            Some(played) => match played.request(HTTP, &head, body) {
                Some(place) => Some(place),
                None => {
                    self.0.unanswered.cancel();
                    return None;
                }
            },
            None => None,
        };
        let event = Event { sent: body.map(<[u8]>::to_vec), ..Event::asks(HTTP, head, None) };
        let added = state.add(event)?;
        match place {
            Some(place) => {
                state.open.insert(place, added);
                Some(Ticket(place))
            }
            None => Some(Ticket(added)),
        }
    }

    /// More of a request's body.
    pub(in crate::plugin) fn sent(&self, ticket: Ticket, more: &[u8]) {
        self.change(ticket, more.len(), |event| event.sent.get_or_insert_default().extend_from_slice(more));
    }

    /// The response begins, or there is none.
    pub(in crate::plugin) fn answered(&self, ticket: Ticket, head: Value) {
        self.change(ticket, size(&head), |event| event.gets = Some(head));
    }

    /// A part of the response is read.
    pub(in crate::plugin) fn read_part(&self, ticket: Ticket, part: Part) {
        self.change(ticket, part.size(), |event| event.parts.push(part));
    }

    fn change(&self, Ticket(at): Ticket, bytes: usize, change: impl FnOnce(&mut Event)) {
        let mut state = lock(&self.0.state);
        let at = if state.played.is_some() { state.open.get(&at).copied() } else { Some(at) };
        if state.take(bytes)
            && let Some(event) = at.and_then(|at| state.events.get_mut(at))
        {
            change(event);
        }
    }

    /// The recorded answer to a request whose whole body is known now.
    pub(in crate::plugin) fn answer(&self, ticket: Ticket, body: Option<&[u8]>) -> (Ticket, Answered) {
        let mut state = lock(&self.0.state);
        let Ticket(mut place) = ticket;
        let Some(played) = &mut state.played else { return (ticket, Answered::Never) };
        if let Some(body) = body {
            let before = place;
            place = played.with_body(place, body);
            if let Some(added) = state.open.remove(&before) {
                state.open.insert(place, added);
            }
        }
        let head = state.played.as_ref().and_then(|played| played.head(place)).cloned();
        let ticket = Ticket(place);
        drop(state);
        match head {
            Some(head) => {
                self.answered(ticket, head.clone());
                (ticket, Answered::Head(head))
            }
            None => (ticket, Answered::Never),
        }
    }

    /// A recorded part of a response. `None`: there is no more of it.
    pub(in crate::plugin) fn part(&self, ticket: Ticket, number: usize) -> Option<Part> {
        let part = lock(&self.0.state).played.as_mut()?.part(ticket.0, number)?;
        self.read_part(ticket, part.clone());
        Some(part)
    }
}
