use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};

use super::{Address, Listener};

#[test]
fn addresses_are_parsed() {
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
async fn only_a_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wharf.sock");
    let address = Address::Unix(path.clone());
    let refusal = || Listener::bind(&address).map(|_| ()).expect_err("it is in use").to_string();

    drop(UnixListener::bind(&path).expect("a socket"));
    let listener = Listener::bind(&address).expect("the socket is stale");
    let mode = path.metadata().expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(UnixStream::connect(&path).is_ok());
    assert!(refusal().ends_with("another server listens on it"), "{}", refusal());
    drop(listener);
    assert!(!path.exists(), "it is removed on drop");

    std::fs::write(&path, "mine").expect("a file");
    assert!(refusal().ends_with("the path exists and is not a socket"), "{}", refusal());
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), "mine");
}

/// Abuse P35.
#[tokio::test]
async fn a_port_in_use_is_an_error_with_a_hint() {
    let first = Listener::bind(&"127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let address = Address::Tcp(first.local_address().expect("an address"));
    let error = Listener::bind(&address).map(|_| ()).expect_err("it is in use");
    assert!(error.to_string().ends_with("the port is in use"), "{error}");
    assert!(error.hint.is_some());
    assert!(first.is_local());
}
