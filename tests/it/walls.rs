//! The second wall around the host, through the real binary: it stands unless it is switched
//! off, and what it leaves out of reach stays there. What a wall keeps off one by one is in
//! `tests/walls`; that nothing is missing inside is what all other tests show.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use serde_json::json;

use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::{Process, command, run};

const OFF: &str = "[sandbox]\nsecond-wall = false\n";

/// What a server says when its configuration has become a link to a file that no wall was told of.
fn after_a_link_to_elsewhere(before: &str) -> (String, String) {
    let home = Home::new();
    home.configure(before);
    let elsewhere = tempfile::tempdir().expect("a folder");
    fs::write(elsewhere.path().join("wharf.toml"), before).expect("a file");
    let mut client: Client<Process> = Client::start_modern(&home);
    client.tools();
    let status = fs::read_to_string(format!("/proc/{}/status", client.process().id())).unwrap_or_default();
    let settings = home.path("config/wharf/wharf.toml");
    symlink(elsewhere.path().join("wharf.toml"), home.path("link")).expect("a link");
    fs::rename(home.path("link"), settings).expect("the link takes its place");
    (status, client.process().log_with("configuration "))
}

#[test]
fn the_host_reads_nothing_that_it_was_not_told_of() {
    let (status, log) = after_a_link_to_elsewhere("");
    if log.contains("no OS sandbox") {
        // Nothing is shown where the kernel has none, but that it serves all the same.
        return;
    }
    assert!(log.contains("configuration unchanged") && log.contains("Permission denied"), "{log}");
    assert!(status.is_empty() || status.contains("NoNewPrivs:\t1"), "{status}");
}

#[test]
fn the_wall_can_be_switched_off() {
    let (status, log) = after_a_link_to_elsewhere(OFF);
    assert!(log.contains("configuration reloaded"), "{log}");
    assert!(status.is_empty() || status.contains("NoNewPrivs:\t0"), "{status}");
    // The compiler does without its own too.
    let home = Home::with(&["echo"]);
    home.configure(OFF);
    fs::create_dir(home.path("cache")).expect("a folder");
    let mut command = command(&home, ["serve"]);
    command.arg(home.plugins()).env("XDG_CACHE_HOME", home.path("cache"));
    let mut client = Client::new(Process::start(command), true);
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
}

#[test]
fn the_host_cannot_write_its_own_plugins() {
    let home = Home::new();
    let serve = |dir: Option<PathBuf>| {
        let mut command = command(&home, ["serve"]);
        Process::start({
            command.args(dir).env("WHARF_LOG", "debug");
            command
        })
    };
    // The folders of somebody who starts for the first time.
    let log = serve(None).log_with("OS sandbox");
    let Some(reach) = log.lines().find(|line| line.contains("OS sandbox active")) else {
        assert!(log.contains("no OS sandbox"), "{log}");
        return;
    };
    let write = reach.split_once("write: [").and_then(|(_, rest)| rest.split_once(']')).expect("what it writes").0;
    let data = home.path("data/wharf");
    assert!(write.contains(&format!("{:?}", data.join("store"))), "{write}");
    assert!(!write.contains(&format!("{data:?}")) && !write.contains("plugins"), "{write}");
    let kept = fs::metadata(data.join("store")).expect("the folder was made").permissions().mode();
    assert_eq!(kept & 0o077, 0);
    // A folder that the server has to write is a bad place for plugins, and is no secret.
    let inside = home.path("state/wharf/plugins");
    fs::create_dir_all(&inside).expect("a folder");
    serve(Some(inside)).log_with("the OS sandbox lets the server write its own plugins");
}

/// Where groups are private, what is made is their group's to write, unless it is made otherwise.
#[test]
fn what_the_host_keeps_is_made_for_its_user_alone() {
    let home = Home::with(&["echo"]);
    fs::remove_dir(home.path("state")).expect("it is made anew");
    let mut client = Client::initialized(Process::serve_after(&home, "umask 002"), "2025-11-25");
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    assert!(!client.process().log().contains("calls are not audited"), "{}", client.process().log());
    client.finish();
    let output = run(&home, ["status".as_ref(), home.plugins().as_os_str()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(home.path("state/wharf/lock.toml").exists() && home.path("state/wharf/audit.jsonl").exists());
}

#[test]
fn the_limit_of_open_files_is_raised() {
    let home = Home::with(&["echo"]);
    let mut client = Client::initialized(Process::serve_after(&home, "ulimit -Sn 100"), "2025-11-25");
    // The compiler, with its own limit, is not in the way of it.
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    let Ok(limits) = fs::read_to_string(format!("/proc/{}/limits", client.process().id())) else { return };
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("the limit");
    let numbers: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
    assert!(numbers[0] == numbers[1] && numbers[0] != "100", "{line}");
}

/// What is too low is told at the start, and only then.
#[test]
fn a_limit_of_open_files_that_is_too_low_is_told() {
    let home = Home::with(&["echo"]);
    for (limit, connections, is_told) in [(256, 512, true), (700, 512, false), (256, 64, false)] {
        home.configure(&format!("[server.http]\naddress = '127.0.0.1:0'\nconnections = {connections}\n"));
        let process = Process::serve_after(&home, &format!("ulimit -n {limit}"));
        // By then it has said what it has to say of its settings.
        let log = process.log_with("loaded plugin=echo");
        let said = log.contains(&format!("files={limit} connections={connections}"));
        assert_eq!((said, log.contains("open file limit too low")), (is_told, is_told), "{limit}: {log}");
    }
}

/// A folder beside the plugin folder and out of reach, granted while a server runs.
#[test]
fn a_folder_that_is_granted_later_and_out_of_reach_counts_from_the_next_start() {
    let home = Home::with(&["folders"]);
    let shared = home.path("shared");
    fs::create_dir(&shared).expect("a folder");
    fs::write(shared.join("here"), "hello").expect("a file");
    let granted = |mode: &str| {
        home.configure(&format!(
            "[plugins.folders.grants]\nfs = [{{ host = '{}', guest = '/0', mode = '{mode}' }}]\n",
            shared.display()
        ));
    };
    let read = |client: &mut Client| client.text("folders_attempt", json!({"what": "read", "path": "here"}));
    let mut client: Client<Process> = Client::start_modern(&home);
    client.tools();
    granted("read");
    client.process().log_with("settings reloaded");
    if read(&mut client) == "ok hello" {
        // No wall is in the way.
        let log = client.process().log();
        return assert!(log.contains("no OS sandbox") && !log.contains("next start of the server"), "{log}");
    }
    let log = client.process().log_with("counts from the next start of the server");
    assert!(log.contains(&format!("not granted: the folder {} is out of reach", shared.display())), "{log}");
    // The same of what it may be written for the first time.
    let mut client: Client<Process> = Client::start_modern(&home);
    assert_eq!(read(&mut client), "ok hello");
    granted("write");
    client.process().log_with("granted, but nothing can be written there until the server is started again");
    assert_eq!(read(&mut client), "ok hello");
    let mut client: Client<Process> = Client::start_modern(&home);
    assert_eq!(client.text("folders_attempt", json!({"what": "create", "path": "new"})), "ok");
    assert!(!client.process().log().contains("next start"), "{}", client.process().log());
}

/// Folders that a restart is needed for, and folders that none would help.
#[test]
fn what_a_restart_is_needed_for_is_told_and_what_is_never_given_at_once() {
    let home = Home::with(&["folders"]);
    let later = home.path("later");
    let own = [home.path("home"), home.plugins().join("later"), home.path("home/.ssh")];
    fs::create_dir_all(home.path("home/.ssh")).expect("a folder");
    let mut client: Client<Process> = Client::start_modern(&home);
    client.tools();
    let all = own.iter().chain([&later]).enumerate();
    let entries: Vec<String> =
        all.map(|(at, host)| format!("{{ host = '{}', guest = '/{at}' }}", host.display())).collect();
    home.configure(&format!("[plugins.folders.grants]\nfs = [{}]\n", entries.join(", ")));
    let log = client.process().log_with(&format!("not granted: the folder {} is not there", later.display()));
    if !log.contains("no OS sandbox") {
        assert!(log.contains("make the folder, and start the server again"), "{log}");
        assert!(!log.contains("takes it up then"), "{log}");
    }
    for (folder, why) in own.iter().zip(["is a folder that Wharf", "is in ", "is a folder of keys"]) {
        assert!(log.contains(&format!("not granted: the folder {} {why}", folder.display())), "{log}");
    }
    assert!(!log.contains("next start"), "{log}");
}

/// Files that are replaced as editors and package managers do it: by renaming.
#[test]
fn what_is_replaced_is_within_reach() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start_modern(&home);
    client.tools();
    fs::write(home.path("config/wharf/fresh"), "[limits]\ntimeout = \"20s\"\n").expect("a file");
    fs::rename(home.path("config/wharf/fresh"), home.path("config/wharf/wharf.toml")).expect("it takes its place");
    client.process().log_with("configuration reloaded");
}

#[test]
fn a_configuration_that_is_made_later_is_within_reach() {
    let home = Home::new();
    fs::remove_dir_all(home.path("config/wharf")).expect("its folder goes too");
    let mut client = Client::start_modern(&home);
    client.tools();
    home.configure("");
    client.process().log_with("configuration reloaded");
}
