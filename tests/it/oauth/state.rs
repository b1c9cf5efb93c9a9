//! What plugins keep by user.

use serde_json::{Value, json};

use super::issuer::{Issuer, RESOURCE, by};
use crate::support::home::Home;
use crate::support::http::{HttpConnection, serve};
use crate::support::process::run;
use crate::support::streamable::{Endpoint, stateless};

#[test]
fn each_user_has_values_of_their_own() {
    let (issuer, other) = (Issuer::start(), Issuer::start());
    let home = Home::with(&["notes"]);
    std::fs::write(home.path("config/ci"), "ci-0123456789abcdef").expect("a file");
    let configure = |keyvalue: &str| {
        home.configure(&format!(
            "[server.http]\ntokens = [{{ name = 'ci', file = '{}' }}]\n[server.http.oauth]\nresource = '{RESOURCE}'\n\
             issuers = [{{ issuer = '{}' }}, {{ issuer = '{}' }}]\n[plugins.notes.grants]\nkeyvalue = {keyvalue}\n",
            home.path("config/ci").display(),
            issuer.url(),
            other.url()
        ));
    };
    configure("{ per = 'subject', quota = '1 KiB' }");
    let (_process, address) = serve(&home, &[]);
    let endpoint = Endpoint::new(address);
    let call = |token: &str, tool: &str, arguments: Value| -> Value {
        let message = stateless(1, "tools/call", json!({"name": tool, "arguments": arguments}));
        let response = HttpConnection::connect(address).exchange(&by(endpoint.post(&message), token));
        serde_json::from_slice::<Value>(&response.body).expect("JSON")["result"].clone()
    };
    let users = [issuer.token("ada"), issuer.token("bob"), other.token("ada"), "ci-0123456789abcdef".to_owned()];
    for (at, user) in users.iter().enumerate() {
        let added = call(user, "notes_add", json!({"text": format!("mine-{at}")}));
        assert_ne!(added["isError"], true, "{added}");
    }
    for (at, user) in users.iter().enumerate() {
        let listed = call(user, "notes_list", json!({})).to_string();
        for other in 0..users.len() {
            assert_eq!(listed.contains(&format!("mine-{other}")), other == at, "{at}: {listed}");
        }
    }
    // Another token of the same user.
    let again = issuer.with("ada", "jti", json!("2"));
    assert!(call(&again, "notes_list", json!({})).to_string().contains("mine-0"));
    // Who has reached their quota does not reach that of others.
    let full = (0..40).any(|_| {
        call(&users[0], "notes_add", json!({"text": "x".repeat(100)})).to_string().contains("at most 1024 bytes")
    });
    assert!(full);
    assert_ne!(call(&users[1], "notes_add", json!({"text": "still"}))["isError"], true);
    // The same person at the command line is nobody of them.
    let folder = home.plugins();
    let output = run(&home, ["call".as_ref(), folder.as_os_str(), "notes_list".as_ref()]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && !shown.contains("mine"), "{shown}");
}
