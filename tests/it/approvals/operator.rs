//! An operator decides: for clients that cannot ask their user, and where the configuration says so.

use super::*;
use crate::support::http::{HttpConnection, Response};
use crate::support::streamable::{Endpoint, stateless};

const OPERATOR: &str = "[rights]\nask-destructive = 'always'\napprover = 'operator'\n";

/// The id of the request that a call left.
fn waits(result: &Value) -> String {
    assert_eq!(code(result), "approval-required", "{result}");
    let id = result["_meta"]["wharf/fault"]["approval"].as_str().expect("an id").to_owned();
    assert!(first_text(result).contains(&format!("wharf approvals allow {id}; then call again")), "{result}");
    id
}

fn decide(home: &Home, decision: &str, id: &str) -> String {
    out(&run(home, ["approvals", decision, id]))
}

#[test]
fn a_client_that_cannot_ask_waits_for_the_operator_in_each_revision() {
    let home = home("ran", ALWAYS);
    for revision in ALL {
        let (_server, address) = serve(&home, &[]);
        let stdio: Box<dyn Wire> = Box::new(Process::serve(&home));
        for (way, wire) in [("stdio", stdio), ("http", Box::new(Streamable::connect(address)))] {
            // The revisions before 2025-06-18 have no such questions, whatever a client declares.
            let capabilities = if revision < "2025-06-18" { elicits() } else { json!({}) };
            let mut client = Client::with_capabilities(wire, revision, capabilities);
            let id = waits(&client.call("asker_version", json!({"a": [revision, way], "b": 1})));
            assert_eq!(
                waits(&client.call("asker_version", json!({"b": 1, "a": [revision, way]}))),
                id,
                "the same call"
            );
            assert_ne!(waits(&client.call("asker_version", json!({"b": 2, "a": [revision, way]}))), id, "another one");
            let shown = decide(&home, "allow", &id);
            assert!(shown.contains("asker/version") && shown.contains("this call, once"), "{shown}");
            assert_eq!(client.text("asker_version", json!({"a": [revision, way], "b": 1})), "ran");
            let again = waits(&client.call("asker_version", json!({"a": [revision, way], "b": 1})));
            assert_ne!(again, id, "it was for one call");
            decide(&home, "deny", &again);
            let denied = client.call("asker_version", json!({"a": [revision, way], "b": 1}));
            assert_eq!(code(&denied), "declined");
            assert!(first_text(&denied).contains("denied by the operator"), "{denied}");
        }
    }
}

#[test]
fn an_operator_decides_where_clients_are_not_trusted() {
    let home = home("ran", ALWAYS);
    // A question that was sent before is answered after the rules changed.
    let mut modern = Client::with_capabilities(Process::serve(&home), MODERN, elicits());
    let asked = modern.call("asker_version", json!({}));
    let mut client = Client::with_capabilities(Process::serve(&home), "2025-11-25", elicits());
    let id = call(&mut client, json!({}));
    let question = client.notification("elicitation/create");
    configure(&home, OPERATOR);
    modern.process().log_with("rights changed");
    client.process().log_with("rights changed");
    waits(&retry(&mut modern, "asker_version", json!({}), &asked, accepted())["result"]);
    client.reply(&question, accept());
    assert_eq!(code(&client.answer(id)["result"]), "changed");
    waits(&client.call("asker_version", json!({})));
    assert_eq!(client.finish(), Vec::<Value>::new(), "nothing is asked of the user");
}

#[test]
fn what_is_allowed_first_holds_for_the_tool_and_the_caller() {
    let home = home("ran", "[rights]\nask-destructive = 'first'\napprover = 'operator'\n");
    let mut client = Client::start(&home);
    let id = waits(&client.call("asker_version", json!({"a": 1})));
    let shown = decide(&home, "allow", &id);
    assert!(shown.contains("all calls of this tool by this user, with any arguments"), "{shown}");
    for at in 0..3 {
        assert_eq!(client.text("asker_version", json!({"a": at})), "ran");
    }
    decide(&home, "deny", &id);
    for at in 0..3 {
        assert_eq!(code(&client.call("asker_version", json!({"a": at}))), "declined");
    }
}

/// What a user was said to have allowed before the operator wanted to be asked.
#[test]
fn no_client_is_believed_any_more() {
    let home = home("ran", "[rights]\nask-destructive = 'first'\n");
    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, elicits());
    let asked = client.call("asker_version", json!({}));
    assert_eq!(first_text(&retry(&mut client, "asker_version", json!({}), &asked, accepted())["result"]), "ran");
    assert_eq!(client.text("asker_version", json!({"a": 1})), "ran");
    configure(&home, "[rights]\nask-destructive = 'first'\napprover = 'operator'\n");
    client.process().log_with("rights changed");
    let id = waits(&client.call("asker_version", json!({"a": 1})));
    decide(&home, "allow", &id);
    assert_eq!(client.text("asker_version", json!({"a": 2})), "ran");
    decide(&home, "deny", &id);
    assert_eq!(code(&client.call("asker_version", json!({"a": 1}))), "declined");
}

#[test]
fn commands_show_what_is_decided_and_escape_it() {
    let home = home("ran", OPERATOR);
    let mut client = Client::start(&home);
    let nothing = run(&home, ["approvals"]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no call waits"), "{nothing:?}");
    let long = "x".repeat(2000);
    let id = waits(&client.call("asker_version", json!({"a": "\u{202e}\u{1b}[31m\n  user  root", "b": long})));
    for shown in [out(&run(&home, ["approvals"])), out(&run(&home, ["approvals", "show", &id]))] {
        assert!(shown.contains(&id) && shown.contains("local") && shown.contains("waits"), "{shown}");
        assert!(shown.contains(r"\u{202e}\u001b[31m\n  user  root"), "{shown}");
        assert!(!shown.contains(['\u{202e}', '\u{1b}']) && !shown.contains(&long) && shown.contains('…'), "{shown}");
    }
    let [request] = &listed(&home)[..] else { panic!("one request") };
    assert_eq!((&request["state"], &request["by"], &request["user"]), (&json!("waits"), &Value::Null, &json!("local")));
    let arguments = json!({"a": "\u{202e}\u{1b}[31m\n  user  root", "b": long}).to_string();
    assert_eq!(request["argumentDigest"], blake3::hash(arguments.as_bytes()).to_hex().as_str());
    for command in ["show", "allow", "deny"] {
        let unknown = run(&home, ["approvals", command, "0123456789"]);
        assert_eq!(unknown.status.code(), Some(2));
        let reported = String::from_utf8_lossy(&unknown.stderr).into_owned();
        assert!(reported.contains("0123456789") && reported.contains("wharf approvals shows all"), "{reported}");
    }
}

/// Callers with tokens, of a server over HTTP.
struct Callers {
    home: Home,
    _server: Process,
    endpoint: Endpoint,
}

impl Callers {
    fn start(rights: &str) -> Self {
        let home = home("ran", "");
        for name in ["ci", "me"] {
            std::fs::create_dir_all(home.path("config/wharf")).expect("a folder");
            std::fs::write(home.path(&format!("config/wharf/{name}")), format!("{name}-0123456789abcdef"))
                .expect("a file");
        }
        let tokens = "[server.http]\ntokens = [{ name = 'ci', file = 'ci' }, { name = 'me', file = 'me' }]\n";
        home.configure(&format!("[server]\ntrust = 'dev'\n{tokens}{rights}"));
        let (server, address) = serve(&home, &[]);
        Self { home, _server: server, endpoint: Endpoint::new(address) }
    }

    fn post(&self, who: &str, mut params: Value, capabilities: Value) -> Value {
        params["name"] = json!("asker_version");
        let mut message = stateless(1, "tools/call", params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let request = self.endpoint.post(&message).with("Authorization", &format!("Bearer {who}-0123456789abcdef"));
        let response: Response = HttpConnection::connect(self.endpoint.address).exchange(&request);
        serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()))
    }

    fn call(&self, who: &str, arguments: Value) -> Value {
        self.post(who, json!({"arguments": arguments}), json!({}))["result"].take()
    }
}

#[test]
fn callers_cannot_use_each_others_approvals() {
    let callers = Callers::start(OPERATOR);
    let id = waits(&callers.call("ci", json!({})));
    decide(&callers.home, "allow", &id);
    let other = waits(&callers.call("me", json!({})));
    assert_ne!(other, id);
    assert_eq!(first_text(&callers.call("ci", json!({}))), "ran");
    let users: Vec<Value> = listed(&callers.home).iter().map(|request| request["user"].clone()).collect();
    assert_eq!(users, ["me"]);

    let callers = Callers::start("[rights]\nask-destructive = 'first'\n");
    let asked = callers.post("ci", json!({}), elicits())["result"].take();
    let answer = json!({"requestState": asked["requestState"], "inputResponses": accepted()});
    let stolen = callers.post("me", answer.clone(), elicits());
    assert_eq!(stolen["error"]["data"]["reason"], "invalid_request_state", "{stolen}");
    assert_eq!(first_text(&callers.post("ci", answer, elicits())["result"]), "ran");
    assert_eq!(first_text(&callers.call("ci", json!({"a": 1}))), "ran", "it holds for all clients of this caller");
    waits(&callers.call("me", json!({"a": 1})));
}

#[test]
fn a_caller_has_only_so_many_requests() {
    let callers = Callers::start(OPERATOR);
    let first = waits(&callers.call("ci", json!({"at": 0})));
    for at in 1..32 {
        waits(&callers.call("ci", json!({"at": at})));
    }
    let full = callers.call("ci", json!({"at": 32}));
    assert_eq!(code(&full), "busy");
    assert_eq!(waits(&callers.call("ci", json!({"at": 0}))), first, "what waits already needs no room");
    waits(&callers.call("me", json!({"at": 32})));
    decide(&callers.home, "allow", &first);
    waits(&callers.call("ci", json!({"at": 32})));
}

/// In a batch, two equal calls need two decisions.
#[test]
fn a_decision_is_used_by_one_call_of_a_batch() {
    let home = home("ran", OPERATOR);
    let mut client = Client::initialized(Process::serve(&home), "2025-03-26");
    let id = waits(&client.call("asker_version", json!({})));
    decide(&home, "allow", &id);
    let one =
        |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "asker_version"}});
    let batch: Vec<Value> = (100..104).map(one).collect();
    client.wire().send(&json!(batch).to_string());
    let answers = client.answers_to_batch();
    let ran = answers.iter().filter(|answer| first_text(&answer["result"]) == "ran").count();
    assert_eq!((answers.len(), ran), (4, 1), "{answers:?}");
}

#[test]
fn decisions_are_recorded_with_who_decided() {
    let home = home("ran", ALWAYS);
    let mut client = Client::with_capabilities(Process::serve(&home), "2025-11-25", elicits());
    let mut answered = |action: &str| {
        let id = call(&mut client, json!({"a": 1}));
        let question = client.notification("elicitation/create");
        client.reply(&question, json!({"action": action}));
        client.answer(id);
    };
    answered("accept");
    answered("decline");
    client.finish();
    configure(&home, OPERATOR);
    let mut client = Client::start(&home);
    let id = waits(&client.call("asker_version", json!({"a": 1})));
    decide(&home, "allow", &id);
    client.call("asker_version", json!({"a": 1}));
    client.finish();
    let log = std::fs::read_to_string(home.path("state/wharf/audit.jsonl")).expect("a log");
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let hash = &blake3::hash(json!({"a": 1}).to_string().as_bytes()).to_hex()[..32];
    let seen =
        records.iter().filter(|record| ["call", "decide"].contains(&record["event"].as_str().expect("an event")));
    let seen: Vec<_> = seen
        .map(|record| {
            assert_eq!((&record["in_hash"], &record["principal"]), (&json!(hash), &json!("local")), "{record}");
            let text = |member: &str| record[member].as_str().unwrap_or_default().to_owned();
            [text("event"), text("by"), text("code")].join(" ")
        })
        .collect();
    let expected = [
        "decide user allowed",
        "call user ok",
        "decide user declined",
        "call user declined",
        "call  approval-required",
        "decide operator allowed",
        "call operator ok",
    ];
    assert_eq!(seen, expected);
    let shown = out(&run(&home, ["audit", "show", "--event", "decide"]));
    assert!(
        shown.contains("asker/asker_version") && shown.contains("allowed") && shown.contains("by the operator"),
        "{shown}"
    );
}

#[test]
fn a_file_that_cannot_be_trusted_lets_nothing_run() {
    let home = home("ran", OPERATOR);
    let mut client = Client::start(&home);
    let id = waits(&client.call("asker_version", json!({})));
    decide(&home, "allow", &id);
    std::fs::write(home.path("state/wharf/approvals.json"), "[]").expect("a file");
    let refused = client.call("asker_version", json!({}));
    assert_eq!(code(&refused), "host-error", "{refused}");
    client.process().log_with("failed to use the approvals");
    let shown = run(&home, ["approvals"]);
    assert!(!shown.status.success() && String::from_utf8_lossy(&shown.stderr).contains("approvals.json"), "{shown:?}");
}
