//! `wharf call` on a terminal: a plugin's questions are prompts for the person there. Other tests
//! use the terminal for prompts of commands.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{SpecialCodeIndex, Winsize, tcgetattr, tcsetwinsize};

use crate::support::TIMEOUT;
use crate::support::home::{Home, component};
use crate::support::process::command;

/// The user's side of a pseudo-terminal.
pub(crate) struct Person {
    keyboard: File,
    screen: Receiver<Vec<u8>>,
}

impl Person {
    fn at(master: OwnedFd) -> Self {
        let mut screen = File::from(master);
        let keyboard = screen.try_clone().expect("a copy");
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A read error means that the other side is closed.
            while let Ok(read @ 1..) = screen.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { keyboard, screen: receiver }
    }

    /// Waits until the text is on the screen, then types.
    pub(crate) fn sees(&mut self, text: &str, then_types: &str) {
        self.reads_up_to(text);
        self.keyboard.write_all(then_types.as_bytes()).expect("a terminal that takes keys");
    }

    /// Waits until the text is on the screen; returns what came since the last time.
    pub(crate) fn reads_up_to(&mut self, text: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(text) {
            let more = self.screen.recv_timeout(TIMEOUT);
            seen += &String::from_utf8_lossy(&more.unwrap_or_else(|_| panic!("{text:?} is not in {seen:?}")));
        }
        seen
    }
}

/// The stdout of `wharf call` while a person answers its prompts.
fn call(tool: &str, person: impl FnOnce(&mut Person)) -> String {
    let home = Home::with(&["everything"]);
    let folder = home.plugins();
    let output = at_terminal(&home, &["call".as_ref(), folder.as_os_str(), tool.as_ref()], person);
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
}

/// Runs a command to its end on a terminal, with its stdout piped.
pub(crate) fn at_terminal(home: &Home, arguments: &[&OsStr], person: impl FnOnce(&mut Person)) -> Output {
    at_terminal_of(0, home, arguments, person)
}

/// The same with that many columns; 0: the terminal does not know.
fn at_terminal_of(columns: u16, home: &Home, arguments: &[&OsStr], person: impl FnOnce(&mut Person)) -> Output {
    let (master, terminal) = open_terminal(columns);
    let mut command = command(home, arguments);
    command.stdin(terminal.try_clone().expect("a copy")).stderr(terminal).stdout(Stdio::piped());
    let child = command.spawn().expect("the binary starts");
    drop(command);
    person(&mut Person::at(master));
    child.wait_with_output().expect("an end")
}

/// Runs a command to its end with all its streams on a terminal, whose modes must be the same afterwards.
pub(crate) fn at_screen(home: &Home, arguments: &[&OsStr], person: impl FnOnce(&mut Person, Pid)) -> ExitStatus {
    let (master, terminal) = open_terminal(100);
    let modes = || {
        let modes = tcgetattr(&terminal).expect("its modes");
        (modes.input_modes, modes.output_modes, modes.local_modes, modes.special_codes[SpecialCodeIndex::VSUSP])
    };
    let before = modes();
    let copy = || terminal.try_clone().expect("a copy");
    let mut child =
        command(home, arguments).stdin(copy()).stdout(copy()).stderr(copy()).spawn().expect("the binary starts");
    person(&mut Person::at(master), Pid::from_child(&child));
    let status = child.wait().expect("an end");
    assert_eq!(modes(), before);
    status
}

/// Both sides of a pseudo-terminal.
fn open_terminal(columns: u16) -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal of our own");
    let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("a plain name");
    let terminal = OpenOptions::new().read(true).write(true).open(name).expect("its other side");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).expect("a terminal with a size");
    (master, terminal)
}

#[test]
fn long_lines_of_an_approval_are_broken_below_their_text() {
    let home = Home::with(&["everything"]);
    let folder = home.plugins();
    let words = ["approve".as_ref(), "everything".as_ref(), folder.as_os_str()];
    let shown = |columns| {
        let mut shown = String::new();
        at_terminal_of(columns, &home, &words, |person| {
            shown = person.reads_up_to("Approve this version of everything?");
            person.sees("", "n");
        });
        shown
    };
    let below = "\r\n           test_";
    let narrow = shown(60);
    assert!(narrow.contains("  tools    ") && narrow.contains(below), "{narrow}");
    assert!(!shown(0).contains(below));
}

/// A person reads along, and knows the day.
#[test]
fn lines_of_the_log_have_the_time_of_day() {
    let home = Home::with(&["echo"]);
    at_terminal(&home, &["serve".as_ref(), home.plugins().as_os_str()], |person| {
        let shown = person.reads_up_to(" loaded");
        let line = shown.lines().find(|line| line.contains(" loaded")).expect("a line of the log");
        let (before, _) = line.split_once('Z').expect(line);
        let time = before.rsplit(|c: char| !matches!(c, '0'..='9' | ':' | '.' | '-' | 'T')).next();
        assert_eq!(time.map(str::len), Some("07:05:09".len()), "{shown}");
        person.sees("", "\u{4}");
    });
}

/// Where clients send messages.
#[test]
fn words_typed_into_serve_are_answered_for_a_person() {
    let home = Home::with(&["echo"]);
    let folder = home.plugins();
    let output = at_terminal(&home, &["serve".as_ref(), folder.as_os_str()], |person| {
        let shown = person.reads_up_to("Stop with Ctrl-C");
        // The first line, with commands that work as they are written.
        let (first, folder) = (shown.lines().next().unwrap_or_default(), folder.display());
        let what = "This server speaks JSON-RPC on stdin, and is meant to be started by an MCP client";
        let next = format!("wharf install CLIENT {folder} sets that up; wharf list {folder} shows the tools.");
        assert_eq!(first, format!("{what}: {next}"), "{shown}");
        person.sees("", "help\r");
        // Ctrl-D on an empty line is the end of input.
        person.sees("An MCP client sends JSON-RPC messages here", "\u{4}");
    });
    let answer = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(answer.contains("-32700"), "{answer}");
}

#[test]
fn a_form_and_a_confirmation_are_prompted_in_sequence() {
    let reported = call("everything_test_input_required_result_multi_round", |person| {
        person.sees("Your name", "Ada\r");
        person.sees("Is it really Ada?", "y");
    });
    assert_eq!(reported, "Ada: true");
}

#[test]
fn a_field_is_asked_again_until_its_value_is_allowed() {
    let reported = call("everything_test_elicitation_fields", |person| {
        person.sees("age [30]", "300\r");
        person.sees("the maximum of 150", "\r");
        for field in ["born", "colour", "height", "host", "mail"] {
            person.sees(field, "\r");
        }
        person.sees("member", "n");
        for field in ["Name", "page", "seen", "size"] {
            person.sees(field, "\r");
        }
    });
    assert!(reported.contains(r#""age":30"#), "{reported}");
}

#[test]
fn the_end_of_the_input_ends_a_form_without_an_answer() {
    let reported = call("everything_test_input_required_result_elicitation", |person| person.sees(": ", "\u{4}"));
    assert_eq!(reported, "Hello, stranger!");
}

#[test]
fn every_kind_of_field_can_be_filled_in() {
    let reported = call("everything_test_elicitation_sep1034_defaults", |person| {
        person.sees("age [30]", "31\r");
        person.sees("name [John Doe]", "\r");
        person.sees("score", "\r");
        person.sees("status", "\r");
        person.sees("verified", "n");
    });
    assert_eq!(
        reported,
        r#"User response: {"age":31,"name":"John Doe","score":95.5,"status":"active","verified":false}"#
    );
}

#[test]
fn a_call_that_takes_seconds_shows_them() {
    let home = Home::with(&["hostile"]);
    let folder = home.plugins();
    let words = ["call".as_ref(), folder.as_os_str(), "hostile_sleep".as_ref(), "seconds=3".as_ref()];
    let output = at_terminal(&home, &words, |person| {
        person.sees("waiting for the plugin, 1 s", "");
        person.sees("waiting for the plugin, 2 s", "");
    });
    assert!(output.status.success(), "{}", output.status);
}

/// A grant that is missing can be given at once.
#[test]
fn a_call_that_lacks_a_grant_asks_for_it_and_is_made_again() {
    let home = Home::with(&["notes"]);
    let (folder, config) = (home.plugins(), home.path("config/wharf/wharf.toml"));
    let before = fs::read_to_string(&config).expect("a file");
    let words = ["call".as_ref(), folder.as_os_str(), "notes_add".as_ref(), "text=milk".as_ref()];
    let asked = "Grant this to notes, and call again?";
    let call = |answer: &'static str| at_terminal(&home, &words, |person| person.sees(asked, answer));
    let declined = call("n");
    assert_eq!(declined.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&declined.stdout).contains("keyvalue"), "the first call's result");
    assert_eq!(fs::read_to_string(&config).expect("a file"), before);
    let granted = call("y");
    let reported = String::from_utf8(granted.stdout).expect("UTF-8");
    assert!(granted.status.success() && !reported.contains("keyvalue"), "{reported}");
    assert!(fs::read_to_string(&config).expect("a file").contains("[plugins.notes.grants]\nkeyvalue = true\n"));
    // Now nothing is asked.
    assert!(at_terminal(&home, &words, |_| {}).status.success());
}

/// A tool that waits until the seconds are shown.
#[test]
fn a_build_that_takes_seconds_shows_its_step_and_them() {
    let home = Home::new();
    let (dir, go) = (home.path("home/made"), home.path("go"));
    let component = component("echo");
    fs::create_dir_all(dir.join(".venv/bin")).expect("a folder");
    fs::write(dir.join("plugin.toml"), "name = \"made\"\nlanguage = \"python\"\n").expect("a file");
    fs::write(dir.join("plugin.py"), "").expect("a file");
    assert!(Command::new("mkfifo").arg(&go).status().expect("mkfifo runs").success());
    let tool = dir.join(".venv/bin/componentize-py");
    let script =
        format!("#!/bin/sh\neval \"out=\\${{$#}}\"\ncat '{}'\ncp '{}' \"$out\"\n", go.display(), component.display());
    fs::write(&tool, script).expect("a file");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let output = at_terminal(&home, &["build".as_ref(), dir.as_os_str()], |person| {
        person.sees("componentize-py, 1 s", "");
        person.sees("componentize-py, 2 s", "");
        // Its reader gets the end of the file.
        drop(OpenOptions::new().write(true).open(&go).expect("a reader"));
        person.sees("built", "");
    });
    assert!(output.status.success(), "{}", output.status);
}

/// The server's log, which comes meanwhile, is lines of its own.
#[test]
fn dev_shows_the_step_that_it_waits_for() {
    let home = Home::new();
    let (dir, go) = (home.path("home/made"), home.path("go"));
    let (component, id) = (component("echo"), home.path("id"));
    fs::create_dir_all(dir.join(".venv/bin")).expect("a folder");
    fs::write(dir.join("plugin.toml"), "name = \"made\"\nlanguage = \"python\"\n").expect("a file");
    fs::write(dir.join("plugin.py"), "").expect("a file");
    assert!(Command::new("mkfifo").arg(&go).status().expect("mkfifo runs").success());
    let tool = dir.join(".venv/bin/componentize-py");
    let script = format!(
        "#!/bin/sh\neval \"out=\\${{$#}}\"\necho $PPID > '{}'\ncat '{}'\ncp '{}' \"$out\"\n",
        id.display(),
        go.display(),
        component.display()
    );
    fs::write(&tool, script).expect("a file");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let words = ["dev".as_ref(), dir.as_os_str(), "--http".as_ref(), "127.0.0.1:0".as_ref()];
    let output = at_terminal(&home, &words, |person| {
        let mut seen = person.reads_up_to("componentize-py, 2 s");
        drop(OpenOptions::new().write(true).open(&go).expect("a reader"));
        seen += &person.reads_up_to("made offers tools made_echo, made_add");
        let log = seen.find("listening on ").expect("the server logs on the terminal");
        let line = seen[..log].rsplit('\n').next().expect("a line");
        assert!(!line.contains("componentize-py") || line.contains("\r\u{1b}[2K"), "{line:?}");
        let id = fs::read_to_string(&id).expect("an id").trim().parse().ok().and_then(Pid::from_raw);
        kill_process(id.expect("an id"), Signal::TERM).expect("it runs");
    });
    assert!(output.status.success(), "{}", output.status);
}

/// A compiler's messages are lines of their own, above the seconds.
#[test]
fn messages_of_a_compiler_do_not_mix_with_the_seconds() {
    let home = Home::new();
    let (dir, go) = (home.path("home/made"), home.path("go"));
    fs::create_dir_all(dir.join(".venv/bin")).expect("a folder");
    fs::write(dir.join("plugin.toml"), "name = \"made\"\nlanguage = \"go\"\n").expect("a file");
    assert!(Command::new("mkfifo").arg(&go).status().expect("mkfifo runs").success());
    let tool = dir.join(".venv/bin/go");
    let script = format!("#!/bin/sh\ncat '{}'\necho './main.go:3:1: bad' >&2\nexit 1\n", go.display());
    fs::write(&tool, script).expect("a file");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let output = at_terminal(&home, &["build".as_ref(), dir.as_os_str()], |person| {
        person.sees("go, 1 s", "");
        drop(OpenOptions::new().write(true).open(&go).expect("a reader"));
        let seen = person.reads_up_to("failed to build: go exited with");
        assert!(seen.contains("\r\u{1b}[2K./main.go:3:1: bad\r\n"), "{seen:?}");
    });
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_page_to_visit_is_shown_and_can_be_declined() {
    let reported = call("everything_test_url_visit", |person| person.sees("https://example.org/login", "n"));
    assert_eq!(reported, "stayed");
}
