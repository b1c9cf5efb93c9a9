use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{announce, listen, subscribe};
use crate::catalog::Catalog;
use crate::identity::Identity;
use crate::protocol::ClientCapabilities;
use crate::protocol::Revision::{self, V2025_11_25, V2026_07_28};
use crate::protocol::request::Filter;
use crate::server::changes::updates::Uris;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::tests::client::{Inbox, client, scope};
use crate::server::tests::double::{Double, done};
use crate::server::{Connection, Server, Settings};

const PAUSE: Duration = Duration::from_millis(100);
const STREAM: &str = "io.modelcontextprotocol/subscriptionId";
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// A client of a server whose plugins come and go.
struct Fixture {
    server: Arc<Server>,
    connection: Arc<Connection>,
    inbox: Inbox,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self::scanning();
        fixture.server.catalog.set_ready();
        fixture
    }

    /// Before the first scan is over.
    fn scanning() -> Self {
        let settings = Settings {
            subscriptions: 2,
            list_changed_pause: PAUSE,
            updated_pause: Duration::from_millis(1),
            ..Settings::default()
        };
        let server = Server::new(Arc::new(Catalog::default()), settings);
        let (outbox, messages) = mpsc::channel(1024);
        let connection = server.connect(outbox, &Arc::new(Identity::local()));
        Self { server, connection, inbox: Inbox(messages) }
    }

    fn scope(&self, revision: Revision) -> Scope {
        // Messages on the connection's own stream do not go through the request's.
        let client = client(&self.server, ClientCapabilities::default(), mpsc::channel(1).0, None);
        scope(&self.server, revision, client)
    }

    /// Starts a stream, and returns it with its acknowledgement.
    async fn listen(&mut self, filter: &Filter) -> (JoinHandle<Response>, Value) {
        let Dispatched::Listen(stream) = listen(&self.connection.own, self.scope(V2026_07_28), filter) else {
            panic!("no stream");
        };
        let stream = tokio::spawn(stream);
        (stream, self.inbox.next().await)
    }

    async fn subscribe(&self, uris: &Arc<Uris>, uri: &str) -> Result<String, String> {
        let Dispatched::Later(answer) = subscribe(&self.server, self.scope(V2025_11_25), uris.clone(), uri) else {
            panic!("it waits for the first scan");
        };
        answer.await.map_err(|error| error.data.expect("data")["reason"].as_str().unwrap_or_default().to_owned())
    }

    fn put(&self, double: Double) {
        self.server.catalog.put(double.member());
    }
}

fn tool(id: &str) -> Double {
    Double::new(id).tool(|_| async { Ok(done("")) })
}

fn filter(tools: bool, prompts: bool, resources: &[&str]) -> Filter {
    Filter {
        tools_list_changed: tools,
        prompts_list_changed: prompts,
        resources_list_changed: false,
        resources: resources.iter().map(|uri| (*uri).to_owned()).collect(),
        tasks: Vec::new(),
    }
}

#[tokio::test]
async fn a_stream_begins_with_an_acknowledgement() {
    let mut fixture = Fixture::new();
    let (_stream, agreed) = fixture.listen(&filter(true, false, &["a:1", "no uri", "a:2", "a:3"])).await;
    assert_eq!(agreed["method"], "notifications/subscriptions/acknowledged");
    let agreed = &agreed["params"];
    // The limit is two here.
    assert_eq!(agreed["notifications"], json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1", "a:2"]}));
    assert_eq!(agreed["_meta"], json!({ STREAM: 1 }));
}

#[tokio::test]
async fn a_stream_reports_only_what_was_requested() {
    let mut fixture = Fixture::new();
    let (_stream, _) = fixture.listen(&filter(false, true, &["a:1"])).await;
    fixture.put(tool("tools").resources(&["b:1"]));
    fixture.server.updates.publish("b:1");
    fixture.server.updates.publish("a:1");
    assert_eq!(fixture.inbox.next().await["params"], json!({"uri": "a:1", "_meta": {STREAM: 1}}));
    fixture.put(Double::new("prompts").prompt());
    let changed = fixture.inbox.next().await;
    assert_eq!((&changed["method"], &changed["params"]), (&json!(PROMPTS), &json!({"_meta": {STREAM: 1}})));
    assert_eq!(fixture.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn frequent_changes_are_coalesced_and_the_last_is_reported() {
    let mut fixture = Fixture::new();
    let (_stream, _) = fixture.listen(&filter(true, false, &[])).await;
    let begun = Instant::now();
    for number in 0..20 {
        fixture.put(tool(&format!("p{number}")));
        tokio::time::sleep(PAUSE / 50).await;
    }
    let mut notifications = 1;
    assert_eq!(fixture.inbox.next().await["method"], TOOLS);
    // A change after the last notification is reported separately.
    tokio::time::sleep(2 * PAUSE).await;
    notifications += fixture.inbox.all().len();
    let limit = begun.elapsed().as_millis() / PAUSE.as_millis() + 1;
    assert!(notifications as u128 <= limit, "{notifications} notifications in the time of {limit}");
    fixture.put(tool("last"));
    assert_eq!(fixture.inbox.next().await["method"], TOOLS);
}

#[tokio::test]
async fn the_first_scan_is_not_a_change() {
    let mut fixture = Fixture::scanning();
    let (_stream, _) = fixture.listen(&filter(true, true, &[])).await;
    fixture.put(tool("found"));
    fixture.server.catalog.set_ready();
    // Time for the stream to notice that the scan is over.
    tokio::time::sleep(PAUSE).await;
    assert_eq!(fixture.inbox.all(), [] as [Value; 0]);
    fixture.put(Double::new("later").prompt());
    assert_eq!(fixture.inbox.next().await["method"], PROMPTS);
    assert_eq!(fixture.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn changes_are_reported_from_the_call_on() {
    let mut fixture = Fixture::new();
    let announcing = announce(fixture.connection.own.clone(), Arc::default());
    fixture.put(tool("between"));
    let announcing = tokio::spawn(announcing);
    let changed = fixture.inbox.next().await;
    assert_eq!((&changed["method"], changed.get("params")), (&json!(TOOLS), None));
    fixture.connection.close(Duration::ZERO).await;
    announcing.await.expect("it ends with the connection");
    fixture.put(tool("after"));
    assert_eq!(fixture.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn subscriptions_require_existing_resources_and_are_limited() {
    let fixture = Fixture::new();
    fixture.put(Double::new("p").resources(&["a:1", "a:2", "a:3"]));
    let uris: Arc<Uris> = Arc::default();
    assert_eq!(fixture.subscribe(&uris, "none:1").await, Err("resource_not_found".into()));
    for uri in ["a:1", "a:2", "a:2"] {
        assert_eq!(fixture.subscribe(&uris, uri).await.as_deref(), Ok("{}"));
    }
    assert_eq!(fixture.subscribe(&uris, "a:3").await, Err("too_many_subscriptions".into()));
    uris.remove("a:1");
    assert_eq!(fixture.subscribe(&uris, "a:3").await.as_deref(), Ok("{}"));
}

#[tokio::test]
async fn updates_stop_after_unsubscribing() {
    let mut fixture = Fixture::new();
    fixture.put(Double::new("p").resources(&["a:1", "a:2"]));
    let uris: Arc<Uris> = Arc::default();
    tokio::spawn(announce(fixture.connection.own.clone(), uris.clone()));
    let updated = |uri: &str| json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": uri}});
    // Updates before the subscription are not reported.
    fixture.server.updates.publish("a:1");
    fixture.subscribe(&uris, "a:2").await.expect("it is there");
    fixture.server.updates.publish("a:2");
    assert_eq!(fixture.inbox.next().await, updated("a:2"));
    fixture.subscribe(&uris, "a:1").await.expect("it is there");
    fixture.server.updates.publish("a:1");
    assert_eq!(fixture.inbox.next().await, updated("a:1"));
    uris.remove("a:1");
    fixture.server.updates.publish("a:1");
    fixture.server.updates.publish("a:2");
    assert_eq!(fixture.inbox.next().await, updated("a:2"));
    assert_eq!(fixture.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn a_stream_ends_with_its_connection_or_the_server_and_has_a_result() {
    for stops in [false, true] {
        let mut fixture = Fixture::new();
        let (stream, _) = fixture.listen(&filter(true, true, &["a:1"])).await;
        assert!(!stream.is_finished());
        if stops {
            fixture.server.stop();
        } else {
            fixture.connection.close(Duration::ZERO).await;
        }
        let result: Value = serde_json::from_str(&stream.await.expect("no panic").expect("a result")).expect("JSON");
        assert_eq!((&result["resultType"], &result["_meta"][STREAM]), (&json!("complete"), &json!(1)), "{result}");
        fixture.put(tool("after"));
        fixture.server.updates.publish("a:1");
        tokio::task::yield_now().await;
        let messages = fixture.inbox.all();
        let methods: Vec<&Value> = messages.iter().map(|message| &message["method"]).collect();
        assert_eq!(methods, ["notifications/cancelled"], "and nothing after it");
        assert_eq!(messages[0]["params"]["requestId"], 1);
    }
}
