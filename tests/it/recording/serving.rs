//! `[record]`: a server keeps recordings of calls.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{dice, lines, replay, text};
use crate::support::client::Client;
use crate::support::home::{Home, component, names_in};
use crate::support::process::run;

/// A home with two plugins, one of which keeps values.
fn home(settings: &str) -> Home {
    let home = Home::with(&["notes", "everything"]);
    home.configure(&format!("[plugins.notes.grants]\nkeyvalue = true\n[record]\n{settings}"));
    home
}

/// The names of the recordings of a home, the oldest first.
fn kept(home: &Home) -> Vec<String> {
    names_in(&home.path("config/wharf/recordings"))
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn each_call_is_a_file_that_replays() {
    let home = home("folder = \"recordings\"\n");
    let mut client = Client::start_modern(&home);
    for (number, note) in ["milk", "bread"].iter().enumerate() {
        // The same as from a server that records nothing.
        let result = client.call("notes_add", json!({"text": note}));
        assert_eq!(result["structuredContent"]["id"], number + 1, "{result}");
    }
    client.result("resources/read", json!({"uri": "notes://2"}));
    client.result("prompts/get", json!({"name": "everything_test_simple_prompt"}));
    client.result(
        "completion/complete",
        json!({
            "ref": {"type": "ref/prompt", "name": "everything_test_prompt_with_arguments"},
            "argument": {"name": "arg1", "value": "par"},
            "context": {"arguments": {"arg2": "b"}},
        }),
    );
    client.result("everything/echo", json!({"n": 1}));
    client.finish();
    let names = kept(&home);
    assert_eq!(names.len(), 6, "{names:?}");
    let folder = home.path("config/wharf/recordings");
    assert_eq!(mode(&folder), 0o700);
    for name in &names {
        let file = folder.join(name);
        assert_eq!(mode(&file), 0o600);
        let plugin = lines(&file)[0]["plugin"].as_str().expect("a plugin").to_owned();
        let (code, shown) = replay(&file, &component(&plugin));
        assert_eq!(code, Some(0), "{name}: {shown}");
    }
    let called: Vec<_> = names.iter().map(|name| lines(&folder.join(name))[0].clone()).collect();
    for expected in [
        json!({"resource": "notes://2"}),
        json!({"prompt": "test_simple_prompt", "arguments": []}),
        json!({
            "completion": {"prompt": "test_prompt_with_arguments"},
            "argument": {"arg1": "par"},
            "arguments": [["arg2", "b"]],
        }),
        json!({"method": "echo", "params": "{\"n\":1}"}),
    ] {
        let of = |first: &Value| {
            expected.as_object().is_some_and(|all| all.iter().all(|(name, value)| first[name] == *value))
        };
        assert_eq!(called.iter().filter(|first| of(first)).count(), 1, "{expected}: {called:?}");
    }
    // One that completes otherwise than it did.
    let name =
        names.iter().find(|name| lines(&folder.join(name))[0].get("completion").is_some()).expect("a completion");
    let file = folder.join(name);
    fs::write(&file, fs::read_to_string(&file).expect("a recording").replace("paris", "porto")).expect("a file");
    let (code, shown) = replay(&file, &component("everything"));
    let outcome = &shown["calls"][0]["outcome"];
    assert_eq!(code, Some(1), "{shown}");
    assert_eq!((&outcome["was"]["values"][0], &outcome["now"]["values"][0]), (&json!("porto"), &json!("paris")));
}

/// What is said of them without a server.
#[test]
fn status_and_doctor_know_what_is_recorded() {
    let home = home("folder = \"recordings\"\nsample = 1.0\nkeep = 50\nplugins = [\"notes\"]\n");
    let said = |words: [&str; 2]| -> Value {
        let folder = home.plugins();
        let output = run(&home, words.iter().map(AsRef::as_ref).chain([folder.as_os_str()]));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    assert_eq!(said(["status", "--json"])["recordings"]["files"], 0, "the folder is not there yet");
    let mut client = Client::start_modern(&home);
    client.call("notes_add", json!({"text": "milk"}));
    client.finish();
    let recordings = said(["status", "--json"])["recordings"].clone();
    assert_eq!(recordings["files"], 1, "{recordings}");
    assert!(recordings["bytes"].as_u64() > Some(500), "{recordings}");
    let folder = home.path("config/wharf/recordings");
    assert_eq!(recordings["folder"], folder.to_str().expect("UTF-8"));
    let shown = text(&run(&home, ["status".as_ref(), home.plugins().as_os_str()]).stdout);
    assert!(shown.contains("1 recording (") && shown.contains(folder.to_str().expect("UTF-8")), "{shown}");

    let found = |state: &str, part: &str| {
        let all = said(["doctor", "--json"])["findings"].clone();
        let all = all.as_array().expect("findings");
        let own = all.iter().find(|finding| finding["about"] == "recordings").expect("one of recordings");
        assert_eq!(own["state"], state, "{own}");
        assert!(own["text"].as_str().is_some_and(|text| text.contains(part)), "{own}");
    };
    found("ok", "of at most 50; 100% of the calls of notes");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("a mode");
    found("error", "other users can write to it");
}

#[test]
fn only_what_is_wanted_is_recorded() {
    for (settings, expected) in [
        ("plugins = [\"everything\"]\n", 1),
        ("sample = 0.0\n", 0),
        // Those that were written last.
        ("keep = 2\n", 2),
        ("keep-size = 1\n", 1),
    ] {
        let home = home(&format!("folder = \"recordings\"\n{settings}"));
        let mut client = Client::start_modern(&home);
        for note in ["milk", "bread", "salt"] {
            client.call("notes_add", json!({"text": note}));
        }
        client.call("everything_test_simple_text", json!({}));
        client.finish();
        let names = kept(&home);
        assert_eq!(names.len(), expected, "{settings}: {names:?}");
        assert!(names.last().is_none_or(|last| last.contains("-everything-")), "{settings}: {names:?}");
    }
}

#[test]
fn a_call_that_is_larger_than_the_limit_is_left_out() {
    let home = home("folder = \"recordings\"\nmax-size = \"4 KiB\"\n");
    let mut client = Client::start_modern(&home);
    client.call("notes_add", json!({"text": "x".repeat(8 << 10)}));
    client.call("notes_add", json!({"text": "small"}));
    client.finish();
    let names = kept(&home);
    assert_eq!(names.len(), 1, "{names:?}");
    let arguments = lines(&home.path("config/wharf/recordings").join(&names[0]))[0]["arguments"].clone();
    assert_eq!(arguments, r#"{"text":"small"}"#);
}

#[test]
fn many_calls_at_a_time_get_their_own_results_and_recordings() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    home.configure("[record]\nfolder = \"recordings\"\n");
    let mut client = Client::start_modern(&home);
    let open: Vec<u64> =
        (0..40).map(|_| client.post("tools/call", json!({"name": "dice_roll", "arguments": {"seconds": 0}}))).collect();
    let mut results: Vec<String> = open
        .into_iter()
        .map(|id| client.answer(id)["result"]["content"][0]["text"].as_str().expect("a text").to_owned())
        .collect();
    client.finish();
    let folder = home.path("config/wharf/recordings");
    let mut recorded: Vec<String> = names_in(&folder)
        .iter()
        .map(|name| {
            let lines = lines(&folder.join(name));
            let outcome = &lines.last().expect("an end")["outcome"]["complete"];
            let text = outcome["content"][0]["text"]["text"].as_str().or(outcome["structured"].as_str());
            text.unwrap_or_else(|| panic!("{outcome}")).to_owned()
        })
        .collect();
    results.sort();
    recorded.sort();
    assert_eq!(results, recorded);
}

#[test]
fn a_folder_that_others_can_write_is_refused_and_so_are_wrong_settings() {
    let open = home("folder = \"recordings\"\n");
    let folder = open.path("config/wharf/recordings");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("a mode");
    let output = run(&open, ["serve".as_ref(), open.plugins().as_os_str()]);
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("failed to open the folder of recordings"), "{said}");
    for (settings, key) in [
        ("sample = 1.5\n", "record.sample"),
        ("plugins = [\"No Name\"]\n", "record.plugins"),
        ("max-size = \"17 MiB\"\n", "record.max-size"),
        ("keep = 0\n", "record.keep"),
        ("directory = \"a\"\n", "did you mean `folder`?"),
    ] {
        let wrong = home(settings);
        let output = run(&wrong, ["list".as_ref(), wrong.plugins().as_os_str()]);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(key), "{settings}: {said}");
    }
}

/// Neither at the start nor later, when somebody could have put another folder in its place.
#[test]
fn nothing_is_written_where_others_could_read_it() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    let (around, folder) = (home.path("kept"), home.path("kept/recordings"));
    fs::create_dir(&around).expect("a folder");
    home.configure(&format!("[record]\nfolder = {folder:?}\n"));
    let open = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    open(&around, 0o777);
    let said = text(&run(&home, ["serve".as_ref(), home.plugins().as_os_str()]).stderr);
    let expected = format!("its folder {} is not safe: other users can write to it", around.display());
    assert!(said.contains(&expected), "{said}");
    for (path, mode) in [(&around, 0o755), (&folder, 0o700)] {
        open(&around, 0o755);
        let mut client = Client::start_modern(&home);
        let before = names_in(&folder).len();
        client.call("dice_roll", json!({"seconds": 0}));
        open(path, 0o777);
        client.call("dice_roll", json!({"seconds": 0}));
        client.process().log_with("failed to write a recording: ");
        // The first one may have been written before or after that.
        assert!(names_in(&folder).len() <= before + 1);
        open(path, mode);
        client.call("dice_roll", json!({"seconds": 0}));
        client.finish();
        assert!((before + 1..=before + 2).contains(&names_in(&folder).len()), "it goes on where it can");
    }
}

/// A secret that the configuration has since the server runs is taken out as well.
#[test]
fn new_secrets_are_taken_out() {
    let home = home("folder = \"recordings\"\n");
    let mut client = Client::start_modern(&home);
    client.call("notes_add", json!({"text": "late-5ecret"}));
    fs::write(home.path("config/wharf/api"), "late-5ecret").expect("a secret");
    home.configure(
        "[plugins.notes.grants]\nkeyvalue = true\n[record]\nfolder = \"recordings\"\n\
         [secrets]\nlate = { file = \"api\" }\n",
    );
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        client.call("notes_add", json!({"text": "late-5ecret"}));
        let folder = home.path("config/wharf/recordings");
        let read = |name: &String| fs::read_to_string(folder.join(name)).unwrap_or_default();
        if kept(&home).iter().any(|name| read(name).contains("[redacted late]")) {
            break;
        }
        assert!(Instant::now() < until, "{}", client.process().log());
    }
    client.finish();
}
