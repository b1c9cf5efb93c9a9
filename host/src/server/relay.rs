//! Forwards a plugin's events to the client while a request runs: log messages and progress, if the
//! client requested them, and rate-limited.
//!
//! Change events are published to subscribers. Nothing is sent after a cancellation or after the
//! response.
//!
//! The relay waits once, for a few seconds, for a client that does not read. After that, messages
//! that do not fit are dropped and counted, and the request ends normally.
//!
//! Source: MCP, server/utilities/logging and basic/utilities/progress of each revision.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Number;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Server;
use super::scope::Scope;
use super::wire::text;
use crate::json::{self, Raw};
use crate::plugin::abi::LogLevel;
use crate::plugin::{Event, Events, LogBody, Provider};
use crate::protocol::Level;

/// Log messages of one request: burst, and rate per second.
const MESSAGES: (f64, f64) = (100.0, 10.0);
/// How long a response waits for the lists that its call has changed.
const LISTED_WITHIN: Duration = Duration::from_secs(2);
/// Progress notifications of one request: burst, and rate per second.
const STEPS: (f64, f64) = (20.0, 10.0);

/// Lives for one request, over all rounds of its call.
pub(in crate::server) struct Relay<'a> {
    server: &'a Arc<Server>,
    scope: &'a Scope,
    provider: &'a Arc<dyn Provider>,
    events: Arc<Events>,
    messages: TokenBucket,
    dropped: u64,
    steps: TokenBucket,
    /// The highest progress that was sent.
    progress: f64,
    /// A rate-limited step; a later one replaces it.
    pending_step: Option<Step>,
    /// Whether no notification has timed out yet.
    client_reads: bool,
    /// The plugin's lists are read again; ends with that.
    listed: Option<oneshot::Receiver<()>>,
    /// Whether the call has updated resources.
    updated: bool,
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
            messages: TokenBucket::new(MESSAGES),
            dropped: 0,
            steps: TokenBucket::new(STEPS),
            progress: f64::NEG_INFINITY,
            pending_step: None,
            client_reads: true,
            listed: None,
            updated: false,
        }
    }

    /// The queue of the plugin's events.
    pub(in crate::server) fn events(&self) -> Arc<Events> {
        self.events.clone()
    }

    /// Forwards events until the call ends, and then drains the queue.
    pub(in crate::server) async fn forward_during<T>(&mut self, call: impl Future<Output = T>) -> T {
        tokio::pin!(call);
        let events = self.events.clone();
        let outcome = loop {
            let due = self.steps.next;
            tokio::select! {
                biased;
                event = events.next() => self.forward(event).await,
                () = tokio::time::sleep_until(due), if self.pending_step.is_some() => self.send_step().await,
                outcome = &mut call => break outcome,
            }
        };
        while let Some(event) = events.take() {
            self.forward(event).await;
        }
        self.send_pending_step().await;
        self.send_changes().await;
        outcome
    }

    /// Reports the number of dropped log messages, once, before the response.
    pub(in crate::server) async fn finish(mut self) {
        let dropped = self.dropped + self.events.dropped();
        if dropped > 0 && self.scope.verbosity.admits(Level::Warning) && !self.is_task() {
            let text = format!("{dropped} more messages of this call were dropped");
            self.message(Level::Warning, None, &LogBody::Text(text)).await;
        }
    }

    async fn forward(&mut self, event: Event) {
        match event {
            Event::Log { level, logger, data } => {
                let level = level_of(level);
                if !self.scope.verbosity.admits(level) || self.is_task() {
                    return;
                }
                if !self.messages.try_take() || !self.message(level, logger.as_deref(), &data).await {
                    self.dropped += 1;
                }
            }
            Event::Progress { progress, total, message } => {
                if let Some(task) = &self.scope.task {
                    task.say(status(progress, total, message.as_deref()));
                }
                // A later round may restart its progress; for the client it must increase.
                let rises = self.pending_step.as_ref().map_or(self.progress, |step| step.progress) < progress;
                if self.scope.progress.is_none() || !rises {
                    return;
                }
                self.pending_step = Some(Step { progress, total, message });
                self.send_step().await;
            }
            Event::ListChanged(_) => {
                self.server.own_changes.listed(self.provider.id());
                self.listed = Some(self.server.catalog.list_again(self.provider.id()));
            }
            Event::ResourceUpdated(uri) => {
                let owner = self.server.catalog.snapshot().provider_of(&uri);
                // A plugin cannot report updates of another plugin's resources.
                if owner.is_some_and(|owner| owner.id() == self.provider.id()) {
                    self.server.own_changes.updated(&uri);
                    self.server.updates.publish(&uri);
                    self.updated = true;
                }
            }
        }
    }

    /// Notifies the client's own streams of what the call has changed: clients that close their
    /// session with the response would fail on a later notification.
    async fn send_changes(&mut self) {
        let listed = self.listed.take();
        if listed.is_none() && !std::mem::take(&mut self.updated) {
            return;
        }
        if let Some(listed) = listed {
            // Ends with an error too.
            let _ = tokio::time::timeout(LISTED_WITHIN, listed).await;
        }
        // As in `send`.
        tokio::task::yield_now().await;
        self.scope.followers.notify(self.server).await;
    }

    /// Sends a log message. `false`: it was dropped.
    async fn message(&mut self, level: Level, logger: Option<&str>, data: &LogBody) -> bool {
        let plugin = self.provider.id();
        let logger = logger.map_or_else(|| plugin.to_string(), |logger| format!("{plugin}/{logger}"));
        let data = match data {
            LogBody::Text(text) => Logged::Text(text),
            LogBody::Json(json) => Logged::Json(Raw(json)),
        };
        self.send("notifications/message", &Message { level: level.as_str(), logger: &logger, data }).await
    }

    /// Sends the pending step, if the rate limit allows one.
    async fn send_step(&mut self) {
        if self.steps.try_take() {
            self.send_pending_step().await;
        }
    }

    async fn send_pending_step(&mut self) {
        let (Some(step), Some(token)) = (self.pending_step.take(), &self.scope.progress) else { return };
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

    /// Whether the call has become a task.
    fn is_task(&self) -> bool {
        self.scope.task.as_ref().is_some_and(|task| task.is_task())
    }

    /// `false`: it was dropped, because the client does not read.
    async fn send(&mut self, method: &str, params: &(impl Serialize + Sync)) -> bool {
        // Yields first so that the request runs in its own task: a response that is ready at
        // once bypasses the outbox and might overtake this message.
        tokio::task::yield_now().await;
        // What has become a task says no more on the stream of its request.
        let _sending = match &self.scope.task {
            Some(task) => Some(task.sending.lock().await),
            None => None,
        };
        if self.scope.cancelled.is_cancelled() || self.is_task() {
            return true;
        }
        let Ok(params) = text(params) else { return false };
        let sent = self.scope.client.notify(method, &params, self.client_reads).await;
        self.client_reads &= sent;
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

/// Progress as the status message of a task.
fn status(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    let so_far = match total {
        Some(total) => format!("{progress} of {total}"),
        None => progress.to_string(),
    };
    match message.filter(|text| !text.is_empty()) {
        Some(message) => format!("{message} ({so_far})"),
        None => so_far,
    }
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
struct TokenBucket {
    size: f64,
    per_second: f64,
    left: f64,
    seen: Instant,
    /// When the next token is due, if there is none.
    next: Instant,
}

impl TokenBucket {
    fn new((size, per_second): (f64, f64)) -> Self {
        let now = Instant::now();
        Self { size, per_second, left: size, seen: now, next: now }
    }

    fn try_take(&mut self) -> bool {
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
