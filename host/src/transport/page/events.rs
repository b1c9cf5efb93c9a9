//! What happens, as server-sent events: a few times a second, however much that is.
//!
//! Source: the HTML standard, "Server-sent events".

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use http::header::{self, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::Page;
use super::answer::{Refused, Response};
use crate::activity::Batch;

/// Between two events.
const PAUSE: Duration = Duration::from_millis(250);
/// Records of one event. A reader is told how many it did not get.
const MAX_RECORDS: usize = 50;
/// A stream without events has a comment after this time, so that no proxy closes it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

struct Events {
    page: Arc<Page>,
    ticks: Interval,
    /// The number of the next record.
    next: u64,
    /// Of the last event; `None` before the first one.
    revision: Option<u64>,
    last: Instant,
    _permit: OwnedSemaphorePermit,
}

/// # Errors
/// 503 if as many streams are open as there may be.
pub(super) fn respond(page: &Arc<Page>) -> Result<Response, Refused> {
    let full =
        |_| Refused::new(StatusCode::SERVICE_UNAVAILABLE, "follow the server: too many pages are open; close one");
    let permit = page.streams.clone().try_acquire_owned().map_err(full)?;
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let events = Events { page: page.clone(), ticks, next: 0, revision: None, last: Instant::now(), _permit: permit };
    let frames = stream::unfold(events, |mut events| async move {
        let text = events.next().await;
        Some((Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from(text))), events))
    });
    let mut response = http::Response::new(StreamBody::new(frames).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

impl Events {
    /// The next event. It is made when there is room for it on the connection: who reads slowly gets fewer records.
    async fn next(&mut self) -> String {
        loop {
            self.ticks.tick().await;
            let Batch { next, skipped, records } = self.page.settings.activity.since(self.next, MAX_RECORDS);
            let revision = self.page.settings.operator.revision();
            if self.revision == Some(revision) && next == self.next {
                if self.last.elapsed() >= KEEP_ALIVE {
                    self.last = Instant::now();
                    return ":\n\n".to_owned();
                }
                continue;
            }
            // What was before the page was opened is not missing.
            let skipped = if self.revision.is_some() { skipped } else { 0 };
            (self.next, self.revision, self.last) = (next, Some(revision), Instant::now());
            let records = records.join(",");
            return format!("data: {{\"revision\":{revision},\"skipped\":{skipped},\"records\":[{records}]}}\n\n");
        }
    }
}
