//! Files that change while the system cannot read them, for lack of file descriptors or because of a
//! failing disk, are read once it can.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Instant, SystemTime};

use rustix::process::Signal;
use serde_json::json;

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::{Home, component};
use crate::support::http::{HttpConnection, Request, serve};
use crate::support::process::run;

/// The system's error for a process without free file descriptors.
const EXHAUSTED: &str = "Too many open files";
/// Regular, may be opened, and reading its beginning is an I/O error, as on a failing disk.
const FAILING: &str = "/proc/self/mem";
/// The OS sandbox does not allow that file.
const NO_OS_SANDBOX: &str = "[sandbox]\nos-sandbox = false\n";

/// Calls a tool until it answers that.
fn until(client: &mut Client, tool: &str, wanted: &str) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let text = client.text(tool, json!({}));
        if text.contains(wanted) {
            return;
        }
        assert!(Instant::now() < deadline, "{tool} still says {text}:\n{}", client.process().log());
    }
}

/// Replaces a file beside the configuration by renaming.
fn replace(home: &Home, name: &str, make: impl FnOnce(&Path)) {
    let next = home.path("config/wharf/next");
    make(&next);
    fs::rename(next, home.path("config/wharf").join(name)).expect("a rename");
}

fn write(home: &Home, name: &str, text: &str) {
    replace(home, name, |next| fs::write(next, text).expect("a file"));
}

fn fail(home: &Home, name: &str) {
    replace(home, name, |next| symlink(FAILING, next).expect("a link"));
}

#[test]
fn changes_without_descriptors_are_read_later() {
    let home = Home::with(&["hello"]);
    home.put("echo-v1", "versioned");
    home.put("folders", "folders");
    let granting = |value: &str| format!("[plugins.folders.grants]\nenv = {{ V = '{value}' }}\n");
    home.configure(&granting("granted before"));
    let mut client = Client::start(&home);
    until(&mut client, "versioned_version", "1");
    until(&mut client, "folders_environment", "granted before");

    client.process().limit_open_files(0);
    write(&home, "wharf.toml", &granting("granted since"));
    client
        .process()
        .log_with("configuration not reloaded, the previous one stays in force: failed to read the configuration");
    home.put("echo-v2", "versioned");
    client.process().log_with("refused: failed to load the file now, because of an error of the system: Too many");
    // Takes a second, so that both are tried again meanwhile.
    home.remove("hello");
    client.tools_until(|tools| !tools.iter().any(|tool| tool.starts_with("hello")));
    let log = client.process().log();
    for what in ["configuration not reloaded", "refused"] {
        let reported = log.lines().filter(|line| line.contains(what) && line.contains(EXHAUSTED)).count();
        assert_eq!(reported, 1, "{log}");
    }
    client.process().limit_open_files(1024);
    until(&mut client, "versioned_version", "2");
    until(&mut client, "folders_environment", "granted since");
    client.finish();
}

#[test]
fn a_revocation_without_descriptors_is_applied_later() {
    let home = Home::with(&["echo", "folders"]);
    home.configure("[plugins.folders.grants]\nenv = { V = 'granted' }\n");
    let mut client = Client::start(&home);
    until(&mut client, "folders_environment", "granted");
    client.process().limit_open_files(0);
    assert!(run(&home, ["revoke", "folders"]).status.success());
    client.process().log_with("failed to read the pin file: Too many open files");
    client.process().limit_open_files(1024);
    client.tools_until(|tools| tools == ["echo", "echo_add"]);
    client.finish();
}

#[test]
fn a_folder_that_cannot_be_scanned_is_scanned_later() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools();
    client.process().limit_open_files(0);
    fs::create_dir(home.plugins().join("more")).expect("a folder");
    let expected = "read the plugin folder; loaded plugins keep serving: Too many open files";
    client.process().log_with(expected);
    // Nothing is watched meanwhile.
    fs::copy(component("echo-v1"), home.plugins().join("more/versioned.wasm")).expect("a copy");
    client.process().limit_open_files(1024);
    client.tools_until(|tools| tools.contains(&"versioned_version".to_owned()));
    assert_eq!(client.process().log().matches(expected).count(), 1);
    client.finish();
}

#[test]
fn a_compiler_that_cannot_be_started_is_started_later() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools();
    // Enough for the file, and not for the pipes to the compiler.
    client.process().limit_further_open_files(2);
    let answer = format!("compiled at {:?}", SystemTime::now());
    home.put_bytes(&Guest::returning(&answer).build(), "late");
    client.process().log_with("because of an error of the system: start the compiler: Too many open files");
    client.process().limit_open_files(1024);
    client.tools_until(|tools| tools.contains(&"late_version".to_owned()));
    assert_eq!(client.text("late_version", json!({})), answer);
    client.finish();
}

/// Nothing but the next call notices that it can be opened again.
#[test]
fn a_granted_folder_that_cannot_be_opened_is_opened_later() {
    let home = Home::with(&["folders"]);
    let [one, two] = ["one", "two"].map(|name| home.path(name));
    for (folder, name) in [(&one, "first"), (&two, "second")] {
        fs::create_dir(folder).and_then(|()| fs::write(folder.join(name), "here")).expect("a file");
    }
    let (one, two) = (one.display(), two.display());
    home.configure(NO_OS_SANDBOX);
    let mut client = Client::start(&home);
    client.tools();
    // Enough for the configuration, and not for the content of the folder.
    client.process().limit_further_open_files(1);
    home.configure(&format!(
        "{NO_OS_SANDBOX}[plugins.folders.grants]\nfs = [{{ host = '{one}', guest = '/one' }}, {{ host = '{two}', guest = '/two' }}]\n"
    ));
    client.process().log_with(&format!("not granted: the folder {one} cannot be opened: Too many open files"));
    let denied = client.text("folders_attempt", json!({"what": "read", "path": "first"}));
    assert!(!denied.contains("here"), "{denied}");
    client.process().limit_open_files(1024);
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let folders = client.text("folders_attempt", json!({"what": "folders", "path": ""}));
        if folders == "ok /one /two" {
            break;
        }
        assert!(Instant::now() < deadline, "only {folders}:\n{}", client.process().log());
    }
    let log = client.process().log();
    assert_eq!(log.matches("not granted: the folder").count(), 2, "once for each folder:\n{log}");
    client.finish();
}

#[test]
fn a_loop_of_links_is_an_invalid_configuration_until_it_is_replaced() {
    let home = Home::with(&["folders"]);
    let granting = |value: &str| format!("[plugins.folders.grants]\nenv = {{ V = '{value}' }}\n");
    home.configure(&granting("granted before"));
    let mut client = Client::start(&home);
    until(&mut client, "folders_environment", "granted before");
    let turn = |name: &str| replace(&home, name, |next| symlink(name, next).expect("a link"));
    turn("wharf.toml");
    client.process().log_with("Too many levels of symbolic links");
    let reported = |client: &mut Client| client.process().log().matches("Too many levels").count();
    // Told again, since it is another link.
    turn("wharf.toml");
    let deadline = Instant::now() + TIMEOUT;
    while reported(&mut client) < 2 {
        assert!(Instant::now() < deadline, "{}", client.process().log());
    }
    until(&mut client, "folders_environment", "granted before");
    write(&home, "elsewhere.toml", &granting("granted since"));
    replace(&home, "wharf.toml", |next| symlink("elsewhere.toml", next).expect("a link"));
    until(&mut client, "folders_environment", "granted since");
    assert_eq!(reported(&mut client), 2, "read only when it changed");
    client.finish();
}

/// As without a file, from the start.
#[test]
fn a_removed_loop_of_links_grants_nothing() {
    let home = Home::with(&["folders"]);
    home.configure("[plugins.folders.grants]\nenv = { V = 'granted' }\n");
    let mut client = Client::start(&home);
    until(&mut client, "folders_environment", "granted");
    replace(&home, "wharf.toml", |next| symlink("wharf.toml", next).expect("a link"));
    client.process().log_with("Too many levels of symbolic links");
    fs::remove_file(home.path("config/wharf/wharf.toml")).expect("the link");
    let deadline = Instant::now() + TIMEOUT;
    while client.text("folders_environment", json!({})).contains("granted") {
        assert!(Instant::now() < deadline, "still granted:\n{}", client.process().log());
    }
    client.finish();
}

#[test]
fn a_secret_on_a_failing_disk_is_read_later() {
    let home = Home::with(&["echo"]);
    fail(&home, "q");
    home.configure(&format!(
        "{NO_OS_SANDBOX}[secrets]\nq = {{ file = 'q' }}\n[plugins.echo.grants]\nsecrets = ['q']\n"
    ));
    let mut client = Client::start(&home);
    client.tools();
    client.process().log_with("it needs the secret 'q', which cannot be read now: Input/output error");
    write(&home, "q", "the-secret-itself");
    let deadline = Instant::now() + TIMEOUT;
    while client.text("echo", json!({"message": "the-secret-itself"})) != "[redacted q]" {
        assert!(Instant::now() < deadline, "never read:\n{}", client.process().log());
    }
    client.finish();
}

#[test]
fn a_token_on_a_failing_disk_is_read_later() {
    const OLD: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";
    let home = Home::with(&["echo"]);
    write(&home, "token", OLD);
    home.configure(&format!("{NO_OS_SANDBOX}[server.http]\ntokens = [{{ name = 'me', file = 'token' }}]\n"));
    let (process, address) = serve(&home, &[]);
    let reached = |secret: &str| {
        let request = Request::discover(address).with("Authorization", &format!("Bearer {secret}"));
        HttpConnection::connect(address).exchange(&request).status
    };
    assert_eq!((reached(OLD), reached(NEW)), (200, 401));
    fail(&home, "token");
    process.signal(Signal::HUP);
    process.log_with("tokens unchanged: failed to read the configuration");
    assert_eq!((reached(OLD), reached(NEW)), (200, 401));
    // Without another signal.
    write(&home, "token", NEW);
    process.log_with("tokens reloaded");
    assert_eq!((reached(OLD), reached(NEW)), (401, 200));
}
