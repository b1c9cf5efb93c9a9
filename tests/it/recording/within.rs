//! Recorded calls run again for so long and no longer, whatever their files allow.

use std::fs;
use std::time::{Duration, Instant};

use super::{dice, recorded, text};
use crate::support::home::Home;
use crate::support::process::run;

#[test]
fn replays_end_in_time_whatever_a_file_allows() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    let file = recorded(&home, "dice_roll", &["seconds=0"], "rolled.jsonl");
    let call = fs::read_to_string(&file).expect("a recording");
    let hour = call
        .replace("\"cpu_ms\":10000", "\"cpu_ms\":3600000")
        .replace("\"timeout_ms\":30000", "\"timeout_ms\":3600000");
    assert_eq!(hour.matches("3600000").count(), 2, "{hour}");
    let folder = home.path("recordings");
    fs::create_dir(&folder).expect("a folder");
    for name in ["a", "b", "c"] {
        fs::write(folder.join(format!("{name}.jsonl")), hour.repeat(3)).expect("a file");
    }
    let spinning = home.path("other.wasm");
    fs::write(&spinning, dice("(loop $again (br $again))")).expect("a component");
    let with = |word: &str, path: &std::path::Path| {
        let began = Instant::now();
        let [path, spinning] = [path, &spinning].map(|path| path.to_str().expect("UTF-8"));
        let output = run(&home, [word, path, "--with", spinning, "--within", "1s"]);
        assert!(began.elapsed() < Duration::from_secs(60), "it ends");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, _, said) = with("replay", &folder.join("a.jsonl"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("failed to run the call to its end within 1s") && said.contains("--within 1h"), "{said}");
    let (code, shown, _) = with("test", &folder);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("failed   a.jsonl"), "{shown}");
    let last = shown.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("0 of 3 recordings") && last.ends_with("; 2 were not run, since the time was over"),
        "{shown}"
    );
    // A time that no clock can tell is none.
    let plugin = home.plugin("dice");
    let [file, plugin] = [&file, &plugin].map(|path| path.to_str().expect("UTF-8"));
    let output = run(&home, ["replay", file, "--with", plugin, "--within", "500000000000y"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
