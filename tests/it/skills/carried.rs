//! Skills that a plugin carries in its file.

use std::fs;

use serde_json::json;
use wharf_dev::with_custom_section;

use super::{folder_command, put, read, text, until, until_listed, uris, write};
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
