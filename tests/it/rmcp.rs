//! The official Rust client drives the real binary, in both eras, over stdio and over HTTP.

mod host;
mod primitives;
mod tasks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ClientConfig, ErrorCode, JsonObject, ProtocolVersion, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RoleClient, RunningService, ServiceError};
use rmcp::{ClientHandler, ClientLifecycleMode};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;

use self::host::{Way, both_ways, connect};
use crate::support::TIMEOUT;
use crate::support::guest::Guest;
use crate::support::home::Home;

both_ways!(by_handshake_in_each_revision, without_a_handshake, by_probing);

/// Signals a change of the list of tools.
#[derive(Clone, Default)]
struct Listener {
    changed: Arc<Notify>,
    version: Option<ProtocolVersion>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let info = ClientConfig::default();
        match &self.version {
            Some(version) => info.with_protocol_version(version.clone()),
            None => info,
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

/// Limits the time of each step.
async fn within<F: Future>(step: F) -> F::Output {
    timeout(TIMEOUT, step).await.expect("an answer in time")
}

async fn call<H: ClientHandler>(
    client: &RunningService<RoleClient, H>,
    tool: &'static str,
    arguments: Value,
) -> Result<rmcp::model::CallToolResult, ServiceError> {
    within(client.call_tool(params(tool, arguments))).await
}

fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let arguments: JsonObject = serde_json::from_value(arguments).expect("an object");
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

/// Checks that apply to both eras.
async fn drive(client: &RunningService<RoleClient, Listener>, structured: bool) {
    let tools = within(client.list_all_tools()).await.expect("a list");
    let names: BTreeMap<_, _> = tools.iter().map(|tool| (tool.name.as_ref(), tool)).collect();
    assert!(names.contains_key("echo") && names.contains_key("echo_add"), "{names:?}");

    let echoed = call(client, "echo", json!({"message": "héllo\n"})).await.expect("a result");
    assert_eq!(echoed.content[0].as_text().expect("text").text, "héllo\n");
    let sum = call(client, "echo_add", json!({"a": 2, "b": 3})).await.expect("a result");
    assert_eq!(sum.structured_content, structured.then(|| json!({"sum": 5})));

    let unknown = call(client, "ech", json!({})).await.expect_err("no such tool");
    let ServiceError::McpError(error) = unknown else { panic!("{unknown}") };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(error.data.expect("data")["availableTools"][0], "echo");
}

async fn by_handshake_in_each_revision(way: Way) {
    let revisions = [
        (ProtocolVersion::V_2024_11_05, false),
        (ProtocolVersion::V_2025_03_26, false),
        (ProtocolVersion::V_2025_06_18, true),
        (ProtocolVersion::V_2025_11_25, true),
    ];
    for (version, structured) in revisions {
        let home = Home::with(&["echo"]);
        let listener = Listener { version: Some(version.clone()), ..Listener::default() };
        let (client, host) = connect(&home, way, listener.clone(), ClientLifecycleMode::Initialize).await;
        assert_eq!(client.peer_info().expect("the server's answer").protocol_version, version);
        drive(&client, structured).await;
        home.put_bytes(&Guest::returning("1").build(), "late");
        within(listener.changed.notified()).await;
        assert_eq!(text(&client, "late_version").await, "1");
        host.end(client).await;
    }
}

async fn without_a_handshake(way: Way) {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::returning("1").build(), "versioned");
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let (client, host) = connect(&home, way, Listener::default(), mode).await;
    drive(&client, true).await;
    assert_eq!(text(&client, "versioned_version").await, "1");

    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = within(client.listen(filter)).await.expect("a subscription");
    home.remove("versioned");
    let notification = within(subscription.next()).await.expect("no error").expect("a notification");
    assert!(matches!(notification, ServerNotification::ToolListChangedNotification(_)), "{notification:?}");
    host.end(client).await;
}

/// The client probes with `server/discover` and falls back to the handshake after ten seconds.
async fn by_probing(way: Way) {
    let home = Home::with(&["echo"]);
    let mode = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let connecting = connect(&home, way, Listener::default(), mode);
    let (client, host) = timeout(Duration::from_secs(8), connecting).await.expect("a quick answer");
    assert_eq!(client.peer_info().expect("the server's answer").protocol_version, ProtocolVersion::V_2026_07_28);
    drive(&client, true).await;
    host.end(client).await;
}

async fn text<H: ClientHandler>(client: &RunningService<RoleClient, H>, tool: &'static str) -> String {
    text_of(&call(client, tool, json!({})).await.expect("a result"))
}

/// The first text of a successful result.
fn text_of(result: &rmcp::model::CallToolResult) -> String {
    assert_ne!(result.is_error, Some(true), "{result:?}");
    result.content[0].as_text().expect("text").text.clone()
}
