use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::{MESSAGES, Relay, STEPS};
use crate::catalog::Catalog;
use crate::plugin::abi::{Listing, LogLevel};
use crate::plugin::{Event, Events, LogBody, Provider};
use crate::protocol::{ClientCapabilities, Level, Revision};
use crate::server::changes::updates::Uris;
use crate::server::scope::{Scope, SessionLevel, Verbosity};
use crate::server::tests::client::{Inbox, client, scope};
use crate::server::tests::double::Double;
use crate::server::{Server, Settings};

const PATIENCE: Duration = Duration::from_secs(20);

/// One request to a plugin that emits events.
struct Fixture {
    server: Arc<Server>,
    scope: Scope,
    provider: Arc<dyn Provider>,
    inbox: Inbox,
}

impl Fixture {
    /// `room`: capacity of the outbox, in messages.
    fn new(revision: Revision, settings: Settings, room: usize) -> Self {
        let server = Server::new(Arc::new(Catalog::default()), settings);
        let (outbox, messages) = mpsc::channel(room);
        let client = client(&server, ClientCapabilities::default(), outbox, None);
        let scope = scope(&server, revision, client);
        Self { server, scope, provider: Arc::new(Double::new("p")), inbox: Inbox(messages) }
    }

    fn plain() -> Self {
        Self::new(Revision::V2025_11_25, Settings::default(), 1024)
    }

    /// The messages sent during a call with these events, and at the end of its request.
    async fn relays<F: Future<Output = ()>>(
        &mut self,
        emit: impl FnOnce(Arc<Events>) -> F,
    ) -> (Vec<Value>, Vec<Value>) {
        let mut relay = Relay::new(&self.server, &self.scope, &self.provider);
        let emitting = emit(relay.events());
        relay.forward_during(emitting).await;
        let during = self.inbox.all();
        relay.finish().await;
        (during, self.inbox.all())
    }
}

fn log(level: LogLevel, text: &str) -> Event {
    Event::Log { level, logger: None, data: LogBody::Text(text.into()) }
}

fn step(progress: f64) -> Event {
    Event::Progress { progress, total: None, message: Some("at it".into()) }
}

/// The data of each message, or its progress.
fn payloads(messages: &[Value]) -> Vec<Value> {
    let of = |message: &Value| {
        let params = &message["params"];
        params.get("data").or(params.get("progress")).expect("a message or progress").clone()
    };
    messages.iter().map(of).collect()
}

#[tokio::test]
async fn events_are_sent_in_order_before_the_call_ends() {
    let mut fixture = Fixture::plain();
    let (during, end) = fixture
        .relays(async |events| {
            events.push(log(LogLevel::Info, "a"));
            events.push(step(1.0));
            events.push(Event::Log {
                level: LogLevel::Error,
                logger: Some("part".into()),
                data: LogBody::Json(r#"{"b":1}"#.into()),
            });
            events.push(step(2.0));
        })
        .await;
    assert_eq!(payloads(&during), [json!("a"), json!(1), json!({"b": 1}), json!(2)]);
    assert_eq!(during[0]["params"], json!({"level": "info", "logger": "p", "data": "a"}));
    assert_eq!(during[1]["params"], json!({"progressToken": 7, "progress": 1, "message": "at it"}));
    assert_eq!(during[2]["params"]["logger"], "p/part");
    assert_eq!(end, [] as [Value; 0], "nothing was dropped, so nothing is reported");
}

#[tokio::test]
async fn events_are_sent_while_the_call_runs() {
    let mut fixture = Fixture::plain();
    let mut relay = Relay::new(&fixture.server, &fixture.scope, &fixture.provider);
    let events = relay.events();
    let (read, may_end) = oneshot::channel();
    let call = async {
        events.push(log(LogLevel::Info, "a"));
        may_end.await.expect("the client reads");
        "done"
    };
    let client = async {
        let message = fixture.inbox.next().await;
        read.send(()).expect("the call waits for it");
        message
    };
    let (outcome, message) =
        timeout(PATIENCE, async { tokio::join!(relay.forward_during(call), client) }).await.expect("both end");
    assert_eq!((outcome, payloads(&[message])), ("done", vec![json!("a")]));
}

#[tokio::test]
async fn messages_over_the_rate_limit_are_dropped_and_counted() {
    const SENT: usize = 120;
    let mut fixture = Fixture::plain();
    let begun = Instant::now();
    let (during, end) = fixture
        .relays(async |events| {
            for number in 0..SENT {
                events.push(log(LogLevel::Info, &number.to_string()));
            }
        })
        .await;
    let more = (begun.elapsed().as_secs_f64() * MESSAGES.1).ceil();
    let sent = during.len();
    assert!((MESSAGES.0..=MESSAGES.0 + more).contains(&(sent as f64)), "{sent} sent");
    assert_eq!(payloads(&during), (0..sent).map(|number| json!(number.to_string())).collect::<Vec<_>>());
    assert_eq!(payloads(&end), [json!(format!("{} more messages of this call were dropped", SENT - sent))]);
    assert_eq!(end[0]["params"]["level"], "warning");
}

#[tokio::test]
async fn messages_dropped_by_a_full_queue_are_counted() {
    const SENT: usize = 1000;
    let mut fixture = Fixture::plain();
    let (during, end) =
        fixture.relays(async |events| (0..SENT).for_each(|_| events.push(log(LogLevel::Info, "x")))).await;
    assert!(during.len() >= MESSAGES.0 as usize, "{}", during.len());
    assert_eq!(payloads(&end), [json!(format!("{} more messages of this call were dropped", SENT - during.len()))]);
}

#[tokio::test]
async fn unrequested_events_are_neither_sent_nor_counted() {
    let session = |level| {
        let session = SessionLevel::default();
        session.set(level);
        Verbosity::Session(Arc::new(session))
    };
    for (verbosity, wanted) in [
        (Verbosity::Request(None), 0),
        (Verbosity::Request(Some(Level::Error)), 1),
        (session(Level::Warning), 2),
        (session(Level::Debug), 4),
    ] {
        let mut fixture = Fixture::plain();
        fixture.scope.verbosity = verbosity;
        fixture.scope.progress = None;
        let (during, end) = fixture
            .relays(async |events| {
                for level in [LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Critical] {
                    events.push(log(level, "x"));
                }
                // Without a token, progress is not sent.
                events.push(step(1.0));
            })
            .await;
        assert_eq!((during.len(), end.len()), (wanted, 0));
    }
}

#[tokio::test]
async fn progress_increases_is_rate_limited_and_its_last_step_is_sent() {
    const LAST: u32 = 400;
    let mut fixture = Fixture::plain();
    let begun = Instant::now();
    let (during, end) = fixture
        .relays(async |events| {
            for progress in 1..=LAST {
                events.push(step(progress.into()));
                events.push(step((progress / 2).into()));
                // So that each is handled before the next one can replace it.
                tokio::task::yield_now().await;
                events.push(step(progress.into()));
                tokio::task::yield_now().await;
            }
        })
        .await;
    let steps: Vec<u64> = payloads(&during).iter().map(|step| step.as_u64().expect("a number")).collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    assert_eq!(steps.last(), Some(&LAST.into()), "{steps:?}");
    let limit = STEPS.0 + (begun.elapsed().as_secs_f64() * STEPS.1).ceil() + 1.0;
    assert!((STEPS.0..=limit).contains(&(steps.len() as f64)), "{steps:?}, and not more than {limit}");
    assert_eq!(end, [] as [Value; 0], "steps are not counted as dropped");
}

#[tokio::test]
async fn progress_has_no_message_in_the_first_revision() {
    let mut fixture = Fixture::new(Revision::V2024_11_05, Settings::default(), 8);
    let (during, _) = fixture
        .relays(async |events| {
            events.push(Event::Progress { progress: 1.5, total: Some(3.0), message: Some("x".into()) })
        })
        .await;
    assert_eq!(during[0]["params"], json!({"progressToken": 7, "progress": 1.5, "total": 3}));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_waited_for_once() {
    const SENT: usize = 50;
    let patience = Duration::from_millis(100);
    let settings = Settings { patience, ..Settings::default() };
    let mut fixture = Fixture::new(Revision::V2025_11_25, settings, 1);
    let begun = Instant::now();
    let (during, end) = fixture
        .relays(async |events| (0..SENT).for_each(|number| events.push(log(LogLevel::Info, &number.to_string()))))
        .await;
    let took = begun.elapsed();
    assert!(took >= patience && took < patience * 10, "took {took:?}");
    assert_eq!(payloads(&during), [json!("0")], "the outbox has room for one");
    assert_eq!(payloads(&end), [json!(format!("{} more messages of this call were dropped", SENT - 1))]);
}

#[tokio::test]
async fn a_client_with_too_many_unread_bytes_is_not_waited_for() {
    const SENT: usize = 50;
    let settings = Settings { unread: 2000, patience: PATIENCE, ..Settings::default() };
    let mut fixture = Fixture::new(Revision::V2025_11_25, settings, 1024);
    let begun = Instant::now();
    let (during, end) =
        fixture.relays(async |events| (0..SENT).for_each(|_| events.push(log(LogLevel::Info, &"x".repeat(300))))).await;
    assert!(begun.elapsed() < PATIENCE / 2, "took {:?}", begun.elapsed());
    assert!((1..=6).contains(&during.len()), "{} times 300 bytes of 2000", during.len());
    assert_eq!(payloads(&end), [json!(format!("{} more messages of this call were dropped", SENT - during.len()))]);
}

#[tokio::test]
async fn after_a_cancellation_nothing_is_sent() {
    let mut fixture = Fixture::plain();
    let cancelled = fixture.scope.cancelled.clone();
    let (during, end) = fixture
        .relays(async |events| {
            events.push(log(LogLevel::Info, "before"));
            tokio::time::sleep(Duration::from_millis(1)).await;
            cancelled.cancel();
            for _ in 0..200 {
                events.push(log(LogLevel::Info, "after"));
            }
            events.push(step(1.0));
        })
        .await;
    assert_eq!((payloads(&during), end.len()), (vec![json!("before")], 0));
}

#[tokio::test]
async fn changes_of_the_plugins_own_resources_are_published() {
    let mut fixture = Fixture::plain();
    let own = Double::new("p").resources(&["own:1"]);
    let listed = own.listed();
    let catalog = fixture.server.catalog.clone();
    let member = own.member();
    fixture.provider = member.provider.clone();
    catalog.put(member);
    catalog.put(Double::new("other").resources(&["other:1"]).member());
    let mut follower = fixture.server.updates.subscribe(Arc::new(Uris::new(["own:1", "other:1", "none:1"])));
    let (during, end) = fixture
        .relays(async |events| {
            for uri in ["other:1", "none:1", "own:1"] {
                events.push(Event::ResourceUpdated(uri.into()));
            }
            events.push(Event::ListChanged(Listing::Tools));
        })
        .await;
    assert_eq!((during.len(), end.len()), (0, 0), "these are not for this client");
    let mut updated = BTreeSet::new();
    follower.take(&mut updated);
    assert_eq!(updated.iter().map(|uri| &**uri).collect::<Vec<_>>(), ["own:1"]);
    let asked_again = async {
        while listed.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, asked_again).await.expect("its lists are requested again");
}
