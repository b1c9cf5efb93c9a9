//! Folders with many plugins or many other files: the cost of a change is proportional to the change.

use std::fs;
use std::time::Instant;

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;

/// Maximum number of plugins of one folder.
const MOST: usize = 256;

/// Bytes read by a process, from disk or from the page cache.
fn bytes_read(process: u32) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{process}/io")).expect("a running process");
    let line = counts.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("a count");
    line.trim().parse().expect("a number")
}

/// Each has its own content, so that each is pinned.
fn put(home: &Home, from: usize, to: usize) {
    for number in from..to {
        home.put_bytes(&Guest::returning(&format!("{number}")).build(), &format!("p{number:03}"));
    }
}

/// The pin file is not read for each pair of plugins, and lists are rebuilt once for many changes.
#[test]
fn the_cost_of_many_plugins_is_linear() {
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
    // Per plugin: its file a few times, its artifact, and the pin file per write. The pin file has
    // 80 KiB at the end; a regression once read it 240 times per plugin.
    assert!(read < 300 << 20, "{} MiB were read for 190 plugins in {took:?}", read >> 20);

    // One setting that applies to all of them.
    let (before, began) = (bytes_read(process), Instant::now());
    home.configure("[limits]\ncpu = \"7s\"\n");
    let deadline = began + crate::support::TIMEOUT;
    while client.process().log().matches("p239").count() < 2 {
        assert!(Instant::now() < deadline, "never reconfigured:\n{}", client.process().log());
        std::thread::yield_now();
    }
    let read = bytes_read(process) - before;
    assert!(read < 8 << 20, "{} KiB were read for a change of limits", read >> 10);
}

/// As when the wrong folder is served.
#[test]
fn ten_thousand_files_do_no_harm() {
    let home = Home::new();
    put(&home, 0, 3);
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 3);
    let guest = Guest::returning("surplus").build();
    fs::write(home.path("home/one.wasm"), &guest).expect("a file");
    for number in 0..5_000 {
        fs::hard_link(home.path("home/one.wasm"), home.plugins().join(format!("q{number:04}.wasm"))).expect("a link");
        fs::write(home.plugins().join(format!("No+Plugin {number}.wasm")), b"x").expect("a file");
    }
    let tools = client.tools_until(|tools| tools.len() == MOST);
    assert!(tools[..3].iter().all(|tool| tool.starts_with("p00")), "the first plugins stay");
    client.process().log_with("not listed here");
    let lines = client.process().log().lines().count();
    assert!(lines < 3_000, "{lines} lines of log");
    // A new version of a listed plugin is still detected.
    home.put_bytes(&Guest::returning("1").described("act", "New.").build(), "p001");
    client.tools_until(|tools| tools.contains(&"p001_act".to_owned()));
    drop(client);

    // The same at startup.
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() >= MOST);
    let lines = client.process().log().lines().count();
    assert!(lines < MOST * 2 + 100, "{lines} lines of log");
}
