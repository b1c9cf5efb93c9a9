//! `[[budgets]]`: what clients may spend, what they are told when it is used up, and what operators see.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Response, serve};
use crate::support::process::{Process, run};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

const TOKENS: [(&str, &str); 2] = [("ci", "ci-0123456789abcdef"), ("me", "me-0123456789abcdef")];

fn home(guests: &[&str], budgets: &str) -> Home {
    let home = Home::with(guests);
    std::fs::create_dir_all(home.path("config/wharf")).expect("a folder");
    for (name, secret) in TOKENS {
        std::fs::write(home.path(&format!("config/wharf/{name}")), secret).expect("a file");
    }
    configure(&home, budgets);
    home
}

fn configure(home: &Home, budgets: &str) {
    home.configure(&format!(
        "{budgets}\n[audit]\nenabled = true\n[server.http]\n\
         tokens = [{{ name = 'ci', file = 'ci' }}, {{ name = 'me', file = 'me' }}]\n\
         [plugins.notes.grants]\nkeyvalue = true\n"
    ));
}

fn exchange(endpoint: &Endpoint, message: &Value, token: &str) -> Response {
    let request = endpoint.post(message).with("Authorization", &format!("Bearer {token}"));
    HttpConnection::connect(endpoint.address).exchange(&request)
}

/// A client of 2026-07-28, and one in a session.
fn both(address: SocketAddr, token: &str) -> [Endpoint; 2] {
    let mut session = Endpoint::new(address);
    let opened = exchange(&session, &initialize("2025-11-25"), token);
    session.session = opened.header("mcp-session-id").map(str::to_owned);
    session.version = Some("2025-11-25".into());
    exchange(&session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), token);
    [Endpoint::new(address), session]
}

fn ask(endpoint: &Endpoint, method: &str, params: Value, token: &str) -> Response {
    let message = if endpoint.session.is_some() { request } else { stateless };
    exchange(endpoint, &message(1, method, params), token)
}

fn answer(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()))
}

fn wharf(home: &Home, arguments: &[&str]) -> Output {
    let folder = home.plugins();
    run(home, arguments.iter().map(OsStr::new).chain([folder.as_os_str()]))
}

/// Waits until something holds: within a second the server reads its file, and writes what is left.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn clients_are_told_when_to_send_it_again() {
    let home = home(&["notes"], "[[budgets]]\nname = 'few'\ncalls = 3\nwindow = '1h'");
    let (process, address) = serve(&home, &[]);
    let [ci, me] = TOKENS.map(|(_, secret)| secret);
    let [modern, session] = both(address, ci);
    let list = json!({"name": "notes_list", "arguments": {}});
    let prompt = json!({"name": "notes_summarise", "arguments": {}});
    // Tools and prompts are charged to one account; lists are free.
    assert_eq!(ask(&modern, "tools/call", list.clone(), ci).status, 200);
    assert_eq!(ask(&session, "prompts/get", prompt.clone(), ci).status, 200);
    assert_eq!(ask(&session, "tools/list", json!({}), ci).status, 200);
    assert_eq!(ask(&session, "tools/call", list.clone(), ci).status, 200);
    for (endpoint, status) in [(&modern, 429), (&session, 200)] {
        for (method, params) in
            [("tools/call", &list), ("prompts/get", &prompt), ("resources/read", &json!({"uri": "notes://1"}))]
        {
            let refused = ask(endpoint, method, params.clone(), ci);
            assert_eq!(refused.status, status, "{method}: {}", refused.text());
            let wait: u64 = refused.header("retry-after").and_then(|text| text.parse().ok()).expect("seconds");
            assert!((1..=1200).contains(&wait), "{wait}");
            let error = answer(&refused)["error"].clone();
            assert_eq!(error["code"], -32603, "{error}");
            assert_eq!(error["data"], json!({"reason": "busy", "retryAfter": wait}));
            let text = error["message"].as_str().expect("a text");
            assert!(text.contains("the calls of the budget 'few' are used up; send this again in"), "{text}");
        }
    }
    // Another user has an account of their own.
    for endpoint in both(address, me) {
        let answered = ask(&endpoint, "tools/call", list.clone(), me);
        assert!(answered.status == 200 && answer(&answered).get("error").is_none(), "{}", answered.text());
    }
    let status = || String::from_utf8_lossy(&wharf(&home, &["status"]).stdout).into_owned();
    until("what is left is in wharf status", || {
        let shown = status();
        shown.contains("few  ci  left: 0 of 3 calls, in 1h; 6 refused")
            && shown.contains("few  me  left: 1 of 3 calls, in 1h\n")
    });
    let shown: Value = serde_json::from_slice(&wharf(&home, &["status", "--json"]).stdout).expect("JSON");
    assert_eq!(shown["budgets"][0]["subject"], "ci", "{shown}");
    assert!(shown["budgets"][0]["calls"]["left"].as_f64().is_some_and(|left| left < 1.0), "{shown}");
    let recorded = run(&home, ["audit", "show", "--code", "over-budget", "--json"]);
    let recorded = String::from_utf8_lossy(&recorded.stdout).into_owned();
    assert_eq!(recorded.lines().count(), 6, "{recorded}");

    // A file that lost its budgets ends none; more calls are there at once; an empty array ends all.
    let call = || ask(&modern, "tools/call", list.clone(), ci).status;
    configure(&home, "[[budgets]]\nname = 'few'\ncalls = 4\nwindow = '1h'");
    until("the budget grows", || call() == 200);
    assert_eq!(call(), 429);
    configure(&home, "");
    process.log_with("budgets unchanged: the configuration has none");
    assert_eq!(call(), 429);
    configure(&home, "[[budgets]]\nname = 'few'\ncalls = 5\nwindow = '1h'");
    until("the budget grows again", || call() == 200);
    assert_eq!(call(), 429);
    let file = home.path("config/wharf/wharf.toml");
    configure(&home, "");
    let rest = std::fs::read_to_string(&file).expect("the file");
    std::fs::write(&file, format!("budgets = []\n{rest}")).expect("the file");
    until("there are no budgets", || call() == 200);
    assert!((0..10).all(|_| call() == 200));
    until("nothing is left to show", || !status().contains("budgets"));
}

#[test]
fn each_revision_over_stdio_has_the_error() {
    let home = home(&["echo"], "[[budgets]]\ncalls = 1\nwindow = '1h'\nper = 'tool'");
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, json!({}));
        assert_ne!(client.call("echo", json!({"message": "x"}))["isError"], true, "{revision}");
        let error = client.error("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
        assert_eq!(error["data"]["reason"], "busy", "{revision}: {error}");
        assert!(error["data"]["retryAfter"].as_u64().is_some_and(|wait| wait > 3000), "{revision}: {error}");
    }
}

/// A guest that computes as long as its limit lets it, and large results: the next call waits.
#[test]
fn computing_and_bytes_are_charged_when_they_are_known() {
    let home = home(
        &["echo"],
        "[[budgets]]\nname = 'cpu'\nplugins = ['spin']\ncpu = '50ms'\nwindow = '1h'\n\
         [[budgets]]\nname = 'bytes'\ntools = ['echo/*']\nbytes = '2 KiB'\nwindow = '1h'\n\
         [limits]\ncpu = '200ms'\n",
    );
    home.put_bytes(&Guest::spinning().build(), "spin");
    let mut client = Client::start_modern(&home);
    client.tools_until(|tools| tools.len() > 1);
    let spin = client.tools().into_iter().find(|name| name.starts_with("spin")).expect("a tool");
    assert_eq!(client.call(&spin, json!({}))["isError"], true, "it reaches its limit");
    let error = client.error("tools/call", json!({"name": spin, "arguments": {}}));
    // At least three times what there is in an hour.
    assert!(error["data"]["retryAfter"].as_u64().is_some_and(|wait| wait > 3 * 3600 - 60), "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("seconds of computing")), "{error}");
    let mut echo = |text: &str| {
        let id = client.post("tools/call", json!({"name": "echo", "arguments": {"message": text}}));
        client.answer(id)
    };
    assert!(echo(&"x".repeat(1500)).get("result").is_some(), "1,500 of 2,048 bytes, before the result");
    let refused = echo("x");
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("the bytes of")), "{refused}");
}

#[test]
fn a_cancelled_call_runs_no_more() {
    let home = home(&["echo"], "[[budgets]]\nconcurrent = 1\n[limits]\ncpu = '60s'\ntimeout = '60s'");
    home.put_bytes(&Guest::spinning().build(), "spin");
    let mut client = Client::start_modern(&home);
    let spin = client.tools_until(|tools| tools.len() > 1).into_iter().find(|name| name.starts_with("spin"));
    let running = client.post("tools/call", json!({"name": spin.expect("a tool"), "arguments": {}}));
    let echo = |client: &mut Client| {
        let id = client.post("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
        client.answer(id)
    };
    // A call that is sent at the same time may be the one that runs.
    let shown = || String::from_utf8_lossy(&wharf(&home, &["status"]).stdout).into_owned();
    until("the call runs", || shown().contains("left: 0 of 1 at a time"));
    let refused = echo(&mut client);
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("at a time")), "{refused}");
    client.notify("notifications/cancelled", json!({"requestId": running}));
    until("the cancelled call is over", || echo(&mut client).get("result").is_some());
}
