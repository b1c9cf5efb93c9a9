//! TLS, from a certificate and a key in the configuration.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto};
use wharf::transport::http::{Settings, Tls};

use crate::support::TIMEOUT;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, Request, serve};
use crate::support::process::run;

/// A home whose configuration names a new self-signed certificate, and that certificate.
fn with_certificate() -> (Home, CertificateDer<'static>) {
    let home = Home::new();
    std::fs::create_dir(home.path("tls")).expect("a folder");
    let certificate = renewed(&home);
    home.configure("[server.http]\ntls = { cert = '../../tls/cert.pem', key = '../../tls/key.pem' }\n");
    (home, certificate)
}

/// Replaces the certificate and its key.
fn renewed(home: &Home) -> CertificateDer<'static> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    put(home, "key.pem", &own.signing_key.serialize_pem());
    put(home, "cert.pem", &own.cert.pem());
    own.cert.der().clone()
}

/// Replaces a file by renaming, as programs that renew certificates do.
fn put(home: &Home, name: &str, text: &str) {
    let file = home.path("tls").join(name);
    std::fs::write(file.with_extension("new"), text).expect("a file");
    std::fs::rename(file.with_extension("new"), file).expect("the rename");
}

fn connect(
    address: SocketAddr,
    certificate: &CertificateDer<'static>,
) -> HttpConnection<StreamOwned<ClientConnection, TcpStream>> {
    let stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a socket");
    HttpConnection::new(StreamOwned::new(session(certificate), stream))
}

fn session(certificate: &CertificateDer<'static>) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    ClientConnection::new(Arc::new(config), name).expect("a session")
}

#[test]
fn requests_are_served_over_tls() {
    let (home, certificate) = with_certificate();
    let (process, address) = serve(&home, &[]);
    assert!(process.log().contains("listening on https://127.0.0.1:"), "{}", process.log());
    let mut connection = connect(address, &certificate);
    assert!(connection.exchange(&Request::discover(format!("localhost:{}", address.port()))).reached_mcp());
    let origin = format!("https://localhost:{}", address.port());
    assert!(connection.exchange(&Request::discover(address).with("Origin", &origin)).reached_mcp());
    assert_eq!(connection.exchange(&Request::discover("evil.example")).status, 403);
}

#[test]
fn a_key_that_others_can_write_is_refused() {
    let (home, _) = with_certificate();
    let key = home.path("tls/key.pem");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o602)).expect("a file of ours");
    let output = run(&home, ["serve".as_ref(), home.plugins().as_os_str(), "--http".as_ref(), "127.0.0.1:0".as_ref()]);
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("other users can write") && reported.contains("key.pem"), "{reported}");
}

#[test]
fn plain_text_is_not_answered() {
    let (home, _) = with_certificate();
    let (_process, address) = serve(&home, &[]);
    let mut connection = HttpConnection::connect(address);
    connection.send(&Request::new("GET", "/healthz", address).bytes());
    assert!(!connection.rest().contains("HTTP/"));
}

/// P23: a client that does not begin its handshake.
#[test]
fn p23_an_unfinished_tls_handshake_times_out() {
    let (home, _) = with_certificate();
    let tls = Tls::read(&home.path("tls/cert.pem"), &home.path("tls/key.pem")).expect("a certificate and its key");
    let header_timeout = Duration::from_millis(300);
    let server = HttpServer::start(Settings { tls: Some(tls), header_timeout, ..Settings::default() });
    let started = Instant::now();
    assert_eq!(server.connect().rest(), "");
    assert!(started.elapsed() >= header_timeout, "closed after {:?}", started.elapsed());
}

/// Partial and unfinished handshakes, and a partial request after a complete one, do not delay
/// the shutdown.
#[test]
fn shutdown_does_not_wait_for_partial_requests_over_tls() {
    let (home, certificate) = with_certificate();
    let (mut process, address) = serve(&home, &[]);
    // The header of a record (RFC 8446, section 5.1), and the beginning of its content.
    let beginning = [0x16, 3, 1, 2, 0, 1, 0];
    let mut half = HttpConnection::connect(address);
    assert!(half.send(&beginning));
    let mut hello = Vec::new();
    session(&certificate).write_tls(&mut hello).expect("a ClientHello");
    let mut begun = HttpConnection::connect(address);
    assert!(begun.send(&hello));
    let mut connection = connect(address, &certificate);
    assert!(connection.send(b"POST /mcp HTTP/1.1\r\nHost"));
    let mut served = connect(address, &certificate);
    let discover = Request::discover(format!("localhost:{}", address.port()));
    assert!(served.exchange(&discover).reached_mcp());
    let bytes = discover.bytes();
    assert!(served.send(&bytes[..bytes.len() - 1]));
    process.signal(Signal::TERM);
    let started = Instant::now();
    assert!(process.wait().success());
    assert!(started.elapsed() < Duration::from_secs(1), "took {:?}", started.elapsed());
    assert!(!process.log().contains("still running"), "{}", process.log());
}

/// Without another signal or change.
#[test]
fn a_certificate_renewed_without_descriptors_is_loaded_later() {
    let (home, first) = with_certificate();
    let (process, address) = serve(&home, &[]);
    let discover = Request::discover(format!("localhost:{}", address.port()));
    // It has all threads and descriptors that it needs.
    assert!(connect(address, &first).exchange(&discover).reached_mcp());
    process.limit_open_files(0);
    let certificate = renewed(&home);
    process.log_with("TLS certificate and key unchanged: failed to reload: Too many open files");
    process.limit_open_files(1024);
    process.log_with("TLS certificate and key reloaded");
    assert!(connect(address, &certificate).exchange(&discover).reached_mcp());
}

#[test]
fn a_key_of_another_certificate_is_an_error() {
    let (home, _) = with_certificate();
    let other = rcgen::KeyPair::generate().expect("a key");
    for (name, text) in [("key.pem", other.serialize_pem()), ("key.pem", "no key".into()), ("cert.pem", String::new())]
    {
        put(&home, name, &text);
        let output = run(&home, ["serve", "--http", "127.0.0.1:0"]);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains("server.http.tls") && reported.contains(".pem"), "{reported}");
    }
}

#[test]
fn a_certificate_is_renewed_without_a_restart() {
    let (home, first) = with_certificate();
    let (process, address) = serve(&home, &[]);
    let host = || Request::discover(format!("localhost:{}", address.port()));
    let mut before = connect(address, &first);
    assert!(before.exchange(&host()).reached_mcp());
    let second = renewed(&home);
    process.log_with("TLS certificate and key reloaded");
    assert!(connect(address, &second).exchange(&host()).reached_mcp());
    // Who is connected stays so.
    assert!(before.exchange(&host()).reached_mcp());
    put(&home, "key.pem", "no key");
    let log = process.log_with("TLS certificate and key unchanged");
    assert!(log.contains("tls/key.pem"), "{log}");
    assert!(connect(address, &second).exchange(&host()).reached_mcp());
    std::fs::remove_file(home.path("tls/key.pem")).expect("the key");
    mkfifoat(CWD, home.path("tls/key.pem"), Mode::RUSR | Mode::WUSR).expect("a FIFO");
    process.log_with("failed to reload: it is a FIFO, not a regular file");
    assert!(connect(address, &second).exchange(&host()).reached_mcp());
}
