//! The real binary with `[server.http.oauth]`.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::issuer::{Issuer, RESOURCE, by};
use crate::support::TIMEOUT;
use crate::support::client::first_text;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, Response, listening_address};
use crate::support::process::{Process, command, run};
use crate::support::site::Site;
use crate::support::streamable::{Endpoint, stateless};

/// The configuration of a server that accepts tokens of that issuer.
fn oauth(issuer: &Issuer) -> String {
    format!(
        "[server.http.oauth]\nresource = '{RESOURCE}'\nscopes = ['mcp']\nissuers = [{{ issuer = '{}' }}]\n",
        issuer.url()
    )
}

fn serve(home: &Home, configuration: &str) -> (Process, Endpoint) {
    home.configure(configuration);
    let mut command = serving(home);
    let process = Process::start({
        command.env("WHARF_LOG", "trace");
        command
    });
    let endpoint = Endpoint::new(listening_address(&process));
    (process, endpoint)
}

fn serving(home: &Home) -> Command {
    let mut command = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.args(["--http", "127.0.0.1:0"]);
    command
}

fn exchange(endpoint: &Endpoint, request: &Request) -> Response {
    HttpConnection::connect(endpoint.address).exchange(request)
}

fn call(endpoint: &Endpoint, token: &str, tool: &str, arguments: Value) -> Value {
    let message = stateless(1, "tools/call", json!({"name": tool, "arguments": arguments}));
    let response = exchange(endpoint, &by(endpoint.post(&message), token));
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_slice::<Value>(&response.body).expect("JSON")["result"].clone()
}

/// Waits until `/readyz` has that status; its text. With 200 all plugins are in service, and no answer takes so long
/// that it is a stream.
fn readiness(endpoint: &Endpoint, status: u16) -> String {
    let begun = Instant::now();
    loop {
        let response = exchange(endpoint, &Request::new("GET", "/readyz", endpoint.address));
        if response.status == status {
            return response.text().to_owned();
        }
        assert!(begun.elapsed() < TIMEOUT, "{}: {}", response.status, response.text());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_starts_while_its_issuer_is_down() {
    let issuer = Issuer::down();
    let home = Home::with(&["echo"]);
    let (process, endpoint) = serve(&home, &oauth(&issuer));
    let log = process.log_with("failed to fetch its keys");
    assert!(log.contains(&issuer.url()), "{log}");
    assert_eq!(readiness(&endpoint, 503), format!("not ready\nissuer {}: not available\n", issuer.url()));
    let token = issuer.token("alice");
    let discover = || exchange(&endpoint, &by(Request::discover(endpoint.address), &token)).status;
    assert_eq!(discover(), 503);
    issuer.set_up(true);
    assert_eq!(readiness(&endpoint, 200), format!("ok\nissuer {}: ready\n", issuer.url()));
    assert_eq!(discover(), 200);
    // With its keys the server goes on without it.
    issuer.set_up(false);
    assert_eq!((discover(), readiness(&endpoint, 200).starts_with("ok\n")), (200, true));
}

/// With other tokens somebody is let in.
#[test]
fn an_issuer_that_is_down_does_not_stop_static_tokens() {
    let issuer = Issuer::down();
    let home = Home::with(&["echo"]);
    fs::write(home.path("config/token"), "0123456789abcdef").expect("a file");
    let tokens =
        format!("[server.http]\ntokens = [{{ name = 'ci', file = '{}' }}]\n", home.path("config/token").display());
    let (_process, endpoint) = serve(&home, &(tokens + &oauth(&issuer)));
    assert!(readiness(&endpoint, 200).contains("not available"));
    let ci = by(Request::discover(endpoint.address), "0123456789abcdef");
    assert_eq!(exchange(&endpoint, &ci).status, 200);
}

#[test]
fn users_are_recorded_by_issuer_and_subject_and_their_tokens_nowhere() {
    let issuer = Issuer::start();
    let home = Home::with(&["echo"]);
    let (mut process, endpoint) = serve(&home, &oauth(&issuer));
    readiness(&endpoint, 200);
    let tokens = [
        issuer.with("alice", "client_id", json!("web")),
        issuer.token("b\u{e9}a\n"),
        issuer.with("eve", "aud", json!("https://e.example")),
    ];
    for token in &tokens[..2] {
        assert_eq!(first_text(&call(&endpoint, token, "echo", json!({"message": "x"}))), "x");
    }
    assert_eq!(exchange(&endpoint, &by(Request::discover(endpoint.address), &tokens[2])).status, 401);
    let other_scope = issuer.with("eve", "scope", json!("other"));
    assert_eq!(exchange(&endpoint, &by(Request::discover(endpoint.address), &other_scope)).status, 403);
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    let audit = fs::read_to_string(home.path("state/wharf/audit.jsonl")).expect("the audit log");
    let records: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let calls: Vec<&Value> = records.iter().filter(|record| record["event"] == "call").collect();
    let principals: Vec<&str> = calls.iter().filter_map(|record| record["principal"].as_str()).collect();
    assert_eq!(principals, [format!("{}#alice", issuer.url()), format!("{}#b\\u{{e9}}a\\n", issuer.url())]);
    let subjects: Vec<&str> = calls.iter().filter_map(|record| record["subject"].as_str()).collect();
    assert_eq!(subjects, ["alice", "b\u{e9}a\n"]);
    for (call, client) in calls.iter().zip([json!("web"), Value::Null]) {
        let found = ["issuer", "client", "scopes"].map(|member| call[member].clone());
        assert_eq!(found, [json!(issuer.url()), client, json!("mcp")], "{call}");
    }
    let refused = records.iter().filter(|record| record["event"] == "refuse");
    let codes: Vec<&str> = refused.filter_map(|record| record["code"].as_str()).collect();
    assert_eq!(codes, ["unauthorized", "insufficient-scope"]);
    let log = process.log();
    assert!(log.contains("refused an access token: the token is for another audience"), "{log}");
    for part in tokens.iter().chain([&other_scope]).flat_map(|token| token.split('.').skip(1)) {
        assert!(!log.contains(part) && !audit.contains(part), "{log}");
    }
}

/// Not in what a plugin is given, and not in what it sends.
#[test]
fn a_token_reaches_no_plugin_and_no_upstream() {
    let issuer = Issuer::start();
    let site = Site::page("text/plain", "inside");
    let home = Home::with(&["online", "everything"]);
    let grants = format!("[plugins.online.grants]\n{}", site.grant());
    let (_process, endpoint) = serve(&home, &(oauth(&issuer) + &grants));
    readiness(&endpoint, 200);
    let token = issuer.token("alice");
    let arguments = json!({"authority": format!("127.0.0.1:{}", site.port), "path": "/"});
    let sent = call(&endpoint, &token, "online_outgoing", arguments);
    assert!(first_text(&sent).contains("inside"), "{sent}");
    let heads = site.heads().concat();
    assert!(heads.starts_with("GET / ") && !heads.to_ascii_lowercase().contains("authorization"), "{heads}");
    assert!(token.split('.').all(|part| !heads.contains(part)), "{heads}");
}

/// A cursor is a place in a list, which is the same for all.
#[test]
fn a_cursor_of_another_user_leads_nowhere_else() {
    let issuer = Issuer::start();
    let home = Home::with(&["everything"]);
    let (_process, endpoint) = serve(&home, &format!("[server]\npage-size = 2\n{}", oauth(&issuer)));
    readiness(&endpoint, 200);
    let list = |subject: &str, params: Value| {
        let message = stateless(1, "tools/list", params);
        let response = exchange(&endpoint, &by(endpoint.post(&message), &issuer.token(subject)));
        serde_json::from_slice::<Value>(&response.body).expect("JSON")["result"].clone()
    };
    let hers = list("alice", json!({}));
    let cursor = json!({"cursor": hers["nextCursor"]});
    assert!(cursor["cursor"].is_string(), "{hers}");
    assert_eq!(list("bob", cursor.clone())["tools"], list("alice", cursor)["tools"]);
}

#[test]
fn a_missing_client_secret_is_an_error() {
    let home = Home::new();
    let introspection = "introspection = { client-id = 'w', client-secret = { env = 'WHARF_TEST_SECRET' } }";
    home.configure(&format!(
        "[server.http.oauth]\nresource = '{RESOURCE}'\nissuers = [{{ issuer = 'https://a.example', {introspection} }}]\n"
    ));
    let folder = home.plugins();
    let output = run(&home, ["serve".as_ref(), folder.as_os_str(), "--http".as_ref(), "127.0.0.1:0".as_ref()]);
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("WHARF_TEST_SECRET") && reported.contains("hint:"), "{reported}");
}

#[test]
fn doctor_says_whether_issuers_can_be_reached() {
    let issuer = Issuer::start();
    let home = Home::new();
    home.configure(&oauth(&issuer));
    let doctor = || {
        let folder = home.plugins();
        String::from_utf8_lossy(&run(&home, ["doctor".as_ref(), folder.as_os_str()]).stdout).into_owned()
    };
    let report = doctor();
    assert!(report.contains(&format!("1 key of {}", issuer.url())), "{report}");
    issuer.set_up(false);
    let report = doctor();
    assert!(report.contains(&format!("no keys of {}: ", issuer.url())), "{report}");
}

/// Whoever needs a token is not anyone.
#[test]
fn oauth_is_authentication_enough_for_other_machines() {
    let home = Home::new();
    let listen = |configuration: &str| {
        home.configure(configuration);
        let mut command = command(&home, ["doctor".as_ref(), home.plugins().as_os_str()]);
        String::from_utf8_lossy(&command.output().expect("it runs").stdout).into_owned()
    };
    let address = "[server.http]\naddress = '0.0.0.0:0'\n";
    assert!(listen(address).contains("without a token"));
    let report = listen(&format!("{address}{}", oauth(&Issuer::down())));
    assert!(!report.contains("without a token"), "{report}");
}
