//! Token exchange through the real binary: a plugin's requests act for the caller, and nobody sees a token.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::issuer::Issuer;
use super::own::{call, oauth};
use crate::support::client::first_text;
use crate::support::home::Home;
use crate::support::http::serve;
use crate::support::process::Process;
use crate::support::site::{Site, field, write};

const ACCESS: &str = "urn:ietf:params:oauth:token-type:access_token";

/// An authorization server's endpoint that exchanges a token, each for one that tells whose it was; and what it got.
fn exchange() -> (Site, Arc<Mutex<Vec<String>>>) {
    let forms = Arc::new(Mutex::new(Vec::new()));
    let seen = forms.clone();
    let site = Site::start(move |head, connection| {
        let length = field(head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut form = vec![0; length];
        connection.read_exact(&mut form).expect("a body");
        let form = String::from_utf8(form).expect("UTF-8");
        let own = form.split('&').find_map(|pair| pair.strip_prefix("subject_token=")).expect("a token").to_owned();
        let number = {
            let mut seen = seen.lock().expect("no panic");
            seen.push(form);
            seen.iter().position(|form| form.contains(&own)).expect("it was pushed")
        };
        let answer = json!({"access_token": format!("exchanged-{number}"), "issued_token_type": ACCESS,
            "token_type": "Bearer", "expires_in": 300});
        write(connection, "200 OK", "Content-Type: application/json\r\n", &answer.to_string());
    });
    (site, forms)
}

/// A service that echoes what it was sent, reversed so that it is not redacted, and as it is.
fn upstream() -> Site {
    Site::start(|head, connection| {
        let sent = field(head, "authorization").unwrap_or("nothing").to_owned();
        let reversed: String = sent.chars().rev().collect();
        write(connection, "200 OK", "", &format!("{reversed} {sent}"));
    })
}

fn start(issuer: &Issuer, endpoint: &str, upstream: &Site) -> (Home, Process, SocketAddr) {
    let home = Home::with(&["online"]);
    std::fs::write(home.path("token"), "0123456789abcdef").expect("a file");
    std::fs::write(home.path("client"), "client-s3cret").expect("a file");
    let secret = format!(
        "{{ exchange = {{ endpoint = '{endpoint}', client-id = 'wharf', client-secret = {{ file = '../../client' }}, audience = 'notes' }} }}"
    );
    home.configure(&format!(
        "[server.http]\ntokens = [{{ name = 'ci', file = '../../token' }}]\n{}[secrets]\nupstream = {secret}\n\
         [plugins.online.grants]\nhttp = [\n\
         {{ url = '{}/own', private = true, headers = {{ Authorization = 'Bearer ${{upstream}}' }} }},\n\
         {{ url = '{}/other', private = true }}]\n",
        oauth(issuer),
        upstream.url(""),
        upstream.url("")
    ));
    let (process, address) = serve(&home, &["--log", "trace"]);
    (home, process, address)
}

#[test]
fn requests_act_for_their_caller_and_nobody_sees_a_token() {
    let issuer = Issuer::start();
    let ((endpoint, forms), service) = (exchange(), upstream());
    let (home, process, address) = start(&issuer, &endpoint.url("/token"), &service);
    let (ada, bob) = (issuer.token("ada"), issuer.token("bob"));
    let fetch = |token: &str, path: &str| call(address, token, "online_fetch", json!({"url": service.url(path)}));
    let reversed = |text: &str| text.chars().rev().collect::<String>();
    for _ in 0..3 {
        for (token, number) in [(&ada, 0), (&bob, 1)] {
            let sent = format!("Bearer exchanged-{number}");
            let expected = format!("200 \n{} Bearer [redacted upstream]", reversed(&sent));
            assert_eq!(first_text(&fetch(token, "/own")), expected);
        }
    }
    let told = call(address, &ada, "online_tell", json!({"url": service.url("/own")})).to_string();
    assert!(!told.contains("exchanged-") && told.contains("[redacted upstream]"), "{told}");
    // Another entry of the same plugin has no such header.
    assert_eq!(first_text(&fetch(&ada, "/other")), format!("200 \n{} nothing", reversed("nothing")));
    let forms = forms.lock().expect("no panic").clone();
    assert_eq!(forms.len(), 2, "one exchange for each token: {forms:?}");
    assert!(forms[0].contains(&ada) && forms[1].contains(&bob) && forms[0].ends_with("&audience=notes"));
    // The static token has nothing to exchange.
    let denied = fetch("0123456789abcdef", "/own");
    assert_eq!(denied["_meta"]["wharf/fault"]["code"], "denied", "{denied}");
    assert!(
        first_text(&denied).contains("it needs the secret 'upstream', which is only for users with an access token")
    );
    let log = process.log_with("only for users with an access token");
    let audit = std::fs::read_to_string(home.path("state/wharf/audit.jsonl")).expect("the audit log");
    for secret in [&*ada, &*bob, "exchanged-", "client-s3cret"] {
        let signature = secret.rsplit('.').next().unwrap_or(secret);
        assert!(!log.contains(signature) && !audit.contains(signature), "{secret}");
        assert!(!service.heads().concat().contains(signature) || secret == "exchanged-", "{secret}");
    }
}

#[test]
fn without_an_exchange_a_request_is_denied_and_nothing_is_sent() {
    let issuer = Issuer::start();
    let (service, wrong) = (upstream(), Site::page("application/json", "{\"error\":\"no\"}"));
    let (_home, process, address) = start(&issuer, &wrong.url("/token"), &service);
    let denied = call(address, &issuer.token("ada"), "online_fetch", json!({"url": service.url("/own")}));
    assert_eq!(denied["_meta"]["wharf/fault"]["code"], "denied", "{denied}");
    assert!(first_text(&denied).contains("'upstream', which was not given by the issuer: sign in again"), "{denied}");
    let host = wrong.url("").replace("http://", "");
    assert!(!denied.to_string().contains(&host), "{denied}");
    process.log_with(&format!("was not given by the issuer: {host} gave a token of another kind"));
    assert!(service.heads().is_empty());
}
