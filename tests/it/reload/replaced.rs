//! The ways in which real programs replace files: most remove the old file first, some make the new
//! one visible before it is complete. No call may fail, and each version is notified once.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::TIMEOUT;
use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::home::Home;

/// Replacements of each kind; `WHARF_TEST_REPLACEMENTS` sets another number.
const REPLACEMENTS: usize = 40;

/// Source and target of a new version.
struct Place {
    /// A folder for temporary files.
    aside: PathBuf,
    /// The file of the new version, with the content `bytes`.
    new: PathBuf,
    bytes: Vec<u8>,
    target: PathBuf,
}

fn program(name: &str, arguments: &[&str], place: &Place) {
    let paths = [&place.new, &place.target].map(|path| path.display().to_string());
    let arguments = arguments.iter().map(|argument| argument.replace("NEW", &paths[0]).replace("TARGET", &paths[1]));
    let output = Command::new(name).args(arguments).output().expect("a program that every system has");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

fn make(path: &Path) -> File {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).expect("a new file")
}

/// As `git checkout` and many programs do.
fn unlink_and_create(place: &Place) {
    fs::remove_file(&place.target).expect("the old one");
    make(&place.target).write_all(&place.bytes).expect("the new one");
}

fn tar(place: &Place) {
    let (archive, folder) = (place.aside.join("new.tar"), place.target.parent().expect("a folder"));
    let name = place.target.file_name().expect("a name").to_str().expect("UTF-8");
    fs::write(place.aside.join(name), &place.bytes).expect("a file");
    for (verb, at) in [("-cf", place.aside.as_path()), ("-xf", folder)] {
        let tar = ["tar".as_ref(), verb.as_ref(), archive.as_os_str(), "-C".as_ref(), at.as_os_str(), name.as_ref()];
        let end = if verb == "-cf" { tar.len() } else { tar.len() - 1 };
        let output = Command::new(tar[0]).args(&tar[1..end]).output().expect("tar");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The old file is renamed, the new one created, the old one deleted.
fn editor_with_a_backup(place: &Place) {
    let backup = place.target.with_extension("wasm~");
    fs::rename(&place.target, &backup).expect("a rename");
    make(&place.target).write_all(&place.bytes).expect("the new one");
    fs::remove_file(backup).expect("the backup");
}

fn editor_with_a_temporary_file(place: &Place) {
    let next = place.target.with_extension("wasm.tmp");
    make(&next).write_all(&place.bytes).expect("the new one");
    fs::rename(next, &place.target).expect("a rename");
}

/// As Node's `copyFile`: the new file gets its mode before its content.
fn readable_before_it_is_written(place: &Place) {
    fs::remove_file(&place.target).expect("the old one");
    let mut file = make(&place.target);
    file.set_permissions(Permissions::from_mode(0o644)).expect("a file of ours");
    for half in place.bytes.chunks(place.bytes.len() / 2 + 1) {
        thread::sleep(Duration::from_millis(3));
        file.write_all(half).expect("half a file");
    }
}

fn hard_link(place: &Place) {
    fs::remove_file(&place.target).expect("the old one");
    fs::hard_link(&place.new, &place.target).expect("a link");
    fs::remove_file(&place.new).expect("its other name");
}

fn in_place(place: &Place) {
    fs::write(&place.target, &place.bytes).expect("the file");
}

/// A name, and a function that replaces the file.
type Kind = (&'static str, fn(&Place));

const KINDS: [Kind; 10] = [
    ("unlink and create", unlink_and_create),
    ("install -m 644", |place| program("install", &["-m", "644", "NEW", "TARGET"], place)),
    ("cp --remove-destination", |place| program("cp", &["--remove-destination", "NEW", "TARGET"], place)),
    ("cp", |place| program("cp", &["NEW", "TARGET"], place)),
    ("tar x", tar),
    ("an editor with a backup", editor_with_a_backup),
    ("an editor with a temporary file", editor_with_a_temporary_file),
    ("readable before it is written", readable_before_it_is_written),
    ("hard link", hard_link),
    ("in place", in_place),
];

/// Two versions with different tool descriptions, so that clients are notified of each change.
fn version(number: usize) -> Vec<u8> {
    let answer = ["one", "two"][number % 2];
    Guest::returning(answer).described("act", &format!("Does {answer}.")).build()
}

/// Calls until that version answers; every call until then has an answer.
fn until(client: &mut Client, number: usize, what: &str) -> u64 {
    let (wanted, deadline) = (["one", "two"][number % 2], Instant::now() + TIMEOUT);
    let mut calls = 0;
    loop {
        let id = client.post("tools/call", json!({"name": "p_version", "arguments": {}}));
        let answer = client.answer(id);
        assert!(answer.get("result").is_some(), "{what}: {answer}\n{}", client.process().log());
        calls += 1;
        if first_text(&answer["result"]) == wanted {
            return calls;
        }
        assert!(Instant::now() < deadline, "{what}: version {wanted} does not serve\n{}", client.process().log());
    }
}

#[test]
fn no_way_of_replacing_a_file_loses_a_call_or_repeats_a_notification() {
    let times = std::env::var("WHARF_TEST_REPLACEMENTS").ok().and_then(|times| times.parse().ok());
    let times: usize = times.unwrap_or(REPLACEMENTS);
    thread::scope(|scope| {
        for (what, replace) in KINDS {
            scope.spawn(move || {
                let home = Home::new();
                home.put_bytes(&version(0), "p");
                let mut client = Client::start(&home);
                until(&mut client, 0, what);
                // Plugins found by the first scan are not notified as changes.
                assert_eq!(client.tools(), ["p_version", "p_act"]);
                for number in 1..=times {
                    let place = Place {
                        aside: home.path("home"),
                        new: home.path("home/new.wasm"),
                        bytes: version(number),
                        target: home.plugin("p"),
                    };
                    fs::write(&place.new, &place.bytes).expect("a file");
                    let replacing = scope.spawn(move || replace(&place));
                    until(&mut client, number, what);
                    replacing.join().expect("it is replaced");
                    // One notification per change: faster changes would be merged.
                    client.notification("notifications/tools/list_changed");
                }
                let log = client.process().log();
                let rest = client.finish();
                let repeated =
                    rest.iter().filter(|message| message["method"] == "notifications/tools/list_changed").count();
                assert_eq!(repeated, 0, "{what}: notified more than once\n{log}");
                assert!(!log.contains("removed"), "{what}: {log}");
            });
        }
    });
}

/// The old file is removed, and the new one is incomplete for longer than the grace period of a
/// missing file.
#[test]
fn a_slowly_written_file_loses_no_call() {
    let home = Home::new();
    home.put_bytes(&version(0), "p");
    let mut client = Client::start(&home);
    until(&mut client, 0, "the first");
    let (target, bytes) = (home.plugin("p"), version(1));
    let writing = thread::spawn(move || {
        fs::remove_file(&target).expect("the old one");
        let mut file = make(&target);
        file.set_permissions(Permissions::from_mode(0o644)).expect("a file of ours");
        for part in bytes.chunks(bytes.len() / 3 + 1) {
            file.write_all(part).expect("a part");
            thread::sleep(Duration::from_millis(700));
        }
    });
    until(&mut client, 1, "written slowly");
    writing.join().expect("it is written");
    let log = client.process().log();
    assert!(!log.contains("failed to"), "an incomplete file was read: {log}");
}

#[test]
fn a_file_moved_into_a_subfolder_stays_the_same_plugin() {
    let home = Home::new();
    home.put_bytes(&version(0), "p");
    fs::create_dir(home.plugins().join("team")).expect("a subfolder");
    let mut client = Client::start(&home);
    until(&mut client, 0, "the first");
    let target = home.plugins().join("team/p.wasm");
    fs::rename(home.plugin("p"), &target).expect("a rename");
    // Longer than the grace period of a missing file.
    let moved = Instant::now();
    while moved.elapsed() < Duration::from_secs(3) {
        until(&mut client, 0, "moved");
    }
    fs::write(&target, version(1)).expect("a file");
    until(&mut client, 1, "changed in the subfolder");
}
