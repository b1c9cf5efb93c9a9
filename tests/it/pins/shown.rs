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
}
