//! All server features, through the official Rust client, with the guest `everything`.

#![allow(deprecated, reason = "the newest revision discourages logging, sampling and roots; servers still offer them")]

use rmcp::model::{
    CallToolRequest, ClientConfig, ClientRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorData, GetPromptRequestParams, ListRootsResult, LoggingLevel,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    RequestMetaObject, ResourceContents, ResourceUpdatedNotificationParam, Root, SamplingMessage, ServerNotification,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RoleClient, RunningService};
use rmcp::{ClientHandler, ClientLifecycleMode};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::host::{Host, Way, both_ways, connect};
use super::{call, params, text, text_of, within};
use crate::support::home::Home;

both_ways!(by_handshake, without_a_handshake);

const WATCHED: &str = "test://watched-resource";

/// A notification that a client received.
#[derive(Debug, PartialEq)]
enum Notification {
    Message(LoggingLevel, Option<String>, Value),
    Progress(f64, Option<String>),
    Updated(String),
}

/// A client with all capabilities, which forwards its notifications.
struct RecordingClient {
    notifications: UnboundedSender<Notification>,
    version: ProtocolVersion,
}

impl ClientHandler for RecordingClient {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default().with_protocol_version(self.version.clone());
        let able = json!({"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}});
        info.capabilities = serde_json::from_value(able).expect("capabilities");
        info
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text("from the model"), "m".into()))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///a")]))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let accepted = ElicitResult::new(ElicitationAction::Accept);
        Ok(match asked {
            ElicitRequestParams::FormElicitationParams { requested_schema, .. } => {
                let names = requested_schema.required.into_iter().flatten();
                accepted.with_content(names.map(|name| (name, json!("Ada"))).collect())
            }
            _ => accepted,
        })
    }

    async fn on_progress(&self, step: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        // An error means that the test is over.
        let _ = self.notifications.send(Notification::Progress(step.progress, step.message));
    }

    async fn on_logging_message(&self, message: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.notifications.send(Notification::Message(message.level, message.logger, message.data));
    }

    async fn on_resource_updated(&self, update: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.notifications.send(Notification::Updated(update.uri));
    }
}

/// A connection, and its notifications.
struct Link {
    client: RunningService<RoleClient, RecordingClient>,
    notifications: UnboundedReceiver<Notification>,
    host: Host,
}

impl Link {
    async fn new(home: &Home, way: Way, version: ProtocolVersion, mode: ClientLifecycleMode) -> Self {
        let (sender, notifications) = unbounded_channel();
        let able = RecordingClient { notifications: sender, version };
        let (client, host) = connect(home, way, able, mode).await;
        Self { client, notifications, host }
    }

    async fn next_notification(&mut self) -> Notification {
        within(self.notifications.recv()).await.expect("a living client")
    }

    async fn say(&self, tool: &'static str, arguments: Value) -> String {
        text_of(&call(&self.client, tool, arguments).await.expect("a result"))
    }

    /// The text of the resource's first content.
    async fn read(&self, uri: &str) -> String {
        let read = within(self.client.read_resource(ReadResourceRequestParams::new(uri))).await.expect("contents");
        match &read.contents[0] {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Checks that apply to both eras. `meta` is sent with calls that log.
    async fn primitives(&mut self, meta: Option<RequestMetaObject>) {
        self.resources().await;
        self.prompts().await;
        self.asking().await;
        self.report(meta).await;
    }

    async fn resources(&self) {
        let resources = within(self.client.list_all_resources()).await.expect("a list");
        assert!(resources.iter().any(|resource| resource.uri == "test://static-binary"), "{resources:?}");
        let templates = within(self.client.list_all_resource_templates()).await.expect("a list");
        assert_eq!(templates[0].uri_template, "test://template/{id}/data");
        assert_eq!(self.read("test://static-text").await, "This is the content of the static text resource.");
        assert!(self.read("test://template/7/data").await.contains("Data for ID: 7"));
        assert_eq!(self.read("test://template/asked/data").await, r#"{"agreed":true}"#);
        let nothing = ReadResourceRequestParams::new("test://nothing-here");
        within(self.client.read_resource(nothing)).await.expect_err("no such resource");
    }

    async fn prompts(&self) {
        let prompts = within(self.client.list_all_prompts()).await.expect("a list");
        assert!(prompts.iter().any(|prompt| prompt.name == "everything_test_simple_prompt"), "{prompts:?}");
        let asks = GetPromptRequestParams::new("everything_test_input_required_result_prompt");
        let prompt = within(self.client.get_prompt(asks)).await.expect("a prompt");
        assert_eq!(prompt.messages[0].content.as_text().expect("text").text, "Talk about Ada");
        let missing = GetPromptRequestParams::new("everything_test_prompt_with_arguments");
        within(self.client.get_prompt(missing)).await.expect_err("arguments are missing");
        let name = "everything_test_prompt_with_arguments";
        let places = within(self.client.complete_prompt_simple(name, "arg1", "par")).await.expect("suggestions");
        assert_eq!(places, ["paris", "park", "party"]);
        let numbers = self.client.complete_resource_argument("test://template/{id}/data", "id", "", None);
        let numbers = within(numbers).await.expect("suggestions");
        assert_eq!((numbers.values.len(), numbers.has_more), (100, Some(true)));
    }

    async fn asking(&self) {
        assert_eq!(self.say("everything_test_sampling", json!({"prompt": "x"})).await, "LLM response: from the model");
        assert_eq!(text(&self.client, "everything_test_roots").await, "file:///a\n");
        let form = self.say("everything_test_elicitation", json!({"message": "Who?"})).await;
        assert_eq!(form, "User response: Ada <Ada>");
        assert_eq!(text(&self.client, "everything_test_url_visit").await, "on the way");
        assert_eq!(text(&self.client, "everything_test_input_required_result_multi_round").await, "Ada: true");
        let several = text(&self.client, "everything_test_input_required_result_multiple_inputs").await;
        assert_eq!(several, "from the model, Ada! 1 folders");
        let context = call(&self.client, "everything_test_context", json!({})).await.expect("a result");
        assert_eq!(context.structured_content.expect("structured")["sample_tools"], true);
    }

    /// The log level is alert. The client requests progress with each request.
    async fn report(&mut self, meta: Option<RequestMetaObject>) {
        let mut logs = params("everything_test_logging_tool", json!({}));
        logs.meta = meta;
        within(self.client.call_tool(logs)).await.expect("a result");
        for (level, word) in [(LoggingLevel::Alert, "alert"), (LoggingLevel::Emergency, "emergency")] {
            assert_eq!(
                self.next_notification().await,
                Notification::Message(level, Some("everything".into()), json!(word))
            );
        }
        text(&self.client, "everything_test_tool_with_progress").await;
        for (progress, message) in [(0.0, Some("begun")), (50.0, None), (100.0, Some("done"))] {
            assert_eq!(self.next_notification().await, Notification::Progress(progress, message.map(str::to_owned)));
        }
    }

    /// The plugin observes the cancellation of its call.
    async fn cancelled(mut self) {
        let slow = CallToolRequest::new(params("everything_slow_compute", json!({"seconds": 50})));
        let options = PeerRequestOptions::no_options();
        let request = self.client.send_cancellable_request(ClientRequest::CallToolRequest(slow), options);
        let request = within(request).await.expect("a request");
        assert!(matches!(self.next_notification().await, Notification::Progress(..)));
        within(request.cancel(Some("tests".into()))).await.expect("a notification");
        self.host.log_with("cancelled").await;
        self.host.end(self.client).await;
    }
}

async fn by_handshake(way: Way) {
    let home = Home::with(&["everything"]);
    let mut link = Link::new(&home, way, ProtocolVersion::V_2025_11_25, ClientLifecycleMode::Initialize).await;
    within(link.client.set_level(SetLevelRequestParams::new(LoggingLevel::Alert))).await.expect("a level");
    link.primitives(None).await;

    within(link.client.subscribe(SubscribeRequestParams::new(WATCHED))).await.expect("a subscription");
    link.say("everything_test_update_resource", json!({"uri": "test://static-text"})).await;
    link.say("everything_test_update_resource", json!({})).await;
    assert_eq!(link.next_notification().await, Notification::Updated(WATCHED.into()));
    within(link.client.unsubscribe(UnsubscribeRequestParams::new(WATCHED))).await.expect("no subscription");
    link.cancelled().await;
}

async fn without_a_handshake(way: Way) {
    let home = Home::with(&["everything"]);
    let version = ProtocolVersion::V_2026_07_28;
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] };
    let mut link = Link::new(&home, way, version, mode).await;
    let mut meta = RequestMetaObject::default();
    meta.set_log_level(LoggingLevel::Alert);
    link.primitives(Some(meta)).await;

    let filter = SubscriptionFilter::builder().resource_subscriptions([WATCHED]).build();
    let mut subscription = within(link.client.listen(filter)).await.expect("a subscription");
    link.say("everything_test_update_resource", json!({"uri": "test://static-text"})).await;
    link.say("everything_test_update_resource", json!({})).await;
    let update = within(subscription.next()).await.expect("no error").expect("a notification");
    assert!(
        matches!(&update, ServerNotification::ResourceUpdatedNotification(update) if update.params.uri == WATCHED),
        "{update:?}"
    );
    link.cancelled().await;
}
