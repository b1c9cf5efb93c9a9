//! What is no recording, and what cannot be recorded.

use std::fs;

use serde_json::json;

use super::{dice, lines, record, recorded, replay, text};
use crate::support::home::Home;
use crate::support::process::run;

#[test]
fn files_that_are_no_recordings_say_what_is_wrong() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    let file = recorded(&home, "dice_roll", &["seconds=0"], "rolled.jsonl");
    let good = fs::read_to_string(&file).expect("a recording");
    let all: Vec<&str> = good.lines().collect();
    let but_the_last = all[..all.len() - 1].join("\n");
    let many = [all[0], &"{\"says\":\"log\"}\n".repeat(100_001), all[all.len() - 1]].join("\n");
    let calls = good.repeat(65);
    let hostile = good.replace("\"random\"", "\"ra\\u001b[31mndom\"");
    for (text_of_file, expected) in [
        ("", "it is empty"),
        ("{", "line 1: it is not JSON"),
        ("{\"a\":1}", "line 1: it does not begin a recording"),
        (
            &good.replace("\"recording\":1", "\"recording\":2"),
            "it is of format 2, and this version of Wharf knows format 1",
        ),
        (
            &good.replace("\"plugin\":\"dice\"", "\"plugin\":\"../dice\""),
            "line 1: a member of the call is missing or wrong",
        ),
        (&but_the_last, "it has no end"),
        (&good.replace("\"asks\"", "\"begs\""), "line 2: it is neither a question nor an outcome"),
        (&many, "it has more than 100000 lines in a call"),
        (&calls, "it has more than 64 calls"),
    ] {
        fs::write(&file, text_of_file).expect("a file");
        let output = run(&home, ["replay", file.to_str().expect("UTF-8")]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("failed to read the recording: {expected}")), "{expected}: {said}");
    }
    // One that was edited is a recording, which the plugin does not fit.
    fs::write(&file, hostile).expect("a file");
    let (code, shown) = replay(&file, &home.plugin("dice"));
    assert_eq!((code, &shown["calls"][0]["answered"]), (Some(1), &json!(false)), "{shown}");
    let output =
        run(&home, ["replay", "--with", home.plugin("dice").to_str().expect("UTF-8"), file.to_str().expect("UTF-8")]);
    assert!(!text(&output.stdout).contains('\u{1b}'), "nothing of a file controls a terminal");
    let large = fs::File::create(&file).expect("a file");
    large.set_len((64 << 20) + 1).expect("a large file");
    let said = text(&run(&home, ["replay", file.to_str().expect("UTF-8")]).stderr);
    assert!(said.contains("larger than the limit"), "{said}");
}

#[test]
fn a_recording_takes_the_place_of_no_file() {
    let home = Home::new();
    let file = home.path("rolled.jsonl");
    // A file that exists is not written over, and nothing is called.
    home.put_bytes(&dice(""), "dice");
    fs::write(&file, "mine").expect("a file");
    let output = record(&home, "dice_roll", &["seconds=0"], &file);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("the file exists already"));
    assert_eq!(fs::read_to_string(&file).expect("the file"), "mine");
    for (file, why) in [("absent/rolled.jsonl", "there is no such folder"), ("link.jsonl", "the file exists already")] {
        let file = home.path(file);
        if why.contains("exists") {
            std::os::unix::fs::symlink("nowhere", &file).expect("a link");
        }
        let output = record(&home, "dice_roll", &["seconds=0"], &file);
        assert!(output.status.code() == Some(2) && text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
}

#[test]
fn a_call_that_asks_for_too_much_is_not_kept() {
    let home = Home::new();
    // The limit of events is 100 000, and this one is none of them more.
    let spin = |times: u32| {
        format!(
            "(local $left i32) (local.set $left (i32.const {times}))
             (loop $again (drop (call $now))
                (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))"
        )
    };
    // The last two are those of the roll.
    home.put_bytes(&dice(&spin(99_998)), "dice");
    let file = recorded(&home, "dice_roll", &["seconds=0"], "many.jsonl");
    assert_eq!(lines(&file).len(), 100_002, "all of them, the call and its end");
    assert_eq!(replay(&file, &home.plugin("dice")).1["same"], true);
    home.put_bytes(&dice(&spin(99_999)), "other");
    let output = record(&home, "other_roll", &["seconds=0"], &home.path("more.jsonl"));
    assert!(text(&output.stderr).contains("the call asks for too much"), "{}", text(&output.stderr));
    assert!(!home.path("more.jsonl").exists());
}
