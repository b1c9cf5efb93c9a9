//! Components with async functions, streams and futures, on WASI 0.3: each runs in a process of its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::{Client, first_text};
use crate::support::floods::FLOODS;
use crate::support::home::Home;
use crate::support::process::{Process, run};
use crate::support::site::{Site, field, write};

fn serve(settings: &str) -> (Home, Client<Process>) {
    let home = Home::with(&["concurrent"]);
    home.configure(settings);
    let client = Client::start_modern(&home);
    (home, client)
}

fn text(client: &mut Client<Process>, tool: &str, arguments: Value) -> String {
    client.text(&format!("concurrent_{tool}"), arguments)
}

fn structured(client: &mut Client<Process>, tool: &str, arguments: Value) -> Value {
    let result = client.call(&format!("concurrent_{tool}"), arguments);
    assert_ne!(result["isError"], true, "{tool}: {result}");
    result["structuredContent"].clone()
}

/// The code of what ended a call.
fn fault(client: &mut Client<Process>, tool: &str, arguments: Value) -> Value {
    let result = client.call(&format!("concurrent_{tool}"), arguments);
    assert_eq!(result["isError"], true, "{tool}: {result}");
    result["_meta"]["wharf/fault"]["code"].clone()
}

#[test]
fn async_functions_are_tools() {
    let (_home, mut client) = serve("");
    assert_eq!(text(&mut client, "wait", json!({"milliseconds": 5})), "waited 5 ms");
    assert_eq!(text(&mut client, "echo", json!({"text": "at once"})), "at once");
    // What one call waits for it waits for at the same time.
    let order = structured(&mut client, "race", json!({"milliseconds": [300, 1, 150]}));
    assert_eq!(order, json!([1, 150, 300]));
    let failed = client.call("concurrent_fail", json!({"why": "no luck"}));
    assert_eq!((failed["isError"].as_bool(), first_text(&failed)), (Some(true), "no luck"));
    assert_eq!(fault(&mut client, "crash", json!({})), "trap");
    // As in 0.2, at most 64 KiB at once.
    let random = text(&mut client, "random", json!({"bytes": u32::MAX}));
    assert_eq!(random.trim_matches('"').len(), (64_usize << 10).div_ceil(3) * 4);
}

#[test]
fn calls_wait_beside_each_other() {
    let (_home, mut client) = serve("");
    assert_eq!(text(&mut client, "wait", json!({"milliseconds": 0})), "waited 0 ms");
    let began = Instant::now();
    let call = json!({"name": "concurrent_wait", "arguments": {"milliseconds": 1000}});
    let calls: Vec<u64> = (0..16).map(|_| client.post("tools/call", call.clone())).collect();
    for call in calls {
        assert_eq!(first_text(&client.answer(call)["result"]), "waited 1000 ms");
    }
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

/// Only these plugins: the server's engine does not have it.
#[test]
fn they_have_processes_of_their_own() {
    let home = Home::with(&["concurrent", "echo"]);
    let mut client = Client::start_modern(&home);
    assert_eq!(text(&mut client, "echo", json!({"text": "there"})), "there");
    assert_eq!(client.text("echo", json!({"message": "here"})), "here");
    let server = client.process().id();
    let processes = super::processes::processes(server);
    assert_eq!(processes.len(), 1, "{processes:?}");
    processes.into_iter().for_each(super::processes::kill);
    let again = Instant::now();
    while client.call("concurrent_echo", json!({"text": "again"}))["isError"] == true {
        assert!(again.elapsed() < TIMEOUT);
    }
}

#[test]
fn their_code_is_cached_and_check_says_where_it_runs() {
    let (home, mut client) = serve("");
    assert_eq!(text(&mut client, "echo", json!({"text": "first"})), "first");
    drop(client);
    let mut client = Client::start_modern(&home);
    assert_eq!(text(&mut client, "echo", json!({"text": "second"})), "second");
    let check = run(&home, ["check".as_ref(), home.plugins().as_os_str()]);
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    let warned = "the function 'orphan' of test:concurrent/parts returns a stream or a future without being async";
    assert!(said.contains(warned), "{said}");
    let why = "  runs     in a process of its own: it has async functions, streams or futures\n";
    assert!(check.status.success() && said.contains(why), "{said}");
}

#[test]
fn streams_and_futures_are_collected() {
    let (_home, mut client) = serve("");
    assert_eq!(structured(&mut client, "count", json!({"to": 4, "pause": 1})), json!([1, 2, 3, 4]));
    assert_eq!(structured(&mut client, "count", json!({"to": 0, "pause": 0})), json!([]));
    assert_eq!(structured(&mut client, "bytes", json!({"size": 3})), "eHh4");
    assert_eq!(text(&mut client, "later", json!({"text": "soon"})), "soon");
    let summary = structured(&mut client, "summarise", json!({"title": "t", "text": "three small words"}));
    assert_eq!(summary, json!({"title": "t", "words": ["three", "small", "words"], "total": 3}));
    assert_eq!(structured(&mut client, "maybe", json!({"numbers": 2})), json!([1, 2]));
    assert_eq!(first_text(&client.call("concurrent_maybe", json!({}))), "there are none");
}

#[test]
fn what_is_given_as_a_whole_arrives_in_parts() {
    let (_home, mut client) = serve("");
    assert_eq!(structured(&mut client, "sum", json!({"numbers": [1, 2, 39]})), 42);
    assert_eq!(structured(&mut client, "sum", json!({"numbers": []})), 0);
    let many: Vec<u64> = (0..20_000).collect();
    assert_eq!(structured(&mut client, "sum", json!({"numbers": many})), 199_990_000);
    let loud = structured(&mut client, "shout", json!({"text": ["a", "b"], "mark": "!"}));
    assert_eq!(loud, json!(["A!", "B!"]));
    assert_eq!(structured(&mut client, "weigh", json!({"data": "AAAA".repeat(1000)})), 3000);
    for arguments in [json!({"numbers": 1}), json!({"numbers": ["x"]}), json!({})] {
        let refused = client.call("concurrent_sum", arguments);
        assert_eq!(refused["isError"], true, "{refused}");
    }
}

#[test]
fn schemas_are_those_of_the_whole() {
    let (_home, mut client) = serve("");
    let tools = client.tool_entries();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == format!("concurrent_{name}")).expect("a tool");
    let sum = &tool("sum")["inputSchema"]["properties"]["numbers"];
    assert_eq!((&sum["type"], &sum["items"]["type"]), (&json!("array"), &json!("integer")));
    assert_eq!(tool("weigh")["inputSchema"]["properties"]["data"]["contentEncoding"], "base64");
    let summary = &tool("summarise")["outputSchema"]["properties"];
    assert_eq!(summary["words"], json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(summary["total"]["type"], "integer");
}

#[test]
fn a_client_sees_how_much_has_arrived() {
    let (_home, mut client) = serve("");
    let call = json!({
        "name": "concurrent_count", "arguments": {"to": 3, "pause": 20}, "_meta": {"progressToken": "p"},
    });
    let id = client.post("tools/call", call);
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let progress = client.notification("notifications/progress");
        assert_eq!(progress["params"]["progressToken"], "p");
        seen.push(progress["params"]["progress"].as_f64().expect("a number"));
    }
    assert_eq!(seen, [1.0, 2.0, 3.0]);
    assert_eq!(client.answer(id)["result"]["structuredContent"], json!([1, 2, 3]));
}

#[test]
fn what_never_ends_is_ended() {
    let (_home, mut client) =
        serve("[plugins.concurrent.limits]\ntimeout = \"1s\"\ncpu = \"200ms\"\noutput = \"64 KiB\"\n");
    for (tool, arguments, code) in [
        ("hang", json!({}), "timeout"),
        ("silent", json!({}), "timeout"),
        ("wait", json!({"milliseconds": u32::MAX}), "timeout"),
        ("spin", json!({}), "cpu"),
        ("endless", json!({}), "output-too-large"),
        ("bytes", json!({"size": 100_000_000}), "output-too-large"),
        ("repeat", json!({"size": 100_000}), "output-too-large"),
        ("repeat", json!({"size": 10_000_000}), "output-too-large"),
        ("blobs", json!({"count": 1, "size": 100_000}), "output-too-large"),
    ] {
        let began = Instant::now();
        assert_eq!(fault(&mut client, tool, arguments), code, "{tool}");
        assert!(began.elapsed() < TIMEOUT, "{tool}");
        assert_eq!(text(&mut client, "echo", json!({"text": "still there"})), "still there");
    }
}

#[test]
fn a_cancelled_call_ends() {
    let (_home, mut client) = serve("");
    assert_eq!(text(&mut client, "echo", json!({"text": "there"})), "there");
    let call = client.post("tools/call", json!({"name": "concurrent_hang"}));
    client.notify("notifications/cancelled", json!({"requestId": call}));
    assert_eq!(text(&mut client, "echo", json!({"text": "there"})), "there");
}

fn with_folder(mode: &str) -> (Home, Client<Process>) {
    let home = Home::with(&["concurrent"]);
    let (shared, _) = home.folder_with_links();
    let shared = shared.display();
    home.configure(&format!(
        "[plugins.concurrent.grants]\nfs = [{{ host = '{shared}', guest = '/notes', mode = {mode} }}]\n"
    ));
    let client = Client::start_modern(&home);
    (home, client)
}

/// Empty: it was done.
fn change(client: &mut Client<Process>, what: &str, path: &str, to: &str) -> String {
    done(client, "change", json!({"what": what, "path": path, "to": to}))
}

fn done(client: &mut Client<Process>, tool: &str, arguments: Value) -> String {
    let result = client.call(&format!("concurrent_{tool}"), arguments);
    if result["isError"] == true { first_text(&result).to_owned() } else { String::new() }
}

#[test]
fn granted_folders_can_be_used() {
    let (home, mut client) = with_folder("'write', quota = '64 KiB'");
    let shared = home.path("shared");
    assert_eq!(structured(&mut client, "write", json!({"path": "/notes/a", "text": "one"})), 3);
    assert_eq!(done(&mut client, "append", json!({"path": "/notes/a", "text": " two"})), "");
    assert_eq!(text(&mut client, "read", json!({"path": "/notes/a"})), "one two");
    assert_eq!(fs::read_to_string(shared.join("a")).expect("a file"), "one two");
    assert_eq!(change(&mut client, "size", "/notes/a", "3"), "");
    assert_eq!(change(&mut client, "times", "/notes/a", ""), "");
    assert_eq!(change(&mut client, "make", "/notes/below", ""), "");
    assert_eq!(change(&mut client, "move", "/notes/a", "/notes/below/b"), "");
    assert_eq!(structured(&mut client, "entries", json!({"path": "/notes/below"})), json!(["b"]));
    assert_eq!(change(&mut client, "remove", "/notes/below/b", ""), "");
    assert_eq!(change(&mut client, "unmake", "/notes/below", ""), "");
    assert!(!shared.join("below").exists());
    // More than one read of a listing brings.
    for n in 0..700 {
        fs::write(shared.join(format!("n{n}")), "").expect("written");
    }
    let entries = structured(&mut client, "entries", json!({"path": "/notes"}));
    assert!(entries.as_array().expect("a list").len() >= 700, "{entries}");
}

#[test]
fn folders_have_the_rules_of_wasi_0_2() {
    let (home, mut client) = with_folder("'write', quota = '64 KiB'");
    let shared = home.path("shared");
    let large = "x".repeat(100 << 10);
    let refused = text(&mut client, "write", json!({"path": "/notes/large", "text": large}));
    assert!(refused.contains("Quota"), "{refused}");
    assert_eq!(change(&mut client, "make", "/notes/small", ""), "");
    assert_eq!(structured(&mut client, "write", json!({"path": "/notes/own", "text": "own"})), 3);
    for (what, path, to, code) in [
        ("link", "/notes/own", "/notes/other", "NotPermitted"),
        ("symlink", "/notes/link", "own", "NotPermitted"),
        ("size", "/notes/own", "1000000", "Quota"),
        ("make", "/notes/../escaped", "", "NotPermitted"),
        ("times", "/notes/relative", "", "Loop"),
        ("move", "/notes/own", "/notes/../../escaped", "NotPermitted"),
    ] {
        let refused = change(&mut client, what, path, to);
        assert!(refused.contains(code), "{what} {path}: {refused}");
    }
    // The links that lead outside of the folder.
    for path in ["relative", "absolute", "folder/secret", "root/etc/passwd", "../outside/secret"] {
        let refused = client.call("concurrent_read", json!({"path": format!("/notes/{path}")}));
        assert_eq!(refused["isError"], true, "{path}: {refused}");
        let refused = client.call("concurrent_write", json!({"path": format!("/notes/{path}"), "text": "x"}));
        assert_eq!(refused["isError"], true, "{path}: {refused}");
    }
    symlink("/dev/zero", shared.join("device")).expect("a link");
    assert_eq!(client.call("concurrent_read", json!({"path": "/notes/device"}))["isError"], true);
}

#[test]
fn a_folder_to_read_is_not_changed() {
    let (home, mut client) = with_folder("'read'");
    fs::write(home.path("shared").join("kept"), "kept").expect("written");
    assert_eq!(text(&mut client, "read", json!({"path": "/notes/kept"})), "kept");
    let write = json!({"path": "/notes/kept", "text": "x"});
    assert_eq!(fault(&mut client, "write", write.clone()), "denied");
    assert_eq!(fault(&mut client, "append", write), "denied");
    for (what, path) in [("make", "/notes/new"), ("remove", "/notes/kept"), ("size", "/notes/kept")] {
        let denied = fault(&mut client, "change", json!({"what": what, "path": path, "to": "1"}));
        assert_eq!(denied, "denied", "{what}");
    }
    assert_eq!(fs::read_to_string(home.path("shared").join("kept")).expect("a file"), "kept");
}

#[test]
fn requests_need_a_grant() {
    let site = Site::start(|head, connection| {
        let body = match field(head, "transfer-encoding") {
            Some(_) => "posted",
            None => "asked",
        };
        write(connection, "200 OK", "", &format!("{body} {}", field(head, "x-key").unwrap_or_default()));
    });
    let to = |path: &str| json!({"authority": format!("127.0.0.1:{}", site.port), "path": path, "body": ""});
    let (_home, mut client) = serve("");
    assert_eq!(fault(&mut client, "fetch", to("/")), "denied");
    assert!(site.heads().is_empty());
    let (_home, mut client) = serve(&format!("[plugins.concurrent.grants]\n{}", site.grant()));
    assert_eq!(structured(&mut client, "fetch", to("/page")), json!([200, "asked "]));
    let head = site.heads().concat();
    assert!(head.starts_with("GET /page HTTP/1.1\r\n"), "{head}");
}

#[test]
fn variables_need_a_grant() {
    let (_home, mut client) = serve("");
    assert_eq!(structured(&mut client, "variable", json!({"name": "HOME"})), Value::Null);
    let (_home, mut client) = serve("[plugins.concurrent.grants]\nenv = { COLOUR = 'green' }\n");
    assert_eq!(structured(&mut client, "variable", json!({"name": "COLOUR"})), "green");
    assert_eq!(structured(&mut client, "variable", json!({"name": "PATH"})), Value::Null);
}

/// What it asks of the host has no tape.
#[test]
fn its_calls_are_not_recorded() {
    let home = Home::with(&["concurrent"]);
    let file = home.path("call.jsonl");
    let [record, tool, text, out] = ["record", "concurrent_echo", "text=x", "-o"];
    let recorded = run(
        &home,
        [record.as_ref(), home.plugins().as_os_str(), tool.as_ref(), text.as_ref(), out.as_ref(), file.as_os_str()],
    );
    let said = String::from_utf8_lossy(&recorded.stderr).into_owned();
    assert!(!recorded.status.success(), "{said}");
    assert!(said.contains("record calls of a component with async functions"), "{said}");
}

/// A list of bytes takes many times its size as values.
#[test]
fn results_are_counted_before_they_are_values() {
    let (_home, mut client) = serve("");
    assert_eq!(structured(&mut client, "blobs", json!({"count": 2, "size": 3})), json!(["eHh4", "eHh4"]));
    let server = client.process().id();
    let process = super::processes::processes(server).into_iter().next().expect("a process");
    let before = peak(process);
    assert_eq!(fault(&mut client, "blobs", json!({"count": 1, "size": 16_000_000})), "output-too-large");
    let more = peak(process) - before;
    assert!(before > 0 && more < 200 << 10, "{more} KiB");
}

#[test]
fn requests_count_against_the_memory_of_a_call() {
    let (_home, mut client) = serve("");
    assert_eq!(structured(&mut client, "requests", json!({"count": 10, "size": 1000})), 10);
    assert_eq!(fault(&mut client, "requests", json!({"count": 100, "size": 1_000_000})), "memory");
}

/// The most memory that a process has used, in KiB.
fn peak(process: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

/// The engine keeps something for each of them.
#[test]
fn what_a_guest_makes_of_the_host_is_bounded() {
    const MOST: u64 = 64 << 10;
    for flood in FLOODS {
        let home = Home::new();
        home.put_bytes(&flood.component(), "flood");
        home.configure("[plugins.flood.limits]\ncpu = \"200ms\"\n");
        let mut client = Client::start_modern(&home);
        let tool = client.tools().remove(0);
        client.process().log_with("loaded plugin=flood");
        let server = client.process().id();
        let process = super::processes::processes(server).into_iter().next().expect("a process");
        let before = peak(process);
        let result = client.call(&tool, json!({}));
        assert_eq!(result["_meta"]["wharf/fault"]["code"], flood.code, "{}: {result}", flood.name);
        let more = peak(process) - before;
        assert!(before > 0 && more < MOST, "{}: {more} KiB", flood.name);
    }
}
