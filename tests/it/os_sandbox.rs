//! The OS sandbox of the host, through the real binary: it is active unless it is disabled, and denies
//! what it does not allow. Single operations are tested in `tests/os_sandbox`; that it allows what is
//! needed is shown by all other tests.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use serde_json::json;

use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::{Process, command, run};

const OFF: &str = "[sandbox]\nos-sandbox = false\n";

/// The process status and the log of a server whose configuration has become a link to a file that the
/// OS sandbox does not allow.
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
fn the_host_reads_only_allowed_files() {
    let (status, log) = after_a_link_to_elsewhere("");
    if log.contains("no OS sandbox") {
        // The kernel does not support it: this only shows that the server works without.
        return;
    }
    assert!(log.contains("configuration not reloaded") && log.contains("Permission denied"), "{log}");
    assert!(status.is_empty() || status.contains("NoNewPrivs:\t1"), "{status}");
}

#[test]
fn the_os_sandbox_can_be_disabled() {
    let (status, log) = after_a_link_to_elsewhere(OFF);
    assert!(log.contains("configuration reloaded"), "{log}");
    assert!(status.is_empty() || status.contains("NoNewPrivs:\t0"), "{status}");
    // The compiler runs without its own too.
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
    // As at the first start of a user.
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
    // Plugins in a folder that the server has to write are warned of.
    let inside = home.path("state/wharf/plugins");
    fs::create_dir_all(&inside).expect("a folder");
    serve(Some(inside)).log_with("the OS sandbox allows the server to write its own plugins");
}

/// With private groups, the usual umask makes new files writable by the group.
#[test]
fn files_of_the_host_are_private_to_its_user() {
    let home = Home::with(&["echo"]);
    fs::remove_dir(home.path("state")).expect("it is created again");
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
    // The compiler has its own limit.
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    let Ok(limits) = fs::read_to_string(format!("/proc/{}/limits", client.process().id())) else { return };
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("the limit");
    let numbers: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
    assert!(numbers[0] == numbers[1] && numbers[0] != "100", "{line}");
}

#[test]
fn a_low_limit_of_open_files_is_logged_at_the_start() {
    let home = Home::with(&["echo"]);
    for (limit, connections, is_logged) in [(256, 512, true), (700, 512, false), (256, 64, false)] {
        home.configure(&format!("[server.http]\naddress = '127.0.0.1:0'\nconnections = {connections}\n"));
        let process = Process::serve_after(&home, &format!("ulimit -n {limit}"));
        // It is logged before plugins are loaded.
        let log = process.log_with("loaded plugin=echo");
        let has_values = log.contains(&format!("files={limit} connections={connections}"));
        assert_eq!((has_values, log.contains("open file limit too low")), (is_logged, is_logged), "{limit}: {log}");
    }
}

/// A folder beside the plugin folder, granted while a server runs.
#[test]
fn a_later_grant_outside_the_os_sandbox_needs_a_restart() {
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
        // The kernel does not support the OS sandbox.
        let log = client.process().log();
        return assert!(log.contains("no OS sandbox") && !log.contains("restart the server"), "{log}");
    }
    let log = client.process().log_with("restart the server");
    let reason = format!("not granted: the folder {} is outside what the OS sandbox allows", shared.display());
    assert!(log.contains(&reason), "{log}");
    // A grant for writing after one for reading needs a restart too.
    let mut client: Client<Process> = Client::start_modern(&home);
    assert_eq!(read(&mut client), "ok hello");
    granted("write");
    client.process().log_with("granted, but only for reading: the OS sandbox does not allow writing there; restart");
    assert_eq!(read(&mut client), "ok hello");
    let mut client: Client<Process> = Client::start_modern(&home);
    assert_eq!(client.text("folders_attempt", json!({"what": "create", "path": "new"})), "ok");
    assert!(!client.process().log().contains("restart the server"), "{}", client.process().log());
}

/// A restart is advised only for folders that can be granted after it.
#[test]
fn the_log_says_which_folders_need_a_restart_and_which_are_never_granted() {
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
    let log = client.process().log_with(&format!("not granted: the folder {} does not exist", later.display()));
    if !log.contains("no OS sandbox") {
        assert!(log.contains("create the folder, then restart the server"), "{log}");
        assert!(!log.contains("then grants it"), "{log}");
    }
    for (folder, why) in own.iter().zip(["is reserved for Wharf", "is in ", "is a credentials folder"]) {
        assert!(log.contains(&format!("not granted: the folder {} {why}", folder.display())), "{log}");
    }
    assert!(!log.contains("outside what the OS sandbox allows"), "{log}");
}

/// Editors and package managers replace files by renaming.
#[test]
fn replaced_files_can_still_be_read() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start_modern(&home);
    client.tools();
    fs::write(home.path("config/wharf/fresh"), "[limits]\ntimeout = \"20s\"\n").expect("a file");
    fs::rename(home.path("config/wharf/fresh"), home.path("config/wharf/wharf.toml")).expect("it takes its place");
    client.process().log_with("configuration reloaded");
}

#[test]
fn a_configuration_that_is_created_later_can_be_read() {
    let home = Home::new();
    fs::remove_dir_all(home.path("config/wharf")).expect("its folder goes too");
    let mut client = Client::start_modern(&home);
    client.tools();
    home.configure("");
    client.process().log_with("configuration reloaded");
}
