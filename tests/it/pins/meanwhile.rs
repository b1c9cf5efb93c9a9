//! What changes while a question waits: an answer is about what was shown, and about nothing else.

use std::ffi::OsStr;

use super::commands::err;
use super::*;
use crate::support::process::run_hint;
use crate::terminal::at_terminal;

/// Approves `p` while something else happens after the question; returns what was said about it.
fn approving(home: &Home, meanwhile: impl FnOnce()) -> String {
    let folder = home.plugins();
    let words: [&OsStr; 3] = ["approve".as_ref(), "p".as_ref(), folder.as_os_str()];
    let mut reported = String::new();
    let output = at_terminal(home, &words, |person| {
        person.reads_up_to("Approve this version of p?");
        meanwhile();
        person.sees("", "y");
        reported = person.reads_up_to("hint: look at it again: wharf approve p");
    });
    assert_eq!(output.status.code(), Some(1), "{reported}");
    assert_eq!(status(home)["state"], "held");
    reported
}

#[test]
fn a_file_that_is_replaced_during_the_question_is_not_approved() {
    let home = home(STRICT);
    let reported = approving(&home, || home.put_bytes(&version("2", "Does a thing."), "p"));
    assert!(reported.contains("since the question, its file was replaced by blake3:"), "{reported}");
    assert!(!home.path("state/wharf/lock.toml").exists());
}

#[test]
fn grants_that_change_during_the_question_are_not_approved() {
    let home = home(STRICT);
    let configure = || home.configure(&format!("{STRICT}{GRANTED}change-lists = true\n"));
    let reported = approving(&home, configure);
    assert!(reported.contains("its grants changed: now with elicit; change-lists"), "{reported}");
    let reported = approving(&home, || home.configure(STRICT));
    assert!(reported.contains("its grants changed: now without elicit; change-lists"), "{reported}");
}

#[test]
fn a_revocation_during_the_question_stays() {
    let home = home(GRANTED);
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    home.put_bytes(&version("2", "Does another thing."), "p");
    let reported = approving(&home, || assert!(folder_command(&home, &["revoke", "p"]).status.success()));
    assert!(reported.contains("since the question, this version was revoked"), "{reported}");
    assert_eq!(status(&home)["code"], "revoked");
    // A person who is shown it may take it back.
    let output = folder_command(&home, &["approve", "--yes", "p"]);
    assert!(output.status.success() && err(&output).contains("this version was revoked; to approve it"), "{output:?}");
    assert_eq!(status(&home)["state"], "runs");
}

/// The others are approved as they were shown.
#[test]
fn of_all_versions_those_that_changed_are_left_out() {
    let home = home("");
    home.put_bytes(&version("1", "Does another thing."), "q");
    home.put_bytes(&version("1", "Does a third thing."), "r");
    Client::start(&home).tools_until(|tools| tools.len() == 6);
    home.configure(STRICT);
    let folder = home.plugins();
    let output = at_terminal(&home, &["approve".as_ref(), "--all".as_ref(), folder.as_os_str()], |person| {
        person.reads_up_to("Approve these 3 versions?");
        home.put_bytes(&version("2", "Does a thing."), "p");
        assert!(folder_command(&home, &["revoke", "r"]).status.success());
        person.sees("", "y");
        let reported = person.reads_up_to("wharf approve r");
        assert!(reported.contains("p is left out: since the question, its file was replaced by blake3:"), "{reported}");
        assert!(reported.contains("r is left out: since the question, this version was revoked"), "{reported}");
    });
    assert_eq!(output.status.code(), Some(1));
    let pinned = lock(&home);
    let approved = ["p", "q", "r"].map(|name| pinned["plugins"][name]["approved"].as_bool());
    assert_eq!(approved, [Some(false), Some(true), Some(false)]);
}

/// A version that never ran leaves a mark too: what comes next is not the first.
#[test]
fn what_follows_a_revoked_version_is_held_with_grants() {
    let home = home(GRANTED);
    assert!(folder_command(&home, &["revoke", "p"]).status.success());
    home.put_bytes(&version("2", "Does another thing."), "p");
    let held = status(&home);
    assert_eq!((&held["state"], &held["code"]), (&json!("held"), &json!("follows_revoked")));
    let mut client = Client::start(&home);
    client.process().log_with("held: the plugin holds grants or carries skills, and another version of it was revoked");
    assert_eq!(client.tools(), [""; 0]);
    // Without grants it can only compute.
    home.configure("");
    client.tools_until(|tools| tools.len() == 2);
    client.finish();

    let home = self::home(GRANTED);
    assert!(folder_command(&home, &["revoke", "p"]).status.success());
    home.put_bytes(&version("2", "Does another thing."), "p");
    let text = String::from_utf8(folder_command(&home, &["status"]).stdout).expect("UTF-8");
    let approved = run_hint(&home, &text, "to approve it:");
    assert!(approved.status.success(), "{}", err(&approved));
    assert_eq!(Client::start(&home).text("p_version", json!({})), "2");
}
