//! A change of settings applies from the next call on, even if the plugin announces changes of its
//! lists or its file is replaced at the same time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::home::{Home, component};

pub(super) const MAY_KEEP: &str = "[plugins.notes.grants]\nkeyvalue = true\n";
/// The grant is revoked while the plugin keeps announcing changes of its lists.
pub(super) const MAY_NOT: &str = "[plugins.notes.grants]\nkeyvalue = false\n";

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The grant is revoked.
    Revoke,
    /// The plugin announces a changed list, as it does after each note.
    Chatter,
    /// The file is replaced by a rebuild of the same plugin.
    Reload,
}

fn add(client: &mut Client) -> Value {
    client.call("notes_add", json!({"text": "milk"}))
}

pub(super) fn denied(result: &Value) -> bool {
    result["_meta"]["wharf/fault"]["code"] == "denied"
}

pub(super) fn until(client: &mut Client, what: &str, wanted: impl Fn(&Value) -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !wanted(&add(client)) {
        assert!(Instant::now() < deadline, "never {what}:\n{}", client.process().log());
    }
}

/// Replaces the file with the same plugin under another digest.
fn reload(home: &Home, serial: &mut u8) {
    let mut bytes = std::fs::read(component("notes")).expect("a guest");
    *serial += 1;
    // A custom section: id, length, length of its name, name.
    bytes.extend([0, 2, 1, b'a' + *serial]);
    home.put_bytes(&bytes, "notes");
}

#[test]
fn a_revoked_grant_stays_revoked_in_all_orders() {
    use Step::{Chatter, Reload, Revoke};
    let home = Home::new();
    home.put("notes", "notes");
    home.configure(MAY_KEEP);
    let mut client = Client::start(&home);
    let mut serial = 0;
    for order in [
        [Revoke, Chatter, Reload],
        [Revoke, Reload, Chatter],
        [Chatter, Revoke, Reload],
        [Chatter, Reload, Revoke],
        [Reload, Revoke, Chatter],
        [Reload, Chatter, Revoke],
    ] {
        home.configure(MAY_KEEP);
        until(&mut client, "allowed", |result| !denied(result));
        for step in order {
            match step {
                Revoke => home.configure(MAY_NOT),
                Chatter => {
                    for _ in 0..3 {
                        add(&mut client);
                    }
                }
                Reload => reload(&home, &mut serial),
            }
        }
        until(&mut client, "denied", denied);
        // Long enough for several listings and loads.
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(800) {
            let result = add(&mut client);
            assert!(denied(&result), "{order:?}: allowed again after {:?}: {result}", since.elapsed());
        }
    }
}

/// A plugin lists with its current grants.
#[test]
fn listings_follow_the_current_grants() {
    let home = Home::new();
    home.put("notes", "notes");
    home.configure(MAY_KEEP);
    let mut client = Client::start(&home);
    until(&mut client, "allowed", |result| !denied(result));
    let notes = |client: &mut Client| {
        let listed = client.result("resources/list", json!({}));
        listed["resources"].as_array().expect("a list").len()
    };
    let wait = |client: &mut Client, wanted: fn(usize) -> bool| {
        let deadline = Instant::now() + TIMEOUT;
        while !wanted(notes(client)) {
            assert!(Instant::now() < deadline, "the list does not change:\n{}", client.process().log());
        }
    };
    wait(&mut client, |notes| notes > 0);
    for _ in 0..3 {
        add(&mut client);
    }
    home.configure(MAY_NOT);
    until(&mut client, "denied", denied);
    client.process().log_with("keyvalue");
    home.configure(MAY_KEEP);
    until(&mut client, "allowed", |result| !denied(result));
    wait(&mut client, |notes| notes >= 4);
}
