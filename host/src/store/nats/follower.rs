//! Follows the stream of entries: fills the index, and reports what was written.
//!
//! The server sends the last message of each subject, without values, and then each new one. Messages are counted, and the
//! server speaks when it has none: if one is missing, the index is filled anew.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::api::{Consumer, Stream};
use super::clock;
use super::entry::{self, Head};
use super::index::{Index, Seen};
use super::link::Link;
use super::parts;
use super::session::Session;
use super::wire::Message;
use crate::json;
use crate::store::{Changed, StoreError};
use crate::sync::{Mutex, lock};

/// How often the server says that there is nothing new.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// How long it may say nothing.
const SILENCE: Duration = Duration::from_secs(7);
/// How soon it is tried again, at first and later.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(300);
/// Values whose parts are removed at the same time.
const REMOVED: usize = 256;

/// The index, and how far it is.
pub(super) struct View {
    pub(super) index: Mutex<Index>,
    /// The number of the last message in it; `None`: it is being filled.
    seen: watch::Sender<Option<u64>>,
    again: Notify,
}

impl View {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { index: Mutex::default(), seen: watch::Sender::new(None), again: Notify::new() })
    }

    /// Waits until that message is in it.
    ///
    /// # Errors
    /// If it is not by then.
    pub(super) async fn until(&self, sequence: u64, deadline: Instant) -> Result<(), String> {
        let mut seen = self.seen.subscribe();
        let has = |seen: &Option<u64>| seen.is_some_and(|seen| seen >= sequence);
        let half = Instant::now() + deadline.saturating_duration_since(Instant::now()) / 2;
        if matches!(timeout_at(half, seen.wait_for(has)).await, Ok(Ok(_))) {
            return Ok(());
        }
        // The message was removed before it was sent, or there is another stream of the same name. What is being filled will
        // have it: to begin anew would never end if that takes long.
        if seen.borrow().is_some() {
            self.again.notify_one();
        }
        match timeout_at(deadline, seen.wait_for(has)).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(format!("message {sequence} was not reported")),
        }
    }
}

/// Until it is cancelled.
pub(super) async fn follow(link: Arc<Link>, view: Arc<View>, changes: broadcast::Sender<Changed>) {
    let (unnamed, names) = mpsc::channel(REMOVED);
    let removing = remove_parts(link.clone(), names);
    let following = async {
        let mut following = Following { link, view, changes, unnamed, is_lost: false, has_warned: false };
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            following.once().await;
            following.view.seen.send_replace(None);
            if began.elapsed() > SILENCE {
                pause = FIRST_PAUSE;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    tokio::join!(removing, following);
}

async fn remove_parts(link: Arc<Link>, mut names: mpsc::Receiver<String>) {
    while let Some(name) = names.recv().await {
        // What is left is found after a day.
        let _ = parts::discard(&link, link.deadline(), &name).await;
    }
}

struct Following {
    link: Arc<Link>,
    view: Arc<View>,
    changes: broadcast::Sender<Changed>,
    /// Names of parts that nobody names any more.
    unnamed: mpsc::Sender<String>,
    /// Whether that has been said.
    is_lost: bool,
    has_warned: bool,
}

/// What the server reports, and what it has reported first.
struct Reports {
    session: Arc<Session>,
    receiver: mpsc::Receiver<Message>,
    /// The number of the last message when it began.
    last: u64,
    /// Whether there is nothing to report first.
    is_empty: bool,
}

impl Following {
    /// Follows until the connection ends, something is missing, or somebody wants it filled anew.
    async fn once(&mut self) {
        let reports = match self.begin().await {
            Ok(reports) => reports,
            Err(error) => {
                if !self.is_lost {
                    tracing::warn!(%error, "failed to watch the store, which is tried until it answers");
                    self.is_lost = true;
                }
                return;
            }
        };
        if self.is_lost {
            tracing::info!("the store answers again: {}", self.link.settings);
            self.is_lost = false;
        }
        let Reports { session, mut receiver, last, is_empty } = reports;
        let (mut filling, mut count) = (Some(Index::default()), 0);
        if is_empty {
            self.publish(filling.take(), last);
        }
        loop {
            let message = tokio::select! {
                () = self.view.again.notified() => return,
                message = timeout(SILENCE, receiver.recv()) => message,
            };
            // Silent, or closed.
            let Ok(Some(message)) = message else { return };
            if let Some(status) = message.status() {
                // The server goes on once it is told that its messages were read.
                let stalled = message.header("Nats-Consumer-Stalled").unwrap_or(&message.reply);
                if status != 100 || !stalled.is_empty() && session.tell(stalled).await.is_err() {
                    return;
                }
                if message.header("Nats-Last-Consumer").is_some_and(|sent| sent != count.to_string()) {
                    return;
                }
                if stalled.is_empty() && filling.is_some() {
                    // It has no more, whatever it said of how many follow.
                    self.publish(filling.take(), last);
                }
                continue;
            }
            let Some((report, seen)) = Report::of(&message, &self.link.settings.entry_subjects()) else { return };
            count += 1;
            if report.number != count {
                return;
            }
            if let Some(seen) = seen {
                self.take(seen, filling.as_mut());
            }
            if filling.is_none() {
                self.view.seen.send_replace(Some(report.sequence));
            // They come in order. How many follow may be wrong if one is overwritten meanwhile.
            } else if report.pending == 0 || report.sequence >= last {
                self.publish(filling.take(), last.max(report.sequence));
            }
        }
    }

    fn take(&mut self, seen: Seen, filling: Option<&mut Index>) {
        let Some(filling) = filling else {
            if !self.has_warned && clock::is_ahead(seen.written) {
                clock::warn();
                self.has_warned = true;
            }
            let changed = (!seen.head.is_removed).then(|| Changed::Key(seen.key.clone()));
            if let Some(name) = lock(&self.view.index).apply(seen) {
                // If there are too many, they are found after a day.
                let _ = self.unnamed.try_send(name);
            }
            if let Some(changed) = changed {
                // An error means that nobody watches any more.
                let _ = self.changes.send(changed);
            }
            return;
        };
        filling.apply(seen);
    }

    /// The index is filled.
    fn publish(&self, index: Option<Index>, last: u64) {
        *lock(&self.view.index) = index.unwrap_or_default();
        self.view.seen.send_replace(Some(last));
        // As above.
        let _ = self.changes.send(Changed::All);
    }

    async fn begin(&self) -> Result<Reports, StoreError> {
        let (link, settings, deadline) = (&self.link, &self.link.settings, self.link.deadline());
        let last = last_sequence(link, deadline).await?;
        let session = link.session(deadline).await?;
        let subscribed = session.subscribe().await;
        let (subject, receiver) = subscribed.map_err(|failed| super::failure::of(&failed, settings))?;
        let stream = settings.entries();
        let body = format!(
            "{{\"stream_name\":{},\"config\":{{\"deliver_subject\":{},\"deliver_policy\":\"last_per_subject\",\
             \"filter_subject\":{},\"ack_policy\":\"none\",\"replay_policy\":\"instant\",\"max_deliver\":1,\
             \"headers_only\":true,\"flow_control\":true,\"idle_heartbeat\":{},\"mem_storage\":true,\
             \"num_replicas\":1}}}}",
            json::quote(&stream),
            json::quote(&subject),
            json::quote(&format!("{}>", settings.entry_subjects())),
            HEARTBEAT.as_nanos(),
        );
        let create = format!("$JS.API.CONSUMER.CREATE.{stream}");
        let consumer = link.ask::<Consumer>(deadline, &create, &[], body.as_bytes()).await?;
        let consumer = consumer.map_err(|error| link.refused(&error))?;
        Ok(Reports { session, receiver, last, is_empty: consumer.num_pending == 0 })
    }
}

/// The number of the last message of the stream of entries.
pub(super) async fn last_sequence(link: &Link, deadline: Instant) -> Result<u64, StoreError> {
    let subject = format!("$JS.API.STREAM.INFO.{}", link.settings.entries());
    let found = link.ask::<Stream>(deadline, &subject, &[], b"").await?;
    found.map(|found| found.state.last_seq).map_err(|error| link.refused(&error))
}

/// Where in the stream a message is.
#[derive(Debug, PartialEq, Eq)]
struct Report {
    /// In the stream.
    sequence: u64,
    /// Among those that were sent, from 1 on.
    number: u64,
    /// How many follow at once.
    pending: u64,
}

impl Report {
    /// `None` if it is not as documented: `$JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.NUMBER.NANOSECONDS.PENDING`, which
    /// later servers may write with two more words after `ACK`. No entry if the subject is of no key.
    fn of(message: &Message, subjects: &str) -> Option<(Self, Option<Seen>)> {
        let words: Vec<&str> = message.reply.split('.').collect();
        let words = match &words[..] {
            ["$JS", "ACK", _, _, rest @ ..] if rest.len() == 5 => rest,
            ["$JS", "ACK", _, _, _, _, rest @ ..] if rest.len() >= 5 => rest,
            _ => return None,
        };
        let mut numbers = words.iter().take(5).map(|word| word.parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        let (_, sequence, number, nanoseconds, pending) = (next()?, next()?, next()?, next()?, next()?);
        let key = message.subject.strip_prefix(subjects).and_then(entry::key);
        let seen = key.map(|key| Seen {
            key,
            sequence,
            written: nanoseconds / 1_000_000,
            length: message.header("Nats-Msg-Size").and_then(|size| size.parse().ok()).unwrap_or_default(),
            head: Head::of(&message.headers),
        });
        Some((Self { sequence, number, pending }, seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_message_is_comes_from_its_reply() {
        let message = |reply: &str| Message {
            subscription: 1,
            subject: "$KV.w.a=2Eb".into(),
            reply: reply.into(),
            headers: b"NATS/1.0\r\nWharf-Expires: 7\r\nNats-Msg-Size: 3\r\n\r\n".to_vec().into(),
            payload: b"".to_vec().into(),
        };
        for reply in ["$JS.ACK.KV_w.c.1.4.3.1795793610983158374.0", "$JS.ACK.d.h.KV_w.c.1.4.3.1795793610983158374.0.x"]
        {
            let (report, seen) = Report::of(&message(reply), "$KV.w.").expect(reply);
            assert_eq!(report, Report { sequence: 4, number: 3, pending: 0 });
            let seen = seen.expect("a key");
            assert_eq!(
                (&*seen.key, seen.length, seen.head.expires, seen.written),
                ("a.b", 3, Some(7), 1_795_793_610_983)
            );
        }
        for reply in ["", "$JS.ACK.KV_w.c.1.4.3", "$JS.ACK.KV_w.c.1.x.3.1.0", "$JS.FC.KV_w.c.1.4.3.1.0"] {
            assert_eq!(Report::of(&message(reply), "$KV.w.").map(|(report, _)| report), None, "{reply}");
        }
    }
}
