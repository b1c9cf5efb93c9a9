use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{announce, listen, subscribe};
use crate::catalog::Catalog;
use crate::protocol::ClientCapabilities;
use crate::protocol::Revision::{self, V2025_11_25, V2026_07_28};
use crate::protocol::request::Filter;
use crate::server::handlers::{Answer, Reply};
use crate::server::scope::Scope;
use crate::server::tests::client::{Inbox, client, scope};
use crate::server::tests::double::{Double, done};
use crate::server::updates::Uris;
use crate::server::{Connection, Server, Settings};

const PAUSE: Duration = Duration::from_millis(100);
const STREAM: &str = "io.modelcontextprotocol/subscriptionId";
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// A client of a server whose plugins come and go.
struct Stage {
    server: Arc<Server>,
    connection: Arc<Connection>,
    inbox: Inbox,
}

impl Stage {
    fn new() -> Self {
        let stage = Self::scanning();
        stage.server.catalog.set_ready();
        stage
    }

    /// Before the first scan is over.
    fn scanning() -> Self {
        let settings = Settings {
            followed: 2,
            list_changed_pause: PAUSE,
            updated_pause: Duration::from_millis(1),
            ..Settings::default()
        };
        let server = Server::new(Arc::new(Catalog::default()), settings);
        let (outbox, messages) = mpsc::channel(1024);
        let connection = server.connect(outbox, "local");
        Self { server, connection, inbox: Inbox(messages) }
    }

    fn scope(&self, revision: Revision) -> Scope {
        // Messages on the connection's own stream do not go through the request's.
        let client = client(&self.server, ClientCapabilities::default(), mpsc::channel(1).0, None);
        scope(&self.server, revision, client)
    }

    /// Begins a stream, and reads what is agreed.
    async fn listen(&mut self, filter: &Filter) -> (JoinHandle<Answer>, Value) {
        let Reply::Listen(stream) = listen(&self.connection, self.scope(V2026_07_28), filter) else {
            panic!("no stream");
        };
        let stream = tokio::spawn(stream);
        (stream, self.inbox.next().await)
    }

    async fn subscribe(&self, uris: &Arc<Uris>, uri: &str) -> Result<String, String> {
        let Reply::Later(answer) = subscribe(&self.connection, self.scope(V2025_11_25), uris.clone(), uri) else {
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
    }
}

#[tokio::test]
async fn a_stream_begins_with_what_it_will_tell_of() {
    let mut stage = Stage::new();
    let (_stream, agreed) = stage.listen(&filter(true, false, &["a:1", "no uri", "a:2", "a:3"])).await;
    assert_eq!(agreed["method"], "notifications/subscriptions/acknowledged");
    let agreed = &agreed["params"];
    // Two may be followed here.
    assert_eq!(agreed["notifications"], json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1", "a:2"]}));
    assert_eq!(agreed["_meta"], json!({ STREAM: 1 }));
}

#[tokio::test]
async fn a_stream_tells_of_what_was_asked_for_and_of_nothing_else() {
    let mut stage = Stage::new();
    let (_stream, _) = stage.listen(&filter(false, true, &["a:1"])).await;
    stage.put(tool("tools").resources(&["b:1"]));
    stage.server.updates.publish("b:1");
    stage.server.updates.publish("a:1");
    assert_eq!(stage.inbox.next().await["params"], json!({"uri": "a:1", "_meta": {STREAM: 1}}));
    stage.put(Double::new("prompts").prompt());
    let changed = stage.inbox.next().await;
    assert_eq!((&changed["method"], &changed["params"]), (&json!(PROMPTS), &json!({"_meta": {STREAM: 1}})));
    assert_eq!(stage.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn many_changes_are_few_words_and_the_last_one_is_told() {
    let mut stage = Stage::new();
    let (_stream, _) = stage.listen(&filter(true, false, &[])).await;
    let begun = Instant::now();
    for number in 0..20 {
        stage.put(tool(&format!("p{number}")));
        tokio::time::sleep(PAUSE / 50).await;
    }
    let mut words = 1;
    assert_eq!(stage.inbox.next().await["method"], TOOLS);
    // A change after the last notification is reported separately.
    tokio::time::sleep(2 * PAUSE).await;
    words += stage.inbox.all().len();
    let most = begun.elapsed().as_millis() / PAUSE.as_millis() + 1;
    assert!(words as u128 <= most, "{words} words in the time of {most}");
    stage.put(tool("last"));
    assert_eq!(stage.inbox.next().await["method"], TOOLS);
}

#[tokio::test]
async fn what_the_first_scan_finds_is_no_change() {
    let mut stage = Stage::scanning();
    let (_stream, _) = stage.listen(&filter(true, true, &[])).await;
    stage.put(tool("found"));
    stage.server.catalog.set_ready();
    // As long as the stream may take to see that it is over.
    tokio::time::sleep(PAUSE).await;
    assert_eq!(stage.inbox.all(), [] as [Value; 0]);
    stage.put(Double::new("later").prompt());
    assert_eq!(stage.inbox.next().await["method"], PROMPTS);
    assert_eq!(stage.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn what_is_announced_begins_with_the_call() {
    let mut stage = Stage::new();
    let announcing = announce(stage.connection.clone(), Arc::default());
    stage.put(tool("between"));
    let announcing = tokio::spawn(announcing);
    let changed = stage.inbox.next().await;
    assert_eq!((&changed["method"], changed.get("params")), (&json!(TOOLS), None));
    stage.connection.close(Duration::ZERO).await;
    announcing.await.expect("it ends with the connection");
    stage.put(tool("after"));
    assert_eq!(stage.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn subscribed_are_resources_that_are_there_and_not_too_many() {
    let stage = Stage::new();
    stage.put(Double::new("p").resources(&["a:1", "a:2", "a:3"]));
    let uris: Arc<Uris> = Arc::default();
    assert_eq!(stage.subscribe(&uris, "none:1").await, Err("resource_not_found".into()));
    for uri in ["a:1", "a:2", "a:2"] {
        assert_eq!(stage.subscribe(&uris, uri).await.as_deref(), Ok("{}"));
    }
    assert_eq!(stage.subscribe(&uris, "a:3").await, Err("too_many_subscriptions".into()));
    uris.remove("a:1");
    assert_eq!(stage.subscribe(&uris, "a:3").await.as_deref(), Ok("{}"));
}

#[tokio::test]
async fn who_has_unsubscribed_is_told_no_more() {
    let mut stage = Stage::new();
    stage.put(Double::new("p").resources(&["a:1", "a:2"]));
    let uris: Arc<Uris> = Arc::default();
    tokio::spawn(announce(stage.connection.clone(), uris.clone()));
    let updated = |uri: &str| json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": uri}});
    // Updates before the subscription are not reported.
    stage.server.updates.publish("a:1");
    stage.subscribe(&uris, "a:2").await.expect("it is there");
    stage.server.updates.publish("a:2");
    assert_eq!(stage.inbox.next().await, updated("a:2"));
    stage.subscribe(&uris, "a:1").await.expect("it is there");
    stage.server.updates.publish("a:1");
    assert_eq!(stage.inbox.next().await, updated("a:1"));
    uris.remove("a:1");
    stage.server.updates.publish("a:1");
    stage.server.updates.publish("a:2");
    assert_eq!(stage.inbox.next().await, updated("a:2"));
    assert_eq!(stage.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn a_stream_ends_with_its_connection_or_the_server_and_has_a_result() {
    for stops in [false, true] {
        let mut stage = Stage::new();
        let (stream, _) = stage.listen(&filter(true, true, &["a:1"])).await;
        assert!(!stream.is_finished());
        if stops {
            stage.server.stop();
        } else {
            stage.connection.close(Duration::ZERO).await;
        }
        let result: Value = serde_json::from_str(&stream.await.expect("no panic").expect("a result")).expect("JSON");
        assert_eq!((&result["resultType"], &result["_meta"][STREAM]), (&json!("complete"), &json!(1)), "{result}");
        stage.put(tool("after"));
        stage.server.updates.publish("a:1");
        tokio::task::yield_now().await;
        let said = stage.inbox.all();
        let methods: Vec<&Value> = said.iter().map(|message| &message["method"]).collect();
        assert_eq!(methods, ["notifications/cancelled"], "and nothing after it");
        assert_eq!(said[0]["params"]["requestId"], 1);
    }
}
