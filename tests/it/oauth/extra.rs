//! `[[plugins.NAME.extra]]`: what some callers have in addition. Callers who have it and callers who do not, in turns.

use std::fs;
use std::net::SocketAddr;
use std::thread;

use serde_json::{Value, json};

use super::issuer::{Issuer, by};
use super::own::{call, oauth};
use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Response, serve};
use crate::support::process::{Process, run};
use crate::support::site::Site;
use crate::support::streamable::{Endpoint, stateless};

const CI: &str = "0123456789abcdef";

fn start(issuer: &Issuer, guests: &[&str], settings: &str) -> (Home, Process, SocketAddr) {
    let home = home(issuer, guests, settings);
    let (process, address) = serve(&home, &[]);
    (home, process, address)
}

fn home(issuer: &Issuer, guests: &[&str], settings: &str) -> Home {
    let home = Home::with(guests);
    fs::write(home.path("token"), CI).expect("a file");
    fs::create_dir(home.path("shared")).expect("a folder");
    fs::create_dir(home.path("other")).expect("a folder");
    configure(&home, issuer, settings);
    home
}

fn configure(home: &Home, issuer: &Issuer, settings: &str) {
    let settings = settings
        .replace("SHARED", &home.path("shared").display().to_string())
        .replace("OTHER", &home.path("other").display().to_string());
    let token = "[server.http]\ntokens = [{ name = 'ci', file = '../../token' }]\n";
    home.configure(&format!("{token}{}{settings}", oauth(issuer)));
}

/// A token with scopes.
fn with_scope(issuer: &Issuer, subject: &str, scope: &str) -> String {
    issuer.with(subject, "scope", json!(format!("mcp {scope}")))
}

/// The response to a stateless request.
fn exchange(address: SocketAddr, token: &str, message: &Value) -> Response {
    HttpConnection::connect(address).exchange(&by(Endpoint::new(address).post(message), token))
}

fn text(address: SocketAddr, token: &str, tool: &str, arguments: Value) -> String {
    first_text(&call(address, token, tool, arguments)).to_owned()
}

fn attempt(address: SocketAddr, token: &str, what: &str, path: &str) -> String {
    text(address, token, "folders_attempt", json!({"what": what, "path": path, "count": 3}))
}

const WRITERS: &str = "[plugins.folders.grants]\nfs = [{ host = 'SHARED', guest = '/data' }]\n\
     env = { WHO = 'all', BASE = 'yes' }\nconfig = { unit = 'metric' }\n\
     [[plugins.folders.extra]]\nname = 'writers'\nwhen = { scope = 'files:write' }\n\
     grants = { fs = [{ host = 'SHARED', guest = '/data', mode = 'write' }], env = { WHO = 'writers' } }\n\
     [[plugins.folders.extra]]\nname = 'the build job'\nwhen = { token = 'ci' }\n\
     grants = { fs = [{ host = 'OTHER', guest = '/data', mode = 'write' }], config = { unit = 'imperial' } }\n";

#[test]
fn a_grant_is_for_those_for_whom_its_condition_holds() {
    let issuer = Issuer::start();
    let (home, process, address) = start(&issuer, &["folders"], WRITERS);
    // The same user with two tokens, and others.
    let (reads, writes) = (issuer.token("ada"), with_scope(&issuer, "ada", "files:write"));
    let nearly = [
        with_scope(&issuer, "bob", "files:writer"),
        with_scope(&issuer, "bob", "files"),
        with_scope(&issuer, "ci", ""),
        issuer.with("bob", "groups", json!(["files:write"])),
    ];
    for round in 0..3 {
        let file = format!("file-{round}");
        assert_eq!(attempt(address, &reads, "write", &file), "not-permitted", "{}", process.log());
        assert_eq!(attempt(address, &writes, "write", &file), "ok 3 bytes");
        assert_eq!(attempt(address, &reads, "stat", &file), "ok 3 bytes");
        for token in &nearly {
            assert_eq!(attempt(address, token, "write", &file), "not-permitted");
        }
        assert_eq!(attempt(address, CI, "write", "built"), "ok 3 bytes");
        assert_eq!(attempt(address, CI, "stat", &file), "no-entry", "its folder is another one");
        // What is read when an instance starts, which may be made before the call.
        let environment = |token: &str| text(address, token, "folders_environment", json!({}));
        assert_eq!(environment(&reads), r#"[("BASE", "yes"), ("WHO", "all")]"#);
        assert_eq!(environment(&writes), r#"[("BASE", "yes"), ("WHO", "writers")]"#);
        assert_eq!(environment(CI), r#"[("BASE", "yes"), ("WHO", "all")]"#);
        let settings = |token: &str| text(address, token, "folders_settings", json!({}));
        assert!(settings(&writes).starts_with("[(\"unit\", \"metric\")]"), "{}", settings(&writes));
        assert!(settings(CI).starts_with("[(\"unit\", \"imperial\")]"), "{}", settings(CI));
    }
    assert!(home.path("other/built").exists() && !home.path("shared/built").exists());
    let log = process.log_with("access denied: missing grant `fs`");
    // What is suggested would grant to all what some have: that is said.
    let hint = "only callers have it for whom writers, the build job of `[[plugins.folders.extra]]` holds; to grant it to all, put";
    assert!(log.contains(hint), "{log}");
    let audit = fs::read_to_string(home.path("state/wharf/audit.jsonl")).expect("the audit log");
    let extras = |principal: &str| -> Vec<Option<String>> {
        let records = audit.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let own = records.filter(|record| record["event"] == "call" && record["principal"] == principal);
        own.map(|record| record["extra"].as_str().map(str::to_owned)).collect()
    };
    assert!(extras("ci").iter().all(|extra| extra.as_deref() == Some("the build job")), "{audit}");
    let ada = extras(&format!("{}#ada", issuer.url()));
    assert!(ada.contains(&None) && ada.contains(&Some("writers".into())), "{ada:?}");
}

/// A proxy sends requests of many users on one connection.
#[test]
fn users_of_one_connection_have_only_their_own() {
    let issuer = Issuer::start();
    let (_home, _process, address) = start(&issuer, &["folders"], WRITERS);
    let (reads, writes) = (issuer.token("ada"), with_scope(&issuer, "bob", "files:write"));
    let mut connection = HttpConnection::connect(address);
    let mut see = |token: &str| {
        let message = stateless(1, "tools/call", json!({"name": "folders_environment", "arguments": {}}));
        let response = connection.exchange(&by(Endpoint::new(address).post(&message), token));
        let answer: Value = serde_json::from_slice(&response.body).expect("JSON");
        first_text(&answer["result"]).to_owned()
    };
    for _ in 0..20 {
        assert_eq!(see(&reads), r#"[("BASE", "yes"), ("WHO", "all")]"#);
        assert_eq!(see(&writes), r#"[("BASE", "yes"), ("WHO", "writers")]"#);
        assert_eq!(see(&writes), r#"[("BASE", "yes"), ("WHO", "writers")]"#);
        assert_eq!(see(CI), r#"[("BASE", "yes"), ("WHO", "all")]"#);
    }
}

#[test]
fn several_that_hold_add_up_and_the_later_one_decides() {
    let issuer = Issuer::start();
    let all: String = (0..8)
        .map(|bit| {
            format!(
                "[[plugins.folders.extra]]\nwhen = {{ scope = 'bit:{bit}' }}\n\
                 grants = {{ env = {{ BIT{bit} = 'set', LAST = '{bit}' }} }}\n"
            )
        })
        .collect();
    let rights =
        "[rights]\nscopes = { all = ['bit:0', 'bit:1', 'bit:2', 'bit:3', 'bit:4', 'bit:5', 'bit:6', 'bit:7'] }\n";
    let (_home, _process, address) = start(&issuer, &["folders"], &format!("{all}{rights}"));
    // All combinations, some of them at the same time.
    thread::scope(|scope| {
        for part in 0..4 {
            let issuer = &issuer;
            scope.spawn(move || {
                for mask in (part..256).step_by(4) {
                    let held: Vec<u32> = (0..8).filter(|bit| mask >> bit & 1 == 1).collect();
                    let scopes: Vec<String> = held.iter().map(|bit| format!("bit:{bit}")).collect();
                    let token = with_scope(issuer, "ada", &scopes.join(" "));
                    let mut expected: Vec<(String, String)> =
                        held.iter().map(|bit| (format!("BIT{bit}"), "set".to_owned())).collect();
                    expected.extend(held.last().map(|last| ("LAST".to_owned(), last.to_string())));
                    assert_eq!(text(address, &token, "folders_environment", json!({})), format!("{expected:?}"));
                }
            });
        }
    });
    let implied = text(address, &with_scope(&issuer, "bob", "all"), "folders_environment", json!({}));
    assert!(implied.contains("BIT0") && implied.contains("(\"LAST\", \"7\")"), "{implied}");
}

#[test]
fn limits_are_those_of_the_caller() {
    let issuer = Issuer::start();
    let settings = "[plugins.hostile.limits]\ntimeout = '30s'\n[plugins.echo.limits]\noutput = '1 KiB'\n\
         [[plugins.hostile.extra]]\nwhen = { token = 'ci' }\nlimits = { timeout = '300ms' }\n\
         [[plugins.hostile.extra]]\nwhen = { scope = 'quick' }\nlimits = { cpu = '200ms' }\n\
         [[plugins.echo.extra]]\nwhen = { scope = 'long' }\nlimits = { output = '1 MiB' }\n";
    let (_home, _process, address) = start(&issuer, &["hostile", "echo"], settings);
    let ada = issuer.token("ada");
    let code = |token: &str, tool: &str, with: Value| {
        call(address, token, tool, with)["_meta"]["wharf/fault"]["code"].as_str().map(str::to_owned)
    };
    // In turns, while each computes on the same permits.
    for _ in 0..2 {
        assert_eq!(code(CI, "hostile_sleep", json!({"seconds": 5})).as_deref(), Some("timeout"));
        assert_eq!(code(&ada, "hostile_sleep", json!({"seconds": 1})), None);
        let spins = code(&with_scope(&issuer, "ada", "quick"), "hostile_random-spin", json!({}));
        assert_eq!(spins.as_deref(), Some("cpu"));
    }
    let message = "x".repeat(4000);
    assert_eq!(code(&ada, "echo", json!({"message": message})).as_deref(), Some("output-too-large"));
    assert_eq!(text(address, &with_scope(&issuer, "ada", "long"), "echo", json!({"message": message})), message);
}

/// Calls of all share the plugin's permits: an extra gives nobody more of them.
#[test]
fn calls_at_a_time_are_those_of_the_plugin() {
    let issuer = Issuer::start();
    let settings = "[plugins.hostile.limits]\nconcurrency = 1\nqueue = 0\ntimeout = '20s'\n\
         [[plugins.hostile.extra]]\nwhen = { token = 'ci' }\nlimits = { timeout = '3s' }\n";
    let (_home, process, address) = start(&issuer, &["hostile"], settings);
    let ada = issuer.token("ada");
    let code = |token: &str, tool: &str, with: Value| {
        let fault = call(address, token, tool, with)["_meta"]["wharf/fault"]["code"].clone();
        fault.as_str().map(str::to_owned)
    };
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let sleeps = || code(CI, "hostile_sleep", json!({}));
            std::iter::repeat_with(sleeps).find(|code| code.as_deref() != Some("busy")).flatten()
        });
        // It ends at the limit of its caller, after which others may call again.
        let mut seen = Vec::new();
        while !slow.is_finished() {
            seen.push(code(&ada, "hostile_sane", json!({})));
        }
        assert!(seen.contains(&Some("busy".into())), "{}", process.log());
        assert_eq!(slow.join().expect("no panic").as_deref(), Some("timeout"));
    });
    assert_eq!(code(&ada, "hostile_sane", json!({})), None);
}

#[test]
fn requests_and_questions_of_a_plugin_are_those_of_its_caller() {
    let issuer = Issuer::start();
    let site = Site::page("text/plain", "here");
    let settings = format!(
        "[[plugins.online.extra]]\nname = 'the net'\nwhen = {{ scope = 'net' }}\ngrants = {{ {} }}\n\
         [[plugins.asking.extra]]\nname = 'asked'\nwhen = {{ scope = 'ask' }}\ngrants = {{ elicit = true }}\n",
        site.grant()
    );
    let (home, process, address) = start(&issuer, &["online"], &settings);
    home.put("everything", "asking");
    let (ada, bob) = (with_scope(&issuer, "ada", "net ask"), issuer.token("bob"));
    let fetch = |token: &str| call(address, token, "online_fetch", json!({"url": site.url("/x")}));
    for _ in 0..2 {
        assert_eq!(fetch(&bob)["_meta"]["wharf/fault"]["code"], "denied");
        assert_eq!(first_text(&fetch(&ada)), "200 \nhere");
    }
    assert_eq!(site.heads().len(), 2, "nothing else was sent");
    process
        .log_with("only callers have it for whom the net of `[[plugins.online.extra]]` holds; to grant it to all, put");
    let ask = |token: &str| {
        let mut message = stateless(
            1,
            "tools/call",
            json!({"name": "asking_test_input_required_result_elicitation", "arguments": {}}),
        );
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
        exchange(address, token, &message).text().to_owned()
    };
    assert!(ask(&ada).contains("input_required"), "{}", ask(&ada));
    assert!(!ask(&bob).contains("input_required"), "{}", ask(&bob));
}

#[test]
fn changes_hold_for_the_next_call_and_lists_stay() {
    let issuer = Issuer::start();
    let (home, process, address) = start(&issuer, &["folders"], WRITERS);
    let writes = with_scope(&issuer, "ada", "files:write");
    assert_eq!(attempt(address, &writes, "write", "one"), "ok 3 bytes");
    let list = |token: &str| exchange(address, token, &stateless(1, "tools/list", json!({}))).text().to_owned();
    assert_eq!(list(&writes), list(&issuer.token("bob")));
    configure(&home, &issuer, &WRITERS.replace("files:write", "files:admin"));
    let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
    while attempt(address, &writes, "write", "two") != "not-permitted" {
        assert!(std::time::Instant::now() < deadline, "{}", process.log());
    }
    assert_eq!(attempt(address, &with_scope(&issuer, "bob", "files:admin"), "write", "two"), "ok 3 bytes");
}

/// Who approves a version is shown what it gets for some, too; more needs another approval.
#[test]
fn approvals_are_for_all_grants() {
    let issuer = Issuer::start();
    let strict = format!("[server]\ntrust = 'strict'\n{}", WRITERS.replace("OTHER", "SHARED"));
    let home = home(&issuer, &["folders"], &strict);
    let dir = home.plugins();
    let dir = dir.to_str().expect("UTF-8");
    let approved = run(&home, ["approve", "folders", dir, "--yes"]);
    let shown = String::from_utf8_lossy(&approved.stdout).into_owned() + &String::from_utf8_lossy(&approved.stderr);
    assert!(approved.status.success(), "{shown}");
    for grant in ["fs /data, read, from", "fs /data, write, from", "env WHO", "config unit", "to callers of writers: "]
    {
        assert!(shown.contains(grant), "{grant}: {shown}");
    }
    let state = || {
        let status = run(&home, ["status", dir, "--json"]);
        let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
        status["plugins"][0].clone()
    };
    let status = state();
    assert_eq!(status["state"], "runs", "{status}");
    assert_eq!(status["extra"][0]["name"], "writers", "{status}");
    let more = "[[plugins.folders.extra]]\nwhen = { subject = 'ada' }\ngrants = { elicit = true }\n";
    configure(&home, &issuer, &format!("{strict}{more}"));
    let status = state();
    assert_eq!((&status["state"], &status["code"]), (&json!("held"), &json!("other_grants")), "{status}");
}

#[test]
fn the_operator_is_shown_who_has_what() {
    let issuer = Issuer::start();
    let settings = WRITERS.replace("'ci' }\ngrants", "'ci' }\nlimits = { timeout = '2m' }\ngrants");
    let home = home(&issuer, &["folders"], &settings);
    let shown = |words: &[&str]| {
        let output = run(&home, words);
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let dir = home.plugins();
    let dir = dir.to_str().expect("UTF-8");
    let ci = shown(&["rights", "ci", dir]);
    assert!(ci.contains("folders\n  all      config unit, env BASE, env WHO, fs /data, read, from"), "{ci}");
    assert!(ci.contains("has not  env WHO, fs /data, write, from"), "{ci}");
    assert!(ci.contains("has      config unit, fs /data, write, from"), "{ci}");
    assert!(ci.contains("timeout 2m  the build job"), "{ci}");
    let claims = "{\"sub\":\"ada\",\"scope\":\"files:write\"}";
    let ada: Value = serde_json::from_str(&shown(&["rights", claims, dir, "--json"])).expect("JSON");
    let holds: Vec<&Value> = ada["extra"].as_array().expect("a list").iter().map(|extra| &extra["holds"]).collect();
    assert_eq!(holds, [&json!(true), &json!(false)], "{ada}");
    let status = shown(&["status", dir]);
    assert!(status.contains("extra    to callers of writers: env WHO, fs /data, write, from"), "{status}");
    let check = shown(&["check", home.plugin("folders").to_str().expect("UTF-8")]);
    assert!(check.contains("/data, granted to read, from"), "{check}");
    assert!(check.contains("extra    to callers of the build job: config unit"), "{check}");
}

/// Over stdio there is no token.
#[test]
fn who_needs_no_token_is_local() {
    let home = Home::with(&["folders"]);
    home.configure("[[plugins.folders.extra]]\nwhen = { token = 'local' }\ngrants = { env = { WHO = 'local' } }\n");
    let mut client = Client::start(&home);
    assert_eq!(client.text("folders_environment", json!({})), r#"[("WHO", "local")]"#);
    let called = run(&home, ["call", home.plugins().to_str().expect("UTF-8"), "folders_environment"]);
    let called = String::from_utf8_lossy(&called.stdout).into_owned();
    assert!(called.contains(r#"[("WHO", "local")]"#), "{called}");
}

/// What comes back through something that callers share.
#[test]
fn a_secret_of_some_is_redacted_for_all() {
    let issuer = Issuer::start();
    let settings = "[secrets]\nkey = { file = 'key' }\n\
         [plugins.folders.grants]\nfs = [{ host = 'SHARED', guest = '/data' }]\n\
         [[plugins.folders.extra]]\nwhen = { scope = 'keys' }\ngrants = { secrets = ['key'] }\n";
    let home = home(&issuer, &["folders"], settings);
    fs::write(home.path("config/wharf/key"), "a-long-secret-value").expect("a file");
    fs::write(home.path("shared/notes"), "it is a-long-secret-value").expect("a file");
    let (_process, address) = serve(&home, &[]);
    let settings_of = |token: &str| text(address, token, "folders_settings", json!({}));
    let holder = with_scope(&issuer, "ada", "keys");
    assert!(settings_of(&holder).contains("[redacted key]"), "{}", settings_of(&holder));
    assert!(!settings_of(&issuer.token("bob")).contains("key"), "{}", settings_of(&issuer.token("bob")));
    for token in [&holder, &issuer.token("bob")] {
        assert_eq!(attempt(address, token, "read", "notes"), "ok it is [redacted key]");
    }
}

#[test]
fn a_decision_is_for_the_extras_that_were_asked_about() {
    let issuer = Issuer::start();
    let rights = "[rights]\ndefault = 'everything'\napprover = 'operator'\n\
         [[rights.rules]]\nplugins = ['folders']\nask = 'always'\n";
    let (home, _process, address) = start(&issuer, &["folders"], &format!("{WRITERS}{rights}"));
    let (reads, writes) = (issuer.token("ada"), with_scope(&issuer, "ada", "files:write"));
    let code = |token: &str| {
        let with = json!({"what": "write", "path": "x", "count": 3});
        let answer = call(address, token, "folders_attempt", with);
        (answer["_meta"]["wharf/fault"]["code"].as_str().map(str::to_owned), first_text(&answer).to_owned())
    };
    assert_eq!(code(&reads).0.as_deref(), Some("approval-required"));
    let list = || -> Value {
        let output = run(&home, ["approvals", "--json"]);
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let id = |list: &Value, at: usize| list[at]["id"].as_str().expect("an id").to_owned();
    assert!(run(&home, ["approvals", "allow", &id(&list(), 0)]).status.success());
    // The same call by the same user, with more.
    assert_eq!(code(&writes).0.as_deref(), Some("approval-required"));
    let waiting = list();
    let asked = waiting.as_array().expect("a list").iter().find(|request| request["extra"] == "writers");
    let asked = asked.unwrap_or_else(|| panic!("{waiting}"))["id"].as_str().expect("an id");
    assert!(run(&home, ["approvals", "allow", asked]).status.success());
    assert_eq!(code(&writes), (None, "ok 3 bytes".into()));
    assert_eq!(code(&reads), (None, "not-permitted".into()), "what was allowed first");
}

/// Its owner loses access with the next reload, whatever names it still.
#[test]
fn a_token_that_is_still_named_can_be_removed() {
    let issuer = Issuer::start();
    let (home, process, address) = start(&issuer, &["folders"], WRITERS);
    assert_eq!(attempt(address, CI, "write", "x"), "ok 3 bytes");
    let without = format!(
        "{}{}",
        oauth(&issuer),
        WRITERS
            .replace("SHARED", &home.path("shared").display().to_string())
            .replace("OTHER", &home.path("other").display().to_string())
    );
    home.configure(&without);
    process.signal(rustix::process::Signal::HUP);
    let nobody =
        "'the build job' of [[plugins.folders.extra]] is for nobody: there is no token \"ci\"; configured are: local";
    process.log_with(nobody);
    let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
    let message = stateless(1, "tools/list", json!({}));
    while exchange(address, CI, &message).status != 401 {
        assert!(std::time::Instant::now() < deadline, "{}", process.log());
    }
    assert_eq!(attempt(address, &with_scope(&issuer, "ada", "files:write"), "write", "x"), "ok 3 bytes");
}
