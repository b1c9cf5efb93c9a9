//! The open streams of events, which are bounded: for one more, one whose reader has stalled is closed.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::sync::lock;

/// Pages that are open at the same time: each has one stream.
const MAX_STREAMS: usize = 8;
/// A reader has stalled that has taken nothing for so long: twice the time after which there is something to take.
const STALLED: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct Streams(Mutex<Vec<Weak<OpenStream>>>);

/// A stream; it is open until this is dropped.
pub(super) struct OpenStream {
    taken: Mutex<Instant>,
    /// Closes its connection.
    closing: CancellationToken,
}

impl Streams {
    /// One more on a connection that `closing` closes. `None` if there are too many.
    pub(super) fn open(&self, closing: CancellationToken, now: Instant) -> Option<Arc<OpenStream>> {
        let mut all = lock(&self.0);
        all.retain(|stream| stream.strong_count() > 0);
        if all.len() >= MAX_STREAMS {
            let open = |stream: &Weak<OpenStream>| stream.upgrade().is_none_or(|stream| stream.has_stalled(now));
            let at = all.iter().position(open)?;
            if let Some(stalled) = all.remove(at).upgrade() {
                stalled.closing.cancel();
            }
        }
        let stream = Arc::new(OpenStream { taken: Mutex::new(now), closing });
        all.push(Arc::downgrade(&stream));
        Some(stream)
    }
}

impl OpenStream {
    /// Its reader takes something.
    pub(super) fn take(&self, now: Instant) {
        *lock(&self.taken) = now;
    }

    fn has_stalled(&self, now: Instant) -> bool {
        now.saturating_duration_since(*lock(&self.taken)) >= STALLED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_stalled_gives_way_to_one_more() {
        let (streams, now) = (Streams::default(), Instant::now());
        let tokens: Vec<_> = (0..MAX_STREAMS).map(|_| CancellationToken::new()).collect();
        let open: Vec<_> = tokens.iter().map(|token| streams.open(token.clone(), now).expect("room")).collect();
        let later = now + STALLED;
        let just_before = later - Duration::from_millis(1);
        assert!(streams.open(CancellationToken::new(), just_before).is_none());
        open.iter().skip(1).for_each(|stream| stream.take(just_before));
        let next = streams.open(CancellationToken::new(), later);
        assert!(next.is_some() && tokens[0].is_cancelled() && !tokens[1].is_cancelled());
        assert!(streams.open(CancellationToken::new(), later).is_none());
        drop(open);
        assert!(streams.open(CancellationToken::new(), later).is_some());
    }
}
