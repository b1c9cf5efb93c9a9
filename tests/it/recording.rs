//! `wharf record`, `replay`, `test` and `shadow`: calls of real guests, run again without what they were answered by.

mod files;
mod project;
mod refused;
mod serving;
mod shadow;
mod within;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::home::{Home, component};
use crate::support::process::run;
use crate::support::site::{Site, field, write};

/// With `+`, `/` and `=`, which encodings spell in other ways.
const SECRET: &str = "tok-5ecret+/=value";

/// Waits for that many seconds, and returns something random that depends on the time. `MORE` is done first.
const DICE: &str = r#"(component
    (import "wasi:random/random@0.2.0" (instance $random (export "get-random-u64" (func (result u64)))))
    (import "wasi:io/poll@0.2.0" (instance $poll
        (export "pollable" (type $own (sub resource)))
        (export "[method]pollable.block" (func (param "self" (borrow $own))))))
    (alias export $poll "pollable" (type $pollable))
    (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
        (alias outer 1 $pollable (type $own))
        (export "now" (func (result u64)))
        (export "subscribe-duration" (func (param "when" u64) (result (own $own))))))
    (core func $random (canon lower (func $random "get-random-u64")))
    (core func $now (canon lower (func $clock "now")))
    (core func $wait (canon lower (func $clock "subscribe-duration")))
    (core func $block (canon lower (func $poll "[method]pollable.block")))
    (core func $drop (canon resource.drop $pollable))
    (core module $m
        (import "host" "random" (func $random (result i64)))
        (import "host" "now" (func $now (result i64)))
        (import "host" "wait" (func $wait (param i64) (result i32)))
        (import "host" "block" (func $block (param i32)))
        (import "host" "drop" (func $drop (param i32)))
        (func (export "roll") (param $seconds i32) (result i64)
            (local $timer i32)
            MORE
            (local.set $timer (call $wait (i64.mul (i64.extend_i32_u (local.get $seconds)) (i64.const 1000000000))))
            (call $block (local.get $timer))
            (call $drop (local.get $timer))
            (i64.xor (call $random) (call $now))))
    (core instance $i (instantiate $m (with "host" (instance
        (export "random" (func $random))
        (export "now" (func $now))
        (export "wait" (func $wait))
        (export "block" (func $block))
        (export "drop" (func $drop))))))
    (func $roll (param "seconds" u32) (result u64) (canon lift (core func $i "roll")))
    (instance $dice (export "roll" (func $roll)))
    (export "local:dice/dice" (instance $dice)))"#;

fn dice(more: &str) -> Vec<u8> {
    wat::parse_str(DICE.replace("MORE", more)).expect("a component")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Records a call of a plugin in that home.
fn record(home: &Home, tool: &str, arguments: &[&str], file: &Path) -> Output {
    let plugins = home.plugins();
    let words = ["record", plugins.to_str().expect("UTF-8"), tool, "-o", file.to_str().expect("UTF-8")];
    run(home, words.iter().chain(arguments))
}

/// The same of a call that works.
fn recorded(home: &Home, tool: &str, arguments: &[&str], name: &str) -> PathBuf {
    let file = home.path(name);
    let output = record(home, tool, arguments, &file);
    assert!(output.status.success(), "{}", text(&output.stderr));
    file
}

/// Replays in another home, which has nothing of the first one.
fn replay(file: &Path, with: &Path) -> (Option<i32>, Value) {
    let home = Home::new();
    let words = ["replay", "--json", "--with", with.to_str().expect("UTF-8"), file.to_str().expect("UTF-8")];
    let output = run(&home, words);
    let state = home.path("state/wharf");
    assert!(!state.exists(), "a replay keeps nothing");
    let shown = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    (output.status.code(), shown)
}

/// The lines of a recording.
fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("a recording");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn events<'l>(lines: &'l [Value], what: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["asks"] == what || line["says"] == what).collect()
}

/// A home with the guest `online`, which sends that site a secret.
fn online(site: &Site) -> Home {
    let home = Home::with(&["online"]);
    let more = "methods = [\"GET\", \"POST\"], headers = { Authorization = \"Bearer ${api}\" }, private";
    let granted = site.grant().replace("private", more);
    home.configure(&format!("[secrets]\napi = {{ file = \"api\" }}\n[plugins.online.grants]\n{granted}"));
    fs::write(home.path("config/wharf/api"), SECRET).expect("a secret");
    home
}

/// What that site answers: the secret, in some of its spellings.
fn echo() -> Site {
    Site::start(|head, connection| {
        let token = field(head, "authorization").unwrap_or_default().to_owned();
        let encoded = token.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
        write(connection, "200 OK", "X-Seen: yes\r\n", &format!("{token} {encoded} {BASE64}"));
    })
}

/// The secret in base64.
const BASE64: &str = "dG9rLTVlY3JldCsvPXZhbHVl";

/// Each way in which a guest is answered: a hundred replays are the same, in a fresh process without state or network.
#[test]
fn replays_are_the_same_each_time() {
    let site = echo();
    let online = online(&site);
    let url = format!("url={}", site.url("/a"));
    let authority = format!("authority=127.0.0.1:{}", site.port);
    let buffered = recorded(&online, "online_tell", &[&url], "buffered.jsonl");
    let sent = ["path=/b", "method=POST", "body=milk"];
    let streamed = recorded(&online, "online_outgoing", &[&authority, sent[0], sent[1], sent[2]], "streamed.jsonl");
    let asked = site.heads().len();
    assert_eq!(asked, 2);

    let notes = Home::with(&["notes"]);
    notes.configure("[plugins.notes.grants]\nkeyvalue = true\nelicit = true\n");
    let added = recorded(&notes, "notes_add", &["text=milk"], "added.jsonl");
    let deleted = recorded(&notes, "notes_delete", &["id=1", "--answer", "yes"], "deleted.jsonl");
    let rounds = lines(&deleted).iter().filter(|line| line["recording"] == 1).count();
    assert_eq!(rounds, 2, "before the question, and after it");
    assert!(!events(&lines(&added), "keyvalue set").is_empty());

    let rolling = Home::new();
    rolling.put_bytes(&dice(""), "dice");
    let rolled = recorded(&rolling, "dice_roll", &["seconds=2"], "rolled.jsonl");

    let home = Home::new();
    let folder = home.path("recordings");
    fs::create_dir(&folder).expect("a folder");
    for (guest, with, files) in [
        ("online", component("online"), vec![buffered, streamed]),
        ("notes", component("notes"), vec![added, deleted]),
        ("dice", rolling.plugin("dice"), vec![rolled]),
    ] {
        let own = folder.join(guest);
        fs::create_dir(&own).expect("a folder");
        for (number, file) in files.iter().enumerate() {
            for copy in 0..20 {
                fs::copy(file, own.join(format!("{number}-{copy:02}.jsonl"))).expect("a copy");
            }
        }
        let began = Instant::now();
        let output = run(&home, ["test", own.to_str().expect("UTF-8"), "--with", with.to_str().expect("UTF-8")]);
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}{}", text(&output.stderr));
        assert!(shown.contains(&format!("{0} of {0} recordings", files.len() * 20)), "{shown}");
        let said = text(&output.stderr);
        assert!(!said.contains("WARN"), "no store is used of which one could warn: {said}");
        assert!(guest != "dice" || began.elapsed() < Duration::from_secs(30), "a replay waits for nothing");
    }
    assert_eq!(site.heads().len(), asked, "a replay sends nothing");
    assert!(!home.path("state/wharf").exists(), "a replay keeps nothing");
}

#[test]
fn a_recording_has_no_secret_and_only_its_user_may_read_it() {
    let site = echo();
    let home = online(&site);
    for (tool, arguments) in [
        ("online_tell", vec![format!("url={}", site.url("/"))]),
        ("online_fail", vec![format!("url={}", site.url("/"))]),
        ("online_outgoing", vec![format!("authority=127.0.0.1:{}", site.port), "path=/".into()]),
    ] {
        let file = home.path(&format!("{tool}.jsonl"));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        record(&home, tool, &arguments, &file);
        let kept = fs::read_to_string(&file).expect("a recording");
        for spelt in ["5ecret", BASE64, "tok-5"] {
            assert!(!kept.contains(spelt), "{tool}: {spelt}: {kept}");
        }
        let lines = lines(&file);
        let requests = events(&lines, "http");
        assert_eq!(requests.len(), 1, "{kept}");
        assert_eq!(requests[0]["gets"]["status"], 200);
        assert_eq!(requests[0]["body"][0], "Bearer [redacted api] Bearer [redacted api] [redacted api]", "{kept}");
        assert!(!requests[0]["with"].to_string().to_lowercase().contains("authorization"), "the host's own fields");
        let mode = fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(replay(&file, &component("online")).1["same"], true, "{tool}");
    }
}

/// A plugin may be told another one's secret by a user, or by a service.
#[test]
fn the_secrets_of_other_plugins_are_taken_out_too() {
    let home = Home::with(&["notes"]);
    home.configure(
        "[secrets]\napi = { file = \"api\" }\n[plugins.notes.grants]\nkeyvalue = true\n\
         [plugins.other.grants]\nsecrets = [\"api\"]\n",
    );
    fs::write(home.path("config/wharf/api"), SECRET).expect("a secret");
    let file = recorded(&home, "notes_add", &[&format!("text=it is {SECRET} or {BASE64}")], "added.jsonl");
    let kept = fs::read_to_string(&file).expect("a recording");
    assert!(!kept.contains("5ecret") && !kept.contains(BASE64), "{kept}");
    assert!(kept.contains("it is [redacted api] or [redacted api]"), "{kept}");
    assert_eq!(replay(&file, &component("notes")).0, Some(0));
}

#[test]
fn what_a_plugin_reads_of_its_settings_is_recorded_without_secrets() {
    let home = Home::with(&["everything"]);
    let file = recorded(&home, "everything_test_simple_text", &[], "text.jsonl");
    let lines = lines(&file);
    assert_eq!(lines[0]["plugin"], "everything");
    assert_eq!(lines[0]["tool"], "test_simple_text");
    assert_eq!(lines[0]["arguments"], "{}");
    assert!(lines[0]["grants"]["limits"]["timeout_ms"].as_u64().is_some_and(|limit| limit > 0));
    let last = lines.last().expect("an end");
    assert!(last["outcome"]["complete"]["content"][0]["text"]["text"].is_string(), "{last}");
    assert!(last["cost"]["memory"].as_u64().is_some_and(|bytes| bytes > 0), "{last}");
}

#[test]
fn settings_and_variables_are_those_of_the_recording() {
    let home = Home::with(&["folders"]);
    home.configure(
        "[secrets]\napi = { file = \"api\" }\n[plugins.folders.grants]\nsecrets = [\"api\"]\n\
         env = { TOKEN = \"Bearer ${api}\", UNIT = \"metric\" }\nconfig = { unit = \"metric\" }\n",
    );
    fs::write(home.path("config/wharf/api"), SECRET).expect("a secret");
    for tool in ["folders_environment", "folders_settings"] {
        let file = recorded(&home, tool, &[], &format!("{tool}.jsonl"));
        assert!(!fs::read_to_string(&file).expect("a recording").contains("5ecret"));
        let grants = &lines(&file)[0]["grants"];
        assert_eq!(grants["env"], json!([["TOKEN", "Bearer [redacted api]"], ["UNIT", "metric"]]));
        assert_eq!(grants["config"], json!([["unit", "metric"], ["api", "[redacted api]"]]));
        let (code, shown) = replay(&file, &component("folders"));
        assert_eq!(code, Some(0), "{shown}");
    }
}

#[test]
fn another_version_is_compared_in_all_that_it_does() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    let file = recorded(&home, "dice_roll", &["seconds=0"], "rolled.jsonl");
    let with = |more: &str| {
        let path = home.path("other.wasm");
        fs::write(&path, dice(more)).expect("a component");
        replay(&file, &path)
    };
    // The same work, in other bytes.
    let (code, shown) = with("(nop)");
    assert_eq!((code, &shown["same"]), (Some(0), &json!(true)), "{shown}");
    // One question more than was answered.
    let (code, shown) = with("(drop (call $random))");
    assert_eq!(code, Some(1));
    assert_eq!(shown["calls"][0]["answered"], false);
    assert_eq!(shown["calls"][0]["differences"][0], json!({"what": "unanswered", "text": "random"}));
    // A clock that is read more often stands still.
    let (code, shown) = with("(drop (call $now))");
    assert_eq!(code, Some(1));
    let differences = json!([{"what": "moved", "text": "random"}, {"what": "clock", "text": "stopwatch"}]);
    assert_eq!(shown["calls"][0]["differences"], differences);
    assert_eq!(shown["calls"][0]["outcome"], json!({"was": null, "now": null}), "the same number");
    // Less than before, and so another result.
    let (code, shown) = with("(if (i32.eqz (local.get $seconds)) (then (return (i64.const 7))))");
    assert_eq!(code, Some(1));
    let gone = json!({"what": "gone", "text": "random"});
    assert!(shown["calls"][0]["differences"].as_array().is_some_and(|all| all.contains(&gone)), "{shown}");
    assert!(shown["calls"][0]["outcome"]["now"].to_string().contains('7'), "{shown}");
    // For people.
    let output = run(
        &home,
        ["replay", "--with", home.path("other.wasm").to_str().expect("UTF-8"), file.to_str().expect("UTF-8")],
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("dice roll: differs (") && shown.contains("it does not ask or say any more: random"),
        "{shown}"
    );
}

#[test]
fn a_component_that_spins_is_stopped_at_the_recorded_limit() {
    let home = Home::new();
    home.configure("[limits]\ncpu = \"300ms\"\n");
    home.put_bytes(&dice(""), "dice");
    let file = recorded(&home, "dice_roll", &["seconds=0"], "rolled.jsonl");
    let path = home.path("other.wasm");
    fs::write(&path, dice("(loop $again (br $again))")).expect("a component");
    let (code, shown) = replay(&file, &path);
    assert_eq!(code, Some(1));
    let fault = &shown["calls"][0]["outcome"]["now"]["fault"];
    assert_eq!(fault["code"], "cpu", "{shown}");
    assert!(fault["message"].as_str().is_some_and(|message| message.contains("300 ms")), "{shown}");
}

#[test]
fn the_recorded_version_is_found_in_the_plugin_folder() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    let file = recorded(&home, "dice_roll", &["seconds=0"], "rolled.jsonl");
    let plugins = home.plugins();
    let words = ["replay", file.to_str().expect("UTF-8"), "--dir", plugins.to_str().expect("UTF-8")];
    let output = run(&home, words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("dice roll: the same ("));
    let folder = file.parent().expect("a folder").join("kept");
    fs::create_dir(&folder).expect("a folder");
    fs::copy(&file, folder.join("rolled.jsonl")).expect("a copy");
    let tested = run(&home, ["test".as_ref(), folder.as_os_str(), "--dir".as_ref(), plugins.as_os_str()]);
    assert!(tested.status.success(), "{}", text(&tested.stderr));
    home.put_bytes(&dice("(nop)"), "dice");
    let output = run(&home, words);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("find the recorded version of dice") && said.contains("--with"), "{said}");
}

#[test]
fn what_differs_is_accepted_with_bless() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    let folder = home.path("recordings");
    fs::create_dir(&folder).expect("a folder");
    let file = recorded(&home, "dice_roll", &["seconds=0"], "recordings/rolled.jsonl");
    let other = home.path("other.wasm");
    let test = |more: &str, bless: &[&str]| {
        fs::write(&other, dice(more)).expect("a component");
        let words = ["test", folder.to_str().expect("UTF-8"), "--with", other.to_str().expect("UTF-8")];
        let output = run(&home, words.iter().chain(bless));
        (output.status.code(), text(&output.stdout))
    };
    let less = "(if (i32.eqz (local.get $seconds)) (then (return (i64.const 7))))";
    let (code, shown) = test(less, &[]);
    assert!(code == Some(1) && shown.contains("differs") && shown.contains("0 of 1 recordings"), "{shown}");
    let (code, shown) = test(less, &["--bless"]);
    assert_eq!(fs::metadata(&file).expect("a recording").permissions().mode() & 0o777, 0o600);
    assert!(code == Some(0) && shown.contains("accepted") && shown.contains("1 of 1 recordings"), "{shown}");
    assert!(events(&lines(&file), "random").is_empty(), "what is asked now");
    assert_eq!(test(less, &[]).0, Some(0));
    // What the recording does not answer cannot be accepted, and the file stays.
    let before = fs::read(&file).expect("a recording");
    let (code, shown) = test("", &["--bless"]);
    assert!(code == Some(1) && shown.contains("record it again"), "{shown}");
    assert_eq!(fs::read(&file).expect("a recording"), before);
}
