//! What `status` and `approve` show of grants, of the pin file and of files with names that no plugin has.

use super::commands::err;
use super::*;

#[test]
fn descriptions_that_may_change_later_are_shown_as_a_grant() {
    let home = home("[plugins.p.grants]\nchange-lists = true\nelicit = true\n");
    let line = "change-lists: its descriptions may change later, without approval\n";
    let approved = folder_command(&home, &["approve", "--yes", "p"]);
    assert!(err(&approved).contains(&format!("  granted  elicit\n           {line}")), "{}", err(&approved));
    let text = String::from_utf8(folder_command(&home, &["status"]).stdout).expect("UTF-8");
    assert!(text.contains(&format!("  granted  elicit\n  granted  {line}")), "{text}");
    assert_eq!(status(&home)["change-lists"], true);
    home.configure(GRANTED);
    let text = String::from_utf8(folder_command(&home, &["status"]).stdout).expect("UTF-8");
    assert!(!text.contains("change-lists") && status(&home)["change-lists"] == false, "{text}");
}

/// The file is the person's own, and so may have been edited by anything.
#[test]
fn texts_of_the_pin_file_take_one_bounded_line() {
    let home = home(GRANTED);
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    let file = home.path("state/wharf/lock.toml");
    let pins = fs::read_to_string(&file).expect("the pins");
    let edited = pins.lines().map(|line| match line.split(" = ").next() {
        Some("grants") => "grants = [\"env\\n  state    runs\"]".to_owned(),
        Some("needs") => "needs = [\"env\\n  state    runs\"]\nsigner = \"x\\n  state    runs\"".to_owned(),
        Some("folder") => format!("folder = \"/{}\"", "a".repeat(1 << 20)),
        _ => line.to_owned(),
    });
    fs::write(&file, edited.collect::<Vec<_>>().join("\n")).expect("mine");
    let output = folder_command(&home, &["status"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("pinned: env\\n  state    runs") && text.contains("  folder   pinned for"), "{text}");
    assert!(text.len() < 4096 && text.lines().filter(|line| line.starts_with("  state")).count() == 1, "{text}");
    assert!(text.contains("  state    held: it is not signed"), "{text}");
}

#[test]
fn files_of_wrong_names_are_not_all_listed() {
    let home = home("");
    for number in 0..40 {
        fs::write(home.plugins().join(format!("wrong!{number}.wasm")), "x").expect("a file");
    }
    for command in ["status", "check"] {
        let reported = err(&folder_command(&home, &[command]));
        assert!(reported.contains("serve 24 more files, not listed here"), "{reported}");
        assert_eq!(reported.lines().filter(|line| line.starts_with("refused ")).count(), 17, "{reported}");
    }
    let output = folder_command(&home, &["status"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.ends_with("\n1 will run when first served, 40 are refused\n"), "{text}");
}

/// The one that a server serves, whatever the files are called.
#[test]
fn commands_look_at_the_file_that_is_pinned() {
    let home = home("");
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    let backup = home.plugins().join("backup");
    fs::create_dir(&backup).expect("a folder");
    fs::rename(home.plugin("p"), backup.join("p.wasm")).expect("a file");
    home.put_bytes(&version("2", "Does another thing."), "p");
    let entry = status(&home);
    assert_eq!((&entry["state"], &entry["pinned"]["content"]), (&json!("runs"), &entry["file"]["content"]));
    let checked = String::from_utf8(folder_command(&home, &["check"]).stdout).expect("UTF-8");
    assert!(checked.contains("backup/p.wasm: would load"), "{checked}");
    let called = run(&home, ["call".as_ref(), home.plugins().as_os_str(), "p_version".as_ref()]);
    assert_eq!(String::from_utf8_lossy(&called.stdout), "1\n", "{}", err(&called));
}

#[test]
fn the_name_of_a_plugin_in_place_of_a_folder_is_explained() {
    let home = home("");
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    let reported = err(&run(&home, ["status", "p"]));
    let hint =
        format!("p is a plugin; name the folder that its file is in, and not the plugin: {}", home.plugins().display());
    assert!(reported.contains(&hint) && !reported.contains("mkdir"), "{reported}");
}

/// Without the wrong one, the command that it names has the right one.
#[test]
fn the_hint_of_a_wrong_pin_leads_to_the_right_one() {
    let home = home("[plugins.p]\npin = \"blake3:1234\"\n");
    let wrong = err(&folder_command(&home, &["status"]));
    assert!(wrong.contains("hint: remove it, then copy the hash of the file from `wharf status --json`"), "{wrong}");
    home.configure("");
    let hash = status(&home)["file"]["content"].as_str().expect("a hash").to_owned();
    home.configure(&format!("[plugins.p]\npin = \"{hash}\"\n"));
    assert_eq!(status(&home)["state"], "runs");
}
