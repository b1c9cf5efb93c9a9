//! Listening addresses of the real binary, and its shutdown (P35).

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::support::TIMEOUT;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, serve, serve_at};
use crate::support::process::{Process, binary, command, run};

/// The exit code and stderr of a `serve` that must not start.
fn refused(home: &Home, address: &str) -> (Option<i32>, String) {
    let folder = home.plugins();
    let output = run(home, ["serve".as_ref(), folder.as_os_str(), "--http".as_ref(), address.as_ref()]);
    assert_eq!(output.stdout, b"", "nothing on stdout");
    let reported = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(reported.contains("hint:") && !reported.contains("panicked"), "{reported}");
    (output.status.code(), reported)
}

#[test]
fn the_address_is_printed_and_plugins_are_served_there() {
    let home = Home::with(&["echo"]);
    let (mut process, address) = serve(&home, &[]);
    assert!(address.ip().is_loopback() && address.port() != 0, "{address}");
    assert!(HttpConnection::connect(address).exchange(&Request::discover(address)).reached_mcp());
    let ready = Request::new("GET", "/readyz", address);
    process.log_with("loaded");
    let mut connection = HttpConnection::connect(address);
    while connection.exchange(&ready).status != 200 {}
    process.signal(Signal::TERM);
    assert!(process.wait().success());
}

/// P35.
#[test]
fn p35_a_port_in_use_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, reported) = refused(&Home::new(), &address);
    assert_eq!(code, Some(1), "{reported}");
    assert!(reported.contains(&format!("failed to listen on {address}: the port is in use")), "{reported}");
}

/// P35.
#[test]
fn p35_remote_access_needs_a_token_or_a_flag() {
    let home = Home::new();
    for address in ["0.0.0.0:0", "[::]:0", "[::ffff:0.0.0.0]:0"] {
        let (code, reported) = refused(&home, address);
        assert_eq!(code, Some(2), "{reported}");
        assert!(reported.contains("--allow-remote-without-auth") && reported.contains("tokens"), "{reported}");
    }
    let (_process, address) = serve_at(&home, "0.0.0.0:0", &["--allow-remote-without-auth"]);
    let local = (std::net::Ipv4Addr::LOCALHOST, address.port()).into();
    assert!(HttpConnection::connect(local).exchange(&Request::discover(local)).reached_mcp());

    fs::write(home.path("config/wharf/token"), "0123456789abcdef").expect("a file");
    home.configure("[server.http]\ntokens = [{ name = 'me', file = 'token' }]\n");
    let (_process, address) = serve_at(&home, "0.0.0.0:0", &[]);
    let local = (std::net::Ipv4Addr::LOCALHOST, address.port()).into();
    assert_eq!(HttpConnection::connect(local).exchange(&Request::discover(local)).status, 401);
}

#[test]
fn an_invalid_address_is_an_error() {
    for address in ["8080", "example.com:80", "127.0.0.1:http", "unix:", "systemd"] {
        let (code, reported) = refused(&Home::new(), address);
        assert!(matches!(code, Some(1 | 2)), "{reported}");
    }
}

/// P35.
#[test]
fn p35_a_unix_socket_is_private_to_the_user() {
    let home = Home::new();
    let path = home.path("runtime/wharf.sock");
    let address = format!("unix:{}", path.display());
    let start = || {
        let mut command = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
        command.arg("--http").arg(&address);
        let process = Process::start(command);
        process.log_with(&format!("listening on {address}\n"));
        process
    };
    let exchange = || {
        let stream = UnixStream::connect(&path).expect("somebody listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
        HttpConnection::new(stream).exchange(&Request::discover("localhost"))
    };
    let mut process = start();
    assert_eq!(fs::metadata(&path).expect("the socket").permissions().mode() & 0o777, 0o600);
    assert!(exchange().reached_mcp());
    let (code, reported) = refused(&home, &address);
    assert!(code == Some(1) && reported.contains("another server listens on it"), "{reported}");
    process.signal(Signal::KILL);
    process.wait();
    assert!(path.exists(), "a killed server leaves its socket");
    let mut process = start();
    assert!(exchange().reached_mcp());
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    assert!(!path.exists());
    // A server removes its own socket only.
    let mut first = start();
    fs::remove_file(&path).expect("its socket");
    let mut second = start();
    first.signal(Signal::TERM);
    assert!(first.wait().success());
    assert!(exchange().reached_mcp(), "the second one");
    second.signal(Signal::TERM);
    assert!(second.wait().success());
    assert!(!path.exists());
    if rustix::process::geteuid().is_root() {
        let _theirs = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        std::os::unix::fs::chown(&path, Some(65534), None).expect("root may");
        let (_, reported) = refused(&home, &address);
        assert!(reported.contains("a socket of another user") && path.exists(), "{reported}");
    }
}

/// Socket activation, with readiness and stopping notifications to the service manager.
#[test]
fn a_socket_passed_by_systemd_is_used() {
    let home = Home::new();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("an address");
    let notified = UnixDatagram::bind(home.path("runtime/notify")).expect("a socket");
    notified.set_read_timeout(Some(TIMEOUT)).expect("a socket");
    let notification = || {
        let mut buffer = [0; 256];
        let length = notified.recv(&mut buffer).expect("a notification");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    // Passed as descriptor 3, under the process id that `exec` preserves.
    let script = r#"exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@""#;
    let mut child = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(binary())
        .args(["serve".as_ref(), home.plugins().as_os_str(), "--http".as_ref(), "systemd".as_ref()])
        .env_clear()
        .envs(home.environment())
        .env("NOTIFY_SOCKET", home.path("runtime/notify"))
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    assert_eq!(notification().trim_end(), "READY=1");
    assert!(HttpConnection::connect(address).exchange(&Request::discover(address)).reached_mcp());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::TERM).expect("a process of ours");
    assert_eq!(notification().trim_end(), "STOPPING=1");
    assert!(child.wait().expect("its end").success());
}

/// Requests that have begun are answered; idle connections are closed, and new ones refused.
#[test]
fn a_signal_lets_a_running_request_finish() {
    let home = Home::new();
    let (mut process, address) = serve(&home, &[]);
    let mut idle = HttpConnection::connect(address);
    assert_eq!(idle.exchange(&Request::new("GET", "/healthz", address)).status, 200);
    let request = Request::discover(address).with("Expect", "100-continue");
    let mut connection = HttpConnection::connect(address);
    connection.send(&request.head());
    assert_eq!(connection.response().expect("100 Continue").status, 100);
    process.signal(Signal::TERM);
    // The body may still arrive within the grace period.
    connection.send(&request.body);
    assert_eq!(idle.rest(), "", "an idle connection is closed");
    assert!(TcpStream::connect(address).is_err(), "new connections are refused");
    assert!(connection.response().expect("an answer in time").reached_mcp());
    assert_eq!(connection.rest(), "", "nothing after it");
    assert!(process.wait().success());
}

/// A client that is sending a body gets the reason why it is no longer read.
#[test]
fn a_signal_does_not_wait_for_a_body_that_never_comes() {
    let home = Home::new();
    let (mut process, address) = serve(&home, &[]);
    let request = Request::discover(address).with("Expect", "100-continue");
    let mut connection = HttpConnection::connect(address);
    connection.send(&request.head());
    assert_eq!(connection.response().expect("100 Continue").status, 100);
    process.signal(Signal::TERM);
    let response = connection.response().expect("an answer");
    assert_eq!((response.status, response.header("connection")), (503, Some("close")));
    assert!(response.text().contains("shutting_down"), "{}", response.text());
    let status = process.wait();
    assert!(status.success(), "{status}: {}", process.log());
}
