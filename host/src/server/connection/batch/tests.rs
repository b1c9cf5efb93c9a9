use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::catalog::Catalog;
use crate::identity::Identity;
use crate::jsonrpc::BATCH_LIMIT;
use crate::server::tests::client::Inbox;
use crate::server::tests::double::{Double, done};
use crate::server::{Connection, Server, Settings};

const BATCHES: &str = "2025-03-26";

/// A client of a plugin whose calls end when the test permits it.
struct Fixture {
    connection: Arc<Connection>,
    inbox: Inbox,
    /// A permit lets one call end.
    may_end: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
}

impl Fixture {
    async fn new(revision: &str, settings: Settings) -> Self {
        let catalog = Arc::new(Catalog::default());
        let (may_end, running): (Arc<Semaphore>, Arc<AtomicUsize>) = (Arc::new(Semaphore::new(0)), Arc::default());
        let (end, count) = (may_end.clone(), running.clone());
        let double = Double::new("p").tool(move |_| {
            let (end, count) = (end.clone(), count.clone());
            async move {
                count.fetch_add(1, Ordering::SeqCst);
                end.acquire().await.expect("it is open").forget();
                count.fetch_sub(1, Ordering::SeqCst);
                Ok(done("over"))
            }
        });
        catalog.put(double.member());
        catalog.set_ready();
        let (outbox, messages) = mpsc::channel(64);
        let connection = Server::new(catalog, settings).connect(outbox, &Arc::new(Identity::local()));
        let mut fixture = Self { connection, inbox: Inbox(messages), may_end, running };
        let hello =
            json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
        fixture.send(&request(json!("hello"), "initialize", hello)).await;
        assert_eq!(fixture.inbox.next().await["result"]["protocolVersion"], revision);
        fixture
    }

    async fn plain() -> Self {
        Self::new(BATCHES, Settings::default()).await
    }

    async fn send(&self, message: &Value) {
        self.connection.receive(message.to_string().as_bytes()).await;
    }

    /// Waits until that many calls run, and checks after a while that there are no more.
    async fn runs(&self, calls: usize) {
        while self.running.load(Ordering::SeqCst) < calls {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(self.running.load(Ordering::SeqCst), calls);
    }

    async fn answers(&mut self) -> Vec<Value> {
        match self.inbox.next().await {
            Value::Array(answers) => answers,
            other => panic!("no batch: {other}"),
        }
    }
}

fn request(id: Value, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn ping(id: u64) -> Value {
    request(json!(id), "ping", json!({}))
}

fn call(id: u64) -> Value {
    request(json!(id), "tools/call", json!({"name": "p_t", "arguments": {}}))
}

/// The ids of the results, and the id and reason of each error.
fn outcomes(answers: &[Value]) -> (Vec<u64>, Vec<(Value, String)>) {
    let (results, errors): (Vec<&Value>, Vec<&Value>) =
        answers.iter().partition(|answer| answer.get("result").is_some());
    let mut ids: Vec<u64> = results.iter().map(|answer| answer["id"].as_u64().expect("a number")).collect();
    ids.sort_unstable();
    let reason = |answer: &&Value| {
        (answer["id"].clone(), answer["error"]["data"]["reason"].as_str().unwrap_or_default().to_owned())
    };
    (ids, errors.iter().map(reason).collect())
}

#[tokio::test]
async fn responses_are_sent_together_when_the_last_is_ready() {
    let mut fixture = Fixture::plain().await;
    fixture.send(&json!([ping(1), call(2), call(3), ping(4)])).await;
    fixture.runs(2).await;
    assert_eq!(fixture.inbox.all(), [] as [Value; 0], "not before");
    fixture.send(&ping(5)).await;
    assert_eq!(fixture.inbox.next().await["id"], 5, "other requests are not delayed");
    fixture.may_end.add_permits(2);
    assert_eq!(outcomes(&fixture.answers().await), (vec![1, 2, 3, 4], Vec::new()));
    assert_eq!(fixture.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn each_message_is_validated_by_itself() {
    let mut fixture = Fixture::plain().await;
    fixture.may_end.add_permits(1);
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}});
    fixture
        .send(&json!([
            ping(1),
            {"jsonrpc": "2.0", "id": 2},
            17,
            notification,
            {"jsonrpc": "2.0", "id": "nobody", "result": {}},
            request(json!(3), "no/such", json!({})),
            request(json!(4), "initialize", json!({})),
            call(5),
        ]))
        .await;
    let answers = fixture.answers().await;
    let (results, errors) = outcomes(&answers);
    assert_eq!(results, [1, 5], "{answers:?}");
    let ids: Vec<&Value> = errors.iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [&json!(2), &Value::Null, &json!(3), &json!(4)], "{answers:?}");
    assert_eq!(errors[3].1, "batch_not_allowed", "a handshake is not allowed in a batch");
}

#[tokio::test]
async fn an_id_has_one_answer() {
    let mut fixture = Fixture::plain().await;
    fixture.send(&call(1)).await;
    fixture.runs(1).await;
    // In flight already, twice in the batch, and once in an invalid message.
    fixture.send(&json!([ping(1), ping(2), call(2), ping(3), {"jsonrpc": "2.0", "id": 3}])).await;
    let answers = fixture.answers().await;
    let (results, errors) = outcomes(&answers);
    assert_eq!(results, [2, 3], "{answers:?}");
    let in_use = |id: Value| (id, "id_in_use".to_owned());
    assert_eq!(errors[..2], [in_use(json!(1)), in_use(Value::Null)], "{answers:?}");
    assert_eq!((errors.len(), &errors[2].0), (3, &Value::Null), "{answers:?}");
    assert_eq!(fixture.running.load(Ordering::SeqCst), 1, "the second request with an id does not start");
    fixture.may_end.add_permits(1);
    let first = fixture.inbox.next().await;
    assert_eq!((&first["id"], first.get("error")), (&json!(1), None), "{first}");
}

#[tokio::test]
async fn each_request_needs_a_permit_of_the_plugin() {
    let mut fixture = Fixture::new(BATCHES, Settings { in_flight: 2, ..Settings::default() }).await;
    let calls: Vec<Value> = (1..=5).map(call).collect();
    fixture.send(&json!(calls)).await;
    fixture.runs(2).await;
    fixture.may_end.add_permits(1);
    fixture.runs(2).await;
    fixture.may_end.add_permits(4);
    assert_eq!(outcomes(&fixture.answers().await), (vec![1, 2, 3, 4, 5], Vec::new()));
}

#[tokio::test]
async fn each_request_is_counted_while_it_runs() {
    // Room for two requests: the bytes beside a request are 4 KiB.
    let mut fixture = Fixture::new(BATCHES, Settings { waiting: 10 << 10, ..Settings::default() }).await;
    let calls: Vec<Value> = (1..=5).map(call).collect();
    fixture.send(&json!(calls)).await;
    fixture.runs(2).await;
    fixture.may_end.add_permits(2);
    let (results, errors) = outcomes(&fixture.answers().await);
    assert_eq!(results, [1, 2]);
    let refused = |id: u64| (json!(id), "too_many_requests".to_owned());
    assert_eq!(errors, [refused(3), refused(4), refused(5)]);
    // Released with its responses.
    fixture.may_end.add_permits(2);
    fixture.send(&json!([call(6), call(7)])).await;
    assert_eq!(outcomes(&fixture.answers().await), (vec![6, 7], Vec::new()));
}

#[tokio::test]
async fn a_finished_request_counts_until_the_batch_is_sent() {
    // Room for two, as above.
    let mut fixture = Fixture::new(BATCHES, Settings { waiting: 10 << 10, ..Settings::default() }).await;
    fixture.send(&json!([call(1), call(2)])).await;
    fixture.runs(2).await;
    fixture.may_end.add_permits(1);
    while fixture.running.load(Ordering::SeqCst) > 1 {
        tokio::task::yield_now().await;
    }
    fixture.send(&call(3)).await;
    assert_eq!(fixture.inbox.next().await["error"]["data"]["reason"], "too_many_requests");
    fixture.may_end.add_permits(2);
    assert_eq!(outcomes(&fixture.answers().await), (vec![1, 2], Vec::new()));
    fixture.send(&call(4)).await;
    assert_eq!(fixture.inbox.next().await["result"]["content"][0]["text"], "over");
}

#[tokio::test]
async fn a_cancelled_request_is_left_out() {
    let mut fixture = Fixture::plain().await;
    let cancel = |id: u64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    fixture.send(&json!([call(1), call(2)])).await;
    fixture.send(&json!([call(3), call(4)])).await;
    fixture.runs(4).await;
    fixture.send(&json!([cancel(1), cancel(3), cancel(4)])).await;
    fixture.may_end.add_permits(4);
    assert_eq!(outcomes(&fixture.answers().await), (vec![2], Vec::new()));
    fixture.send(&ping(5)).await;
    assert_eq!(fixture.inbox.next().await["id"], 5, "the other batch has no response left");
    assert_eq!(fixture.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn a_batch_of_notifications_has_no_answer() {
    let mut fixture = Fixture::plain().await;
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    fixture.send(&json!([notification, {"jsonrpc": "2.0", "id": 9, "result": {}}])).await;
    fixture.send(&ping(1)).await;
    assert_eq!(fixture.inbox.next().await["id"], 1);
    assert!(fixture.connection.is_initialized());
}

#[tokio::test]
async fn an_invalid_batch_is_refused_as_a_whole() {
    let calls = |count: usize| Value::Array((0..count as u64).map(call).collect());
    for (revision, batch, reason) in [
        ("2025-06-18", calls(1), "batch_not_allowed"),
        (BATCHES, calls(BATCH_LIMIT + 1), "batch_too_long"),
        (BATCHES, json!([]), "empty_batch"),
    ] {
        let mut fixture = Fixture::new(revision, Settings::default()).await;
        fixture.send(&batch).await;
        let refused = fixture.inbox.next().await;
        assert_eq!(refused["error"]["data"]["reason"], reason, "{refused}");
        assert_eq!(
            (refused.get("id").unwrap_or(&Value::Null), fixture.running.load(Ordering::SeqCst)),
            (&Value::Null, 0)
        );
    }
    let mut fixture = Fixture::plain().await;
    fixture.may_end.add_permits(BATCH_LIMIT);
    fixture.send(&calls(BATCH_LIMIT)).await;
    assert_eq!(fixture.answers().await.len(), BATCH_LIMIT, "the limit is allowed");
}
