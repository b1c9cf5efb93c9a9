//! Files that decide for Wharf and that other users can write: they are refused, with the command that repairs
//! them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, listening_address};
use crate::support::process::{Process, command, run};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a file of ours");
}

/// The exit code and stderr of `serve` with an empty stdin.
fn serve(home: &Home) -> (Option<i32>, String) {
    let output = run(home, ["serve".as_ref(), home.plugins().as_os_str()]);
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

/// Runs the command of the hint.
fn repair(reported: &str) {
    let hint = reported.split("then run: ").nth(1).unwrap_or_else(|| panic!("no command in {reported}"));
    let hinted = hint.split(';').next().expect("a command");
    assert!(Command::new("sh").args(["-c", hinted]).status().expect("a shell").success(), "{hinted}");
}

#[test]
fn a_configuration_that_others_can_write_is_refused() {
    let home = Home::new();
    home.configure("");
    let folder = home.path("config/wharf");
    let file = folder.join("wharf.toml");
    for (path, mode) in [(&file, 0o646), (&folder, 0o757)] {
        set(path, mode);
        let (code, reported) = serve(&home);
        assert_eq!(code, Some(2), "{reported}");
        assert!(
            reported.contains("failed to read the configuration") && reported.contains("other users can write"),
            "{reported}"
        );
        repair(&reported);
        assert_eq!(serve(&home).0, Some(0), "{reported}");
    }
    // Others cannot replace a file in a sticky folder; a private group is the user's own.
    set(&folder, 0o1777);
    let found = fs::metadata(&file).expect("the file");
    let mode = if found.uid() == found.gid() { 0o664 } else { 0o644 };
    set(&file, mode);
    assert_eq!(serve(&home).0, Some(0));
    set(&folder, 0o755);
    // The folder that a link leads to counts.
    let elsewhere = home.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::rename(&file, elsewhere.join("real.toml")).expect("a move");
    symlink(elsewhere.join("real.toml"), &file).expect("a link");
    assert_eq!(serve(&home).0, Some(0));
    set(&elsewhere, 0o777);
    let (code, reported) = serve(&home);
    assert!(code == Some(2) && reported.contains("its folder"), "{reported}");
    repair(&reported);
    assert_eq!(serve(&home).0, Some(0));
    if rustix::process::geteuid().is_root() {
        chown(elsewhere.join("real.toml"), Some(65534), None).expect("root may");
        let (code, reported) = serve(&home);
        assert!(
            code == Some(2) && reported.contains("belongs to another user") && reported.contains("chown"),
            "{reported}"
        );
        chown(elsewhere.join("real.toml"), Some(0), None).expect("root may");
        assert_eq!(serve(&home).0, Some(0));
    }
}

#[test]
fn secrets_that_others_can_write_are_refused() {
    let home = Home::new();
    let file = home.path("config/wharf/secret");
    fs::write(&file, SECRET).expect("a file");
    for settings in [
        "[server]\nstate-key = { file = 'secret' }\n",
        "[server.http]\naddress = '127.0.0.1:0'\ntokens = [{ name = 'me', file = 'secret' }]\n",
    ] {
        home.configure(settings);
        set(&file, 0o602);
        let (code, reported) = serve(&home);
        assert_eq!(code, Some(2), "{reported}");
        assert!(reported.contains("other users can write"), "{reported}");
        repair(&reported);
        assert_eq!(fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o600);
    }
}

/// A running server keeps what it has.
#[test]
fn a_reload_refuses_what_others_can_write() {
    let home = Home::with(&["echo"]);
    home.configure("[server.http]\naddress = '127.0.0.1:0'\ntokens = [{ name = 'me', file = 'token' }]\n");
    let (configuration, token) = (home.path("config/wharf/wharf.toml"), home.path("config/wharf/token"));
    fs::write(&token, SECRET).expect("a file");
    let mut process = Process::start(command(&home, ["serve".as_ref(), home.plugins().as_os_str()]));
    let address = listening_address(&process);
    let reached = || {
        let request = Request::discover(address).with("Authorization", &format!("Bearer {SECRET}"));
        HttpConnection::connect(address).exchange(&request).status
    };
    assert_eq!(reached(), 200);
    set(&configuration, 0o646);
    process.signal(Signal::HUP);
    process.log_with("configuration not reloaded, the previous one stays in force: failed to read the configuration");
    set(&configuration, 0o644);
    fs::write(&token, "fedcba9876543210fedcba9876543210").expect("the file");
    set(&token, 0o602);
    process.signal(Signal::HUP);
    let log = process.log_with("tokens unchanged: failed to");
    assert!(log.contains("other users can write"), "{log}");
    assert_eq!(reached(), 200);
    process.signal(Signal::TERM);
    assert!(process.wait().success());
}

#[test]
fn a_database_that_others_can_write_is_not_used() {
    let home = Home::with(&["notes"]);
    home.configure("[plugins.notes.grants]\nkeyvalue = true\n");
    let add = || {
        let mut client = Client::start_modern(&home);
        let answer = client.call("notes_add", json!({"text": "milk"}));
        (answer.to_string().contains("the host's store failed"), client)
    };
    let (failed, client) = add();
    assert!(!failed);
    client.finish();
    let file = home.path("data/wharf/store/keyvalue.sqlite");
    for (path, bad, good) in [(file.clone(), 0o622, 0o600), (home.path("data/wharf/store"), 0o722, 0o700)] {
        set(&path, bad);
        let (failed, mut client) = add();
        assert!(failed, "{}", path.display());
        client.process().log_with("other users can write");
        set(&path, good);
        let (failed, _client) = add();
        assert!(!failed);
    }
}
