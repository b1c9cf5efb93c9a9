//! What comes over the streams of two users: to each what is theirs. That something does not come is seen from what
//! comes after it on the same stream.

use serde_json::{Value, json};

use super::expiry::session;
use super::issuer::{Issuer, by};
use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpServer, Request};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

const HERS: &str = "test://watched-resource";
const HIS: &str = "test://template/7/data";
/// Of her calls, in all eras.
const PROGRESS: &str = "p";

/// A user with a stream of each kind, which all tell of one resource.
struct User<'a> {
    server: &'a HttpServer,
    token: String,
    session: Endpoint,
    messages: String,
    own: Events,
    listening: Events,
    sse: Events,
}

impl<'a> User<'a> {
    fn watching(server: &'a HttpServer, token: String, uri: &str) -> Self {
        let session = session(server, &token);
        let open = |request: Request| Events::open(server.connect(), &by(request, &token));
        let own = open(session.get());
        let filter = json!({"notifications": {"resourceSubscriptions": [uri]}});
        let mut listening = open(Endpoint::new(server.address).post(&stateless(9, "subscriptions/listen", filter)));
        listening.next_message().expect("an acknowledgement");
        let mut sse = open(Request::new("GET", "/sse", server.address));
        let messages = sse.next_event().expect("an endpoint").data;
        let mut user = Self { server, token: token.clone(), session, messages, own, listening, sse };
        user.tell(&initialize("2024-11-05"));
        assert_eq!(user.sse.next_message().expect("an answer").json()["id"], 0);
        user.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        for (id, method, params) in
            [(1, "resources/subscribe", json!({"uri": uri})), (2, "logging/setLevel", json!({"level": "debug"}))]
        {
            user.tell(&request(id, method, params.clone()));
            assert_eq!(user.sse.next_message().expect("an answer").json()["id"], id);
            let answer = user.answers(&user.session, &request(id, method, params));
            assert!(answer.last().is_some_and(|answer| answer.get("result").is_some()), "{answer:?}");
        }
        user
    }

    /// Posts to the session of HTTP+SSE, whose answers come over its stream.
    fn tell(&self, message: &Value) {
        let post = Request::new("POST", &self.messages, self.server.address).json(message.to_string());
        assert_eq!(self.server.exchange(&by(post, &self.token)).status, 202);
    }

    /// All messages of the response to a request.
    fn answers(&self, endpoint: &Endpoint, message: &Value) -> Vec<Value> {
        let mut connection = self.server.connect();
        let response = connection.exchange(&by(endpoint.post(message), &self.token));
        if response.header("content-type") == Some("application/json") {
            return vec![serde_json::from_slice(&response.body).expect("JSON")];
        }
        let mut events = Events::from_response(connection, response);
        std::iter::from_fn(|| events.next_message()).map(|event| event.json()).collect()
    }

    /// Calls a tool in both eras; the messages that came with the answers.
    fn call(&self, tool: &str) -> Vec<Value> {
        let params = json!({"name": format!("everything_{tool}")});
        let asked = [(&self.session, request(5, "tools/call", params.clone()))];
        let alone = Endpoint::new(self.server.address);
        let all = asked.into_iter().chain([(&alone, stateless(5, "tools/call", params))]);
        let answers = all.flat_map(|(endpoint, mut message)| {
            message["params"]["_meta"]["progressToken"] = json!(PROGRESS);
            message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
            let mut answers = self.answers(endpoint, &message);
            let answer = answers.pop().expect("an answer");
            assert!(answer["id"] == 5 && answer.get("result").is_some(), "{answer}");
            answers
        });
        answers.collect()
    }

    /// As [`User::call`], over HTTP+SSE; the answer is still to come over its stream.
    fn start(&self, tool: &str) {
        let mut message = request(6, "tools/call", json!({"name": format!("everything_{tool}")}));
        message["params"]["_meta"]["progressToken"] = json!(PROGRESS);
        self.tell(&message);
    }

    fn update(&self, uri: &str) {
        let params = json!({"name": "everything_test_update_resource", "arguments": {"uri": uri}});
        let answer = self.answers(&self.session, &request(7, "tools/call", params)).pop().expect("an answer");
        assert!(answer.get("result").is_some(), "{answer}");
    }

    fn streams(&mut self) -> [&mut Events; 3] {
        [&mut self.own, &mut self.listening, &mut self.sse]
    }
}

/// The next message of each stream is an update of that resource.
fn updated(user: &mut User<'_>, uri: &str) {
    for stream in user.streams() {
        let message = stream.next_message().expect("an update").json();
        assert_eq!(message["method"], "notifications/resources/updated", "{message}");
        assert_eq!(message["params"]["uri"], uri, "{message}");
    }
}

#[test]
fn each_hears_only_of_what_they_watch() {
    let issuer = Issuer::start();
    let server = HttpServer::serve(&Home::with(&["everything"]), issuer.settings());
    let mut alice = User::watching(&server, issuer.token("alice"), HERS);
    let mut bob = User::watching(&server, issuer.token("bob"), HIS);
    // Updates in a row may come as one.
    for _ in 0..3 {
        alice.update(HERS);
        updated(&mut alice, HERS);
        bob.update(HIS);
        updated(&mut bob, HIS);
    }
}

#[test]
fn progress_and_messages_of_a_call_come_to_its_caller() {
    let issuer = Issuer::start();
    let server = HttpServer::serve(&Home::with(&["everything"]), issuer.settings());
    let mut alice = User::watching(&server, issuer.token("alice"), HERS);
    let mut bob = User::watching(&server, issuer.token("bob"), HIS);
    for (tool, method) in
        [("test_tool_with_progress", "notifications/progress"), ("test_logging_tool", "notifications/message")]
    {
        let came = alice.call(tool);
        assert!(came.iter().filter(|message| message["method"] == method).count() > 4, "{came:?}");
        alice.start(tool);
        let over_sse: Vec<Value> = std::iter::from_fn(|| alice.sse.next_message())
            .map(|event| event.json())
            .take_while(|message| message.get("id").is_none())
            .collect();
        assert!(over_sse.iter().filter(|message| message["method"] == method).count() > 1, "{over_sse:?}");
    }
    // The next that comes to the other is his own, and nothing of hers has come beside her responses.
    bob.update(HIS);
    updated(&mut bob, HIS);
    alice.update(HERS);
    updated(&mut alice, HERS);
}
