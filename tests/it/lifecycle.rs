//! The start of a connection while plugins are still being compiled.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::{Home, component, repository};
use crate::support::process::{Process, command, run};

/// The first list waits at least this long for the first scan.
const PATIENT: Duration = Duration::from_secs(10);

/// A host with an empty compilation cache.
fn cold(home: &Home) -> Process {
    let mut command = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.env("XDG_CACHE_HOME", home.path("cache"));
    Process::start(command)
}

#[test]
fn the_handshake_does_not_wait_for_compilation() {
    let home = Home::with(&["math"]);
    // Completes the handshake. Compiled components are stored in the cache.
    let mut client = Client::initialized(cold(&home), "2025-11-25");
    assert_eq!(artifacts(&home), 0, "compiled before the handshake was over");
    let asked = Instant::now();
    let list = client.post("tools/list", json!({}));
    // Sent later but answered earlier: the list waits for the first scan.
    client.result("ping", json!({}));
    assert_eq!(artifacts(&home), 0, "compiled before a ping was answered");
    let tools = client.answer(list);
    // The list may be incomplete only if compiling a component takes longer than that on a
    // loaded machine.
    let complete = tools["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    assert!(complete || asked.elapsed() > PATIENT, "after {:?}: {tools}", asked.elapsed());
    client.tools_until(|tools| tools.contains(&"math_evaluate".to_owned()));
    assert_eq!(artifacts(&home), 1);
}

/// What a first list lacks is announced, and can be called before.
#[test]
fn a_list_that_does_not_wait_is_completed_by_a_notification() {
    let home = Home::with(&["math"]);
    home.configure("[server]\nfirst-list = \"0s\"\n");
    let mut client = Client::initialized(cold(&home), "2025-11-25");
    assert_eq!(client.tools(), [""; 0]);
    let call = json!({"name": "math_evaluate", "arguments": {"expression": "6*7"}});
    assert_eq!(client.result("tools/call", call)["structuredContent"]["result"], "42");
    assert!(client.tools().contains(&"math_evaluate".to_owned()));
    client.notification("notifications/tools/list_changed");
}

/// Starts a host without compiled code, which lists these tools at once; the one of `math` is called then.
fn assert_lists_uncompiled(home: &Home, tools: &[String]) {
    let mut client = Client::initialized(cold(home), "2025-11-25");
    assert_eq!(client.tools(), tools);
    assert_eq!(artifacts(home), 0, "compiled before the list was answered");
    let call = json!({"name": "math_evaluate", "arguments": {"expression": "6*7"}});
    assert_eq!(client.result("tools/call", call)["structuredContent"]["result"], "42");
}

/// As after an upgrade of the host, whose engine cannot run the code that an earlier one compiled.
#[test]
fn what_was_listed_before_is_listed_before_it_is_compiled_again() {
    let home = Home::with(&["math", "time"]);
    let tools = Client::initialized(cold(&home), "2025-11-25").tools();
    let compiled = artifacts_below(&home.path("cache"));
    assert_eq!(compiled.len(), 2);
    compiled.iter().for_each(|path| fs::remove_file(path).expect("removed"));
    assert_lists_uncompiled(&home, &tools);
}

/// As `wharf build` leaves it.
#[test]
fn what_a_file_lists_is_listed_at_its_first_start() {
    let home = Home::with(&["math", "time"]);
    let tools = Client::initialized(cold(&home), "2025-11-25").tools();
    let home = Home::with(&["math", "time"]);
    for name in ["math", "time"] {
        let file = home.plugins().join(format!("{name}.wasm"));
        let mut embed = command(&home, ["embed".as_ref(), file.as_os_str()]);
        // Its code is stored in another cache than the server's.
        assert!(embed.env("XDG_CACHE_HOME", home.path("other")).status().expect("it runs").success());
    }
    assert_lists_uncompiled(&home, &tools);
}

/// The file keeps its mode, and is left alone if it would become too large to be served.
#[test]
fn a_file_stays_one_that_is_served_when_its_listing_is_embedded() {
    let home = Home::new();
    let file = home.path("one.wasm");
    let mut component = Guest::returning("1").build();
    fs::write(&file, &component).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("a mode");
    let embedded = run(&home, ["embed".as_ref(), file.as_os_str()]);
    assert!(embedded.status.success(), "{embedded:?}");
    let found = file.metadata().expect("a file");
    assert!(found.len() > component.len() as u64);
    assert_eq!(found.permissions().mode() & 0o777, 0o444);
    // A custom section that leaves no room: its number, its length in five bytes, the length of its name, its name.
    let limit = 64 << 20;
    let content = limit - component.len() - 6;
    component.push(0);
    component
        .extend((0..5).map(|at| u8::try_from(content >> (7 * at) & 0x7f).expect("7 bits") | u8::from(at < 4) << 7));
    component.extend(*b"\x01x");
    component.resize(limit, 0);
    fs::remove_file(&file).expect("removed");
    fs::write(&file, &component).expect("a file");
    let refused = run(&home, ["embed".as_ref(), file.as_os_str()]);
    let reported = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{reported}");
    assert!(reported.contains("failed to write into the component what it lists: "), "{reported}");
    assert!(fs::read(&file).expect("a file") == component, "it was changed");
}

#[test]
fn a_listing_in_the_file_that_differs_is_reported() {
    let home = Home::new();
    let (file, other) = (home.path("one.wasm"), home.path("two.wasm"));
    fs::write(&file, Guest::returning("1").build()).expect("a file");
    fs::write(&other, Guest::returning("1").described("another", "Another tool.").build()).expect("a file");
    assert!(run(&home, ["embed".as_ref(), other.as_os_str()]).status.success());
    let warning = "the listing in its file differs from what its code lists";
    let checked = |file: &Path| {
        let checked = run(&home, ["check".as_ref(), file.as_os_str()]);
        String::from_utf8_lossy(&checked.stdout).into_owned()
    };
    assert!(!checked(&other).contains(warning), "{}", checked(&other));
    // The other's section, at the end of this one.
    let bytes = fs::read(&other).expect("a file");
    let name = b"wharf:listing";
    let at = bytes.windows(name.len()).rposition(|part| part == name).expect("a section");
    let section = &bytes[bytes[..at].iter().rposition(|byte| *byte == 0).expect("its number")..];
    let forged = [fs::read(&file).expect("a file").as_slice(), section].concat();
    fs::write(&file, forged).expect("a file");
    assert!(checked(&file).contains(warning), "{}", checked(&file));
}

#[test]
fn prebuilt_plugins_are_listed_at_their_first_start() {
    let home = Home::new();
    // Without the grants of `Home::configure`: what has grants is pinned before it is served, so it is compiled first.
    fs::write(home.path("config/wharf/wharf.toml"), "[server]\nfirst-list = \"60s\"\n").expect("the configuration");
    let mut plugins = 0;
    for entry in fs::read_dir(repository().join("plugins/prebuilt")).expect("a folder") {
        let file = entry.expect("an entry").path();
        fs::copy(&file, home.plugins().join(file.file_name().expect("a name"))).expect("copied");
        plugins += 1;
    }
    let mut client = Client::initialized(cold(&home), "2025-11-25");
    let tools = client.tools();
    assert_eq!(artifacts(&home), 0, "compiled before the list was answered");
    let listed: BTreeSet<_> = tools.iter().filter_map(|tool| tool.split('_').next()).collect();
    assert_eq!(listed.len(), plugins, "{tools:?}");
}

#[test]
fn discovery_does_not_wait_for_compilation() {
    let home = Home::with(&["math"]);
    let mut client = Client::new(cold(&home), true);
    let discovered = client.result("server/discover", json!({}));
    assert_eq!(artifacts(&home), 0, "compiled before {discovered}");
    let asked = Instant::now();
    let tools = client.tools();
    let complete = tools.contains(&"math_evaluate".to_owned());
    assert!(complete || asked.elapsed() > PATIENT, "after {:?}: {tools:?}", asked.elapsed());
}

/// The exports of the file show that the plugin offers completions, before it is compiled.
#[test]
fn completions_are_declared_before_their_plugin_is_compiled() {
    let home = Home::with(&["everything", "math"]);
    for modern in [false, true] {
        let mut client = Client::new(cold(&home), modern);
        assert_eq!(declared(&mut client, modern)["completions"], json!({}));
        assert_eq!(artifacts(&home), 0, "compiled before it was answered");
    }
}

#[test]
fn completions_are_declared_only_while_a_plugin_has_them() {
    let home = Home::with(&["echo"]);
    let declared_to_a_new_client = || declared(&mut Client::new(cold(&home), false), false);
    assert!(declared_to_a_new_client().get("completions").is_none());
    home.put("everything", "everything");
    assert!(declared_to_a_new_client().get("completions").is_some());

    let mut client = Client::initialized(cold(&home), "2025-11-25");
    client.tools_until(|tools| tools.iter().any(|tool| tool.starts_with("everything_")));
    assert_eq!(declared(&mut client, false)["completions"], json!({}));
    home.remove("everything");
    client.tools_until(|tools| tools.iter().all(|tool| !tool.starts_with("everything_")));
    assert!(declared(&mut client, false).get("completions").is_none());
    let asked = json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}});
    assert_eq!(client.error("completion/complete", asked)["code"], -32601);

    // A truncated component declares nothing once it is refused.
    let bytes = fs::read(component("everything")).expect("a guest");
    home.put_bytes(&bytes[..bytes.len() - 1], "broken");
    let mut client = Client::initialized(cold(&home), "2025-11-25");
    client.tools_until(|tools| tools == ["echo", "echo_add"]);
    assert!(declared(&mut client, false).get("completions").is_none());
}

/// The capabilities that the server declares.
fn declared(client: &mut Client, modern: bool) -> Value {
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let method = if modern { "server/discover" } else { "initialize" };
    client.result(method, if modern { json!({}) } else { hello })["capabilities"].take()
}

/// The number of compiled components in the home's own cache.
fn artifacts(home: &Home) -> usize {
    artifacts_below(&home.path("cache")).len()
}

fn artifacts_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("a folder entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => artifacts_below(&path),
            false => Vec::from_iter(is_artifact(&path).then_some(path)),
        })
        .collect()
}

/// Artifacts are the only large files in the cache.
fn is_artifact(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.len() > 64 << 10)
}
