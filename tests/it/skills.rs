//! Skills: folders of instructions in the folder `skills`, served as they are, hot, and only as approved.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Instant;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::{Process, run};

mod approval;
mod carried;
mod commands;
mod sample;

const EXTENSION: &str = "io.modelcontextprotocol/skills";
const CHANGED: &str = "notifications/resources/list_changed";

/// The text of a `SKILL.md`.
fn skill_file(name: &str, description: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\nmetadata:\n  version: \"1.0\"\n---\n{text}\n")
}

fn folder(home: &Home, name: &str) -> PathBuf {
    home.plugins().join("skills").join(name)
}

/// Puts a skill into the folder at once, as an installer does.
fn put(home: &Home, name: &str, text: &str) {
    let aside = home.path(&format!("{name}.part"));
    fs::create_dir_all(aside.join("references")).expect("a folder");
    fs::write(aside.join("SKILL.md"), skill_file(name, "Does things.", text)).expect("a file");
    fs::write(aside.join("references/more.md"), "More.\n").expect("a file");
    let place = folder(home, name);
    fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    if place.exists() {
        fs::remove_dir_all(&place).expect("removed");
    }
    fs::rename(aside, place).expect("a rename into the folder");
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).expect("a file");
}

fn listed(client: &mut Client) -> Vec<Value> {
    client.result("skills/list", json!({}))["skills"].as_array().expect("a list").clone()
}

fn uris(client: &mut Client) -> Vec<String> {
    listed(client).iter().map(|skill| skill["uri"].as_str().expect("a URI").to_owned()).collect()
}

fn read(client: &mut Client, uri: &str) -> String {
    let result = client.result("resources/read", json!({ "uri": uri }));
    result["contents"][0]["text"].as_str().expect("a text").to_owned()
}

/// Reads a file until it has that text.
fn until(client: &mut Client, uri: &str, text: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while !read(client, uri).contains(text) {
        assert!(Instant::now() < deadline, "{uri} does not have {text}:\n{}", client.process().log());
    }
}

/// Lists until there are those skills.
fn until_listed(client: &mut Client, wanted: &[&str]) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let found = uris(client);
        if found == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{found:?} are listed, not {wanted:?}:\n{}", client.process().log());
    }
}

fn folder_command(home: &Home, words: &[&str]) -> Output {
    let folder = home.plugins();
    run(home, words.iter().map(|word| word.as_ref()).chain([folder.as_os_str()]))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn a_change_of_equal_length_and_time_is_taken_up() {
    let home = Home::new();
    home.configure("[server]\ntrust = \"dev\"\n");
    put(&home, "demo", "# Old");
    let file = folder(&home, "demo").join("SKILL.md");
    let modified = file.metadata().expect("a file").modified().expect("a time");
    let mut client = Client::start_modern(&home);
    until(&mut client, "skill://demo/SKILL.md", "# Old");
    write(&file, &skill_file("demo", "Does things.", "# New"));
    fs::File::options().append(true).open(&file).expect("a file").set_modified(modified).expect("a time");
    until(&mut client, "skill://demo/SKILL.md", "# New");
}

#[test]
fn a_skill_is_served_with_the_digests_of_what_is_read() {
    let home = Home::new();
    put(&home, "demo", "# Demo");
    fs::write(folder(&home, "demo").join("a b.bin"), [0xff, 0]).expect("a file");
    let mut client = Client::start_modern(&home);
    let declared = client.result("server/discover", json!({}))["capabilities"].take();
    assert_eq!(declared["extensions"][EXTENSION], json!({"directoryRead": true}));
    assert!(declared["resources"].is_object());

    let result = client.result("skills/list", json!({}));
    assert_eq!(
        (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
        (&json!("complete"), &json!(0), &json!("private"))
    );
    let skill = &result["skills"][0];
    let frontmatter = json!({"name": "demo", "description": "Does things.", "metadata": {"version": "1.0"}});
    assert_eq!((&skill["uri"], &skill["frontmatter"]), (&json!("skill://demo/SKILL.md"), &frontmatter));
    let files = skill["resources"].as_array().expect("files");
    let file_uris: Vec<&str> = files.iter().map(|file| file["uri"].as_str().expect("a URI")).collect();
    assert_eq!(file_uris, ["skill://demo/SKILL.md", "skill://demo/a%20b.bin", "skill://demo/references/more.md"]);
    for file in files.iter().filter(|file| file["uri"] != "skill://demo/a%20b.bin") {
        let text = read(&mut client, file["uri"].as_str().expect("a URI"));
        let hex: String = digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((&file["digest"], &file["size"]), (&json!(format!("sha256:{hex}")), &json!(text.len())));
    }
    let binary = client.result("resources/read", json!({"uri": "skill://demo/a%20b.bin"}));
    let contents = json!({"uri": "skill://demo/a%20b.bin", "mimeType": "application/octet-stream", "blob": "/wA="});
    assert_eq!(binary["contents"], json!([contents]));

    let one = client.result("skills/get", json!({"uri": "skill://demo/SKILL.md"}));
    assert_eq!((&one["skill"], &one["ttlMs"], &one["cacheScope"]), (skill, &json!(0), &json!("private")));
    let children = client.result("resources/directory/read", json!({"uri": "skill://demo"}))["resources"].take();
    let named: Vec<(&Value, &Value)> =
        children.as_array().expect("a list").iter().map(|it| (&it["name"], &it["mimeType"])).collect();
    assert_eq!(
        named,
        [
            (&json!("SKILL.md"), &json!("text/markdown")),
            (&json!("a b.bin"), &json!("application/octet-stream")),
            (&json!("references"), &json!("inode/directory")),
        ]
    );
    for (method, uri, reason) in [
        ("skills/get", "skill://demo", "skill_not_found"),
        ("skills/get", "skill://demo/references/more.md", "skill_not_found"),
        ("skills/get", "skill://other/SKILL.md", "skill_not_found"),
        ("resources/directory/read", "skill://demo/SKILL.md", "directory_not_found"),
        ("resources/directory/read", "skill://demo/", "directory_not_found"),
        ("resources/directory/read", "skill://other", "directory_not_found"),
        ("resources/read", "skill://demo/other.md", "resource_not_found"),
        ("resources/read", "skill://demo", "resource_not_found"),
        ("resources/read", "skill://demo/../demo/SKILL.md", "resource_not_found"),
    ] {
        let error = client.error(method, json!({ "uri": uri }));
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32602), &json!(reason)), "{method} {uri}");
    }
}

#[test]
fn older_revisions_see_resources() {
    let home = Home::new();
    put(&home, "demo", "# Demo");
    let mut client = Client::start(&home);
    let resources = client.result("resources/list", json!({}))["resources"].take();
    let size = fs::metadata(folder(&home, "demo").join("SKILL.md")).expect("a file").len();
    let resource = json!({
        "uri": "skill://demo/SKILL.md", "name": "demo", "description": "Does things.", "mimeType": "text/markdown",
        "size": size,
    });
    assert_eq!(resources, json!([resource]));
    assert_eq!(read(&mut client, "skill://demo/references/more.md"), "More.\n");
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        let error = client.error(method, json!({"uri": "skill://demo/SKILL.md"}));
        assert_eq!(
            (&error["code"], &error["data"]["reason"]),
            (&json!(-32601), &json!("method_not_found")),
            "{method}"
        );
    }
}

#[test]
fn without_a_folder_of_skills_none_are_declared() {
    let home = Home::new();
    let mut client = Client::start_modern(&home);
    let declared = client.result("server/discover", json!({}))["capabilities"].take();
    assert_eq!(declared["extensions"][EXTENSION], Value::Null);
    assert_eq!(uris(&mut client), [""; 0]);
}

#[test]
fn skills_follow_their_folders() {
    let home = Home::new();
    home.configure("[server]\ntrust = 'dev'\n");
    let mut client = Client::start(&home);
    assert_eq!(client.result("resources/list", json!({}))["resources"], json!([]));
    put(&home, "late", "# One");
    client.notification(CHANGED);
    until(&mut client, "skill://late/SKILL.md", "# One");
    // A file below it, which no list has.
    write(&folder(&home, "late").join("references/more.md"), "Other.\n");
    until(&mut client, "skill://late/references/more.md", "Other.");
    fs::create_dir(folder(&home, "late").join("scripts")).expect("a folder");
    write(&folder(&home, "late").join("scripts/run.sh"), "echo");
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let id = client.post("resources/read", json!({"uri": "skill://late/scripts/run.sh"}));
        if client.answer(id)["result"]["contents"][0]["text"] == "echo" {
            break;
        }
        assert!(Instant::now() < deadline, "the new file is not there:\n{}", client.process().log());
    }
    put(&home, "another", "# Two");
    client.notification(CHANGED);
    fs::remove_dir_all(folder(&home, "late")).expect("removed");
    client.notification(CHANGED);
    let resources = client.result("resources/list", json!({}))["resources"].take();
    assert_eq!(resources[0]["uri"], "skill://another/SKILL.md");
    assert_eq!(resources[1], Value::Null);
    fs::remove_dir_all(home.plugins().join("skills")).expect("removed");
    client.notification(CHANGED);
}

#[test]
fn a_broken_state_keeps_the_one_before_in_service() {
    let home = Home::new();
    home.configure("[server]\ntrust = 'dev'\n");
    put(&home, "demo", "# One");
    let mut client = Client::new(Process::serve(&home), true);
    until_listed(&mut client, &["skill://demo/SKILL.md"]);
    let before = listed(&mut client);
    let skill = folder(&home, "demo");

    write(&skill.join("SKILL.md"), "---\nname: demo\n---\n# Two\n");
    let log = client.process().log_with("find description in the frontmatter");
    assert!(log.contains("still_serving=true") && log.contains("demo/SKILL.md"), "{log}");
    assert_eq!(listed(&mut client), before);
    until(&mut client, "skill://demo/SKILL.md", "# One");

    write(&skill.join("SKILL.md"), &skill_file("demo", "Does more.", "# Three"));
    until(&mut client, "skill://demo/SKILL.md", "# Three");
    assert_eq!(listed(&mut client)[0]["frontmatter"]["description"], "Does more.");

    symlink("/etc/passwd", skill.join("references/link")).expect("a link");
    client.process().log_with("follow a symbolic link");
    write(&skill.join("SKILL.md"), &skill_file("demo", "Does more.", "# Four"));
    // No event is awaited in a folder that could not be surveyed.
    fs::remove_file(skill.join("references/link")).expect("removed");
    until(&mut client, "skill://demo/SKILL.md", "# Four");

    let large = fs::File::create(skill.join("large")).expect("a file");
    large.set_len((4 << 20) + 1).expect("a size");
    client.process().log_with("read a file of more than 4194304 bytes");
    large.set_len(3 << 20).expect("a size");
    let deadline = Instant::now() + TIMEOUT;
    while listed(&mut client)[0]["resources"].as_array().map(Vec::len) != Some(3) {
        assert!(Instant::now() < deadline, "the smaller file is not there:\n{}", client.process().log());
    }
}

#[test]
fn list_digest_and_bytes_are_of_one_state() {
    let home = Home::new();
    home.configure("[server]\ntrust = 'dev'\n");
    put(&home, "demo", "# 0");
    let mut client = Client::new(Process::serve(&home), true);
    until_listed(&mut client, &["skill://demo/SKILL.md"]);
    let file = folder(&home, "demo").join("SKILL.md");
    for round in 1..=5 {
        let wanted = format!("# {round}");
        write(&file, &skill_file("demo", "Does things.", &wanted));
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let entry = listed(&mut client).remove(0);
            let text = read(&mut client, "skill://demo/SKILL.md");
            let again = listed(&mut client).remove(0);
            let hex: String =
                digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            // Only if it changed between the two lists may the text be of either.
            if entry == again {
                assert_eq!(entry["resources"][0]["digest"], format!("sha256:{hex}"));
            }
            if text.contains(&wanted) {
                break;
            }
            assert!(Instant::now() < deadline, "{wanted} is not served:\n{}", client.process().log());
        }
    }
}

#[test]
fn pages_have_whole_entries() {
    let home = Home::new();
    home.configure("[server]\npage-size = 2\n");
    for name in ["a", "b", "c"] {
        put(&home, name, "");
    }
    let mut client = Client::start_modern(&home);
    let first = client.result("skills/list", json!({}));
    assert_eq!(first["skills"].as_array().map(Vec::len), Some(2));
    let second = client.result("skills/list", json!({"cursor": first["nextCursor"]}));
    assert_eq!((&second["skills"][0]["uri"], &second["nextCursor"]), (&json!("skill://c/SKILL.md"), &Value::Null));
    let children = client.result("resources/directory/read", json!({"uri": "skill://b"}));
    assert_eq!((children["resources"].as_array().map(Vec::len), &children["nextCursor"]), (Some(2), &Value::Null));
    // The cursor of another list is none of a folder.
    let error = client.error("resources/directory/read", json!({"uri": "skill://b", "cursor": first["nextCursor"]}));
    assert_eq!(error["data"]["reason"], "invalid_cursor");
}

#[test]
fn rules_hide_skills_and_their_files() {
    let home = Home::new();
    for name in ["mine", "yours"] {
        put(&home, name, "");
    }
    let rules = "[rights]\ndefault = 'nothing'\n[[rights.rules]]\nresources = ['skill://mine/*']\n\
                 [[rights.rules]]\ndeny = true\nresources = ['skill://mine/references/*']\n";
    home.configure(rules);
    let mut client = Client::start_modern(&home);
    assert_eq!(uris(&mut client), ["skill://mine/SKILL.md"]);
    assert!(read(&mut client, "skill://mine/SKILL.md").contains("name: mine"));
    assert!(client.result("skills/get", json!({"uri": "skill://mine/SKILL.md"}))["skill"].is_object());
    assert!(
        client.result("resources/directory/read", json!({"uri": "skill://mine/references"}))["resources"].is_array()
    );
    // What is hidden is as if it were not there.
    let unlike = |error: Value, name: &str| error.to_string().replace(name, "NAME");
    for (method, uri) in [
        ("skills/get", "skill://NAME/SKILL.md"),
        ("resources/directory/read", "skill://NAME"),
        ("resources/read", "skill://NAME/SKILL.md"),
        ("resources/read", "skill://NAME/references/more.md"),
    ] {
        let [hidden, absent] = ["yours", "other"]
            .map(|name| unlike(client.error(method, json!({"uri": uri.replace("NAME", name)})), name));
        assert_eq!(hidden, absent);
    }
    let denied = client.error("resources/read", json!({"uri": "skill://mine/references/more.md"}));
    assert_eq!(denied["data"]["reason"], "resource_not_found");
    // And what another rule allows is there at once.
    let more = format!("{rules}[[rights.rules]]\nresources = ['skill://yours/SKILL.md']\n");
    home.configure(&more);
    until_listed(&mut client, &["skill://mine/SKILL.md", "skill://yours/SKILL.md"]);
}
