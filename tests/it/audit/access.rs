//! Who may do what, in the records of calls; and the records of those who were not let in.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{calls, log, records, verify};
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, Response, serve};
use crate::support::streamable::{Endpoint, stateless};

const SECRET: &str = "ci-0123456789abcdef";

fn home(rights: &str) -> Home {
    let home = Home::with(&["echo"]);
    std::fs::create_dir_all(home.path("config/wharf")).expect("a folder");
    std::fs::write(home.path("config/wharf/ci"), SECRET).expect("a file");
    home.configure(&format!("[server.http]\ntokens = [{{ name = 'ci', file = 'ci' }}]\n{rights}"));
    home
}

fn exchange(endpoint: &Endpoint, request: Request, secret: &str) -> Response {
    HttpConnection::connect(endpoint.address).exchange(&request.with("Authorization", &format!("Bearer {secret}")))
}

#[test]
fn a_record_names_the_rule_that_allowed_or_denied_the_call() {
    let home = home(
        "[rights]\ndefault = 'nothing'\n\
         [[rights.rules]]\nname = 'ci echoes'\nwhen = { token = 'ci' }\ntools = ['echo/e*', 'echo/wait']\n\
         [[rights.rules]]\nname = 'nobody waits'\ndeny = true\ntools = ['echo/wait']\n",
    );
    let (mut process, address) = serve(&home, &[]);
    let endpoint = Endpoint::new(address);
    let call = |name: &str| {
        let message = stateless(1, "tools/call", json!({"name": name, "arguments": {"message": "x"}}));
        exchange(&endpoint, endpoint.post(&message), SECRET)
    };
    let answers = ["echo", "echo_add"].map(|tool| call(tool).text().contains("\"result\""));
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    assert_eq!(answers, [true, false]);
    let records = records(&home);
    let found: Vec<[&Value; 3]> =
        calls(&records).iter().map(|record| ["tool", "code", "rule"].map(|member| &record[member])).collect();
    assert_eq!(
        found,
        [[&json!("echo"), &json!("ok"), &json!("ci echoes")], [&json!("echo_add"), &json!("forbidden"), &Value::Null]]
    );
    // What there is nothing to say of is absent.
    for record in calls(&records) {
        let absent = ["issuer", "subject", "client", "scopes", "peer", "omitted"];
        assert!(absent.iter().all(|member| record.get(*member).is_none()), "{record}");
    }
}

#[test]
fn a_record_without_rights_names_no_rule() {
    let home = home("");
    let (mut process, address) = serve(&home, &[]);
    let endpoint = Endpoint::new(address);
    let message = stateless(1, "tools/call", json!({"name": "echo", "arguments": {"message": "x"}}));
    assert_eq!(exchange(&endpoint, endpoint.post(&message), SECRET).status, 200);
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    let records = records(&home);
    assert!(calls(&records).iter().all(|record| record["code"] == "ok" && record.get("rule").is_none()), "{records:?}");
}

/// Guesses in one second or two: ten records for each, however many there are.
#[test]
fn those_who_are_not_let_in_are_recorded_some_of_them_and_their_tokens_never() {
    let home = home("");
    let (mut process, address) = serve(&home, &[]);
    let endpoint = Endpoint::new(address);
    // Without a token there is none that is wrong.
    assert_eq!(HttpConnection::connect(address).exchange(&Request::discover(address)).status, 401);
    let began = std::time::Instant::now();
    let mut statuses = Vec::new();
    for n in 0..60 {
        statuses.push(exchange(&endpoint, Request::discover(address), &format!("guessed-{n}-0123456789")).status);
    }
    let seconds = began.elapsed().as_secs() as usize + 2;
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    let records = records(&home);
    let refused: Vec<&Value> = records.iter().filter(|record| record["event"] == "refuse").collect();
    assert!((10..=10 * seconds).contains(&refused.len()), "{refused:?}");
    let omitted: u64 = refused.iter().filter_map(|record| record["omitted"].as_u64()).sum();
    assert!(refused.len() as u64 + omitted <= statuses.len() as u64, "{refused:?}");
    for (record, status) in refused.iter().zip(&statuses).take(10) {
        let code = if *status == 401 { "unauthorized" } else { "too-many-failures" };
        assert_eq!((&record["code"], &record["peer"]), (&json!(code), &json!("127.0.0.1")), "{record}");
    }
    let text = std::fs::read_to_string(log(&home)).expect("the log");
    assert!(!text.contains("guessed") && verify(&home).0, "{text}");
}
