//! `wharf test` in the project of a plugin: its recordings, with whatever it built last.

use std::fs;

use super::{dice, recorded, text};
use crate::support::home::Home;
use crate::support::process::{command, run};

#[test]
fn what_was_built_is_tested_whatever_its_digest() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    let project = home.path("project");
    for folder in ["recordings", "dist"] {
        fs::create_dir_all(project.join(folder)).expect("a folder");
    }
    fs::write(project.join("plugin.toml"), "name = \"dice\"\nlanguage = \"c\"\n").expect("a manifest");
    recorded(&home, "dice_roll", &["seconds=0"], "project/recordings/rolled.jsonl");
    let test = |more: &str| {
        fs::write(project.join("dist/dice.wasm"), dice(more)).expect("a component");
        let here = command(&home, ["test"]).current_dir(&project).output().expect("it runs");
        let there = run(&home, ["test".as_ref(), project.as_os_str()]);
        assert_eq!(here.status.code(), there.status.code(), "from within and from without");
        (here.status.code(), text(&here.stdout) + &text(&here.stderr))
    };
    for same in ["", "(nop)", "(nop) (nop)"] {
        let (code, shown) = test(same);
        assert!(code == Some(0) && shown.contains("1 of 1 recordings"), "{same}: {shown}");
    }
    let (code, shown) = test("(if (i32.eqz (local.get $seconds)) (then (return (i64.const 7))))");
    assert!(code == Some(1) && shown.contains("differs"), "{shown}");
    fs::remove_file(project.join("dist/dice.wasm")).expect("the component");
    let nothing = command(&home, ["test"]).current_dir(&project).output().expect("it runs");
    let shown = text(&nothing.stdout);
    assert!(nothing.status.code() == Some(1) && shown.contains("dist/dice.wasm"), "{shown}");
}
