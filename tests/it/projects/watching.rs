//! `wharf dev`: what it says of each build, and what it takes for a change.

use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{FAIL, Project, succeed};
use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::component;
use crate::support::http::listening_address;
use crate::support::process::{Process, command, run};
use crate::support::streamable::Streamable;

fn dev(project: &Project) -> Process {
    let dir = project.dir.as_os_str();
    Process::start(command(&project.home, ["dev".as_ref(), dir, "--http".as_ref(), "127.0.0.1:0".as_ref()]))
}

#[test]
fn tools_are_named_and_an_undone_failure_is_not_built_again() {
    let source = succeed(&component("echo"));
    let project = Project::new(&source);
    let mut dev = dev(&project);
    dev.log_with("made offers tools made_echo, made_add");
    project.put("plugin.py", FAIL);
    dev.log_with("ValueError: what");
    project.put("plugin.py", &source);
    let log = dev.log_with("unchanged; still serving the version of ");
    assert_eq!(log.matches("built made in ").count(), 1, "{log}");
    // Nor is it forgotten that it works.
    project.put("plugin.py", &succeed(&component("hello")));
    dev.log_with("made offers tools made_greet");
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
}

/// A server elsewhere has pinned another plugin of that name.
#[test]
fn changed_descriptions_are_those_of_the_version_before() {
    let project = Project::new("");
    let put = |answer: &str, description: &str| {
        let file = project.home.path(&format!("{answer}.wasm"));
        fs::write(&file, Guest::returning(answer).described("act", description).build()).expect("a file");
        project.put("plugin.py", &succeed(&file));
    };
    project.home.put_bytes(&Guest::returning("other").build(), "made");
    let mut elsewhere = Client::start(&project.home);
    elsewhere.tools_until(|tools| tools.len() == 1);
    drop(elsewhere);
    assert!(project.home.path("state/wharf/lock.toml").exists());
    let changed = "tool descriptions changed from the previous version";
    let mut dev = dev(&project);
    for (answer, description, expected) in [("one", "Acts.", 0), ("two", "Acts.", 0), ("three", "Acts twice.", 1)] {
        let before = dev.log().matches("made offers tools").count();
        put(answer, description);
        let deadline = Instant::now() + TIMEOUT;
        while dev.log().matches("made offers tools").count() == before {
            assert!(Instant::now() < deadline, "{}", dev.log());
            std::thread::yield_now();
        }
        assert_eq!(dev.log().matches(changed).count(), expected, "{answer}: {}", dev.log());
    }
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
}

/// The server starts again, since it trusts one name.
#[test]
fn a_renamed_plugin_is_served_under_its_new_name_alone() {
    let guest = Guest::returning("one").described("act", "Acts.").build();
    let project = Project::new("");
    let built = project.home.path("guest.wasm");
    fs::write(&built, guest).expect("a file");
    project.put("plugin.py", &succeed(&built));
    project.home.configure("[plugins.other.grants]\nelicit = true\n[server]\ntrust = \"strict\"\n");
    let mut dev = dev(&project);
    dev.log_with("made offers tools made_version, made_act");
    project.put("plugin.toml", "name = \"other\"\nlanguage = \"python\"\n");
    let log = dev.log_with("other offers tools other_version, other_act");
    assert!(log.contains("made is now other: the server starts again"), "{log}");
    let address = log.rsplit("listening on http://").next().and_then(|rest| rest.split("/mcp").next());
    let address = address.expect("an address").parse().expect("an address");
    let mut client = Client::with_capabilities(Streamable::connect(address), "2025-11-25", json!({}));
    client.tools_until(|tools| tools.len() == 2);
    assert_eq!(client.text("other_version", json!({})), "one");
    let served = project.dir.join("dist/.dev");
    assert!(served.join("other.wasm").is_file() && !served.join("made.wasm").exists());
    let dist = served.with_file_name("");
    assert!(dist.join("other.wasm").is_file() && !dist.join("made.wasm").exists());
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
    assert!(!dev.log().contains("held: "), "{}", dev.log());
}

/// In a folder with other plugins, the file of the former name goes.
#[test]
fn a_renamed_plugin_leaves_nothing_in_a_shared_folder() {
    let project = Project::new(&succeed(&component("echo")));
    let folder = project.home.plugins();
    fs::copy(component("hello"), folder.join("another.wasm")).expect("a plugin");
    let words = ["dev".as_ref(), project.dir.as_os_str(), "--serve".as_ref(), folder.as_os_str()];
    let mut dev =
        Process::start(command(&project.home, [&words[..], &["--http".as_ref(), "127.0.0.1:0".as_ref()]].concat()));
    let address = listening_address(&dev);
    dev.log_with("made offers tools");
    // Not what this command built.
    fs::write(project.dir.join("dist/made.wasm"), "mine").expect("a file");
    project.put("plugin.toml", "name = \"other\"\nlanguage = \"python\"\n");
    dev.log_with("other offers tools");
    let mut client = Client::with_capabilities(Streamable::connect(address), "2025-11-25", json!({}));
    client.tools_until(|tools| !tools.iter().any(|tool| tool.starts_with("made_")));
    assert!(folder.join("other.wasm").is_file() && folder.join("another.wasm").is_file());
    assert!(!folder.join("made.wasm").exists());
    assert_eq!(fs::read(project.dir.join("dist/made.wasm")).expect("a file"), b"mine");
    // A name that another plugin has is not taken from it.
    let another = fs::read(folder.join("another.wasm")).expect("a file");
    project.put("plugin.toml", "name = \"another\"\nlanguage = \"python\"\n");
    dev.log_with("failed to serve it as another: another plugin has that name: ");
    assert!(fs::read(folder.join("another.wasm")).expect("a file") == another && folder.join("other.wasm").is_file());
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
}

/// `wharf dev . 2> out.txt` in the project: each line in the file would be a change.
#[test]
fn what_it_prints_is_no_change() {
    prints_into_a_file(|mut command, output| {
        command.stderr(File::create(output).expect("a file")).spawn().expect("the binary starts")
    });
}

/// `wharf dev . 2>&1 | tee out.txt`
#[test]
fn what_another_program_writes_of_what_it_prints_is_no_change() {
    prints_into_a_file(|mut command, output| {
        let mut dev = command.stderr(Stdio::piped()).spawn().expect("the binary starts");
        let (mut lines, mut file) = (dev.stderr.take().expect("it is piped"), File::create(output).expect("a file"));
        std::thread::spawn(move || {
            // Not within the kernel, which would report no change of the file.
            let lines: &mut dyn io::Read = &mut lines;
            io::copy(lines, &mut file)
        });
        dev
    });
}

fn prints_into_a_file(start: impl Fn(Command, &Path) -> Child) {
    let counted = |guest: &str| format!("echo >> dist/count\n{}", succeed(&component(guest)));
    let project = Project::new(&counted("echo"));
    let output = project.dir.join("out.txt");
    let mut command = command(&project.home, ["dev".as_ref(), project.dir.as_os_str()]);
    command.args(["--http", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut dev = start(command, &output);
    let deadline = Instant::now() + TIMEOUT;
    let wait_for = |text: &str| {
        while !fs::read_to_string(&output).unwrap_or_default().contains(text) {
            assert!(Instant::now() < deadline, "no {text:?}");
            std::thread::yield_now();
        }
    };
    for (tool, next) in [("made_echo", "hello"), ("made_greet", "text"), ("made_hash", "echo")] {
        wait_for(tool);
        project.put("plugin.py", &counted(next));
    }
    // The last one is built after whatever was waiting before it.
    let builds = || fs::read_to_string(project.dir.join("dist/count")).expect("a file").lines().count();
    while builds() < 4 {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&dev), Signal::TERM).expect("it runs");
    assert!(dev.wait().expect("its end").success());
    assert_eq!(builds(), 4);
}

/// What a server writes in the project. Each of it would be a change.
#[test]
fn what_the_server_writes_is_no_change() {
    let counted = |guest: &str| format!("echo >> dist/count\n{}", succeed(&component(guest)));
    let project = Project::new(&counted("echo"));
    let path = |name: &str| project.dir.join(name).display().to_string();
    let (audit, data) = (path("calls.jsonl"), path("data"));
    let grant = format!("[plugins.made.grants]\nfs = [{{ guest = \"/data\", host = {data:?}, mode = \"write\" }}]\n");
    project.home.configure(&format!("[audit]\npath = {audit:?}\n{grant}"));
    fs::create_dir(&data).expect("a folder");
    let mut command = command(&project.home, ["dev", ".", "--http", "127.0.0.1:0", "--cache", "cache"]);
    command.current_dir(&project.dir);
    let mut dev = Process::start(command);
    dev.log_with("data is not watched, since the server writes there");
    let count = || fs::read_to_string(path("dist/count")).expect("a file").lines().count();
    for (tool, next) in [("made_echo", "hello"), ("made_greet", "text"), ("made_hash", "echo")] {
        dev.log_with(tool);
        fs::write(path("data/note"), next).expect("a file");
        project.put("plugin.py", &counted(next));
    }
    // The last one is built after whatever was waiting before it.
    let deadline = Instant::now() + TIMEOUT;
    while count() < 4 || dev.log().matches("made offers tools").count() < 4 {
        assert!(Instant::now() < deadline, "{}", dev.log());
        std::thread::yield_now();
    }
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
    assert_eq!(count(), 4, "{}", dev.log());
    assert!(fs::metadata(&audit).is_ok_and(|log| log.len() > 0) && fs::metadata(path("cache")).is_ok());
}

/// A build that writes a source is followed by another one, but not without end.
#[test]
fn builds_that_write_a_source_end() {
    let writing =
        |guest: &str| format!("echo >> dist/count\n{}wc -l < dist/count > stamp.txt\n", succeed(&component(guest)));
    let project = Project::new(&writing("echo"));
    let mut dev = dev(&project);
    let count = || fs::read_to_string(project.dir.join("dist/count")).expect("a file").lines().count();
    let log = dev.log_with("builds seem to write ");
    assert_eq!(count(), 3, "{log}");
    assert!(log.contains("/stamp.txt, which changed during each of the last 3: "), "{log}");
    project.put("plugin.py", &writing("hello"));
    dev.log_with("made offers tools made_greet");
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
    assert_eq!(count(), 4, "{}", dev.log());
}

/// Its output may go to a file of the project, and its tools may leave files there.
#[test]
fn a_failed_build_is_tried_again_only_with_other_sources() {
    let counted = |script: &str| format!("echo >> dist/count\n{script}");
    let project = Project::new(&counted(FAIL));
    let mut dev = dev(&project);
    dev.log_with("ValueError: what");
    // More events than are waited for.
    for number in 0..2000 {
        project.put(".written", &number.to_string());
    }
    project.put("plugin.py", &counted(&succeed(&component("echo"))));
    dev.log_with("made offers tools made_echo");
    assert_eq!(fs::read_to_string(project.dir.join("dist/count")).expect("a file").lines().count(), 2, "{}", dev.log());
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
}

/// The port is bound once: the server that starts again has it, and connections wait for that.
#[test]
fn the_port_is_kept_while_the_server_starts_again() {
    let project = Project::new(&succeed(&component("echo")));
    let mut dev = Process::start(command(&project.home, ["dev".as_ref(), project.dir.as_os_str()]));
    dev.log_with("listening on ");
    let address = listening_address(&dev);
    dev.log_with("made offers tools");
    assert_eq!(TcpListener::bind(address).expect_err("it is in use").kind(), io::ErrorKind::AddrInUse);
    project.put("plugin.toml", "name = \"other\"\nlanguage = \"python\"\n");
    dev.log_with("made is now other: the server starts again");
    // The former one has ended.
    TcpStream::connect(address).expect("it waits");
    let log = dev.log_with("other offers tools");
    assert_eq!(log.matches(&format!("listening on http://{address}/mcp")).count(), 2, "{log}");
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
}

/// It can end nothing itself then.
#[test]
fn the_server_ends_with_it_if_it_is_killed() {
    let project = Project::new(&succeed(&component("echo")));
    let mut dev = dev(&project);
    let address = listening_address(&dev);
    dev.log_with("made offers tools");
    dev.signal(Signal::KILL);
    assert!(!dev.wait().success());
    let deadline = Instant::now() + TIMEOUT;
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline, "the server still runs");
        std::thread::yield_now();
    }
}

/// What the first one serves stays.
#[test]
fn a_second_one_of_a_project_is_refused_before_it_removes_anything() {
    let project = Project::new(&succeed(&component("echo")));
    let mut first = dev(&project);
    let address = listening_address(&first);
    first.log_with("made offers tools made_echo");
    let second = run(&project.home, ["dev".as_ref(), project.dir.as_os_str()]);
    let reported = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{reported}");
    assert!(reported.contains("dist/.dev: another wharf dev of this project runs (process "), "{reported}");
    assert!(reported.contains(", --http 127.0.0.1:0)\nhint: use that one"), "{reported}");
    let mut client = Client::with_capabilities(Streamable::connect(address), "2025-11-25", json!({}));
    client.tools_until(|tools| tools.len() == 2);
    assert!(project.dir.join("dist/.dev/made.wasm").is_file());
    first.signal(Signal::TERM);
    assert!(first.wait().success(), "{}", first.log());
    // However it ended.
    let mut third = dev(&project);
    third.log_with("made offers tools made_echo");
    third.signal(Signal::TERM);
    assert!(third.wait().success(), "{}", third.log());
}
