//! Granted folders, through the real binary: what is granted can be used, and nothing else. The
//! guest `folders` calls WASI directly, so that no library refuses an attempt first.

mod escape;
mod exhaust;
mod refused;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::home::{Home, component, names_in};
use crate::support::process::run;

/// A home with the plugins `folders` and `echo`, and a folder `shared`.
fn home() -> Home {
    let home = Home::with(&["folders", "echo"]);
    fs::create_dir(home.path("shared")).expect("a folder");
    home
}

/// The settings that grant folders, each with its mode and optionally a quota.
fn granting(folders: &[(&Path, &str)]) -> String {
    let entry = |(at, (host, mode)): (usize, &(&Path, &str))| {
        let host = host.display();
        format!("{{ host = '{host}', guest = '/{at}', mode = {mode} }}")
    };
    let entries: Vec<String> = folders.iter().enumerate().map(entry).collect();
    format!("[plugins.folders.grants]\nfs = [{}]\n", entries.join(", "))
}

/// Serves a home in which `shared` is granted in that mode.
fn serve(home: &Home, mode: &str) -> Client {
    home.configure(&granting(&[(&home.path("shared"), mode)]));
    Client::start_modern(home)
}

/// The outcome of an attempt.
fn attempt(client: &mut Client, what: &str, mut with: Value) -> String {
    with["what"] = json!(what);
    client.text("folders_attempt", with)
}

fn on(client: &mut Client, what: &str, path: &str) -> String {
    attempt(client, what, json!({"path": path}))
}

fn to(client: &mut Client, what: &str, path: &str, to: &str) -> String {
    attempt(client, what, json!({"path": path, "to": to}))
}

fn of(client: &mut Client, what: &str, path: &str, count: u64) -> String {
    attempt(client, what, json!({"path": path, "count": count}))
}

/// The total length of all files in a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries.map(|entry| entry.metadata().expect("its metadata").len()).sum()
}

#[test]
fn all_operations_work_in_a_granted_folder() {
    let home = home();
    let shared = home.path("shared");
    fs::write(shared.join("here.txt"), "hello").expect("a file");
    let mut client = serve(&home, "'write'");
    assert_eq!(on(&mut client, "folders", ""), "ok /0");
    assert_eq!(on(&mut client, "read", "here.txt"), "ok hello");
    assert_eq!(on(&mut client, "list", "."), "ok here.txt");
    assert_eq!(on(&mut client, "stat", "here.txt"), "ok 5 bytes");
    for (what, path) in [("write", "written"), ("stream", "streamed"), ("append", "here.txt")] {
        assert!(of(&mut client, what, path, 10_000).starts_with("ok"), "{what}");
    }
    assert_eq!(fs::read(shared.join("written")).expect("it"), vec![b'x'; 10_000]);
    assert_eq!(fs::read(shared.join("streamed")).expect("it"), vec![b'x'; 10_000]);
    assert_eq!(fs::metadata(shared.join("here.txt")).expect("it").len(), 10_005);
    assert_eq!(attempt(&mut client, "stream", json!({"path": "here.txt", "count": 2, "at": 1})), "ok");
    assert_eq!(fs::read(shared.join("here.txt")).expect("it")[..5], *b"hxxlo");
    assert_eq!(of(&mut client, "resize", "written", 7), "ok");
    assert_eq!(on(&mut client, "truncate", "here.txt"), "ok");
    assert_eq!(bytes_in(&shared), 7 + 10_000);
    assert_eq!(on(&mut client, "mkdir", "sub"), "ok");
    assert_eq!(to(&mut client, "rename", "written", "sub/moved"), "ok");
    assert_eq!(on(&mut client, "rmdir", "sub"), "not-empty");
    assert_eq!(on(&mut client, "unlink", "sub/moved"), "ok");
    assert_eq!(on(&mut client, "rmdir", "sub"), "ok");
    assert_eq!(on(&mut client, "touch", "streamed"), "ok");
    assert_eq!(on(&mut client, "create", "streamed"), "exist");
    assert_eq!(names_in(&shared), ["here.txt", "streamed"]);
}

#[test]
fn without_a_grant_there_is_no_folder() {
    let home = home();
    let mut client = Client::start_modern(&home);
    assert_eq!(on(&mut client, "folders", ""), "ok");
    assert_eq!(on(&mut client, "read", "/etc/passwd"), "no-device");
    home.configure("[plugins.folders.grants]\nfs = []\n");
    assert_eq!(on(&mut client, "folders", ""), "ok");
}

/// A grant applies to one plugin; a relative path starts at the folder of the configuration file.
#[test]
fn a_relative_path_starts_at_the_configuration_and_the_grant_is_for_one_plugin() {
    let home = home();
    home.put("folders", "other");
    fs::create_dir(home.path("config/wharf/data")).expect("a folder");
    fs::write(home.path("config/wharf/data/here"), "beside").expect("a file");
    fs::create_dir(home.path("home/own")).expect("a folder");
    fs::write(home.path("home/own/here"), "home").expect("a file");
    home.configure(
        "[plugins.folders.grants]\n\
         fs = [{ host = './data', guest = '/data' }, { host = '~/own', guest = '/own', mode = 'read' }]\n",
    );
    let mut client = Client::start_modern(&home);
    assert_eq!(on(&mut client, "folders", ""), "ok /data /own");
    assert_eq!(on(&mut client, "read", "here"), "ok beside");
    assert_eq!(attempt(&mut client, "read", json!({"path": "here", "folder": 1})), "ok home");
    assert_eq!(client.text("other_attempt", json!({"what": "folders"})), "ok");
}

#[test]
fn a_read_only_folder_cannot_be_written() {
    let home = home();
    let shared = home.path("shared");
    fs::write(shared.join("here"), "hello").expect("a file");
    fs::create_dir(shared.join("sub")).expect("a folder");
    let mut client = serve(&home, "'read'");
    assert_eq!(on(&mut client, "read", "here"), "ok hello");
    for what in ["write", "stream", "append", "resize", "truncate", "open-to-write", "touch", "unlink"] {
        assert_eq!(of(&mut client, what, "here", 1), "not-permitted", "{what}");
    }
    for what in ["create", "write", "mkdir"] {
        assert_eq!(of(&mut client, what, "fresh", 1), "not-permitted", "{what}");
    }
    assert_eq!(on(&mut client, "rmdir", "sub"), "not-permitted");
    for what in ["rename", "link", "symlink"] {
        assert_eq!(to(&mut client, what, "here", "there"), "not-permitted", "{what}");
    }
    assert_eq!(names_in(&shared), ["here", "sub"]);
    assert_eq!(fs::read_to_string(shared.join("here")).expect("it"), "hello");
}

#[test]
fn a_revoked_grant_closes_the_folder() {
    let home = home();
    fs::write(home.path("shared/here"), "hello").expect("a file");
    let mut client = serve(&home, "'write'");
    assert_eq!(on(&mut client, "write", "here"), "ok 0 bytes");
    let took = |client: &mut Client, wanted: &str, what: &str| {
        let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
        while on(client, what, "here") != wanted {
            assert!(std::time::Instant::now() < deadline, "the settings are not reloaded");
        }
    };
    home.configure(&granting(&[(&home.path("shared"), "'read'")]));
    took(&mut client, "not-permitted", "write");
    assert_eq!(on(&mut client, "read", "here"), "ok hello");
    home.configure("");
    took(&mut client, "no-device", "read");
    home.configure(&granting(&[(&home.path("shared"), "'write'")]));
    took(&mut client, "ok 0 bytes", "write");
}

/// Without a restart, a change of the configuration, or a signal.
#[test]
fn a_folder_created_later_is_granted_then() {
    let home = home();
    let (shared, later) = (home.path("shared"), home.path("shared/later"));
    home.configure(&granting(&[(&shared, "'write'"), (&later, "'write'")]));
    let mut client = Client::start_modern(&home);
    assert_eq!(on(&mut client, "folders", ""), "ok /0");
    let expected = format!("not granted: the folder {} does not exist", later.display());
    let log = client.process().log_with(&expected);
    assert!(log.contains("create the folder; a running server then grants it"), "{log}");
    fs::create_dir(&later).expect("a folder");
    client.process().log_with("settings reloaded");
    assert_eq!(on(&mut client, "folders", ""), "ok /0 /1");
    assert_eq!(attempt(&mut client, "create", json!({"path": "new", "folder": 1})), "ok");
    assert_eq!(names_in(&later), ["new"]);
}

#[test]
fn a_failed_call_names_its_missing_folder() {
    let home = Home::with(&["files"]);
    let nowhere = home.path("nowhere");
    let grant = format!("fs = [{{ host = '{}', guest = '/data' }}]\n", nowhere.display());
    home.configure(&format!("[plugins.files.grants]\n{grant}"));
    let mut client = Client::start_modern(&home);
    let result = client.call("files_list", json!({}));
    assert_eq!(result["_meta"]["wharf/fault"]["code"], "denied", "{result}");
    assert_eq!(result["_meta"]["wharf/fault"]["access"], "fs", "{result}");
    let reported = first_text(&result);
    let lack = "grant `fs` cannot be used: its folder '/data' is not available: create the folder";
    assert!(reported.contains(lack) && !reported.contains(&nowhere.display().to_string()), "{reported}");
    client
        .process()
        .log_with(&format!("access denied: grant cannot be used: the folder {} does not exist", nowhere.display()));
}

#[test]
fn check_shows_granted_folders_and_their_errors() {
    let home = home();
    let nowhere = home.path("nowhere");
    home.configure(&granting(&[(&home.path("shared"), "'write'"), (&nowhere, "'read'")]));
    let output = run(&home, ["check".as_ref(), component("folders").as_os_str()]);
    let (text, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("folder   /0, granted to write, from {}", home.path("shared").display())), "{text}");
    assert!(text.contains("folder   /1, granted to read, from "), "{text}");
    assert!(log.contains(&format!("not granted: the folder {} does not exist", nowhere.display())), "{log}");
}

#[test]
fn the_environment_has_only_granted_variables() {
    let home = home();
    let mut client = Client::start_modern(&home);
    assert_eq!(client.text("folders_environment", json!({})), "[]");
    home.configure("[plugins.folders.grants]\nenv = { LANG = 'C', HOST = '$HOME', EMPTY = '' }\n");
    let mut client = Client::start_modern(&home);
    let expected = r#"[("EMPTY", ""), ("HOST", "$HOME"), ("LANG", "C")]"#;
    assert_eq!(client.text("folders_environment", json!({})), expected);
}

/// A missing secret is reported when the plugin reads it.
#[test]
fn a_missing_secret_is_logged_when_it_is_read() {
    let home = home();
    home.configure("[secrets]\nkey = { env = 'WHARF_TEST_NOT_SET' }\n[plugins.folders.grants]\nsecrets = ['key']\n");
    let mut client = Client::start_modern(&home);
    assert_eq!(client.text("folders_settings", json!({})), "[] None Ok(None)");
    let log = client
        .process()
        .log_with("access denied: grant cannot be used: it needs the secret 'key', which is not set: variable WHARF_");
    assert!(log.contains("set its variable, then restart the server"), "{log}");
}

#[test]
fn wasi_config_has_only_granted_settings() {
    let home = home();
    let mut client = Client::start_modern(&home);
    assert_eq!(client.text("folders_settings", json!({})), "[] None Ok(None)");
    home.configure("[plugins.folders.grants]\nconfig = { unit = 'metric', HOME = '' }\n");
    let mut client = Client::start_modern(&home);
    let expected = r#"[("HOME", ""), ("unit", "metric")] Some(Ok(Some(""))) Ok(None)"#;
    assert_eq!(client.text("folders_settings", json!({})), expected);
}
