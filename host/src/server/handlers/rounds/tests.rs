use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{ROUNDS, ResumedInput, Rounds};
use crate::catalog::Catalog;
use crate::jsonrpc::{self, Frame, Message};
use crate::plugin::abi::{
    Ask, Content, ElicitAction, Form, InputRequired, Question, Reply, ToolOutcome, ToolResult, UrlVisit,
};
use crate::plugin::{Access, Call, CallError, Fault, PluginId, Provider};
use crate::protocol::Revision::{self, V2025_06_18, V2025_11_25, V2026_07_28};
use crate::protocol::{ClientCapabilities, error};
use crate::server::bounds::WaitDeadline;
use crate::server::client::pending::PendingRequests;
use crate::server::handlers::settled::Settled;
use crate::server::questions::Sealed;
use crate::server::refusal::Refusal;
use crate::server::scope::Scope;
use crate::server::seal::EXPIRY;
use crate::server::tests::client::{Inbox, client, scope};
use crate::server::tests::double::{Double, done};
use crate::server::{Server, Settings};

const FORM: &str = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;
const CHOICES: &str =
    r#"{"type":"object","properties":{"name":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}"#;
const FORMS: ClientCapabilities = ClientCapabilities {
    roots: false,
    sampling: false,
    sampling_tools: false,
    sampling_context: false,
    elicitation_form: true,
    elicitation_url: false,
    tasks: false,
};

/// One request to a plugin.
struct Fixture {
    server: Arc<Server>,
    scope: Scope,
    provider: Arc<dyn Provider>,
    /// The plugin's input in each round.
    received: Arc<Mutex<Vec<String>>>,
}

/// Its client.
struct Peer {
    inbox: Inbox,
    pending: Arc<PendingRequests>,
}

impl Fixture {
    /// `play` gets the number of the round, from 1, and the scope. A client of 2026-07-28 accepts
    /// no requests.
    fn new(
        revision: Revision,
        capabilities: ClientCapabilities,
        settings: Settings,
        double: Double,
        play: impl Fn(usize, &Scope) -> Result<ToolOutcome, CallError> + Send + Sync + 'static,
    ) -> (Self, Peer) {
        let server = Server::new(Arc::new(Catalog::default()), settings);
        let (outbox, messages) = mpsc::channel(64);
        let asked = Arc::new(PendingRequests::default());
        let takes_requests = Some(&asked).filter(|_| !revision.is_modern());
        let scope = scope(&server, revision, client(&server, capabilities, outbox, takes_requests));
        let received: Arc<Mutex<Vec<String>>> = Arc::default();
        let (inputs, of_request) = (received.clone(), scope.clone());
        let double = double.tool(move |call| {
            let mut inputs = inputs.lock().expect("not poisoned");
            inputs.push(describe(&call));
            std::future::ready(play(inputs.len(), &of_request))
        });
        (Self { server, scope, provider: Arc::new(double), received }, Peer { inbox: Inbox(messages), pending: asked })
    }

    /// With default settings and plugin.
    fn plain(
        revision: Revision,
        capabilities: ClientCapabilities,
        play: impl Fn(usize, &Scope) -> Result<ToolOutcome, CallError> + Send + Sync + 'static,
    ) -> (Self, Peer) {
        Self::new(revision, capabilities, Settings::default(), Double::new("p"), play)
    }

    fn rounds<'a>(&'a self, arguments: &'a str) -> Rounds<'a> {
        let (server, scope, provider) = (&self.server, &self.scope, &self.provider);
        Rounds { server, scope, provider, method: "tools/call", name: "p_t", arguments, charge: None, approved: None }
    }

    async fn settle(&self, resumed: ResumedInput) -> Result<Settled<ToolResult>, Refusal> {
        self.settle_with("{}", resumed).await
    }

    async fn settle_with(&self, arguments: &str, resumed: ResumedInput) -> Result<Settled<ToolResult>, Refusal> {
        let call = |call| self.provider.call_tool("t", "{}".into(), call);
        self.rounds(arguments).run(resumed, call).await
    }

    fn received(&self) -> Vec<String> {
        self.received.lock().expect("not poisoned").clone()
    }
}

impl Peer {
    /// Waits for a question and answers it.
    async fn answers(&mut self, outcome: Value) -> Value {
        let question = self.inbox.next().await;
        let mut answer = json!({"jsonrpc": "2.0", "id": question["id"]});
        answer.as_object_mut().expect("an object").extend(outcome.as_object().expect("an object").clone());
        match jsonrpc::decode(answer.to_string().as_bytes()) {
            Ok(Frame::Single(Message::Response(response))) => self.pending.resolve(response),
            _ => panic!("no answer: {answer}"),
        }
        question
    }
}

/// The answers and the state that a round received.
fn describe(call: &Call) -> String {
    let reply = |reply: &Reply| match reply {
        Reply::Elicited(given) => match given.action {
            ElicitAction::Accept => given.content.clone().unwrap_or_default(),
            ElicitAction::Decline => "declined".into(),
            ElicitAction::Cancel => "cancelled".into(),
        },
        Reply::Unavailable(why) => why.clone(),
        Reply::Sampled(_) | Reply::Roots(_) => "something else".into(),
    };
    let answers: Vec<String> =
        call.answers.iter().map(|answer| format!("{}: {}", answer.key, reply(&answer.reply))).collect();
    let state = call.state.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    format!("{} [{state}]", answers.join(", "))
}

fn asks_for(key: &str, ask: Ask, state: &str) -> Result<ToolOutcome, CallError> {
    let state = Some(state.as_bytes().to_vec()).filter(|state| !state.is_empty());
    Ok(ToolOutcome::InputRequired(InputRequired { questions: vec![Question { key: key.into(), ask }], state }))
}

fn form(schema: &str) -> Ask {
    Ask::Form(Form { message: "Who?".into(), schema: schema.into() })
}

/// Asks for a name, and keeps a state.
fn asks(state: &str) -> Result<ToolOutcome, CallError> {
    asks_for("name", form(FORM), state)
}

/// The outcome of a request, on one line.
fn end(settled: Result<Settled<ToolResult>, Refusal>) -> String {
    match settled {
        Ok(Settled::Complete(result)) => match &result.content[..] {
            [Content::Text(text)] => text.text.clone(),
            other => panic!("{other:?}"),
        },
        Ok(Settled::InputRequired(result)) => panic!("it asks: {result}"),
        Err(Refusal::Request(error)) => error.data.expect("data")["reason"].as_str().expect("a reason").to_owned(),
        Err(refusal) => refusal.code().to_owned(),
    }
}

/// The `InputRequiredResult`.
fn question(settled: Result<Settled<ToolResult>, Refusal>) -> Value {
    match settled {
        Ok(Settled::InputRequired(result)) => serde_json::from_str(&result).expect("JSON"),
        other => panic!("it does not ask: {}", end(other)),
    }
}

/// The client's retry.
fn retry_with(asked: &Value, answers: Option<Value>) -> ResumedInput {
    let answers = answers.map(|answers| RawValue::from_string(answers.to_string()).expect("JSON"));
    ResumedInput { answers, state: Some(asked["requestState"].as_str().expect("a state").to_owned()) }
}

#[tokio::test]
async fn a_client_with_a_session_is_asked_until_the_call_completes() {
    let (fixture, mut peer) = Fixture::plain(V2025_11_25, FORMS, |round, _| match round {
        1 => asks("first"),
        2 => asks_for("age", form(FORM), "second"),
        _ => Ok(done("done")),
    });
    let client = async {
        let question = peer.answers(json!({"result": {"action": "accept", "content": {"name": "Ada"}}})).await;
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "Who?");
        peer.answers(json!({"result": {"action": "decline"}})).await;
    };
    let (settled, ()) = tokio::join!(fixture.settle(ResumedInput::default()), client);
    assert_eq!(end(settled), "done");
    // Each round gets only the answers and the state of the previous one.
    assert_eq!(fixture.received(), [" []", r#"name: {"name":"Ada"} [first]"#, "age: declined [second]"]);
    assert_eq!(peer.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn a_stateless_client_retries_with_answers_and_state() {
    let (fixture, mut peer) = Fixture::plain(V2026_07_28, FORMS, |round, _| match round {
        1 | 2 => asks("kept"),
        _ => Ok(done("done")),
    });
    let asked = question(fixture.settle(ResumedInput::default()).await);
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(fixture.received().len(), 1, "nothing is called while the client answers");
    // An unanswered question is asked again.
    let asked = question(fixture.settle(retry_with(&asked, None)).await);
    let answers = json!({"name": {"action": "accept", "content": {"name": "Ada"}}, "other": {"action": "cancel"}});
    assert_eq!(end(fixture.settle(retry_with(&asked, Some(answers))).await), "done");
    assert_eq!(
        fixture.received(),
        [" []", " [kept]", r#"name: {"name":"Ada"} [kept]"#],
        "an answer to no question is ignored"
    );
    assert_eq!(peer.inbox.all(), [] as [Value; 0], "nothing is sent beside the results");
}

#[tokio::test]
async fn answers_without_a_state_are_parsed_by_their_shape() {
    let (fixture, _peer) = Fixture::plain(V2026_07_28, FORMS, |_, _| Ok(done("done")));
    let retry = |answers: Value| ResumedInput {
        answers: Some(RawValue::from_string(answers.to_string()).expect("JSON")),
        state: None,
    };
    assert_eq!(end(fixture.settle(retry(json!({"name": {"action": "cancel"}}))).await), "done");
    assert_eq!(fixture.received(), ["name: cancelled []"]);
    let Err(Refusal::Request(error)) = fixture.settle(retry(json!({"name": {"x": 1}}))).await else {
        panic!("accepted as an answer");
    };
    assert!(error.message.contains("params.inputResponses.name"), "{}", error.message);
    assert_eq!(fixture.received().len(), 1, "the plugin is not called with an invalid answer");
}

#[tokio::test]
async fn a_plugin_without_the_grant_gets_no_answer_that_nobody_asked_for() {
    let denied = || Double::new("p").denied(Access::Elicit);
    let (fixture, _peer) = Fixture::new(V2026_07_28, FORMS, Settings::default(), denied(), |_, _| Ok(done("done")));
    let answers =
        RawValue::from_string(json!({"name": {"action": "accept", "content": {}}}).to_string()).expect("JSON");
    let unasked = ResumedInput { answers: Some(answers), state: None };
    assert_eq!(end(fixture.settle(unasked).await), "done");
    assert_eq!(fixture.received(), ["name: the plugin has no grant 'elicit' []"]);
}

#[tokio::test]
async fn a_foreign_state_is_refused_before_the_plugin_is_called() {
    let (fixture, _peer) = Fixture::plain(V2026_07_28, FORMS, |_, _| asks("kept"));
    let asked = question(fixture.settle(ResumedInput::default()).await);
    let refused = |settled| match settled {
        Err(Refusal::Request(error)) => error.message,
        other => end(other),
    };
    let foreign = error::foreign_state().message;
    assert_eq!(refused(fixture.settle_with(r#"{"other":1}"#, retry_with(&asked, None)).await), foreign);
    let mut changed = asked.clone();
    let state = asked["requestState"].as_str().expect("a state");
    changed["requestState"] = json!(format!("{}{}", &state[..state.len() - 8], "AAAAAAAA"));
    assert_eq!(refused(fixture.settle(retry_with(&changed, None)).await), foreign);
    let long_ago = std::time::SystemTime::now() - EXPIRY - Duration::from_secs(2);
    let old =
        fixture.server.keys.close(&fixture.rounds("{}").binding(), Sealed::default(), long_ago).expect("randomness");
    let late = fixture.settle(retry_with(&json!({"requestState": old}), None)).await;
    assert_eq!(refused(late), error::expired_state(EXPIRY).message);
    assert_eq!(fixture.received().len(), 1);
}

#[tokio::test]
async fn the_number_of_rounds_is_limited() {
    let (fixture, mut peer) = Fixture::plain(V2025_11_25, FORMS, |_, _| asks("again"));
    let client = async {
        for _ in 0..ROUNDS {
            peer.answers(json!({"result": {"action": "cancel"}})).await;
        }
    };
    let (settled, ()) = tokio::join!(fixture.settle(ResumedInput::default()), client);
    assert!(matches!(settled, Err(Refusal::TooManyRounds)), "{}", end(settled));
    assert_eq!(fixture.received().len(), ROUNDS as usize);
}

#[tokio::test]
async fn rounds_are_counted_across_retries() {
    let (fixture, _peer) = Fixture::plain(V2026_07_28, FORMS, |_, _| asks("again"));
    let mut asked = question(fixture.settle(ResumedInput::default()).await);
    for _ in 1..ROUNDS {
        asked = question(fixture.settle(retry_with(&asked, None)).await);
    }
    let settled = fixture.settle(retry_with(&asked, None)).await;
    assert!(matches!(settled, Err(Refusal::TooManyRounds)), "{}", end(settled));
    assert_eq!(fixture.received().len(), ROUNDS as usize);
}

#[tokio::test]
async fn unsupported_questions_are_reported_to_the_plugin() {
    for revision in [V2025_06_18, V2025_11_25, V2026_07_28] {
        let plugin = |round: usize, _: &Scope| if round == 1 { asks("kept") } else { Ok(done("without")) };
        let (fixture, mut peer) = Fixture::plain(revision, ClientCapabilities::default(), plugin);
        assert_eq!(end(fixture.settle(ResumedInput::default()).await), "without", "{revision}");
        let received = fixture.received();
        assert!(
            received[1].starts_with("name: the client does not support ") && received[1].ends_with(" [kept]"),
            "{received:?}"
        );
        // If the plugin asks again, the call ends with the missing capability.
        let (fixture, mut other) = Fixture::plain(revision, ClientCapabilities::default(), |_, _| asks(""));
        assert_eq!(end(fixture.settle(ResumedInput::default()).await), "needs-client", "{revision}");
        assert_eq!(fixture.received().len(), 2, "{revision}: asked again once");
        assert_eq!((peer.inbox.all(), other.inbox.all()), (Vec::new(), Vec::new()), "{revision}: no question was sent");
    }
}

#[tokio::test]
async fn a_question_that_the_revision_cannot_express_is_not_sent() {
    for (revision, is_sent) in [(V2025_06_18, false), (V2025_11_25, true)] {
        let settings = Settings { ask_timeout: Duration::from_millis(20), ..Settings::default() };
        let (fixture, mut peer) = Fixture::new(revision, FORMS, settings, Double::new("p"), |round, _| match round {
            1 => asks_for("name", form(CHOICES), ""),
            _ => Ok(done("done")),
        });
        assert_eq!(end(fixture.settle(ResumedInput::default()).await), "done");
        let sent = peer.inbox.all().iter().any(|message| message["method"] == "elicitation/create");
        let is_reported = fixture.received()[1].contains("does not exist in this client's revision");
        assert_eq!((sent, is_reported), (is_sent, !is_sent), "{revision}: {:?}", fixture.received());
    }
}

#[tokio::test]
async fn a_plugin_without_the_grant_cannot_ask() {
    let denied = || Double::new("p").denied(Access::Elicit);
    let (fixture, mut peer) = Fixture::new(V2025_11_25, FORMS, Settings::default(), denied(), |_, _| asks(""));
    let settled = fixture.settle(ResumedInput::default()).await;
    assert!(matches!(&settled, Err(Refusal::Call(CallError::Fault(Fault::Denied { .. })))), "{}", end(settled));
    assert_eq!(fixture.received(), [" []", "name: the plugin has no grant 'elicit' []"]);
    assert_eq!(peer.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn supported_questions_are_asked_beside_unsupported_ones() {
    let page = Ask::Url(UrlVisit { message: "Sign in".into(), url: "https://example.org/".into() });
    for revision in [V2025_11_25, V2026_07_28] {
        let page = page.clone();
        let (fixture, mut peer) = Fixture::plain(revision, FORMS, move |round, _| match round {
            1 => {
                let name = Question { key: "name".into(), ask: form(FORM) };
                let page = Question { key: "page".into(), ask: page.clone() };
                Ok(ToolOutcome::InputRequired(InputRequired { questions: vec![page, name], state: None }))
            }
            _ => Ok(done("done")),
        });
        let accepts = json!({"action": "accept", "content": {"name": "Ada"}});
        if revision.is_modern() {
            let asked = question(fixture.settle(ResumedInput::default()).await);
            let requests = asked["inputRequests"].as_object().expect("questions");
            assert_eq!(requests.keys().collect::<Vec<_>>(), ["name"]);
            assert_eq!(end(fixture.settle(retry_with(&asked, Some(json!({"name": accepts})))).await), "done");
        } else {
            let client = peer.answers(json!({"result": accepts}));
            let (settled, _) = tokio::join!(fixture.settle(ResumedInput::default()), client);
            assert_eq!(end(settled), "done");
            assert_eq!(peer.inbox.all(), [] as [Value; 0], "one question only");
        }
        let received = &fixture.received()[1];
        assert!(
            received.contains(r#"name: {"name":"Ada"}"#) && received.contains("page: the client does not"),
            "{received}"
        );
    }
}

#[tokio::test]
async fn an_empty_input_request_is_a_fault_of_the_plugin() {
    let nothing = || Ok(ToolOutcome::InputRequired(InputRequired { questions: Vec::new(), state: None }));
    let (fixture, _peer) = Fixture::plain(V2026_07_28, FORMS, move |_, _| nothing());
    assert_eq!(end(fixture.settle(ResumedInput::default()).await), "bad-output");
    let (fixture, _peer) = Fixture::plain(V2025_11_25, FORMS, |_, _| asks_for("name", form(r#"{"type":"array"}"#), ""));
    assert_eq!(end(fixture.settle(ResumedInput::default()).await), "bad-output", "and so is an invalid form");
}

#[tokio::test]
async fn a_request_cancelled_between_rounds_asks_nothing_more() {
    for revision in [V2025_11_25, V2026_07_28] {
        let (fixture, mut peer) = Fixture::plain(revision, FORMS, |_, scope| {
            scope.cancelled.cancel();
            asks("kept")
        });
        assert_eq!(end(fixture.settle(ResumedInput::default()).await), "cancelled");
        assert_eq!((fixture.received().len(), peer.inbox.all().len()), (1, 0), "{revision}");
    }
}

#[tokio::test]
async fn pending_questions_of_a_cancelled_request_are_cancelled() {
    let (fixture, mut peer) = Fixture::plain(V2025_11_25, FORMS, |_, _| asks(""));
    let client = async {
        let question = peer.inbox.next().await;
        fixture.scope.cancelled.cancel();
        let cancelled = peer.inbox.next().await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], question["id"]);
    };
    let (settled, ()) = tokio::join!(fixture.settle(ResumedInput::default()), client);
    assert_eq!(end(settled), "cancelled");
    assert_eq!(fixture.received(), [" []", "name: the call was cancelled []"]);
    assert_eq!(peer.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn missing_and_invalid_answers_are_reported_to_the_plugin() {
    let misfit = json!({"result": {"action": "accept", "content": {"name": "misfit"}}});
    for (answer, why) in [
        (None, "the client did not answer in time"),
        (Some(json!({"error": {"code": -1, "message": "no"}})), "the client answered with error -1: no"),
        (Some(json!({"result": {"action": "maybe"}})), "the client's answer cannot be used: "),
        (Some(misfit), "the client's answer cannot be used: "),
    ] {
        let patience = if answer.is_none() { Duration::from_millis(20) } else { Duration::from_secs(60) };
        let settings = Settings { ask_timeout: patience, ..Settings::default() };
        let (fixture, mut peer) = Fixture::new(V2025_11_25, FORMS, settings, Double::new("p"), |_, _| asks(""));
        let client = async {
            if let Some(answer) = answer {
                peer.answers(answer).await;
            }
        };
        let (settled, ()) = tokio::join!(fixture.settle(ResumedInput::default()), client);
        let received = &fixture.received()[1];
        assert!(received.starts_with(&format!("name: {why}")), "{received} is not {why}");
        // It asks again although the client supports the question, so the call fails.
        assert_eq!((end(settled), fixture.received().len()), ("error".to_owned(), 2), "{why}");
    }
}

#[tokio::test]
async fn a_call_holds_no_permit_while_the_client_answers() {
    let settings = Settings { in_flight: 1, patience: Duration::from_millis(50), ..Settings::default() };
    let (fixture, mut peer) = Fixture::new(V2025_11_25, FORMS, settings, Double::new("p"), |round, scope| {
        let id = PluginId::parse("p").expect("an id");
        let permit = scope.client.bounds.acquire(&id, &mut WaitDeadline::default()).now_or_never();
        assert!(permit.is_none(), "a running call holds the only permit");
        if round == 1 { asks("") } else { Ok(done("done")) }
    });
    let client = async {
        peer.inbox.next().await;
        let permit = fixture.scope.client.bounds.acquire(fixture.provider.id(), &mut WaitDeadline::default()).await;
        assert!(permit.is_ok(), "the permit is free");
        drop(permit);
        fixture.scope.cancelled.cancel();
    };
    let (settled, ()) = tokio::join!(fixture.settle(ResumedInput::default()), client);
    assert_eq!(end(settled), "done");
}

#[tokio::test]
async fn a_call_that_could_not_begin_waits_until_its_client_reads() {
    let settings = || Settings { unread: 1000, patience: Duration::from_secs(20), ..Settings::default() };
    let unread = Arc::new(Mutex::new(None));
    let waits = unread.clone();
    let (fixture, _peer) = Fixture::new(V2025_11_25, FORMS, settings(), Double::new("p"), move |round, scope| {
        if round == 1 {
            *waits.lock().expect("not poisoned") = Some(scope.client.bounds.unread.take(900));
            return Err(Fault::Busy.into());
        }
        Ok(done("done"))
    });
    let reads = async {
        while unread.lock().expect("not poisoned").take().is_none() {
            tokio::task::yield_now().await;
        }
    };
    let (settled, ()) = tokio::join!(fixture.settle(ResumedInput::default()), reads);
    assert_eq!((end(settled), fixture.received().len()), ("done".to_owned(), 2));
    // A plugin that reports `busy` itself is not retried.
    let (fixture, _peer) =
        Fixture::new(V2025_11_25, FORMS, settings(), Double::new("p"), |_, _| Err(Fault::Busy.into()));
    assert_eq!((end(fixture.settle(ResumedInput::default()).await), fixture.received().len()), ("busy".to_owned(), 1));
}
