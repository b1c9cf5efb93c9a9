//! Skills that a plugin carries in its file.

use std::fs;
use std::time::Instant;

use serde_json::json;
use wharf_dev::with_custom_section;

use super::{folder_command, put, read, text, until, until_listed, uris, write};
use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::home::{Home, component};
use crate::support::process::run;

const URI: &str = "skill://echo/demo/SKILL.md";

/// Has a plugin carry the skills of the plugin folder's own folder `skills`, which is gone then.
fn carry(home: &Home, plugin: &str) {
    let skills = home.plugins().join("skills");
    let aside = home.path("carried");
    let _ = fs::remove_dir_all(&aside);
    fs::rename(&skills, &aside).expect("renamed");
    let part = home.path(&format!("{plugin}.wasm"));
    fs::copy(component("echo"), &part).expect("a copy");
    let words = ["embed".as_ref(), "--skills".as_ref(), aside.as_os_str(), part.as_os_str()];
    let embedded = run(home, words);
    assert!(embedded.status.success(), "{}", text(&embedded.stderr));
    fs::rename(part, home.plugin(plugin)).expect("renamed");
}

#[test]
fn a_plugin_serves_the_skills_of_its_file() {
    let home = Home::new();
    put(&home, "demo", "# Demo");
    carry(&home, "echo");
    let mut client = Client::start_modern(&home);
    until_listed(&mut client, &[URI]);
    let declared = client.result("server/discover", json!({}))["capabilities"].take();
    assert_eq!(declared["extensions"][super::EXTENSION], json!({"directoryRead": true}));
    assert!(read(&mut client, URI).contains("# Demo"));
    assert_eq!(read(&mut client, "skill://echo/demo/references/more.md"), "More.\n");
    let children = client.result("resources/directory/read", json!({"uri": "skill://echo/demo"}));
    assert_eq!(children["resources"][1]["uri"], "skill://echo/demo/references");
    let none = client.error("resources/directory/read", json!({"uri": "skill://echo"}));
    assert_eq!(none["data"]["reason"], "directory_not_found");
    let resources = client.result("resources/list", json!({}))["resources"].take();
    assert!(resources.as_array().is_some_and(|all| all.iter().any(|it| it["uri"] == URI)), "{resources}");
    let called = client.result("tools/call", json!({"name": "echo", "arguments": {"message": "hi"}}));
    assert_eq!(called["content"][0]["text"], "hi");
    drop(client);

    // From the listing that is stored, and before its code is compiled.
    let mut again = Client::start_modern(&home);
    until_listed(&mut again, &[URI]);
    drop(again);
    let mut older = Client::start(&home);
    assert!(read(&mut older, URI).contains("# Demo"));
    let resources = older.result("resources/list", json!({}))["resources"].take();
    let own = resources.as_array().expect("a list").iter().filter(|it| it["uri"] == URI).count();
    assert_eq!(own, 1, "{resources}");
    let file = home.plugin("echo");
    let checked = text(&run(&home, ["check".as_ref(), file.as_os_str()]).stdout);
    assert!(checked.contains(URI) && !checked.contains("differs"), "{checked}");
}

#[test]
fn changed_skills_of_a_plugin_are_held_until_approved() {
    let home = Home::new();
    put(&home, "demo", "# Demo\nOld words.");
    carry(&home, "echo");
    let mut client = Client::start_modern(&home);
    until_listed(&mut client, &[URI]);
    put(&home, "demo", "# Demo\nNew words.");
    carry(&home, "echo");
    let log = client.process().log_with("held: the plugin carries skills");
    assert!(log.contains("still_serving=true"), "{log}");
    assert!(read(&mut client, URI).contains("Old words."));
    let status = text(&folder_command(&home, &["status"]).stdout);
    for line in ["file skills/demo/SKILL.md: text", "- Old words.", "+ New words."] {
        assert!(status.contains(line), "no {line:?} in {status}");
    }
    let approved = folder_command(&home, &["approve", "--yes", "echo"]);
    assert!(approved.status.success(), "{}", text(&approved.stderr));
    until(&mut client, URI, "New words.");
    // Without them it is a plugin without grants as any other.
    fs::copy(component("echo"), home.path("echo.part")).expect("a copy");
    fs::rename(home.path("echo.part"), home.plugin("echo")).expect("renamed");
    until_listed(&mut client, &[]);
    // And first skills are as much of a change.
    put(&home, "demo", "# Demo\nNew words.");
    carry(&home, "echo");
    client.process().log_with("held: the plugin carries skills, which a model follows, and they");
    assert!(uris(&mut client).is_empty());
}

/// Otherwise a file that never finishes loading could have another text at each start.
#[test]
fn skills_of_a_version_that_is_not_pinned_are_not_served_before_it_is() {
    let home = Home::new();
    put(&home, "demo", "# Demo");
    carry(&home, "echo");
    let mut bytes = fs::read(home.plugin("echo")).expect("a component");
    // A core module, at the end, whose only function does not end: the component cannot be compiled.
    let module = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x05\x01\x03\0\x6a\x0b";
    bytes.extend([1, u8::try_from(module.len()).expect("small")]);
    bytes.extend(module);
    home.put_bytes(&bytes, "echo");
    let mut client = Client::start_modern(&home);
    assert!(uris(&mut client).is_empty());
    client.process().log_with("refused");
    assert!(uris(&mut client).is_empty());
    let refused = client.error("resources/read", json!({ "uri": URI }));
    assert_eq!(refused["code"], -32602, "{refused}");
}

/// The room of all plugins is not what they are compared by.
#[test]
fn skills_without_room_are_left_out_and_their_plugins_stay() {
    let home = Home::new();
    let bytes = fs::read(component("echo")).expect("a component");
    let file = "x".repeat(4 << 20 >> 1);
    for number in 0..34 {
        let skill = json!({"demo": {
            "SKILL.md": {"text": "---\nname: demo\ndescription: d\n---\n"},
            "f": {"text": file},
        }});
        home.put_bytes(
            &with_custom_section(&bytes, "wharf:skills", skill.to_string().as_bytes()),
            &format!("p{number}"),
        );
    }
    for _ in 0..2 {
        let mut client = Client::start_modern(&home);
        let deadline = Instant::now() + TIMEOUT;
        while client.result("tools/list", json!({}))["tools"].as_array().map_or(0, Vec::len) < 68 {
            assert!(Instant::now() < deadline, "{}", client.process().log());
        }
        let served = uris(&mut client).len();
        assert!((30..=31).contains(&served), "{served} are served");
        assert!(!client.process().log().contains("held"), "{}", client.process().log());
    }
}

/// Whatever the server has noticed in between, the plugin is gone.
#[test]
fn a_plugin_that_is_revoked_right_after_an_approval_is_gone() {
    let home = Home::new();
    put(&home, "demo", "# One");
    carry(&home, "echo");
    let mut client = Client::start_modern(&home);
    until_listed(&mut client, &[URI]);
    put(&home, "demo", "# Two");
    carry(&home, "echo");
    client.process().log_with("held: the plugin carries skills");
    for words in [&["approve", "--yes", "echo"][..], &["revoke", "echo"]] {
        let done = folder_command(&home, words);
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    until_listed(&mut client, &[]);
    assert_eq!(client.result("tools/list", json!({}))["tools"], json!([]));
}

#[test]
fn the_folder_of_skills_has_to_be_the_right_one() {
    let home = Home::new();
    put(&home, "demo", "# Demo");
    carry(&home, "echo");
    let (file, skills) = (home.plugin("echo"), home.path("carried"));
    let embed = |folder: &std::path::Path| {
        run(&home, ["embed".as_ref(), "--skills".as_ref(), folder.as_os_str(), file.as_os_str()])
    };
    let told = |output: &std::process::Output| text(&output.stderr);
    let itself = embed(&skills.join("demo"));
    let hint = format!("--skills {}", skills.canonicalize().expect("a folder").display());
    assert!(!itself.status.success() && told(&itself).contains(&hint), "{}", told(&itself));
    let empty = embed(&skills.join("demo/references"));
    assert!(!empty.status.success() && told(&empty).contains("--without-skills"), "{}", told(&empty));
    let done = embed(&skills);
    assert!(told(&done).contains(", with the skill demo (2 files)"), "{}", told(&done));
    let checked = text(&run(&home, ["check".as_ref(), file.as_os_str()]).stdout);
    assert!(checked.contains("  carries  the skill demo (2 files)\n"), "{checked}");
    let removed = run(&home, ["embed".as_ref(), "--without-skills".as_ref(), file.as_os_str()]);
    assert!(removed.status.success(), "{}", told(&removed));
    let checked = text(&run(&home, ["check".as_ref(), file.as_os_str()]).stdout);
    assert!(!checked.contains("demo"), "{checked}");
}

#[test]
fn a_folder_of_the_operator_comes_before_skills_of_plugins() {
    let home = Home::new();
    put(&home, "demo", "# Plugin");
    carry(&home, "echo");
    put(&home, "echo", "# Operator");
    let mut client = Client::start_modern(&home);
    until_listed(&mut client, &["skill://echo/SKILL.md"]);
    assert!(read(&mut client, "skill://echo/SKILL.md").contains("# Operator"));
    let refused = client.error("resources/read", json!({ "uri": URI }));
    assert_eq!(refused["code"], -32602, "{refused}");
}

#[test]
fn broken_skills_are_left_out_and_said() {
    let home = Home::new();
    let bytes = fs::read(component("echo")).expect("a component");
    let broken = br#"{"demo":{"SKILL.md":{"text":"no frontmatter"}}}"#;
    home.put_bytes(&with_custom_section(&bytes, "wharf:skills", broken), "echo");
    let mut client = Client::start_modern(&home);
    let log = client.process().log_with("left out its skills: failed to find the frontmatter");
    assert!(log.contains("skills/demo/SKILL.md"), "{log}");
    assert!(uris(&mut client).is_empty());
    let called = client.result("tools/call", json!({"name": "echo", "arguments": {"message": "hi"}}));
    assert_eq!(called["content"][0]["text"], "hi");
    let file = home.plugin("echo");
    let checked = run(&home, ["check".as_ref(), file.as_os_str()]);
    assert_eq!(checked.status.code(), Some(1), "{}", text(&checked.stdout));

    put(&home, "bad", "");
    write(&home.plugins().join("skills/bad/SKILL.md"), "---\nname: other\ndescription: d\n---\n");
    let skills = home.plugins().join("skills");
    let words = ["embed".as_ref(), "--skills".as_ref(), skills.as_os_str(), file.as_os_str()];
    let refused = text(&run(&home, words).stderr);
    assert!(refused.contains("failed to use the name 'other'") && refused.contains("bad/SKILL.md"), "{refused}");
}
