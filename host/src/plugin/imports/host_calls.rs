//! The host functions `log`, `progress`, change notifications and `cancelled`.
//!
//! Nothing here blocks, fails or lets a guest fill a queue: messages over a limit are
//! dropped.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::state::GuestState;
use crate::plugin::abi::{HostCalls, Listing, LogLevel, TypesCalls};
use crate::plugin::events::{Event, LogBody};
use crate::plugin::json;
use crate::plugin::policy::redact::Redactable;
use crate::plugin::tape::kept::Kept;
use crate::text;

/// Maximum bytes of a progress message or a logger's name.
const MAX_SHORT: usize = 1024;
/// Maximum bytes of a URI in a notification.
const MAX_URI: usize = 8 << 10;

impl GuestState {
    /// A text of the guest without hidden characters, and with its secrets redacted.
    fn clean(&mut self, mut text: String) -> String {
        text::drop_hidden(&mut text, &mut self.hidden);
        self.redacted(text)
    }

    /// The same for JSON text.
    fn clean_json(&mut self, mut json: String) -> String {
        text::drop_hidden_in_json(&mut json, &mut self.hidden);
        self.redacted(json)
    }

    fn redacted(&self, mut text: String) -> String {
        for redactor in self.redaction.each() {
            text.redact(&redactor);
        }
        text
    }

    fn push_event(&self, event: Event) {
        if let Some(events) = &self.events {
            events.push(event);
        }
    }

    fn drop_message(&self) {
        if let Some(events) = &self.events {
            events.drop_message();
        }
    }
}

impl TypesCalls for GuestState {}

impl HostCalls for GuestState {
    fn log(&mut self, level: LogLevel, message: String) {
        self.tell("log", || json!([level.keep(), message]));
        let budget = self.log().clone();
        if !budget.admit(message.len()) {
            return self.drop_message();
        }
        let message = self.clean(message);
        budget.write(level, "log", &message);
        self.push_event(Event::Log { level, logger: None, data: LogBody::Text(message) });
    }

    fn log_data(&mut self, level: LogLevel, logger: String, data: String) {
        self.tell("log", || json!([level.keep(), logger, data]));
        let budget = self.log().clone();
        if !budget.admit(data.len() + logger.len()) {
            return self.drop_message();
        }
        let logger = text::prefix(&self.clean(logger), MAX_SHORT).to_owned();
        // Data that is not JSON is logged as text.
        let is_json = json::one_line(&data).is_ok();
        let data = if is_json { self.clean_json(data) } else { self.clean(data) };
        budget.write(level, &logger, &data);
        // Dropping hidden characters may have made two member names equal.
        let line = if is_json { json::one_line(&data).ok().map(Cow::into_owned) } else { None };
        let data = line.map_or(LogBody::Text(data), LogBody::Json);
        self.push_event(Event::Log { level, logger: Some(logger), data });
    }

    fn progress(&mut self, progress: f64, total: Option<f64>, message: Option<String>) {
        self.tell("progress", || json!([progress.keep(), total.keep(), message]));
        if !progress.is_finite() || progress <= self.progress {
            return;
        }
        self.progress = progress;
        let message = message.map(|message| text::prefix(&self.clean(message), MAX_SHORT).to_owned());
        self.push_event(Event::Progress { progress, total: total.filter(|total| total.is_finite()), message });
    }

    fn list_changed(&mut self, listing: Listing) {
        self.tell("list changed", || listing.keep());
        self.push_event(Event::ListChanged(listing));
    }

    fn resource_updated(&mut self, uri: String) {
        self.tell("resource updated", || uri.keep());
        if uri.len() <= MAX_URI && text::hidden_in_name(&uri).is_none() {
            let uri = self.redacted(uri);
            self.push_event(Event::ResourceUpdated(uri));
        }
    }

    fn cancelled(&mut self) -> bool {
        // In a replay without an answer the guest is stopped anyway.
        self.through("cancelled", Value::Null, |state| Ok(state.cancelled.is_cancelled())).unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::plugin::events::Events;

    #[tokio::test]
    async fn all_messages_of_a_call_share_one_leeway() {
        let events = Arc::new(Events::default());
        let mut state = GuestState::without_grants(1 << 20, Some(events.clone()), CancellationToken::new());
        let text = "one\u{a0}two\u{2009}three";
        for n in 0..20 {
            HostCalls::log(&mut state, LogLevel::Info, text.into());
            state.log_data(LogLevel::Info, text.into(), format!("{{\"a\":\"{text}\"}}"));
            state.progress(f64::from(n), None, Some(text.into()));
            state.resource_updated(format!("note://{n}\u{200b}"));
        }
        let all: Vec<Event> = std::iter::from_fn(|| events.take()).collect();
        let texts = all.iter().map(|event| match event {
            Event::Log { logger, data: LogBody::Text(text) | LogBody::Json(text), .. } => {
                format!("{}{text}", logger.as_deref().unwrap_or_default())
            }
            Event::Progress { message, .. } => message.clone().unwrap_or_default(),
            Event::ListChanged(_) | Event::ResourceUpdated(_) => panic!("not sent: {event:?}"),
        });
        assert_eq!(all.len(), 60);
        assert_eq!(texts.map(|text| text.matches(text::is_unusual_space).count()).sum::<usize>(), 8);
    }
}
