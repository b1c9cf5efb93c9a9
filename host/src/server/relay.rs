//! What a plugin says while it works for one request, on its way to the client: messages
//! and progress, as far as the client wants them, and at a pace that it can bear.
//!
//! Notices of changes are not for the client of this request but for whoever follows; they
//! are handed on. Nothing is sent after a cancellation or after the answer.
//!
//! A client that does not read is waited for once, for some seconds, and then no more: what it
//! does not take is dropped and counted, and the call and its request end as they would.
//!
//! Source: MCP, server/utilities/logging and basic/utilities/progress of each revision.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Number;
use tokio::time::Instant;

use super::Server;
use super::scope::Scope;
use super::wire::text;
use crate::json::{self, Raw};
use crate::plugin::abi::LogLevel;
use crate::plugin::{Event, Events, LogBody, Provider};
use crate::protocol::Level;

/// Messages of one request: so many at once, and so many a second.
const MESSAGES: (f64, f64) = (100.0, 10.0);
/// Steps of progress of one request.
const STEPS: (f64, f64) = (20.0, 10.0);

/// Lives as long as one request, over all rounds of its call.
pub(in crate::server) struct Relay<'a> {
    server: &'a Arc<Server>,
    scope: &'a Scope,
    provider: &'a Arc<dyn Provider>,
    events: Arc<Events>,
    messages: Pace,
    dropped: u64,
    steps: Pace,
    /// The highest progress that was sent.
    progress: f64,
    /// A step that came too early; a later one takes its place.
    held: Option<Step>,
    /// The client has read as long as it was waited for.
    reads: bool,
}

struct Step {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl<'a> Relay<'a> {
    pub(in crate::server) fn new(server: &'a Arc<Server>, scope: &'a Scope, provider: &'a Arc<dyn Provider>) -> Self {
        Self {
            server,
            scope,
            provider,
            events: Arc::default(),
            messages: Pace::new(MESSAGES),
            dropped: 0,
            steps: Pace::new(STEPS),
            progress: f64::NEG_INFINITY,
            held: None,
            reads: true,
        }
    }

    /// Where the plugin puts what it says.
    pub(in crate::server) fn events(&self) -> Arc<Events> {
        self.events.clone()
    }

    /// Passes on what is said until the call is over, and then the rest of it.
    pub(in crate::server) async fn during<T>(&mut self, call: impl Future<Output = T>) -> T {
        tokio::pin!(call);
        let events = self.events.clone();
        let outcome = loop {
            let due = self.steps.next;
            tokio::select! {
                biased;
                event = events.next() => self.pass(event).await,
                () = tokio::time::sleep_until(due), if self.held.is_some() => self.send_step().await,
                outcome = &mut call => break outcome,
            }
        };
        while let Some(event) = events.take() {
            self.pass(event).await;
        }
        self.send_held().await;
        outcome
    }

    /// Says what could not be said, once, before the answer.
    pub(in crate::server) async fn end(mut self) {
        let dropped = self.dropped + self.events.dropped();
        if dropped > 0 && self.scope.verbosity.admits(Level::Warning) {
            let text = format!("{dropped} more messages of this call were dropped");
            self.message(Level::Warning, None, &LogBody::Text(text)).await;
        }
    }

    async fn pass(&mut self, event: Event) {
        match event {
            Event::Log { level, logger, data } => {
                let level = level_of(level);
                if !self.scope.verbosity.admits(level) {
                    return;
                }
                if !self.messages.admits() || !self.message(level, logger.as_deref(), &data).await {
                    self.dropped += 1;
                }
            }
            Event::Progress { progress, total, message } => {
                // A later round of the same call begins anew; to the client it is one.
                let rises = self.held.as_ref().map_or(self.progress, |held| held.progress) < progress;
                if self.scope.progress.is_none() || !rises {
                    return;
                }
                self.held = Some(Step { progress, total, message });
                self.send_step().await;
            }
            Event::ListChanged(_) => self.server.catalog.list_again(self.provider.id()),
            Event::ResourceUpdated(uri) => {
                let owner = self.server.catalog.snapshot().provider_of(&uri);
                // Nobody speaks for what another plugin answers for.
                if owner.is_some_and(|owner| owner.id() == self.provider.id()) {
                    self.server.updates.tell(&uri);
                }
            }
        }
    }

    /// `false`: it was dropped.
    async fn message(&mut self, level: Level, logger: Option<&str>, data: &LogBody) -> bool {
        let plugin = self.provider.id();
        let logger = logger.map_or_else(|| plugin.to_string(), |logger| format!("{plugin}/{logger}"));
        let data = match data {
            LogBody::Text(text) => Logged::Text(text),
            LogBody::Json(json) => Logged::Json(Raw(json)),
        };
        self.send("notifications/message", &Message { level: level.as_str(), logger: &logger, data }).await
    }

    /// Sends the held step, if it is time for one.
    async fn send_step(&mut self) {
        if self.steps.admits() {
            self.send_held().await;
        }
    }

    async fn send_held(&mut self) {
        let (Some(step), Some(token)) = (self.held.take(), &self.scope.progress) else { return };
        self.progress = step.progress;
        let Some(progress) = json::number(step.progress) else { return };
        let message = step.message.filter(|text| !text.is_empty() && self.scope.revision.has_progress_message());
        let params = Progress {
            progress_token: Raw(token.as_json()),
            progress,
            total: step.total.and_then(json::number),
            message: message.as_deref(),
        };
        self.send("notifications/progress", &params).await;
    }

    /// `false`: it was dropped, because the client does not read.
    async fn send(&mut self, method: &str, params: &(impl Serialize + Sync)) -> bool {
        // Not before the request has a task: an answer that was there at once would be sent
        // by another way than this, and might be first.
        tokio::task::yield_now().await;
        if self.scope.cancelled.is_cancelled() {
            return true;
        }
        let Ok(params) = text(params) else { return false };
        let sent = self.scope.client.notify(method, &params, self.reads).await;
        self.reads &= sent;
        sent
    }
}

/// The wire's `LoggingMessageNotificationParams`.
#[derive(Serialize)]
struct Message<'a> {
    level: &'static str,
    logger: &'a str,
    data: Logged<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Logged<'a> {
    Text(&'a str),
    Json(Raw<'a>),
}

/// The wire's `ProgressNotificationParams`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress<'a> {
    progress_token: Raw<'a>,
    progress: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

fn level_of(level: LogLevel) -> Level {
    match level {
        LogLevel::Debug => Level::Debug,
        LogLevel::Info => Level::Info,
        LogLevel::Notice => Level::Notice,
        LogLevel::Warning => Level::Warning,
        LogLevel::Error => Level::Error,
        LogLevel::Critical => Level::Critical,
        LogLevel::Alert => Level::Alert,
        LogLevel::Emergency => Level::Emergency,
    }
}

/// A token bucket: bursts up to its size, then a steady rate.
struct Pace {
    size: f64,
    per_second: f64,
    left: f64,
    seen: Instant,
    /// When there will be a token, if there is none.
    next: Instant,
}

impl Pace {
    fn new((size, per_second): (f64, f64)) -> Self {
        let now = Instant::now();
        Self { size, per_second, left: size, seen: now, next: now }
    }

    fn admits(&mut self) -> bool {
        let now = Instant::now();
        let earned = (now - self.seen).as_secs_f64() * self.per_second;
        self.left = (self.left + earned).min(self.size);
        self.seen = now;
        let admitted = self.left >= 1.0;
        if admitted {
            self.left -= 1.0;
        } else {
            self.next = now + Duration::from_secs_f64((1.0 - self.left) / self.per_second);
        }
        admitted
    }
}

#[cfg(test)]
mod tests;
