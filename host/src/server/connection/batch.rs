//! Batches: each message is judged by itself, and the answers go out together.
//!
//! Source: JSON-RPC 2.0, section 6; MCP 2025-03-26, basic, "Batching".

use tokio_util::sync::CancellationToken;

use std::sync::Arc;

use super::{Answered, Arrival, Connection, send};
use crate::jsonrpc::{Invalid, Message};
use crate::protocol::{era, error};
use crate::server::handlers::Reply;
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
        let room = self.room.take(arrival.size);
        let mut answers = Vec::new();
        let mut running = Vec::new();
        for (message, verdict) in messages.into_iter().zip(verdicts) {
            match (message, verdict) {
                (Message::Invalid(invalid), _) => answers.push(self.refusal(&invalid)),
                (Message::Request(request), Some(error)) => answers.push(Outgoing::answer(&request.id, Err(error))),
                (Message::Request(request), None) => {
                    let cancelled = CancellationToken::new();
                    match self.dispatch(arrival, &request, &cancelled) {
                        Reply::Now(answer) => answers.push(Outgoing::answer(&request.id, answer)),
                        Reply::Refused(error) => answers.push(Outgoing::answer(&request.id, Err(error))),
                        _ if room.is_none() => {
                            answers.push(Outgoing::answer(&request.id, Err(error::too_many_requests())));
                        }
                        Reply::Later(later) | Reply::Listen(later) => {
                            if self.in_flight.start(&request.id, cancelled.clone()) {
                                running.push((request.id, later, cancelled));
                            } else {
                                answers.push(Outgoing::answer(&request.id, Err(error::id_in_use())));
                            }
                        }
                    }
                }
                (Message::Notification(notification), _) => self.notice(&notification),
                (Message::Response(response), _) => self.asked.settle(response),
            }
        }
        let (this, stream) = (self.clone(), arrival.stream.clone());
        tokio::spawn(async move {
            // Not an error: the semaphore is never closed.
            let place = this.running.clone().acquire_owned().await;
            let grace = this.server.settings.cancel_grace;
            let run = running.into_iter().map(|(id, later, cancelled)| {
                let this = this.clone();
                tokio::spawn(async move { this.run(id, later, cancelled, grace).await })
            });
            for answer in run.collect::<Vec<_>>() {
                answers.extend(answer.await.ok().flatten());
            }
            if !answers.is_empty() {
                send(&stream, Outgoing::batch(answers)).await;
            }
            drop((room, place));
        });
        None
    }
}
