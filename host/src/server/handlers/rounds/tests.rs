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
use crate::server::fault::Refusal;
use crate::server::handlers::settled::Settled;
use crate::server::pending::PendingRequests;
use crate::server::scope::Scope;
use crate::server::seal::{EXPIRY, Sealed};
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
};

/// One request to a plugin.
struct Stage {
    server: Arc<Server>,
    scope: Scope,
    provider: Arc<dyn Provider>,
    /// What the plugin was given in each round.
    told: Arc<Mutex<Vec<String>>>,
}

/// Its client.
struct Peer {
    inbox: Inbox,
    pending: Arc<PendingRequests>,
}

impl Stage {
    /// `play` has the number of the round, from 1, and the scope. A client of 2026-07-28 takes
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
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let (said, of_request) = (told.clone(), scope.clone());
        let double = double.tool(move |call| {
            let mut said = said.lock().expect("nobody panics");
            said.push(describe(&call));
            std::future::ready(play(said.len(), &of_request))
        });
        (Self { server, scope, provider: Arc::new(double), told }, Peer { inbox: Inbox(messages), pending: asked })
    }

    /// With settings and a plugin that matter to no test.
    fn plain(
        revision: Revision,
        capabilities: ClientCapabilities,
        play: impl Fn(usize, &Scope) -> Result<ToolOutcome, CallError> + Send + Sync + 'static,
    ) -> (Self, Peer) {
        Self::new(revision, capabilities, Settings::default(), Double::new("p"), play)
    }

    fn rounds<'a>(&'a self, arguments: &'a str) -> Rounds<'a> {
        let (server, scope, provider) = (&self.server, &self.scope, &self.provider);
        Rounds { server, scope, provider, method: "tools/call", name: "p_t", arguments }
    }

    async fn settle(&self, resumed: ResumedInput) -> Result<Settled<ToolResult>, Refusal> {
        self.settle_with("{}", resumed).await
    }

    async fn settle_with(&self, arguments: &str, resumed: ResumedInput) -> Result<Settled<ToolResult>, Refusal> {
        let call = |call| self.provider.call_tool("t", "{}".into(), call);
        self.rounds(arguments).run(resumed, call).await
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().expect("nobody panics").clone()
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

/// The answers and the state that a round was given.
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

/// How a request ended, in a line.
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

/// The result that asks.
fn question(settled: Result<Settled<ToolResult>, Refusal>) -> Value {
    match settled {
        Ok(Settled::InputRequired(result)) => serde_json::from_str(&result).expect("JSON"),
        other => panic!("it does not ask: {}", end(other)),
    }
}

/// What the client's next request brings.
fn back(asked: &Value, answers: Option<Value>) -> ResumedInput {
    let answers = answers.map(|answers| RawValue::from_string(answers.to_string()).expect("JSON"));
    ResumedInput { answers, state: Some(asked["requestState"].as_str().expect("a state").to_owned()) }
}

#[tokio::test]
async fn a_client_that_takes_requests_is_asked_until_the_plugin_is_done() {
    let (stage, mut peer) = Stage::plain(V2025_11_25, FORMS, |round, _| match round {
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
    let (settled, ()) = tokio::join!(stage.settle(ResumedInput::default()), client);
    assert_eq!(end(settled), "done");
    // Each round has the answers and the state of the one before it, and no others.
    assert_eq!(stage.told(), [" []", r#"name: {"name":"Ada"} [first]"#, "age: declined [second]"]);
    assert_eq!(peer.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn a_client_that_takes_none_brings_its_answers_with_the_state() {
    let (stage, mut peer) = Stage::plain(V2026_07_28, FORMS, |round, _| match round {
        1 | 2 => asks("kept"),
        _ => Ok(done("done")),
    });
    let asked = question(stage.settle(ResumedInput::default()).await);
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(stage.told().len(), 1, "nothing is called while a person thinks");
    // What was not answered is asked again.
    let asked = question(stage.settle(back(&asked, None)).await);
    let answers = json!({"name": {"action": "accept", "content": {"name": "Ada"}}, "other": {"action": "cancel"}});
    assert_eq!(end(stage.settle(back(&asked, Some(answers))).await), "done");
    assert_eq!(
        stage.told(),
        [" []", " [kept]", r#"name: {"name":"Ada"} [kept]"#],
        "and what was not asked is no answer"
    );
    assert_eq!(peer.inbox.all(), [] as [Value; 0], "nothing is sent beside the results");
}

#[tokio::test]
async fn answers_without_the_state_are_taken_by_their_shape() {
    let (stage, _peer) = Stage::plain(V2026_07_28, FORMS, |_, _| Ok(done("done")));
    let retry = |answers: Value| ResumedInput {
        answers: Some(RawValue::from_string(answers.to_string()).expect("JSON")),
        state: None,
    };
    assert_eq!(end(stage.settle(retry(json!({"name": {"action": "cancel"}}))).await), "done");
    assert_eq!(stage.told(), ["name: cancelled []"]);
    let Err(Refusal::Request(error)) = stage.settle(retry(json!({"name": {"x": 1}}))).await else {
        panic!("taken for an answer");
    };
    assert!(error.message.contains("params.inputResponses.name"), "{}", error.message);
    assert_eq!(stage.told().len(), 1, "the plugin is not called with what is no answer");
}

#[tokio::test]
async fn a_state_that_is_not_that_of_the_call_is_refused_before_the_plugin_is_called() {
    let (stage, _peer) = Stage::plain(V2026_07_28, FORMS, |_, _| asks("kept"));
    let asked = question(stage.settle(ResumedInput::default()).await);
    let refused = |settled| match settled {
        Err(Refusal::Request(error)) => error.message,
        other => end(other),
    };
    let foreign = error::foreign_state().message;
    assert_eq!(refused(stage.settle_with(r#"{"other":1}"#, back(&asked, None)).await), foreign);
    let mut changed = asked.clone();
    let state = asked["requestState"].as_str().expect("a state");
    changed["requestState"] = json!(format!("{}{}", &state[..state.len() - 8], "AAAAAAAA"));
    assert_eq!(refused(stage.settle(back(&changed, None)).await), foreign);
    let long_ago = std::time::SystemTime::now() - EXPIRY - Duration::from_secs(2);
    let old = stage.server.seal.close(&stage.rounds("{}").binding(), Sealed::default(), long_ago).expect("randomness");
    let late = stage.settle(back(&json!({"requestState": old}), None)).await;
    assert_eq!(refused(late), error::expired_state(EXPIRY).message);
    assert_eq!(stage.told().len(), 1);
}

#[tokio::test]
async fn a_plugin_that_asks_on_and_on_is_stopped() {
    let (stage, mut peer) = Stage::plain(V2025_11_25, FORMS, |_, _| asks("again"));
    let client = async {
        for _ in 0..ROUNDS {
            peer.answers(json!({"result": {"action": "cancel"}})).await;
        }
    };
    let (settled, ()) = tokio::join!(stage.settle(ResumedInput::default()), client);
    assert!(matches!(settled, Err(Refusal::TooManyRounds)), "{}", end(settled));
    assert_eq!(stage.told().len(), ROUNDS as usize);
}

#[tokio::test]
async fn rounds_are_counted_from_one_request_to_the_next() {
    let (stage, _peer) = Stage::plain(V2026_07_28, FORMS, |_, _| asks("again"));
    let mut asked = question(stage.settle(ResumedInput::default()).await);
    for _ in 1..ROUNDS {
        asked = question(stage.settle(back(&asked, None)).await);
    }
    let settled = stage.settle(back(&asked, None)).await;
    assert!(matches!(settled, Err(Refusal::TooManyRounds)), "{}", end(settled));
    assert_eq!(stage.told().len(), ROUNDS as usize);
}

#[tokio::test]
async fn what_the_client_cannot_be_asked_the_plugin_is_told() {
    for revision in [V2025_06_18, V2025_11_25, V2026_07_28] {
        let plugin = |round: usize, _: &Scope| if round == 1 { asks("kept") } else { Ok(done("without")) };
        let (stage, mut peer) = Stage::plain(revision, ClientCapabilities::default(), plugin);
        assert_eq!(end(stage.settle(ResumedInput::default()).await), "without", "{revision}");
        let told = stage.told();
        assert!(told[1].starts_with("name: the client does not support ") && told[1].ends_with(" [kept]"), "{told:?}");
        // And one that cannot do without it ends with what the client lacks.
        let (stage, mut other) = Stage::plain(revision, ClientCapabilities::default(), |_, _| asks(""));
        assert_eq!(end(stage.settle(ResumedInput::default()).await), "needs-client", "{revision}");
        assert_eq!(stage.told().len(), 2, "{revision}: asked again once");
        assert_eq!((peer.inbox.all(), other.inbox.all()), (Vec::new(), Vec::new()), "{revision}: nobody was asked");
    }
}

#[tokio::test]
async fn a_question_without_words_in_the_revision_is_not_put() {
    for (revision, is_put) in [(V2025_06_18, false), (V2025_11_25, true)] {
        let settings = Settings { ask_timeout: Duration::from_millis(20), ..Settings::default() };
        let (stage, mut peer) = Stage::new(revision, FORMS, settings, Double::new("p"), |round, _| match round {
            1 => asks_for("name", form(CHOICES), ""),
            _ => Ok(done("done")),
        });
        assert_eq!(end(stage.settle(ResumedInput::default()).await), "done");
        let put = peer.inbox.all().iter().any(|message| message["method"] == "elicitation/create");
        let no_words = stage.told()[1].contains("does not exist in this client's revision");
        assert_eq!((put, no_words), (is_put, !is_put), "{revision}: {:?}", stage.told());
    }
}

#[tokio::test]
async fn a_plugin_without_the_grant_asks_nobody() {
    let denied = || Double::new("p").denied(Access::Elicit);
    let (stage, mut peer) = Stage::new(V2025_11_25, FORMS, Settings::default(), denied(), |_, _| asks(""));
    let settled = stage.settle(ResumedInput::default()).await;
    assert!(matches!(&settled, Err(Refusal::Call(CallError::Fault(Fault::Denied { .. })))), "{}", end(settled));
    assert_eq!(stage.told(), [" []", "name: the plugin has no grant 'elicit' []"]);
    assert_eq!(peer.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn what_can_be_asked_is_asked_beside_what_cannot() {
    let page = Ask::Url(UrlVisit { message: "Sign in".into(), url: "https://example.org/".into() });
    for revision in [V2025_11_25, V2026_07_28] {
        let page = page.clone();
        let (stage, mut peer) = Stage::plain(revision, FORMS, move |round, _| match round {
            1 => {
                let name = Question { key: "name".into(), ask: form(FORM) };
                let page = Question { key: "page".into(), ask: page.clone() };
                Ok(ToolOutcome::InputRequired(InputRequired { questions: vec![page, name], state: None }))
            }
            _ => Ok(done("done")),
        });
        let accepts = json!({"action": "accept", "content": {"name": "Ada"}});
        if revision.is_modern() {
            let asked = question(stage.settle(ResumedInput::default()).await);
            let requests = asked["inputRequests"].as_object().expect("questions");
            assert_eq!(requests.keys().collect::<Vec<_>>(), ["name"]);
            assert_eq!(end(stage.settle(back(&asked, Some(json!({"name": accepts})))).await), "done");
        } else {
            let client = peer.answers(json!({"result": accepts}));
            let (settled, _) = tokio::join!(stage.settle(ResumedInput::default()), client);
            assert_eq!(end(settled), "done");
            assert_eq!(peer.inbox.all(), [] as [Value; 0], "one question only");
        }
        let told = &stage.told()[1];
        assert!(told.contains(r#"name: {"name":"Ada"}"#) && told.contains("page: the client does not"), "{told}");
    }
}

#[tokio::test]
async fn a_wish_for_nothing_is_a_fault_of_the_plugin() {
    let nothing = || Ok(ToolOutcome::InputRequired(InputRequired { questions: Vec::new(), state: None }));
    let (stage, _peer) = Stage::plain(V2026_07_28, FORMS, move |_, _| nothing());
    assert_eq!(end(stage.settle(ResumedInput::default()).await), "bad-output");
    let (stage, _peer) = Stage::plain(V2025_11_25, FORMS, |_, _| asks_for("name", form(r#"{"type":"array"}"#), ""));
    assert_eq!(end(stage.settle(ResumedInput::default()).await), "bad-output", "and so is a form that is none");
}

#[tokio::test]
async fn who_has_given_up_between_two_rounds_is_asked_nothing() {
    for revision in [V2025_11_25, V2026_07_28] {
        let (stage, mut peer) = Stage::plain(revision, FORMS, |_, scope| {
            scope.cancelled.cancel();
            asks("kept")
        });
        assert_eq!(end(stage.settle(ResumedInput::default()).await), "cancelled");
        assert_eq!((stage.told().len(), peer.inbox.all().len()), (1, 0), "{revision}");
    }
}

#[tokio::test]
async fn a_question_of_who_gives_up_is_taken_back() {
    let (stage, mut peer) = Stage::plain(V2025_11_25, FORMS, |_, _| asks(""));
    let client = async {
        let question = peer.inbox.next().await;
        stage.scope.cancelled.cancel();
        let cancelled = peer.inbox.next().await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], question["id"]);
    };
    let (settled, ()) = tokio::join!(stage.settle(ResumedInput::default()), client);
    assert_eq!(end(settled), "cancelled");
    assert_eq!(stage.told(), [" []", "name: the call was cancelled []"]);
    assert_eq!(peer.inbox.all(), [] as [Value; 0]);
}

#[tokio::test]
async fn an_answer_that_does_not_come_or_cannot_be_used_is_told_to_the_plugin() {
    let misfit = json!({"result": {"action": "accept", "content": {"name": "misfit"}}});
    for (answer, why) in [
        (None, "nobody answered in time"),
        (Some(json!({"error": {"code": -1, "message": "no"}})), "the client answered with error -1: no"),
        (Some(json!({"result": {"action": "maybe"}})), "the client's answer cannot be used: "),
        (Some(misfit), "the client's answer cannot be used: "),
    ] {
        let patience = if answer.is_none() { Duration::from_millis(20) } else { Duration::from_secs(60) };
        let settings = Settings { ask_timeout: patience, ..Settings::default() };
        let (stage, mut peer) = Stage::new(V2025_11_25, FORMS, settings, Double::new("p"), |_, _| asks(""));
        let client = async {
            if let Some(answer) = answer {
                peer.answers(answer).await;
            }
        };
        let (settled, ()) = tokio::join!(stage.settle(ResumedInput::default()), client);
        let told = &stage.told()[1];
        assert!(told.starts_with(&format!("name: {why}")), "{told} is not {why}");
        // It asks again, though the client could be asked: by that the call has failed.
        assert_eq!((end(settled), stage.told().len()), ("error".to_owned(), 2), "{why}");
    }
}

#[tokio::test]
async fn a_call_has_no_place_with_its_plugin_while_the_client_thinks() {
    let settings = Settings { in_flight: 1, patience: Duration::from_millis(50), ..Settings::default() };
    let (stage, mut peer) = Stage::new(V2025_11_25, FORMS, settings, Double::new("p"), |round, scope| {
        let id = PluginId::parse("p").expect("an id");
        let place = scope.client.bounds.acquire(&id, &mut WaitDeadline::default()).now_or_never();
        assert!(place.is_none(), "a call that runs has the one place");
        if round == 1 { asks("") } else { Ok(done("done")) }
    });
    let client = async {
        peer.inbox.next().await;
        let place = stage.scope.client.bounds.acquire(stage.provider.id(), &mut WaitDeadline::default()).await;
        assert!(place.is_ok(), "nobody has it now");
        drop(place);
        stage.scope.cancelled.cancel();
    };
    let (settled, ()) = tokio::join!(stage.settle(ResumedInput::default()), client);
    assert_eq!(end(settled), "done");
}

#[tokio::test]
async fn a_call_that_could_not_begin_waits_until_its_client_reads() {
    let settings = || Settings { unread: 1000, patience: Duration::from_secs(20), ..Settings::default() };
    let unread = Arc::new(Mutex::new(None));
    let waits = unread.clone();
    let (stage, _peer) = Stage::new(V2025_11_25, FORMS, settings(), Double::new("p"), move |round, scope| {
        if round == 1 {
            *waits.lock().expect("nobody panics") = Some(scope.client.bounds.unread.take(900));
            return Err(Fault::Busy.into());
        }
        Ok(done("done"))
    });
    let reads = async {
        while unread.lock().expect("nobody panics").take().is_none() {
            tokio::task::yield_now().await;
        }
    };
    let (settled, ()) = tokio::join!(stage.settle(ResumedInput::default()), reads);
    assert_eq!((end(settled), stage.told().len()), ("done".to_owned(), 2));
    // A plugin that reports `busy` itself is not retried.
    let (stage, _peer) = Stage::new(V2025_11_25, FORMS, settings(), Double::new("p"), |_, _| Err(Fault::Busy.into()));
    assert_eq!((end(stage.settle(ResumedInput::default()).await), stage.told().len()), ("busy".to_owned(), 1));
}
