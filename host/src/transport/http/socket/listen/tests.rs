use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};

use super::{Address, Listener};

#[test]
fn addresses_are_read() {
    let tcp = |text: &str| Ok::<_, String>(Address::Tcp(text.parse().expect("an address")));
    assert_eq!("127.0.0.1:8080".parse(), tcp("127.0.0.1:8080"));
    assert_eq!("[::1]:0".parse(), tcp("[::1]:0"));
    assert_eq!("localhost:8080".parse(), tcp("127.0.0.1:8080"));
    assert_eq!("unix:/run/wharf".parse(), Ok(Address::Unix("/run/wharf".into())));
    assert_eq!("systemd".parse(), Ok(Address::Systemd));
    for wrong in ["", "8080", "localhost", "127.0.0.1", "example.com:80", "unix:", "127.0.0.1:99999"] {
        assert!(wrong.parse::<Address>().is_err(), "{wrong}");
    }
}

/// Abuse P35.
#[tokio::test]
async fn a_stale_socket_is_replaced_and_anything_else_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wharf.sock");
    let address = Address::Unix(path.clone());
    let refusal = || Listener::bind(&address).map(|_| ()).expect_err("it is taken").to_string();

    drop(UnixListener::bind(&path).expect("a socket"));
    let listener = Listener::bind(&address).expect("the one before has ended");
    let mode = path.metadata().expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(UnixStream::connect(&path).is_ok());
    assert!(refusal().ends_with("another server listens there"), "{}", refusal());
    drop(listener);
    assert!(!path.exists(), "it is removed with its server");

    std::fs::write(&path, "mine").expect("a file");
    assert!(refusal().ends_with("there is a file that is no socket"), "{}", refusal());
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), "mine");
}

/// Abuse P35.
#[tokio::test]
async fn a_taken_port_is_told() {
    let first = Listener::bind(&"127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let address = Address::Tcp(first.local_address().expect("an address"));
    let error = Listener::bind(&address).map(|_| ()).expect_err("it is taken");
    assert!(error.to_string().ends_with("the port is taken"), "{error}");
    assert!(error.hint.is_some());
    assert!(first.is_local());
}
