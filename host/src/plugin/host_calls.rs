//! What a running guest can ask of the host: log, progress, change notices, `cancelled`.
//!
//! Nothing here blocks, fails or lets a guest fill a queue: what is over a limit is
//! dropped.

use super::abi::{HostCalls, Listing, LogLevel, TypesCalls};
use super::json;
use super::provider::{Event, LogBody};
use super::redact::Said as _;
use super::state::State;
use super::text;

/// Bytes of a progress message or a logger's name.
const SHORT: usize = 1024;
/// Bytes of a URI in a notice.
const URI: usize = 8 << 10;

impl State {
    /// What the guest said, without what nobody sees and without its secrets.
    fn redacted(&self, mut said: String) -> String {
        text::drop_hidden(&mut said);
        if let Some(redactor) = &self.granted.redactor {
            said.redact(redactor);
        }
        said
    }

    fn tell(&self, event: Event) {
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

impl TypesCalls for State {}

impl HostCalls for State {
    fn log(&mut self, level: LogLevel, message: String) {
        let budget = self.log().clone();
        if !budget.admit(message.len()) {
            return self.drop_message();
        }
        let message = self.redacted(message);
        budget.write(level, "log", &message);
        self.tell(Event::Log { level, logger: None, data: LogBody::Text(message) });
    }

    fn log_data(&mut self, level: LogLevel, logger: String, data: String) {
        let budget = self.log().clone();
        if !budget.admit(data.len() + logger.len()) {
            return self.drop_message();
        }
        let (logger, mut data) = (self.redacted(logger), self.redacted(data));
        text::drop_hidden_in_json(&mut data);
        let logger = text::prefix(&logger, SHORT).to_owned();
        budget.write(level, &logger, &data);
        // Text that is not JSON is still worth reading.
        let data = match json::one_line(&data) {
            Ok(line) => {
                let mut line = line.into_owned();
                text::drop_hidden_in_json(&mut line);
                LogBody::Json(line)
            }
            Err(_) => LogBody::Text(data),
        };
        self.tell(Event::Log { level, logger: Some(logger), data });
    }

    fn progress(&mut self, progress: f64, total: Option<f64>, message: Option<String>) {
        if !progress.is_finite() || progress <= self.progress {
            return;
        }
        self.progress = progress;
        self.tell(Event::Progress {
            progress,
            total: total.filter(|total| total.is_finite()),
            message: message.map(|message| text::prefix(&self.redacted(message), SHORT).to_owned()),
        });
    }

    fn list_changed(&mut self, listing: Listing) {
        self.tell(Event::ListChanged(listing));
    }

    fn resource_updated(&mut self, uri: String) {
        if uri.len() <= URI {
            self.tell(Event::ResourceUpdated(self.redacted(uri)));
        }
    }

    fn cancelled(&mut self) -> bool {
        self.cancelled.is_cancelled()
    }
}
