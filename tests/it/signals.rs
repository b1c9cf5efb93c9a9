//! SIGHUP: reloads the configuration, or ends a server whose terminal is gone.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Instant;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, listening_address};
use crate::support::process::{Process, command};

const OLD: &str = "0123456789abcdef0123456789abcdef";
const NEW: &str = "fedcba9876543210fedcba9876543210";

#[test]
fn sighup_reloads_tokens_and_the_configuration() {
    let home = Home::with(&["echo"]);
    home.configure("[server.http]\naddress = '127.0.0.1:0'\ntokens = [{ name = 'me', file = 'token' }]\n");
    let token = home.path("config/wharf/token");
    fs::write(&token, OLD).expect("a file");
    let mut process = Process::start(command(&home, ["serve".as_ref(), home.plugins().as_os_str()]));
    let address = listening_address(&process);
    let reached = |secret: &str| {
        let request = Request::discover(address).with("Authorization", &format!("Bearer {secret}"));
        HttpConnection::connect(address).exchange(&request).status
    };
    assert_eq!((reached(OLD), reached(NEW)), (200, 401));
    // Replaced by renaming, as deployment tools do.
    fs::write(home.path("config/wharf/next"), NEW).expect("a file");
    fs::rename(home.path("config/wharf/next"), &token).expect("a file");
    assert_eq!(reached(OLD), 200, "not reloaded before SIGHUP");
    process.signal(Signal::HUP);
    process.log_with("tokens reloaded");
    assert_eq!((reached(OLD), reached(NEW)), (401, 200));
    process.log_with("configuration reloaded");
    // Of tokens, what takes effect when is not what takes effect at the next start.
    home.configure("[server.http]\naddress = '127.0.0.1:0'\ntokens = [{ name = 'you', file = 'token' }]\n");
    let log = process.log_with("configuration reloaded; changes of server.http.tokens take effect at SIGHUP");
    assert!(!log.contains("at the next start"), "{log}");
    // A token that cannot be read changes nothing.
    fs::remove_file(&token).expect("the file");
    process.signal(Signal::HUP);
    process.log_with("tokens unchanged");
    assert_eq!((reached(OLD), reached(NEW)), (401, 200));
    home.configure("[server.http]\naddress = '127.0.0.1:0'\n");
    process.signal(Signal::HUP);
    process.log_with("only a restart can turn authentication off");
    assert_eq!((reached(OLD), reached(NEW)), (401, 200));
    fs::remove_file(home.path("config/wharf/wharf.toml")).expect("the file");
    process.log_with("the configuration file was removed: no plugin has grants");
    process.signal(Signal::TERM);
    assert!(process.wait().success());
}

#[test]
fn sighup_over_stdio_ends_nothing() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools();
    client.process().signal(Signal::HUP);
    client.process().log_with("SIGHUP: reloading the configuration");
    assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
    client.finish();
}

/// Closing the terminal window of a server ends it.
#[test]
fn sighup_ends_a_server_whose_terminal_is_gone() {
    let home = Home::with(&["echo"]);
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal of our own");
    let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("a plain name");
    let terminal = OpenOptions::new().read(true).write(true).open(name).expect("its other side");
    let mut command = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.args(["--http", "127.0.0.1:0"]).stdin(terminal).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut expect_line =
        |wanted: &str| assert!(log.any(|line| line.expect("UTF-8").contains(wanted)), "no {wanted:?}");
    let send_hangup = || kill_process(Pid::from_child(&child), Signal::HUP).expect("it runs");
    expect_line("listening on");
    send_hangup();
    expect_line("SIGHUP: reloading the configuration");
    drop(master);
    send_hangup();
    assert!(child.wait().expect("an end").success());
}

/// A start may be blocked, here by a process that does not accept connections.
#[test]
fn a_second_sigterm_ends_a_start_that_is_blocked() {
    let home = Home::with(&["echo"]);
    let path = home.path("socket");
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("a socket");
    bind(&socket, &SocketAddrUnix::new(&path).expect("a short path")).expect("a free path");
    // One connection waits, and the next one blocks.
    listen(&socket, 0).expect("it listens");
    let _waiting = UnixStream::connect(&path).expect("a connection");
    let mut command = command(&home, ["serve".as_ref(), home.plugins().as_os_str(), "--http".as_ref()]);
    command.arg(format!("unix:{}", path.display()));
    let mut process = Process::start(command);
    let files = format!("/proc/{}/fd", process.id());
    let sockets = || {
        let files = fs::read_dir(&files).expect("a process").filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        files.filter(|file| file.to_string_lossy().starts_with("socket:")).count()
    };
    let deadline = Instant::now() + TIMEOUT;
    // Three are for signals; with the fourth one it connects.
    while sockets() < 4 {
        assert!(Instant::now() < deadline && process.ended().is_none(), "{}", process.log());
    }
    process.signal(Signal::TERM);
    // They are one signal if the first has not arrived yet.
    while process.ended().is_none() {
        assert!(Instant::now() < deadline, "{}", process.log());
        process.signal(Signal::TERM);
    }
    assert_eq!(process.wait().code(), Some(143), "{}", process.log());
}
