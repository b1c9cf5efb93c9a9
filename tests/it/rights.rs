//! `[rights]`: what clients see and may use, by who they are.

use std::net::SocketAddr;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, Response, serve};
use crate::support::process::run;
use crate::support::streamable::{Endpoint, initialize, request, stateless};

const TOKENS: [(&str, &str); 2] = [("ci", "ci-0123456789abcdef"), ("me", "me-0123456789abcdef")];

fn home(guests: &[&str], server: &str, rights: &str) -> Home {
    let home = Home::with(guests);
    for (name, secret) in TOKENS {
        std::fs::create_dir_all(home.path("config/wharf")).expect("a folder");
        std::fs::write(home.path(&format!("config/wharf/{name}")), secret).expect("a file");
    }
    home.configure(&format!(
        "[server]\n{server}\n[server.http]\ntokens = [{{ name = 'ci', file = 'ci' }}, {{ name = 'me', file = 'me' }}]\n\
         [plugins.notes.grants]\nkeyvalue = true\n{rights}"
    ));
    home
}

/// A client with a token, in a session or stateless.
struct Caller {
    endpoint: Endpoint,
    token: &'static str,
}

impl Caller {
    /// The same token in both eras.
    fn both(address: SocketAddr, name: &str) -> [Self; 2] {
        let token = TOKENS.iter().find(|(other, _)| *other == name).expect("a token").1;
        let mut session = Self { endpoint: Endpoint::new(address), token };
        let response = session.exchange(&session.endpoint.post(&initialize("2025-11-25")));
        session.endpoint.session = response.header("mcp-session-id").map(str::to_owned);
        session.endpoint.version = Some("2025-11-25".into());
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.exchange(&session.endpoint.post(&initialized)).status, 202);
        [session, Self { endpoint: Endpoint::new(address), token }]
    }

    fn by(&self, request: Request) -> Request {
        request.with("Authorization", &format!("Bearer {}", self.token))
    }

    fn exchange(&self, request: &Request) -> Response {
        HttpConnection::connect(self.endpoint.address).exchange(&self.by(request.clone()))
    }

    fn message(&self, method: &str, params: Value) -> Value {
        let message = if self.endpoint.session.is_some() { request } else { stateless };
        message(1, method, params)
    }

    fn answer(&self, method: &str, params: Value) -> Value {
        let response = self.exchange(&self.endpoint.post(&self.message(method, params)));
        serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()))
    }

    fn listed(&self, kind: &str, key: &str) -> Vec<String> {
        let (method, member) = match kind {
            "templates" => ("resources/templates/list".to_owned(), "resourceTemplates"),
            kind => (format!("{kind}/list"), kind),
        };
        let answer = self.answer(&method, json!({}));
        assert_eq!(answer["result"].get("cacheScope").and_then(Value::as_str).unwrap_or("private"), "private");
        let all = answer["result"][member].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        all.iter().map(|entry| entry[key].as_str().expect("a text").to_owned()).collect()
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        self.answer("tools/call", json!({"name": tool, "arguments": arguments}))
    }
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

/// An error without the name that it is about.
fn without_name(answer: &Value, name: &str) -> String {
    assert!(answer.get("error").is_some(), "{answer}");
    answer.to_string().replace(name, "NAME")
}

const RULES: &str = "[rights]\ndefault = 'nothing'\n\
    [[rights.rules]]\nplugins = ['text']\n\
    [[rights.rules]]\nname = 'ci reads'\nwhen = { token = 'ci' }\ntools = ['notes/list', 'notes/sea*']\n\
    prompts = ['everything/test_simple_prompt']\nresources = ['test://static*', 'test://template/*']\n\
    [[rights.rules]]\nname = 'me'\nwhen = { token = 'me' }\nplugins = ['*']\n\
    [[rights.rules]]\nwhen = { token = 'm*' }\ndeny = true\ntools = ['*/delete', 'everything/*']\n";

#[test]
fn each_sees_and_calls_what_is_theirs() {
    let home = home(&["notes", "text", "everything"], "trust = 'dev'", RULES);
    let (_process, address) = serve(&home, &[]);
    for ci in Caller::both(address, "ci") {
        let tools = ci.listed("tools", "name");
        assert_eq!(tools[..2], names(&["notes_list", "notes_search"]), "{tools:?}");
        assert!(tools[2..].iter().all(|tool| tool.starts_with("text_")) && tools.len() > 4, "{tools:?}");
        assert_eq!(ci.listed("prompts", "name"), ["everything_test_simple_prompt"]);
        assert_eq!(ci.listed("resources", "uri"), ["test://static-text", "test://static-binary"]);
        assert_eq!(ci.listed("templates", "uriTemplate"), ["test://template/{id}/data"]);
        assert!(ci.call("notes_list", json!({})).get("result").is_some());
        // What is not theirs is as if it were not there.
        for (there, absent) in
            [("notes_add", "notes_adx"), ("everything_test_image_content", "everything_test_image_contenx")]
        {
            let (denied, unknown) = (ci.call(there, json!({})), ci.call(absent, json!({})));
            assert_eq!(without_name(&denied, there), without_name(&unknown, absent));
            assert_eq!(denied["error"]["data"]["reason"], "tool_not_found");
        }
        let prompt = |name: &str| ci.answer("prompts/get", json!({"name": name}));
        assert!(prompt("everything_test_simple_prompt").get("result").is_some());
        let (there, absent) = ("everything_test_prompt_with_image", "everything_test_prompt_with_imagx");
        assert_eq!(without_name(&prompt(there), there), without_name(&prompt(absent), absent));
        let read = |uri: &str| ci.answer("resources/read", json!({"uri": uri}));
        assert!(
            read("test://static-text").get("result").is_some()
                && read("test://template/7/data").get("result").is_some()
        );
        for uri in ["test://watched-resource", "test://template/../watched-resource", "test://listed"] {
            let absent = "test://absent";
            assert_eq!(without_name(&read(uri), uri), without_name(&read(absent), absent));
        }
        // Of a plugin of which only some things may be used, there are no capabilities and methods.
        let method = ci.answer("everything/echo", json!({}));
        assert_eq!(method["error"]["code"], -32601, "{method}");
        let complete = |kind: &str, name: &str| {
            let reference = json!({"type": "ref/prompt", "name": name});
            ci.answer("completion/complete", json!({"ref": reference, "argument": {"name": kind, "value": ""}}))
        };
        let (there, absent) = ("everything_test_prompt_with_arguments", "everything_test_prompt_with_argumentx");
        assert_eq!(without_name(&complete("arg1", there), there), without_name(&complete("arg1", absent), absent));
    }
    for me in Caller::both(address, "me") {
        let tools = me.listed("tools", "name");
        assert!(tools.contains(&"notes_add".to_owned()) && !tools.contains(&"notes_delete".to_owned()), "{tools:?}");
        assert!(!tools.iter().any(|tool| tool.starts_with("everything")), "{tools:?}");
        assert_eq!(me.call("notes_delete", json!({"id": "1"}))["error"]["data"]["reason"], "tool_not_found");
        assert!(me.listed("prompts", "name").len() > 1 && me.listed("resources", "uri").len() > 2);
    }
}

/// A plugin's protocol extension is declared to those who may use the plugin.
#[test]
fn capabilities_are_those_of_plugins_that_may_be_used() {
    let rights = "[rights]\ndefault = 'nothing'\n[[rights.rules]]\nwhen = { token = 'me' }\nplugins = ['everything']\n";
    let home = home(&["everything"], "trust = 'dev'", rights);
    let (_process, address) = serve(&home, &[]);
    for (name, may) in [("me", true), ("ci", false)] {
        let [session, alone] = Caller::both(address, name);
        // Once the plugin is loaded.
        assert_eq!(alone.listed("tools", "name").is_empty(), !may);
        let opened = session.exchange(&Endpoint::new(address).post(&initialize("2025-11-25")));
        let opened: Value = serde_json::from_slice(&opened.body).expect("JSON");
        let discovered = alone.answer("server/discover", json!({}));
        for capabilities in [&opened["result"]["capabilities"], &discovered["result"]["capabilities"]] {
            let declared = capabilities.to_string();
            assert!(capabilities.get("tools").is_some(), "{declared}");
            let own = ["experimental", "extensions"].map(|kind| capabilities.get(kind).cloned().unwrap_or_default());
            // Those of the host are there whatever plugins there are.
            let of_plugin = |name: &String| !name.starts_with("io.modelcontextprotocol/");
            let any = own.iter().any(|own| own.as_object().is_some_and(|own| own.keys().any(of_plugin)));
            assert_eq!((any, capabilities.get("completions").is_some()), (may, may), "{name}: {declared}");
        }
        let method = alone.answer("everything/echo", json!({}));
        assert_eq!(method["error"]["code"] == -32601, !may, "{method}");
    }
}

#[test]
fn what_is_watched_must_be_readable() {
    let home = home(&["notes", "text", "everything"], "trust = 'dev'", RULES);
    let (_process, address) = serve(&home, &[]);
    let [session, alone] = Caller::both(address, "ci");
    for (uri, may) in [("test://static-text", true), ("test://watched-resource", false)] {
        let answer = session.answer("resources/subscribe", json!({"uri": uri}));
        assert_eq!(answer.get("result").is_some(), may, "{answer}");
    }
    let uris = json!(["test://static-text", "test://watched-resource", "test://not-there-yet"]);
    let listen = alone.message("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}));
    let mut stream = Events::open(HttpConnection::connect(address), &alone.by(alone.endpoint.post(&listen)));
    let agreed = stream.next_message().expect("an acknowledgement").json();
    let agreed = &agreed["params"]["notifications"]["resourceSubscriptions"];
    // All of them: what were left out would be there.
    assert_eq!(*agreed, uris);
    let [.., me] = Caller::both(address, "ci");
    let update = me.call("everything_test_update_resource", json!({}));
    assert_eq!(update["error"]["data"]["reason"], "tool_not_found", "nobody of them can cause an update");
}

#[test]
fn tools_of_discovery_find_and_call_only_what_is_theirs() {
    let home = home(&["notes", "text"], "trust = 'dev'\ndiscovery = true", RULES);
    let (_process, address) = serve(&home, &[]);
    for ci in Caller::both(address, "ci") {
        assert_eq!(ci.listed("tools", "name")[..3], names(&["find_tools", "call_tool", "notes_list"]));
        let found = ci.call("find_tools", json!({"query": "note", "limit": 50}));
        let found = found["result"]["structuredContent"]["tools"].as_array().expect("tools");
        let found: Vec<&str> = found.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert!(found.contains(&"notes_list") && !found.contains(&"notes_add"), "{found:?}");
        let called = ci.call("call_tool", json!({"name": "notes_list"}));
        assert!(called.get("result").is_some(), "{called}");
        let (there, absent) = ("notes_add", "notes_adx");
        let called = |name: &str| ci.call("call_tool", json!({"name": name, "arguments": {"text": "x"}}));
        assert_eq!(without_name(&called(there), there), without_name(&called(absent), absent));
    }
    // The command says what the server does.
    let folder = home.plugins();
    let shown = out(&run(&home, ["rights".as_ref(), "ci".as_ref(), folder.as_os_str()]));
    assert!(shown.contains("wharf 2 of 2 allowed"), "{shown}");
}

/// Pages are full whatever is hidden between, and all of them together are the list.
#[test]
fn pages_skip_what_is_hidden() {
    let rights = "[rights]\ndefault = 'nothing'\n[[rights.rules]]\n\
        tools = ['everything/test_t*', 'everything/*content', 'text/diff']\n";
    let home = home(&["everything", "text", "notes"], "trust = 'dev'\npage-size = 3", rights);
    let mut client = Client::start(&home);
    let (mut cursor, mut all) = (json!({}), Vec::new());
    loop {
        let page = client.result("tools/list", cursor);
        let tools: Vec<String> =
            page["tools"].as_array().expect("tools").iter().map(|tool| tool["name"].to_string()).collect();
        all.extend(tools.iter().map(|name| name.trim_matches('"').to_owned()));
        match page.get("nextCursor") {
            Some(next) => {
                assert_eq!(tools.len(), 3, "{page}");
                cursor = json!({"cursor": next});
            }
            None => break,
        }
    }
    assert!(all.len() > 6 && all.last().expect("tools") == "text_diff", "{all:?}");
    assert!(
        all.iter().all(|name| name == "text_diff" || name.contains("_test_t") || name.ends_with("content")),
        "{all:?}"
    );
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn changed_rights_hold_from_the_next_request_on() {
    let everything = "[server]\ntrust = 'dev'\n";
    let home = Home::with(&["everything", "text"]);
    home.configure(everything);
    let mut client = Client::start(&home);
    assert!(client.tools().len() > 10);
    client.result("resources/subscribe", json!({"uri": "test://watched-resource"}));
    client.call("everything_test_update_resource", json!({}));
    client.notification("notifications/resources/updated");
    let only = "[[rights.rules]]\ntools = ['text/*', 'everything/test_update_resource']\n";
    home.configure(&format!("{everything}[rights]\ndefault = 'nothing'\n{only}"));
    for list in ["tools", "prompts", "resources"] {
        client.notification(&format!("notifications/{list}/list_changed"));
    }
    let tools = client.tools();
    assert!(tools.iter().all(|tool| tool.starts_with("text_") || tool.ends_with("update_resource")), "{tools:?}");
    let error = client.error("tools/call", json!({"name": "everything_test_simple_text"}));
    assert_eq!(error["data"]["reason"], "tool_not_found");
    // It was subscribed to while it could be read.
    client.call("everything_test_update_resource", json!({}));
    client.result("ping", json!({}));
    // A file without rights, as while it is written, changes nothing.
    home.configure(everything);
    client.process().log_with("rights unchanged");
    assert_eq!(client.tools(), tools);
    home.configure(&format!("{everything}[rights]\ndefault = 'everything'\n"));
    client.notification("notifications/tools/list_changed");
    assert!(first_text(&client.call("everything_test_simple_text", json!({}))).len() > 3);
    let late = client.finish();
    assert!(late.iter().all(|message| message["method"] != "notifications/resources/updated"), "{late:?}");
}

#[test]
fn an_invalid_rule_changes_nothing_and_is_reported() {
    let home = Home::with(&["text", "notes"]);
    let strict = "[server]\ntrust = 'dev'\n[rights]\ndefault = 'nothing'\n[[rights.rules]]\nplugins = ['text']\n";
    home.configure(strict);
    let mut client = Client::start(&home);
    assert!(client.tools().iter().all(|tool| tool.starts_with("text_")));
    home.configure(&strict.replace("plugins = ['text']", "tools = ['text']"));
    let log = client.process().log_with("has no plugin");
    assert!(log.contains("text/*"), "{log}");
    assert!(client.tools().iter().all(|tool| tool.starts_with("text_")));
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_command_explains_who_may_do_what() {
    let more = "[[rights.rules]]\nwhen = { scope = 'notes:write', group = 'staff' }\nplugins = ['notes']\n\
        [server.http.oauth]\nresource = 'https://tools.example/mcp'\n\
        issuers = [{ issuer = 'https://login.example', groups-claim = 'realm_access.roles' }]\n";
    let home = home(&["notes", "text"], "trust = 'dev'", &format!("{RULES}{more}"));
    let folder = home.plugins();
    let rights = |who: &str, more: &[&str]| {
        let words = ["rights", who].into_iter().chain(more.iter().copied()).map(AsRef::as_ref);
        run(&home, words.chain([folder.as_os_str()]))
    };
    let shown = out(&rights("ci", &[]));
    assert!(shown.contains("allowed  tool      notes_search") && shown.contains("ci reads"), "{shown}");
    assert!(shown.contains("denied   tool      notes_delete") && shown.contains("no rule allows it"), "{shown}");
    assert!(shown.contains("notes 2 of"), "{shown}");
    let claims = r#"{"sub":"ada","realm_access":{"roles":["staff"]}}"#;
    let file = home.path("ada.json");
    std::fs::write(&file, claims).expect("a file");
    for who in [claims, file.to_str().expect("a path")] {
        let shown: Value = serde_json::from_slice(&rights(who, &["--json"]).stdout).expect("JSON");
        assert_eq!(shown["identity"], "https://login.example#ada");
        let of = |name: &str| {
            let all = shown["decisions"].as_array().expect("decisions");
            all.iter().find(|decision| decision["name"] == name).unwrap_or_else(|| panic!("{shown}")).clone()
        };
        assert_eq!(of("notes_add")["scopes"], json!(["notes:write"]));
        assert_eq!(
            of("text_diff"),
            json!({"plugin": "text", "kind": "tool", "name": "text_diff", "allowed": true, "reason": "rule 1"})
        );
    }
    for (who, reason) in [
        ("nobody", "the tokens are: ci, me, local"),
        (r#"{"iss":"https://other.example","sub":"ada"}"#, "is no issuer in server.http.oauth"),
        (r#"{"scope":"x"}"#, "names no subject"),
        ("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl", "this is a token"),
        ("{", "write a JSON object"),
    ] {
        let output = rights(who, &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(reason), "{error}");
        assert!(!error.contains("c2lnbmF0dXJl"), "{error}");
    }
}
