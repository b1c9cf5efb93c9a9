//! Folders that are never opened to plugins, even when granted.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::{granting, home, on};
use crate::support::client::Client;
use crate::support::home::Home;

/// Grants a folder, which must be refused for that reason; the plugin still runs.
fn refused(home: &Home, folder: &Path, why: &str) {
    refused_as(home, folder, folder, why);
}

/// `shown`: how the folder is named, which is without `..`.
fn refused_as(home: &Home, folder: &Path, shown: &Path, why: &str) {
    for mode in ["'read'", "'write'"] {
        home.configure(&granting(&[(folder, mode)]));
        let mut client = Client::start_modern(home);
        assert_eq!(on(&mut client, "folders", ""), "ok", "{}", folder.display());
        let expected = format!("not granted: the folder {} {why}", shown.display());
        let log = client.process().log_with(&expected);
        assert_eq!(log.matches(&expected).count(), 1, "{log}");
        assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
    }
}

fn make(folder: PathBuf) -> PathBuf {
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn folders_of_the_user_and_of_wharf_are_not_granted() {
    let home = home();
    refused(&home, Path::new("/"), "is the root folder");
    for own in [home.path("home"), home.path("config/wharf"), home.plugins()] {
        refused(&home, &own, "is reserved for Wharf or its user");
    }
    // What holds one of them.
    refused(&home, &home.path(""), "contains ");
    refused(&home, &home.path("config"), "contains ");
    make(home.path("data/wharf"));
    refused(&home, &home.path("data"), "contains ");
    refused(&home, &home.path("state"), "contains ");
    // What is in one of them.
    refused(&home, &make(home.plugins().join("data")), "is in ");
    refused(&home, &make(home.path("data/wharf/mine")), "is in ");
    refused(&home, &make(home.path("state/wharf/mine")), "is in ");
    for system in ["/proc", "/sys", "/dev"] {
        if Path::new(system).is_dir() {
            refused(&home, Path::new(system), "is in /");
        }
    }
    // Aliases of such folders.
    symlink(home.plugins(), home.path("alias")).expect("a link");
    refused(&home, &home.path("alias"), "is reserved for Wharf or its user");
    let (climbing, shown) = (home.path("shared/../home"), home.path("home"));
    refused_as(&home, &climbing, &shown, "is reserved for Wharf or its user");
}

/// The audit log, tokens and secrets: also if configured after the grant, or reached by a link.
#[test]
fn folders_with_files_of_the_host_are_not_granted() {
    let home = home();
    let shared = home.path("shared");
    let deep = make(shared.join("deep"));
    fs::write(deep.join("token"), "0123456789abcdef").expect("a file");
    symlink(&deep, home.path("alias")).expect("a link");
    let grant = granting(&[(&shared, "'write'")]);
    home.configure(&grant);
    let mut client = Client::start_modern(&home);
    assert_ne!(on(&mut client, "folders", ""), "ok", "it is available while none of these is configured");
    for (settings, what) in [
        (format!("[secrets]\nkey = {{ file = '{}' }}\n", deep.join("token").display()), "the secret 'key': "),
        (format!("[secrets]\nkey = {{ file = '{}' }}\n", home.path("alias/token").display()), "the secret 'key': "),
        (format!("[audit]\npath = '{}'\n", shared.join("audit.jsonl").display()), "the audit log: "),
        (
            format!("[server.http]\ntokens = [{{ name = 'me', file = '{}' }}]\n", deep.join("token").display()),
            "the token of me: ",
        ),
    ] {
        home.configure(&format!("{grant}{settings}"));
        let expected = format!("not granted: the folder {} contains {what}", shared.display());
        client.process().log_with(&expected);
        while on(&mut client, "folders", "") != "ok" {}
        home.configure(&format!("{grant}# {what}\n"));
        while on(&mut client, "folders", "") == "ok" {}
    }
    // A hard link to the same file, in a folder that the OS sandbox allows.
    let apart = make(shared.join("apart"));
    fs::hard_link(deep.join("token"), apart.join("harmless")).expect("a link");
    let settings = format!("[secrets]\nkey = {{ file = '{}' }}\n", deep.join("token").display());
    home.configure(&format!("{}{settings}", granting(&[(&apart, "'read'")])));
    client.process().log_with("has the secret 'key' by another name in it: harmless");
}

#[test]
fn folders_with_keys_are_not_granted() {
    let home = home();
    for keys in [".ssh", ".gnupg", ".aws"] {
        let folder = make(home.path(&format!("home/{keys}/sub")));
        refused(&home, &folder, "is a credentials folder");
        refused(&home, folder.parent().expect("a folder"), "is a credentials folder");
        let holder = make(home.path(&format!("holder{keys}")));
        make(holder.join("deep/er").join(keys));
        refused(&home, &holder, &format!("has a credentials folder in it: deep/er/{keys}"));
    }
}

#[test]
fn only_folders_are_granted() {
    let home = home();
    refused(&home, &home.path("nowhere"), "does not exist");
    fs::write(home.path("file"), "").expect("a file");
    refused(&home, &home.path("file"), "is not a folder");
    // Not waited for.
    mkfifoat(CWD, home.path("fifo"), Mode::RWXU).expect("a FIFO");
    refused(&home, &home.path("fifo"), "is not a folder");
}

#[test]
fn a_folder_with_a_fifo_or_socket_is_not_granted() {
    let home = home();
    let with_fifo = make(home.path("with-fifo"));
    make(with_fifo.join("a/b"));
    mkfifoat(CWD, with_fifo.join("a/b/fifo"), Mode::RWXU).expect("a FIFO");
    refused(&home, &with_fifo, "has a FIFO in it: a/b/fifo");
    let with_socket = make(home.path("with-socket"));
    let _socket = UnixListener::bind(with_socket.join("socket")).expect("a socket");
    refused(&home, &with_socket, "has a socket in it: socket");
}

/// The other folders remain available.
#[test]
fn a_refused_folder_does_not_affect_others() {
    let home = home();
    fs::write(home.path("shared/here"), "hello").expect("a file");
    home.configure(&granting(&[(&home.path("nowhere"), "'read'"), (&home.path("shared"), "'read'")]));
    let mut client = Client::start_modern(&home);
    assert_eq!(on(&mut client, "folders", ""), "ok /1");
    assert_eq!(on(&mut client, "read", "here"), "ok hello");
}

#[test]
fn a_folder_over_its_quota_is_logged() {
    let home = home();
    fs::write(home.path("shared/here"), vec![0; 2 << 20]).expect("a file");
    let mut client = super::serve(&home, "'write', quota = '1MiB'");
    assert_eq!(super::of(&mut client, "stream", "more", 1), "quota");
    client.process().log_with("granted, but it already holds 2.0 MiB of a quota of 1.0 MiB");
}
