//! Many plugins, and folders of many files that are none: what there is to do grows with what has
//! changed.

use std::fs;
use std::time::Instant;

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;

/// Plugins of one folder.
const MOST: usize = 256;

/// Bytes that a process has asked the system for, whether they came from a disk or not.
fn bytes_read(process: u32) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{process}/io")).expect("a running process");
    let line = counts.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("a count");
    line.trim().parse().expect("a number")
}

/// Each with its own content, so that each is pinned, and all with grants that follow one setting.
fn put(home: &Home, from: usize, to: usize) {
    for number in from..to {
        home.put_bytes(&Guest::saying(&format!("{number}")).build(), &format!("p{number:03}"));
    }
}

/// The file of pins is read a few times and not for each plugin and each other one, and the lists
/// are made anew for many plugins together.
#[test]
fn what_many_plugins_cost_grows_with_their_number() {
    let home = Home::new();
    put(&home, 0, 50);
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 50);
    let process = client.process().id();
    let (before, began) = (bytes_read(process), Instant::now());
    put(&home, 50, 240);
    client.tools_until(|tools| tools.len() == 240);
    let read = bytes_read(process) - before;
    let took = began.elapsed();
    // Of each its file some times over and what was compiled of it, and the file of pins for each
    // write; it is 80 KiB at the end, and was read 240 times for each plugin once.
    assert!(read < 300 << 20, "{} MiB were read for 190 plugins in {took:?}", read >> 20);

    // One setting of all of them.
    let (before, began) = (bytes_read(process), Instant::now());
    home.configure("[limits]\ncpu = \"7s\"\n");
    let deadline = began + crate::support::PATIENCE;
    while client.process().log().matches("p239").count() < 2 {
        assert!(Instant::now() < deadline, "never reconfigured:\n{}", client.process().log());
        std::thread::yield_now();
    }
    let read = bytes_read(process) - before;
    assert!(read < 8 << 20, "{} KiB were read for a change of limits", read >> 10);
}

/// As when somebody takes a folder of other things for that of plugins.
#[test]
fn ten_thousand_files_do_no_harm() {
    let home = Home::new();
    put(&home, 0, 3);
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 3);
    let guest = Guest::saying("surplus").build();
    fs::write(home.path("home/one.wasm"), &guest).expect("a file");
    for number in 0..5_000 {
        fs::hard_link(home.path("home/one.wasm"), home.plugins().join(format!("q{number:04}.wasm"))).expect("a link");
        fs::write(home.plugins().join(format!("No Plugin {number}.wasm")), b"x").expect("a file");
    }
    let tools = client.tools_until(|tools| tools.len() == MOST);
    assert!(tools[..3].iter().all(|tool| tool.starts_with("p00")), "who was there first stays");
    client.process().log_with("not listed here");
    let lines = client.process().log().lines().count();
    assert!(lines < 3_000, "{lines} lines of log");
    // A new version of one among them is found as ever.
    home.put_bytes(&Guest::saying("1").described("act", "New.").build(), "p001");
    client.tools_until(|tools| tools.contains(&"p001_act".to_owned()));
    drop(client);

    // And so at a start.
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() >= MOST);
    let lines = client.process().log().lines().count();
    assert!(lines < MOST * 2 + 100, "{lines} lines of log");
}
