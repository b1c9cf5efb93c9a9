//! Batches: each message is admitted like a single one, and the responses are sent together.
//!
//! Source: JSON-RPC 2.0, section 6; MCP 2025-03-26, basic, "Batching".

use std::collections::HashSet;
use std::sync::Arc;

use super::Connection;
use super::answered::{Admission, Answered, send};
use super::arrival::Arrival;
use crate::jsonrpc::{Invalid, Message};
use crate::protocol::{era, error};
use crate::server::outgoing::Outgoing;

impl Connection {
    pub(super) fn receive_batch(
        self: &Arc<Self>,
        arrival: &Arrival<'_>,
        messages: Vec<Message<'_>>,
    ) -> Option<Answered> {
        let verdicts = match era::batch(&messages, self.revision()) {
            Ok(verdicts) => verdicts,
            Err(error) => return Answered::now(self.refusal(&Invalid { id: None, error })),
        };
        // The frame's bytes are divided among its messages, as if each had its own frame.
        let each = Arrival { size: arrival.size / messages.len().max(1), ..*arrival };
        let mut seen = HashSet::new();
        let mut answers = Vec::new();
        let mut running = Vec::new();
        for (message, verdict) in messages.into_iter().zip(verdicts) {
            match (message, verdict) {
                // A repeated id belongs to the response of the first request with it.
                (Message::Invalid(Invalid { id, error }), _) => {
                    let id = id.filter(|id| seen.insert(id.clone()));
                    answers.push(self.refusal(&Invalid { id, error }));
                }
                (Message::Request(request), _) if !seen.insert(request.id.clone()) => {
                    answers.push(self.refusal(&Invalid { id: None, error: error::id_in_use() }));
                }
                (Message::Request(request), Some(error)) => answers.push(Outgoing::answer(&request.id, Err(error))),
                (Message::Request(request), None) => match self.admit(&each, request) {
                    Admission::Now(answer) => answers.push(answer),
                    Admission::Work(work) => running.push(tokio::spawn(work)),
                },
                (Message::Notification(notification), _) => self.handle_notification(&notification),
                (Message::Response(response), _) => self.pending.resolve(response),
            }
        }
        let (stream, bounds) = (arrival.stream.clone(), self.own.bounds.clone());
        tokio::spawn(async move {
            let mut held = Vec::new();
            for answered in running {
                if let Some(answered) = answered.await.ok().flatten() {
                    answers.push(answered.message);
                    held.push(answered.held);
                }
            }
            if !answers.is_empty() {
                let mut message = Outgoing::batch(answers);
                message.hold(&bounds.unread);
                send(&stream, message).await;
            }
            drop(held);
        });
        None
    }
}

#[cfg(test)]
mod tests;
