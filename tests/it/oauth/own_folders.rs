//! A granted folder in which each user has one of their own: two subjects, each against the other.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use super::issuer::Issuer;
use super::own::{call, oauth};
use crate::support::client::first_text;
use crate::support::home::{Home, names_in};
use crate::support::http::serve;
use crate::support::process::{Process, run};

fn start(issuer: &Issuer, options: &str) -> (Home, Process, SocketAddr) {
    let home = Home::with(&["folders"]);
    fs::create_dir(home.path("shared")).expect("a folder");
    fs::write(home.path("token"), "0123456789abcdef").expect("a file");
    home.configure(&format!(
        "[server.http]\ntokens = [{{ name = 'bob', file = '../../token' }}]\n{}[plugins.folders.grants]\n\
         fs = [{{ host = '{}', guest = '/data', per = 'subject', {options} }}]\n",
        oauth(issuer),
        home.path("shared").display()
    ));
    let (process, address) = serve(&home, &[]);
    (home, process, address)
}

fn attempt(address: SocketAddr, token: &str, what: &str, mut with: Value) -> String {
    with["what"] = json!(what);
    first_text(&call(address, token, "folders_attempt", with)).to_owned()
}

/// The folder of an issuer's users.
fn encoded(issuer: &Issuer) -> String {
    issuer.url().replace(':', "%3A").replace('/', "%2F")
}

#[test]
fn each_user_reaches_only_their_own_folder() {
    let issuer = Issuer::start();
    let (home, _process, address) = start(&issuer, "mode = 'write'");
    let (ada, bob) = (issuer.token("ada"), issuer.token("bob"));
    let on = |token: &str, what: &str, path: &str| attempt(address, token, what, json!({"path": path, "count": 3}));
    for _ in 0..2 {
        assert_eq!(on(&ada, "write", "hers"), "ok 3 bytes");
        assert_eq!(on(&bob, "write", "his"), "ok 3 bytes");
        assert_eq!((on(&ada, "list", "."), on(&bob, "list", ".")), ("ok hers".into(), "ok his".into()));
    }
    let below = home.path("shared").join(encoded(&issuer));
    assert_eq!(names_in(&below), ["ada", "bob"]);
    assert_eq!(fs::metadata(below.join("ada")).expect("it is there").permissions().mode() & 0o777, 0o700);
    // A link out of her folder, as another program could make it, leads nowhere.
    symlink("../bob", below.join("ada/link")).expect("a link");
    for path in ["../bob/his", "../bob", "..", "link/his", "link", "/data/../bob/his", "../../x"] {
        for what in ["read", "list", "write", "mkdir", "stat", "unlink"] {
            let outcome = on(&ada, what, path);
            assert!(!outcome.starts_with("ok") || (what, path) == ("unlink", "link"), "{what} {path}: {outcome}");
            if (what, path) == ("unlink", "link") {
                symlink("../bob", below.join("ada/link")).expect("a link");
            }
        }
    }
    assert_eq!(on(&bob, "list", "."), "ok his");
    // Whoever is called like it is somebody else.
    let long = "b".repeat(201);
    for stranger in ["../bob", "bob/", "BOB", "b%6fb", "b\u{43e}b", ".", "bob\u{0}", &long] {
        let token = issuer.token(stranger);
        assert!(!on(&token, "read", "his").starts_with("ok"), "{stranger}");
        assert!(!on(&token, "list", ".").contains("his"), "{stranger}");
    }
    assert_eq!(on("0123456789abcdef", "write", "of-the-token"), "ok 3 bytes");
    assert_eq!(names_in(&home.path("shared/@")), ["@bob"]);
    assert_eq!(fs::read(below.join("bob/his")).expect("his"), b"xxx", "nobody changed it");
    // A link in place of a user's folder is not followed.
    symlink("bob", below.join("mallory")).expect("a link");
    assert!(!on(&issuer.token("mallory"), "read", "his").starts_with("ok"));
    let shown = String::from_utf8(run(&home, ["rights", r#"{"sub":"Carol"}"#]).stdout).expect("UTF-8");
    assert!(
        shown.contains(&format!("folder /data of folders  {}/%43arol  is created by the first call", below.display())),
        "{shown}"
    );
}

#[test]
fn quotas_are_of_each_user_and_of_all() {
    let issuer = Issuer::start();
    // Entries count 4096 bytes: of all together those of the issuer, two users, and a file of each.
    let (_home, _process, address) = start(&issuer, "mode = 'write', quota = 14096, total = 35480");
    let write = |who: &str, path: &str, count: u64| {
        attempt(address, &issuer.token(who), "write", json!({"path": path, "count": count}))
    };
    assert_eq!(write("ada", "a", 10_001), "quota");
    assert_eq!(write("ada", "a", 10_000), "ok 10000 bytes");
    assert_eq!(write("bob", "b", 6_000), "quota", "she took most of it");
    assert_eq!(write("bob", "b", 5_000), "ok 5000 bytes");
    assert_eq!(attempt(address, &issuer.token("ada"), "unlink", json!({"path": "a"})), "ok");
    assert_eq!(write("bob", "b", 9_000), "ok 9000 bytes");
}

#[test]
fn a_missing_folder_that_is_only_read_is_denied_to_its_user() {
    let issuer = Issuer::start();
    let (home, process, address) = start(&issuer, "mode = 'read'");
    let below = home.path("shared").join(encoded(&issuer));
    fs::create_dir_all(below.join("bob")).expect("a folder");
    fs::write(below.join("bob/his"), "hello").expect("a file");
    let read = |who: &str| attempt(address, &issuer.token(who), "read", json!({"path": "his"}));
    assert_eq!(read("bob"), "ok hello");
    assert!(!read("carol").starts_with("ok"));
    let log =
        process.log_with(&format!("the folder {}/carol of {}#carol does not exist", below.display(), issuer.url()));
    assert!(log.contains("access denied: grant cannot be used"), "{log}");
    assert!(!below.join("carol").exists());
}
