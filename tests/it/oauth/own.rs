//! What each user has of their own: secrets. Two subjects, each against the other, and others who are called like them.

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::issuer::{Issuer, RESOURCE, by};
use crate::support::client::first_text;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, serve};
use crate::support::process::{Process, run};
use crate::support::site::{Site, field, write};
use crate::support::streamable::{Endpoint, stateless};

/// Short, so that they are not redacted; and one that is.
const ADA: &str = "k-ada";
const BOB: &str = "k-bob";
const LONG: &str = "a-long-secret-of-ada";

pub(super) fn oauth(issuer: &Issuer) -> String {
    format!("[server.http.oauth]\nresource = '{RESOURCE}'\nissuers = [{{ issuer = '{}' }}]\n", issuer.url())
}

pub(super) fn call(address: SocketAddr, token: &str, tool: &str, arguments: Value) -> Value {
    let message = stateless(1, "tools/call", json!({"name": tool, "arguments": arguments}));
    let response = HttpConnection::connect(address).exchange(&by(Endpoint::new(address).post(&message), token));
    assert_eq!(response.status, 200, "{}", response.text());
    let answer: Value = serde_json::from_slice(&response.body).expect("JSON");
    answer["result"].clone()
}

fn start(issuer: &Issuer, grants: &str) -> (Home, Process, SocketAddr) {
    let home = Home::with(&["folders", "online"]);
    fs::create_dir(home.path("secrets")).expect("a folder");
    put(&home, "ada", ADA);
    put(&home, "bob", BOB);
    let secret =
        format!("[secrets]\nkey = {{ file = '{}/{{subject}}', per = 'subject' }}\n", home.path("secrets").display());
    let token = "[server.http]\ntokens = [{ name = 'bob', file = '../../token' }]\n";
    fs::write(home.path("token"), "0123456789abcdef").expect("a file");
    home.configure(&format!("{token}{}{secret}{grants}", oauth(issuer)));
    let (process, address) = serve(&home, &[]);
    (home, process, address)
}

fn put(home: &Home, name: &str, secret: &str) {
    fs::write(home.path("secrets").join(name), secret).expect("a file");
}

const READABLE: &str = "[plugins.folders.grants]\nsecrets = ['key']\nenv = { KEY = '<${key}>' }\n";

#[test]
fn each_user_reads_only_their_own_secret() {
    let issuer = Issuer::start();
    let (home, process, address) = start(&issuer, READABLE);
    let see = |token: &str| {
        let text = |tool: &str| first_text(&call(address, token, tool, json!({}))).to_owned();
        (text("folders_settings"), text("folders_environment"))
    };
    let (ada, bob) = (issuer.token("ada"), issuer.token("bob"));
    let seen = |key: &str| {
        (format!("[(\"key\", \"{key}\")] Some(Ok(Some(\"{key}\"))) Ok(None)"), format!("[(\"KEY\", \"<{key}>\")]"))
    };
    // In turns, so that nothing is left of the one before.
    for _ in 0..3 {
        assert_eq!(see(&ada), seen(ADA));
        assert_eq!(see(&bob), seen(BOB));
    }
    let nothing = ("[] None Ok(None)".to_owned(), "[]".to_owned());
    let long = "b".repeat(255);
    for stranger in ["../bob", "bob/", "BOB", "b%6fb", "b\u{43e}b", ".", "carol", &long] {
        assert_eq!(see(&issuer.token(stranger)), nothing, "{stranger}");
    }
    // The static token of that name is another identity.
    assert_eq!(see("0123456789abcdef"), nothing);
    let path = home.path("secrets").display().to_string();
    for (name, who) in [("carol", "carol"), ("@bob", "bob"), ("%42%4F%42", "BOB"), ("%2E.%2Fbob", "../bob")] {
        let log =
            process.log_with(&format!("cannot be read: No such file or directory (os error 2): {path}/{name} (of "));
        assert!(log.contains("access denied: grant cannot be used: it needs the secret 'key', which"), "{who}: {log}");
    }
    // Not to the guest, nor to the client.
    let denied = call(address, &issuer.token("carol"), "folders_attempt", json!({"what": "read", "path": "x"}));
    assert!(!denied.to_string().contains(&path), "{denied}");
}

/// Tokens of an issuer that was removed are accepted until the next start; its users are not those of the one that is left.
#[test]
fn users_of_a_removed_issuer_have_nothing_of_others() {
    let (kept, removed) = (Issuer::start(), Issuer::start());
    let home = Home::with(&["folders"]);
    let secrets = home.path("secrets").display().to_string();
    let configure = |issuers: &[&Issuer], file: &str| {
        let issuers: Vec<String> = issuers.iter().map(|own| format!("{{ issuer = '{}' }}", own.url())).collect();
        home.configure(&format!(
            "[server.http.oauth]\nresource = '{RESOURCE}'\nissuers = [{}]\n[secrets]\n\
             key = {{ file = '{secrets}/{file}', per = 'subject' }}\n{READABLE}",
            issuers.join(", ")
        ));
    };
    fs::create_dir(home.path("secrets")).expect("a folder");
    put(&home, "bob", BOB);
    configure(&[&kept, &removed], "{issuer}/{subject}");
    let (process, address) = serve(&home, &[]);
    let see =
        |issuer: &Issuer| first_text(&call(address, &issuer.token("bob"), "folders_environment", json!({}))).to_owned();
    assert_eq!([see(&kept), see(&removed)], ["[]", "[]"]);
    configure(&[&kept], "{subject}");
    let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
    while see(&kept) == "[]" {
        assert!(std::time::Instant::now() < deadline, "{}", process.log());
    }
    assert_eq!([see(&kept), see(&removed)], [format!("[(\"KEY\", \"<{BOB}>\")]"), "[]".to_owned()]);
}

/// Two looks at a file are a few seconds apart.
#[test]
fn a_changed_secret_counts_soon() {
    let issuer = Issuer::start();
    let (home, _process, address) = start(&issuer, READABLE);
    let carol = issuer.token("carol");
    let see = || first_text(&call(address, &carol, "folders_environment", json!({}))).to_owned();
    assert_eq!(see(), "[]");
    let until = |wanted: &str| {
        let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
        while see() != wanted {
            assert!(std::time::Instant::now() < deadline, "{} is not {wanted}", see());
        }
    };
    put(&home, "carol", "k-one");
    until("[(\"KEY\", \"<k-one>\")]");
    put(&home, "carol", "k-two");
    until("[(\"KEY\", \"<k-two>\")]");
    fs::remove_file(home.path("secrets/carol")).expect("it is there");
    until("[]");
}

#[test]
fn requests_of_each_user_have_their_own_secret_which_is_redacted() {
    let issuer = Issuer::start();
    // It echoes what it was sent.
    let site = Site::start(|head, connection| {
        let sent = field(head, "authorization").unwrap_or_default().to_owned();
        write(connection, "200 OK", "", &sent);
    });
    let grant = format!(
        "[plugins.online.grants]\nhttp = [{{ url = '{}', private = true, headers = {{ Authorization = 'Bearer ${{key}}' }} }}]\n",
        site.url("")
    );
    let (home, process, address) = start(&issuer, &grant);
    put(&home, "ada", LONG);
    let fetch = |token: &str| call(address, token, "online_fetch", json!({"url": site.url("/x")}));
    assert_eq!(first_text(&fetch(&issuer.token("bob"))), format!("200 \nBearer {BOB}"));
    assert_eq!(first_text(&fetch(&issuer.token("ada"))), "200 \nBearer [redacted key]");
    // Each has what finds only their own.
    let told = call(address, &issuer.token("ada"), "online_tell", json!({"url": site.url("/x")}));
    assert!(!told.to_string().contains(LONG), "{told}");
    let before = site.heads().len();
    let denied = fetch(&issuer.token("carol"));
    assert_eq!(denied["_meta"]["wharf/fault"]["code"], "denied", "{denied}");
    assert!(first_text(&denied).contains("it needs the secret 'key', which cannot be read"), "{denied}");
    assert!(!denied.to_string().contains("secrets/carol"), "{denied}");
    assert_eq!(site.heads().len(), before, "nothing was sent");
    let log = process.log_with("secrets/carol (of ");
    assert!(!log.contains(LONG) && !log.contains(BOB), "{log}");
}

#[test]
fn the_operator_can_ask_what_files_are_called() {
    let issuer = Issuer::start();
    let (home, _process, _) = start(&issuer, READABLE);
    let ask = |who: &str, json: bool| {
        let mut words = vec!["rights", who];
        words.extend(json.then_some("--json"));
        String::from_utf8(run(&home, words).stdout).expect("UTF-8")
    };
    let path = home.path("secrets").display().to_string();
    assert!(ask(r#"{"sub":"ada"}"#, false).contains(&format!("of its own\n  secret key  {path}/ada\n")));
    let missing = ask(r#"{"sub":"Carol@acme.example"}"#, false);
    assert!(missing.contains(&format!("{path}/%43arol%40acme.example  cannot be read\n")), "{missing}");
    assert!(ask("bob", false).contains(&format!("{path}/@bob  cannot be read\n")));
    let shown: Value = serde_json::from_str(&ask("local", true)).expect("JSON");
    let own = json!([{"what": "secret key", "place": format!("{path}/@local"), "problem": "cannot be read"}]);
    assert_eq!(shown["own"], own);
}
