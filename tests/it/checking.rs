//! Validation of values against plugins' schemas: it is part of the call, and never blocks a
//! thread that serves other requests.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::guest::asking::form;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, serve};
use crate::support::process::Process;
use crate::support::streamable::{Endpoint, request, stateless};

/// How long validation may delay other requests; generous for a debug build beside other tests.
const PROMPT: Duration = Duration::from_millis(1500);
/// Shutdown time of a process: 5 s for its calls, and a margin for a loaded machine.
const GRACE: Duration = Duration::from_secs(8);

/// A schema of some 2000 steps per element: 3 million for 1500 elements, which is allowed, and
/// too many for 100,000.
fn thousand_rules() -> String {
    let all = |rule: &str| format!(r#"{{"allOf":[{}]}}"#, vec![rule; 30].join(","));
    all(&all(r#"{"minLength":0}"#))
}

fn elements(schema: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"v":{{"type":"array","items":{schema}}}}}}}"#)
}

fn letters(count: usize) -> Value {
    json!({"v": vec!["a"; count]})
}

/// Two plugins, one whose results and one whose arguments are expensive to validate.
fn costly() -> Home {
    let home = Home::with(&["echo"]);
    let schema = elements(&thousand_rules());
    let few = letters(1500).to_string();
    let many = letters(100_000).to_string();
    let gives =
        Guest::returning("1").returns_with_schema("few", &schema, &few).returns_with_schema("many", &schema, &many);
    home.put_bytes(&gives.build(), "gives");
    home.put_bytes(&Guest::returning("1").described("any", "Takes all.").input_schema(&schema).build(), "takes");
    home
}

fn costly_calls() -> Vec<Value> {
    let taken = [letters(1500), letters(100_000)];
    let given = ["gives_few", "gives_many"].map(|name| json!({"name": name, "arguments": {}}));
    let taken = taken.map(|arguments| json!({"name": "takes_any", "arguments": arguments}));
    given.into_iter().chain(taken).cycle().take(8).collect()
}

/// The longest duration of 20 calls of `ask`.
fn slowest(mut ask: impl FnMut()) -> Duration {
    let ask_once = |_| {
        let began = Instant::now();
        ask();
        began.elapsed()
    };
    (0..20).map(ask_once).max().unwrap_or_default()
}

#[test]
fn costly_validation_delays_no_other_request_on_stdio() {
    let home = costly();
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() >= 6);
    let begin = |client: &mut Client| -> Vec<u64> {
        costly_calls().into_iter().map(|call| client.post("tools/call", call)).collect()
    };
    let pending = begin(&mut client);
    let slow = slowest(|| {
        client.result("ping", json!({}));
        assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    });
    assert!(slow < PROMPT, "ping and a call took {slow:?}");
    let answers: Vec<Value> = pending.into_iter().map(|id| client.answer(id)).collect();
    // Too many steps: refused before validation begins.
    for refused in [&answers[1], &answers[3]] {
        assert!(refused.to_string().contains("more than 4000000 steps"), "{refused}");
    }
    let pending = begin(&mut client);
    client.result("ping", json!({}));
    let began = Instant::now();
    client.process().signal(Signal::TERM);
    let rest = client.finish();
    assert!(began.elapsed() < GRACE, "shut down after {:?}", began.elapsed());
    for id in pending {
        let answers = rest.iter().filter(|message| message["id"] == id).count();
        assert_eq!(answers, 1, "request {id}");
    }
}

#[test]
fn costly_validation_delays_no_other_request_over_http() {
    let home = costly();
    let (mut process, address) = serve(&home, &[]);
    let endpoint = Endpoint::initialize(address, "2025-11-25");
    let begin = || -> Vec<HttpConnection<std::net::TcpStream>> {
        let calls = costly_calls().into_iter().enumerate();
        let posts = calls.map(|(id, call)| Endpoint::new(address).post(&stateless(id as u64, "tools/call", call)));
        let send = |post: Request| {
            let mut connection = HttpConnection::connect(address);
            assert!(connection.send(&post.bytes()));
            connection
        };
        posts.map(send).collect()
    };
    let mut open = begin();
    let mut id = 100;
    let slow = slowest(|| {
        id += 1;
        let health = Request::new("GET", "/healthz", address);
        assert_eq!(HttpConnection::connect(address).exchange(&health).status, 200);
        assert_eq!(endpoint.exchange(&request(id, "ping", json!({}))).status, 200);
        let call = json!({"name": "echo", "arguments": {"message": "here"}});
        assert!(endpoint.exchange(&request(id + 1000, "tools/call", call)).text().contains("here"));
    });
    assert!(slow < PROMPT, "/healthz, ping and a call took {slow:?}");
    for connection in &mut open {
        assert_eq!(connection.response().map(|response| response.status), Some(200));
    }
    let _open = begin();
    let began = Instant::now();
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    assert!(began.elapsed() < GRACE, "shut down after {:?}", began.elapsed());
}

/// The client sees a flattened schema; the answer is validated against the plugin's own.
#[test]
fn validating_answers_to_forms_delays_no_other_request() {
    let choice = r#""type":"array","items":{"type":"string","enum":["a","b"]}"#;
    let field = format!(r#"{{{choice},"allOf":[{{"items":{}}},{{"items":{{"const":"a"}}}}]}}"#, thousand_rules());
    let schema = format!(r#"{{"type":"object","properties":{{"v":{field}}}}}"#);
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::returning("1").asks("ask", &[("k", form(&schema))]).build(), "asker");
    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, json!({"elicitation": {"form": {}}}));
    client.tools_until(|tools| tools.len() >= 4);
    let pending = client.call("asker_ask", json!({}));
    let answer = |client: &mut Client, content: Value| {
        let answers = json!({"k": {"action": "accept", "content": content}});
        let state = &pending["requestState"];
        let params = json!({"name": "asker_ask", "arguments": {}, "requestState": state, "inputResponses": answers});
        client.post("tools/call", params)
    };
    let good = answer(&mut client, letters(1));
    assert_eq!(client.answer(good)["result"]["resultType"], "input_required");
    let bad = answer(&mut client, json!({"v": ["a", "b"]}));
    assert!(client.answer(bad)["error"].is_object());
    let large = [1500, 100_000, 1500, 100_000, 1500, 1500].map(|count| answer(&mut client, letters(count)));
    let slow = slowest(|| {
        client.result("tools/list", json!({}));
        assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    });
    assert!(slow < PROMPT, "a list and a call took {slow:?}");
    for (count, id) in large.into_iter().enumerate() {
        let answer = client.answer(id);
        let refused = answer["error"].to_string().contains("more than 4000000 steps");
        assert_eq!(refused, matches!(count, 1 | 3), "{answer}");
    }
}

#[test]
fn schema_references_are_resolved_after_decoding() {
    let refers = |reference: &str| {
        format!(
            r##"{{"type":"object","properties":{{"v":{{"$ref":"{reference}"}}}},"$defs":{{"a b":{{"type":"integer"}},"c/d":{{}}}}}}"##
        )
    };
    let doubled = |n: usize| {
        let below = format!(r##"{{"$ref":"#/%24defs/d{}"}}"##, n - 1);
        format!(r#""d{n}":{{"allOf":[{below},{below}]}}"#)
    };
    let doubled: Vec<String> = (1..27).map(doubled).collect();
    let bomb = format!(
        r##"{{"type":"object","properties":{{"v":{{"$ref":"#/%24defs/d26"}}}},"$defs":{{"d0":{{}},{}}}}}"##,
        doubled.join(",")
    );
    let guest = Guest::returning("1")
        .returns_with_schema("right", &refers("#/%24defs/a%20b"), r#"{"v":1}"#)
        .returns_with_schema("wrong", &refers("#/$defs/a%20b"), r#"{"v":"x"}"#)
        .returns_with_schema("slash", &refers("#/$defs/c%2Fd"), r#"{"v":1}"#)
        .returns_with_schema("endless", r##"{"type":"object","allOf":[{"$ref":"#/%61llOf/0"}]}"##, "{}")
        .returns_with_schema("bomb", &bomb, "{}");
    let home = Home::new();
    home.put_bytes(&guest.build(), "refers");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["refers_version", "refers_right", "refers_wrong"]);
    assert_eq!(client.call("refers_right", json!({}))["structuredContent"], json!({"v": 1}));
    let wrong = client.call("refers_wrong", json!({}));
    assert_eq!(wrong["isError"], true, "{wrong}");
    assert!(first_text(&wrong).contains("output schema"), "{wrong}");
    let log = client.process().log();
    for tool in ["slash", "endless", "bomb"] {
        assert!(log.contains(tool), "{tool} is missing in {log}");
    }
}
