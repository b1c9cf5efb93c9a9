//! Files of granted folders in recordings: a replay opens, reads and writes none.

use std::fs;

use serde_json::{Value, json};

use super::{SECRET, events, lines, recorded, replay, text};
use crate::support::client::Client;
use crate::support::home::{Home, component, names_in};
use crate::support::process::run;

/// A home whose plugins have `shared` to write in, and `fixed` to read.
fn home(plugin: &str) -> Home {
    let home = Home::with(&[plugin]);
    for folder in ["shared/sub", "fixed"] {
        fs::create_dir_all(home.path(folder)).expect("a folder");
    }
    fs::write(home.path("shared/here"), "hello").expect("a file");
    fs::write(home.path("fixed/here"), "fixed").expect("a file");
    let [shared, fixed] = ["shared", "fixed"].map(|name| home.path(name));
    home.configure(&format!(
        "[plugins.{plugin}.grants]\nsecrets = [\"api\"]\nfs = [\n\
         {{ host = {shared:?}, guest = \"/data\", mode = \"write\", quota = \"100 KiB\" }},\n\
         {{ host = {fixed:?}, guest = \"/fixed\" }},\n]\n[secrets]\napi = {{ file = \"api\" }}\n"
    ));
    fs::write(home.path("config/wharf/api"), SECRET).expect("a secret");
    home
}

#[test]
fn each_operation_is_replayed_without_the_folder() {
    let home = home("folders");
    let kept = home.path("recordings");
    fs::create_dir(&kept).expect("a folder");
    let attempts: [(&str, &[&str], &str); 21] = [
        ("folders", &[], "ok /data /fixed"),
        ("read", &["path=here"], "ok hello"),
        ("read", &["path=absent"], "no-entry"),
        ("stat", &["path=here"], "ok 5 bytes"),
        ("list", &["path=."], "ok here sub"),
        ("write", &["path=new", "count=3", "at=1"], "ok 3 bytes"),
        ("stream", &["path=streamed", "count=10000"], "ok"),
        ("append", &["path=streamed", "count=5"], "ok"),
        // An error that a stream has, and the guest looks at.
        ("stream", &["path=streamed", "count=200000"], "quota"),
        ("resize", &["path=streamed", "count=7"], "ok"),
        ("create", &["path=created"], "ok"),
        ("create", &["path=created"], "exist"),
        ("truncate", &["path=created"], "ok"),
        ("touch", &["path=created"], "ok"),
        ("mkdir", &["path=made"], "ok"),
        ("rename", &["path=created", "to=renamed"], "ok"),
        ("unlink", &["path=renamed"], "ok"),
        ("rmdir", &["path=made"], "ok"),
        ("open-streams", &["path=here", "count=3"], "ok 3"),
        ("rename", &["path=here", "to=there", "to_folder=1"], "not-permitted"),
        ("write", &["path=new", "folder=1", "count=3"], "not-permitted"),
    ];
    for (number, (what, more, expected)) in attempts.iter().enumerate() {
        let what = format!("what={what}");
        let arguments: Vec<&str> = [what.as_str()].into_iter().chain(more.iter().copied()).collect();
        let file = recorded(&home, "folders_attempt", &arguments, &format!("recordings/{number:02}.jsonl"));
        let last = lines(&file).pop().expect("an end");
        assert_eq!(last["outcome"]["complete"]["content"][0]["text"]["text"], *expected, "{what} {more:?}: {last}");
    }
    assert_eq!(fs::read(home.path("shared/streamed")).expect("a file"), b"xxxxxxx", "they were really done");
    for folder in ["shared", "fixed"] {
        fs::remove_dir_all(home.path(folder)).expect("mine");
    }
    let with = component("folders");
    let output = run(&home, ["test".as_ref(), kept.as_os_str(), "--with".as_ref(), with.as_os_str()]);
    let shown = text(&output.stdout);
    assert!(output.status.success() && shown.contains("21 of 21 recordings"), "{shown}{}", text(&output.stderr));
    assert!(!home.path("shared").exists() && !home.path("fixed").exists(), "nothing is made again");
}

/// By way of the language's own library, which reads by streams.
#[test]
fn what_files_had_is_in_the_recording_but_for_secrets() {
    let home = home("files");
    fs::write(home.path("shared/told"), format!("it was {SECRET} then")).expect("a file");
    let read = recorded(&home, "files_read", &["path=told"], "read.jsonl");
    let listed = recorded(&home, "files_list", &[], "listed.jsonl");
    let kept = fs::read_to_string(&read).expect("a recording");
    assert!(kept.contains("it was [redacted api] then") && !kept.contains("5ecret"), "{kept}");
    assert!(!events(&lines(&read), "file open").is_empty(), "{kept}");
    fs::write(home.path("shared/told"), "something else").expect("a file");
    fs::write(home.path("shared/another"), "").expect("a file");
    for file in [&read, &listed] {
        let (code, shown) = replay(file, &component("files"));
        assert_eq!(code, Some(0), "{shown}");
    }
    // What is asked of another file is answered by none.
    fs::write(&read, kept.replace("told", "gone")).expect("a file");
    let arguments = lines(&read)[0]["arguments"].clone();
    assert_eq!(arguments, r#"{"path":"gone"}"#);
    assert_eq!(replay(&read, &component("files")).0, Some(0), "all of it has another name");
    fs::write(&read, kept.replace(r#"\"told\""#, r#"\"gone\""#)).expect("a file");
    let (code, shown) = replay(&read, &component("files"));
    assert_eq!((code, &shown["calls"][0]["answered"]), (Some(1), &json!(false)), "{shown}");
}

/// A recording may come from anyone: it gives a guest no more than it asked for.
#[test]
fn answers_that_are_too_long_are_cut() {
    let home = home("folders");
    let file = recorded(&home, "folders_attempt", &["what=read", "path=here"], "read.jsonl");
    let long = fs::read_to_string(&file).expect("a recording").replacen(
        "[\"hello\",",
        &format!("[\"{}\",", "a".repeat(1 << 17)),
        1,
    );
    fs::write(&file, long).expect("a file");
    let (code, shown) = replay(&file, &component("folders"));
    assert_eq!(code, Some(1), "{shown}");
    let now = shown["calls"][0]["outcome"]["now"]["complete"]["content"][0]["text"]["text"].as_str().expect("a text");
    assert_eq!(now.len(), "ok ".len() + (1 << 16), "as much as was asked for");
    let file = recorded(&home, "folders_attempt", &["what=stream", "path=new", "count=10"], "stream.jsonl");
    let large = fs::read_to_string(&file).expect("a recording").replace("{\"ok\":65536}", "{\"ok\":999999999999}");
    assert!(large.contains("999999999999"), "{large}");
    fs::write(&file, large).expect("a file");
    assert_eq!(replay(&file, &component("folders")).0, Some(0));
}

#[test]
fn a_server_records_calls_with_files() {
    let home = home("files");
    let config = home.path("config/wharf/wharf.toml");
    let with = fs::read_to_string(&config).expect("the settings") + "[record]\nfolder = \"recordings\"\n";
    fs::write(&config, with).expect("the settings");
    let mut client = Client::start_modern(&home);
    let result = client.call("files_read", json!({"path": "here"}));
    assert!(result.to_string().contains("hello"), "{result}");
    client.finish();
    let folder = home.path("config/wharf/recordings");
    let [name]: [String; 1] = names_in(&folder).try_into().expect("one recording");
    fs::remove_dir_all(home.path("shared")).expect("mine");
    let (code, shown) = replay(&folder.join(name), &component("files"));
    assert_eq!((code, &shown["same"]), (Some(0), &Value::Bool(true)), "{shown}");
}
