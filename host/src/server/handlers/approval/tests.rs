use std::future::ready;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::approvals::Bound;
use crate::catalog::Catalog;
use crate::protocol::{ClientCapabilities, Revision};
use crate::rights::Rights;
use crate::server::Settings;
use crate::server::client::pending::PendingRequests;
use crate::server::tests::client::{Inbox, client, scope};
use crate::server::tests::double::{Double, done};

/// One call of `p_t`.
struct Fixture {
    server: Arc<Server>,
    scope: Scope,
    inbox: Inbox,
}

impl Fixture {
    /// A client whose user can be asked; one of 2026-07-28 accepts no requests.
    fn new(revision: Revision, ask: Ask, settings: Settings) -> Self {
        let asking = Asking { destructive: ask, ..Asking::default() };
        let rights = Arc::new(Rights { asking, ..Rights::default() });
        let catalog = Arc::new(Catalog::default());
        let server = Server::new(catalog.clone(), Settings { rights, ..settings });
        catalog.put(Double::new("p").tool(|_| ready(Ok(done("ran")))).member());
        let (outbox, messages) = mpsc::channel(8);
        let pending = Arc::new(PendingRequests::default());
        let capabilities = ClientCapabilities { elicitation_form: true, ..ClientCapabilities::default() };
        let client = client(&server, capabilities, outbox, Some(&pending).filter(|_| !revision.is_modern()));
        let scope = scope(&server, revision, client);
        Self { server, scope, inbox: Inbox(messages) }
    }

    fn entry(&self) -> Entry<FrozenTool> {
        self.server.catalog.snapshot().tools.get("p_t").expect("a tool").clone()
    }

    /// What becomes of the call, on one line, and the state of a question.
    async fn admit(&self, resumed: ResumedInput) -> (String, Option<String>) {
        let (entry, arguments) = (self.entry(), Arc::from("{}"));
        let attempt = Attempt { server: &self.server, scope: &self.scope, entry: &entry, arguments: &arguments };
        let mut record = CallRecord::begin(&self.server, &self.scope, "tools/call", "p_t").expect("a record");
        match attempt.admit(resumed, &mut record).await {
            Ok(Admission::Runs(_)) => ("runs".into(), None),
            Ok(Admission::Asks(result)) => {
                let result: Value = serde_json::from_str(&result).expect("JSON");
                ("asks".into(), result["requestState"].as_str().map(str::to_owned))
            }
            Err(Refusal::Unapproved(why)) => (format!("{}: {why}", why.code()), None),
            Err(Refusal::Request(error)) => {
                (error.data.expect("data")["reason"].as_str().unwrap_or_default().into(), None)
            }
            Err(other) => (other.code().into(), None),
        }
    }

    /// The retry of a client whose user accepts.
    async fn accept(&self, state: Option<String>) -> String {
        let answers = RawValue::from_string(json!({KEY: {"action": "accept"}}).to_string()).expect("JSON");
        self.admit(ResumedInput { answers: Some(answers), state }).await.0
    }
}

#[tokio::test]
async fn a_question_expires() {
    let fixture = Fixture::new(Revision::V2026_07_28, Ask::Always, Settings::default());
    let (entry, arguments) = (fixture.entry(), Arc::from("{}"));
    let attempt = Attempt { server: &fixture.server, scope: &fixture.scope, entry: &entry, arguments: &arguments };
    let sealed = |ago: u64| {
        let at = SystemTime::now() - std::time::Duration::from_secs(ago);
        let content = SealedQuestion { holds: 0 };
        fixture.server.keys.close(&attempt.binding(METHOD), content, at).expect("randomness")
    };
    let (old, older) = (sealed(EXPIRY.as_secs() - 60), sealed(EXPIRY.as_secs() + 60));
    assert_eq!(fixture.accept(Some(older)).await, "request_state_expired");
    assert_eq!(fixture.accept(Some(old)).await, "runs");
}

#[tokio::test]
async fn a_user_who_does_not_answer_in_time_allows_nothing() {
    let settings = Settings { ask_timeout: std::time::Duration::from_millis(20), ..Settings::default() };
    let mut fixture = Fixture::new(Revision::V2025_11_25, Ask::Always, settings);
    let (outcome, _) = fixture.admit(ResumedInput::default()).await;
    assert!(outcome.starts_with("unanswered: ") && outcome.contains("in time"), "{outcome}");
    let methods: Vec<Value> = fixture.inbox.all().into_iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods, ["elicitation/create", "notifications/cancelled"]);
}

#[tokio::test]
async fn without_room_for_used_answers_no_answer_is_accepted() {
    let fixture = Fixture::new(Revision::V2026_07_28, Ask::Always, Settings::default());
    let approvals = &fixture.server.settings.approvals;
    let mut used = 0;
    while approvals.spend(&used.to_string(), "local", EXPIRY).is_ok() {
        used += 1;
    }
    let (asks, state) = fixture.admit(ResumedInput::default()).await;
    assert_eq!((used > 0, asks.as_str()), (true, "asks"));
    assert!(fixture.accept(state).await.starts_with("busy: "));
}

#[tokio::test]
async fn without_room_for_a_decision_it_is_not_remembered() {
    let fixture = Fixture::new(Revision::V2026_07_28, Ask::First, Settings::default());
    let mut kept = 0;
    let full = |kept: usize| {
        let tool = kept.to_string();
        let bound = Bound { caller: "local", plugin: "p", version: "", extras: "", tool: &tool, arguments: "{}" };
        let deed = Deed::new(bound, String::new(), String::new(), "{}");
        fixture.server.settings.approvals.remember(deed, EXPIRY).is_err()
    };
    while !full(kept) {
        kept += 1;
    }
    let (_, state) = fixture.admit(ResumedInput::default()).await;
    assert_eq!((kept > 0, fixture.accept(state).await.as_str()), (true, "runs"));
    assert_eq!(fixture.admit(ResumedInput::default()).await.0, "asks");
}

#[tokio::test]
async fn what_was_asked_about_one_call_is_not_remembered() {
    for (sealed, now, then) in [(Ask::Always, Ask::First, "asks"), (Ask::First, Ask::First, "runs")] {
        let fixture = Fixture::new(Revision::V2026_07_28, sealed, Settings::default());
        let (_, state) = fixture.admit(ResumedInput::default()).await;
        fixture
            .server
            .set_rights(Rights { asking: Asking { destructive: now, ..Asking::default() }, ..Rights::default() });
        assert_eq!(fixture.accept(state).await, "runs");
        assert_eq!(fixture.admit(ResumedInput::default()).await.0, then);
    }
}

#[tokio::test]
async fn without_a_folder_there_is_no_operator() {
    let asking = Asking { destructive: Ask::Always, approver: Approver::Operator, ..Asking::default() };
    let fixture = Fixture::new(Revision::V2025_11_25, Ask::Always, Settings::default());
    fixture.server.set_rights(Rights { asking, ..Rights::default() });
    let (outcome, _) = fixture.admit(ResumedInput::default()).await;
    assert!(outcome.starts_with("approval-required: ") && outcome.contains("no folder"), "{outcome}");
}
