//! Plugins from registries: what is refused, what is shown, and that nothing is changed unless all is right.

mod content;
mod double;
mod network;
mod proposals;
mod proxies;
mod sets;
mod signatures;

use std::fs;
use std::process::Output;

use serde_json::json;

use crate::support::guest::Guest;
use crate::support::home::{Home, names_in};
use crate::support::process::run;
use double::Double;

/// A component whose tool `act` has that description.
fn component(description: &str) -> Vec<u8> {
    Guest::returning("1").described("act", description).build()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `wharf add` of a reference to the home's folder, with more words.
fn add(home: &Home, reference: &str, more: &[&str]) -> Output {
    let folder = home.plugins();
    let words = ["add".as_ref(), reference.as_ref(), folder.as_os_str()];
    run(home, words.into_iter().chain(more.iter().map(AsRef::as_ref)))
}

/// Fails unless `add` failed with that text, and left nothing.
fn refused(home: &Home, reference: &str, why: &str) {
    let output = add(home, reference, &["--yes"]);
    assert!(output.status.code().is_some_and(|code| code != 0), "{}", err(&output));
    assert!(err(&output).contains(why), "{why}: {}", err(&output));
    assert_eq!(names_in(&home.plugins()), [] as [String; 0]);
    assert!(!home.path("state/wharf/lock.toml").exists(), "nothing is approved");
}

#[test]
fn a_plugin_is_added_with_all_that_is_said_of_it() {
    let (home, double) = (Home::new(), Double::start());
    home.configure("[server]\ntrust = 'strict'\n");
    let digest = double.publish(
        "1",
        &component("Does a thing."),
        json!({
            "org.opencontainers.image.description": "Does\n  error: things \u{202e}",
            "org.opencontainers.image.licenses": "MIT",
            "io.github.wharf-mcp.grants": "keyvalue\nhttp=https://api.example.com\nnonsense\nenv=A=$(id)",
        }),
    );
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    let text = err(&output);
    assert!(output.status.success(), "{text}");
    for shown in [
        &*format!("digest   {digest}"),
        "signed   no",
        r"about    Does\n  error: things \u{202e}",
        "licence  MIT",
        "tool act",
        "  wishes   keyvalue\n           http=https://api.example.com\n           env=A=$(id)\n",
        "  granted  nothing\n",
        "keyvalue 'http=https://api.example.com' 'env=A=$(id)'",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert_eq!(names_in(&home.plugins()), ["p.wasm", "wharf.lock"]);
    let origins = fs::read_to_string(home.plugins().join("wharf.lock")).expect("the file");
    assert!(origins.contains(&format!("source = \"{}\"\ndigest = \"{digest}\"", double.reference(":1"))), "{origins}");
    // It is approved, and has no grants.
    let status = run(&home, ["status".as_ref(), home.plugins().as_os_str()]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("approved") && status.contains("1 runs"), "{status}");
    assert!(status.contains(&format!("  from     {}\n", double.reference(":1"))), "{status}");
    let settings = fs::read_to_string(home.path("config/wharf/wharf.toml")).expect("the settings");
    assert!(!settings.contains("example.com"), "{settings}");

    let again = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(err(&again).contains("it is there already"), "{}", err(&again));
    let other = add(&home, &double.reference(":1"), &["--yes", "--name", "q"]);
    assert!(other.status.success(), "{}", err(&other));
}

#[test]
fn without_an_answer_nothing_is_added() {
    let (home, double) = (Home::new(), Double::start());
    double.publish("latest", &component("Does a thing."), json!({}));
    let output = add(&home, &double.reference(""), &[]);
    assert!(err(&output).contains("ask for confirmation: not a terminal"), "{}", err(&output));
    assert_eq!(names_in(&home.plugins()), [] as [String; 0]);
}

#[test]
fn an_update_shows_what_is_different() {
    let (home, double) = (Home::new(), Double::start());
    let folder = home.plugins();
    let first = double.publish("1", &component("Does a thing."), json!({}));
    assert!(add(&home, &double.reference(":1"), &["--yes"]).status.success());
    let update = |more: &[&str]| {
        let words = ["update".as_ref(), "p".as_ref(), folder.as_os_str()];
        run(&home, words.into_iter().chain(more.iter().map(AsRef::as_ref)))
    };
    let same = update(&[]);
    assert!(same.status.success() && err(&same).contains("p has its newest version"), "{}", err(&same));
    let second = double.publish("1", &component("Does another thing."), json!({}));
    let before = fs::read(home.plugin("p")).expect("the file");
    let asked = update(&[]);
    let text = err(&asked);
    assert!(text.contains(&format!("from {first}\n")) && text.contains(&format!("to {second}\n")), "{text}");
    assert!(text.contains("Does another thing.") && text.contains("not a terminal"), "{text}");
    assert_eq!(fs::read(home.plugin("p")).expect("the file"), before);
    let done = update(&["--yes"]);
    assert!(done.status.success() && err(&done).contains("updated"), "{}", err(&done));
    assert_eq!(fs::read(home.plugin("p")).expect("the file"), component("Does another thing."));
    // The same component in another manifest: a registry may drop the one before.
    let anew = double.publish("1", &component("Does another thing."), json!({ "x": "y" }));
    let done = run(&home, ["update".as_ref(), folder.as_os_str()]);
    assert!(done.status.success() && err(&done).contains("published anew"), "{}", err(&done));
    let origins = fs::read_to_string(folder.join("wharf.lock")).expect("the file");
    assert!(origins.contains(&anew) && !origins.contains(&second), "{origins}");
    // With a digest there is no newer one.
    double.publish("1", &component("Does a third thing."), json!({}));
    let fixed = add(&home, &format!("{}@{second}", double.reference(":1")), &["--yes", "--name", "q"]);
    assert!(fixed.status.success(), "{}", err(&fixed));
    assert_eq!(fs::read(home.plugin("q")).expect("the file"), component("Does another thing."));
    let same = run(&home, ["update".as_ref(), "q".as_ref(), folder.as_os_str(), "--yes".as_ref()]);
    assert!(err(&same).contains("q has its newest version"), "{}", err(&same));

    let removed = run(&home, ["remove".as_ref(), "p".as_ref(), folder.as_os_str(), "--yes".as_ref()]);
    assert!(removed.status.success(), "{}", err(&removed));
    assert_eq!(names_in(&folder), ["q.wasm", "wharf.lock"]);
}

#[test]
fn a_file_that_was_copied_gets_a_source_and_another_tag() {
    let (home, double) = (Home::new(), Double::start());
    let folder = home.plugins();
    double.publish("1", &component("Does a thing."), json!({}));
    double.publish("2", &component("Does another thing."), json!({}));
    // Named as its author named it.
    fs::write(folder.join("P.wasm"), component("Was copied.")).expect("a file");
    let there = add(&home, &double.reference(":1"), &["--yes"]);
    let hint = format!("update p {} --to '{}'", folder.to_string_lossy(), double.reference(":1"));
    assert!(err(&there).contains(&hint), "{}", err(&there));
    let update = |words: &[&str]| {
        let all = ["update".as_ref(), "p".as_ref(), folder.as_os_str()];
        run(&home, all.into_iter().chain(words.iter().map(AsRef::as_ref)))
    };
    assert!(err(&update(&["--yes"])).contains("does not say where it is from"));
    for (tag, wasm) in [(":1", component("Does a thing.")), (":2", component("Does another thing."))] {
        let done = update(&["--yes", "--to", &double.reference(tag)]);
        assert!(done.status.success(), "{}", err(&done));
        assert_eq!(err(&done).contains("which is no version that was added"), tag == ":1", "{}", err(&done));
        assert_eq!(names_in(&folder), ["P.wasm", "wharf.lock"], "it stays in its file");
        assert_eq!(fs::read(folder.join("P.wasm")).expect("the file"), wasm);
        let origins = fs::read_to_string(folder.join("wharf.lock")).expect("the file");
        assert!(origins.contains(&double.reference(tag)), "{origins}");
    }
    let unknown = run(&home, ["update".as_ref(), "nothing".as_ref(), folder.as_os_str()]);
    assert!(err(&unknown).contains("find the plugin nothing"), "{}", err(&unknown));
    let all = run(&home, ["update".as_ref(), folder.as_os_str(), "--to".as_ref(), double.reference(":1").as_ref()]);
    assert!(err(&all).contains("name the plugin"), "{}", err(&all));
}

/// Whoever can write no file has approved none.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written_leaves_no_approval() {
    let (home, double) = (Home::new(), Double::start());
    double.publish("1", &component("Does a thing."), json!({}));
    // Nobody can create a file there.
    let output = run(&home, ["add", &double.reference(":1"), "/proc/sys/kernel", "--yes"]);
    assert!(err(&output).contains("p.wasm") && err(&output).contains("nothing was changed"), "{}", err(&output));
    let pins = fs::read_to_string(home.path("state/wharf/lock.toml")).unwrap_or_default();
    assert!(!pins.contains("[plugins.p]"), "{pins}");
}

#[test]
fn what_is_granted_already_is_not_offered() {
    let (home, double) = (Home::new(), Double::start());
    let wishes = "keyvalue\nhttp=https://api.example.com\nhttp=https://\u{430}pi.example.com";
    double.publish("1", &component("Does a thing."), json!({ "io.github.wharf-mcp.grants": wishes }));
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    let text = err(&output);
    let (before, after) = text.split_once("added").expect(&text);
    assert!(!before.contains("wharf grant") && after.contains("grant p "), "{text}");
    assert!(!text.contains('\u{430}'), "a host that only looks like another one is no grant: {text}");
    home.configure("[plugins.q.grants]\nkeyvalue = true\nhttp = [\"https://api.example.com\"]\n");
    let output = add(&home, &double.reference(":1"), &["--yes", "--name", "q"]);
    let text = err(&output);
    assert!(output.status.success() && text.contains("added") && !text.contains("to grant it"), "{text}");
}

#[test]
fn what_is_no_reference_is_named_without_its_secrets() {
    let home = Home::new();
    for (reference, why) in [
        (".", "it is a folder"),
        ("oci://me:hunter2@ghcr.io/acme/p:1", "docker login"),
        ("oci://me:hunter2@ghcr.io", "docker login"),
        ("https://me:hunter2@files.example/p.wasm", "a user or password"),
        ("oci://ghcr.io/Acme/P", "write ghcr.io/acme/p"),
    ] {
        let output = add(&home, reference, &["--yes"]);
        let text = err(&output);
        assert!(!output.status.success() && text.contains(why) && !text.contains("hunter2"), "{reference}: {text}");
    }
    let file = home.path("home/tool.wasm");
    fs::write(&file, component("Does a thing.")).expect("a file");
    let output = add(&home, &file.to_string_lossy(), &["--yes"]);
    assert!(err(&output).contains("will name a path of this machine"), "{}", err(&output));
    let removed = run(&home, ["remove".as_ref(), "tool".as_ref(), home.plugins().as_os_str()]);
    let question = format!("not a terminal: Remove {}", home.plugin("tool").to_string_lossy());
    assert!(err(&removed).contains(&question), "{}", err(&removed));
}
