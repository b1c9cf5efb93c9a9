//! `wharf check`, `wharf list` and `wharf new --skill`.

use std::fs;

use serde_json::{Value, json};

use super::{folder, folder_command, put, text, write};
use crate::support::home::Home;
use crate::support::process::run;

#[test]
fn a_new_skill_passes_the_check() {
    let home = Home::new();
    let dir = folder(&home, "my-skill");
    let made = run(&home, ["new", "--skill", "my-skill", "--dir", dir.to_str().expect("UTF-8")]);
    let told = text(&made.stderr);
    assert!(made.status.success() && told.contains("wharf check"), "{told}");
    for path in [&dir, &home.plugins().join("skills"), &home.plugins()] {
        let checked = run(&home, ["check", path.to_str().expect("UTF-8")]);
        let shown = text(&checked.stdout);
        assert!(checked.status.success(), "{shown}{}", text(&checked.stderr));
        for line in ["would be served", "skill    my-skill  Says what", "skill://my-skill/references/details.md"] {
            assert!(shown.contains(line), "no {line:?} in {shown}");
        }
    }
    let listed = text(&folder_command(&home, &["list"]).stdout);
    assert!(listed.contains("skill:my-skill") && listed.contains("skill://my-skill/SKILL.md"), "{listed}");
    let again = run(&home, ["new", "--skill", "my-skill", "--dir", dir.to_str().expect("UTF-8")]);
    assert!(text(&again.stderr).contains("the folder is not empty"), "{}", text(&again.stderr));
    let misplaced = run(&home, ["new", "--skill", "my-skill", "--dir", home.path("x").to_str().expect("UTF-8")]);
    let beside = home.path("my-skill");
    let hint = format!("write --dir {}", beside.to_str().expect("UTF-8"));
    assert!(text(&misplaced.stderr).contains(&hint), "{}", text(&misplaced.stderr));
    let invalid = run(&home, ["new", "--skill", "My_Skill"]);
    assert!(text(&invalid.stderr).contains("its name must be 1 to 64"), "{}", text(&invalid.stderr));
    let both = run(&home, ["new", "--skill", "a", "--lang", "rust"]);
    assert!(!both.status.success());
}

#[test]
fn a_skill_is_checked_wherever_it_is() {
    let home = Home::new();
    put(&home, "demo", "");
    let others = home.path("others");
    std::fs::rename(home.plugins().join("skills"), &others).expect("renamed");
    for path in [others.clone(), others.join("demo"), others.join("demo/SKILL.md")] {
        let checked = run(&home, ["check", path.to_str().expect("UTF-8")]);
        assert!(checked.status.success() && text(&checked.stdout).contains("skill    demo"), "{checked:?}");
    }
    // Without its file, and with one that is in no folder.
    put(&home, "demo", "");
    fs::remove_file(folder(&home, "demo").join("SKILL.md")).expect("removed");
    let checked = text(&run(&home, ["check", folder(&home, "demo").to_str().expect("UTF-8")]).stdout);
    assert!(checked.contains("failed to find SKILL.md in the skill's folder"), "{checked}");
    write(&home.plugins().join("skills/SKILL.md"), "");
    let checked = text(&folder_command(&home, &["check"]).stdout);
    assert!(checked.contains("failed to serve a skill that has no folder of its own"), "{checked}");
}

#[test]
fn what_is_wrong_is_said_with_the_file() {
    let home = Home::new();
    put(&home, "good", "");
    put(&home, "bad", "");
    write(&folder(&home, "bad").join("SKILL.md"), "---\nname: other\ndescription: d\n---\n");
    let checked = folder_command(&home, &["check"]);
    let shown = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(1), "{shown}");
    let why = "would not be served: failed to use the name 'other', which is not that of its folder, 'bad': ";
    assert!(shown.contains(why) && shown.contains("bad/SKILL.md"), "{shown}");
    assert!(shown.contains("good: would be served"), "{shown}");
    let lines = text(&folder_command(&home, &["check", "--json"]).stdout);
    let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        (&found[0]["loads"], &found[0]["kind"], &found[0]["skills"]),
        (&json!(false), &json!("skill"), &json!([]))
    );
    assert!(found[0]["reason"].as_str().is_some_and(|reason| reason.contains("'other'")), "{lines}");
    let good = &found[1];
    assert_eq!((&good["loads"], &good["skills"][0]["name"]), (&json!(true), &json!("good")));
    let size: u64 = ["SKILL.md", "references/more.md"]
        .iter()
        .map(|file| fs::metadata(folder(&home, "good").join(file)).expect("a file").len())
        .sum();
    assert_eq!((&good["bytes"], good["skills"][0]["files"].as_array().map(Vec::len)), (&json!(size), Some(2)));
}
