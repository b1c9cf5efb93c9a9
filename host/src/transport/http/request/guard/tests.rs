use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, Uri};

use super::Guard;
use crate::transport::http::{Response, Settings};

fn check(guard: &Guard, headers: &[(&str, &str)], target: &'static str) -> Result<Option<HeaderValue>, StatusCode> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        map.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    guard.check(&Uri::from_static(target), &map).map_err(|refusal| Response::from(refusal).status())
}

fn guard(bound: Option<&str>, tls: bool) -> Guard {
    let settings = Settings {
        allowed_hosts: vec!["Tools.example:8443".into()],
        allowed_origins: vec!["https://app.example".into()],
        ..Settings::default()
    };
    Guard::new(bound.map(|bound| bound.parse().expect("an address")), tls, &settings)
}

/// Abuse P20.
#[test]
fn only_exact_names_of_the_server_are_allowed_hosts() {
    let guard = guard(Some("127.0.0.1:8080"), false);
    for good in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LocalHost:8080", "tools.example:8443"] {
        assert!(check(&guard, &[("host", good)], "/mcp").is_ok(), "{good}");
    }
    let bad = [
        "evil.example",
        "localhost",
        "localhost:80",
        "localhost:8080.evil.example",
        "evil.localhost:8080",
        "user@localhost:8080",
        "localhost.:8080",
        "0.0.0.0:8080",
        "2130706433:8080",
        "127.1:8080",
        "127.0.0.1:08080",
        "[::ffff:127.0.0.1]:8080",
        "tools.example",
        "",
        "localhost:8080, evil.example",
        "tools.example:84433",
    ];
    for bad in bad {
        assert_eq!(check(&guard, &[("host", bad)], "/mcp"), Err(StatusCode::FORBIDDEN), "{bad}");
    }
    assert_eq!(check(&guard, &[], "/mcp"), Err(StatusCode::FORBIDDEN));
    let two = [("host", "localhost:8080"), ("host", "localhost:8080")];
    assert_eq!(check(&guard, &two, "/mcp"), Err(StatusCode::FORBIDDEN));
}

#[test]
fn a_host_in_the_target_is_checked_too() {
    let guard = guard(Some("127.0.0.1:8080"), false);
    let host = [("host", "localhost:8080")];
    assert!(check(&guard, &host, "http://localhost:8080/mcp").is_ok());
    assert_eq!(check(&guard, &host, "http://evil.example/mcp"), Err(StatusCode::FORBIDDEN));
}

/// Abuse P19.
#[test]
fn only_exact_listed_origins_are_allowed() {
    let guard = guard(Some("127.0.0.1:8080"), false);
    let from = |origin: &str| check(&guard, &[("host", "localhost:8080"), ("origin", origin)], "/mcp");
    for own in ["http://localhost:8080", "https://localhost:8080", "http://127.0.0.1:8080", "http://[::1]:8080"] {
        assert_eq!(from(own), Ok(None), "{own} needs no CORS headers");
    }
    assert_eq!(from("https://app.example"), Ok(Some(HeaderValue::from_static("https://app.example"))));
    let bad = [
        "https://evil",
        "null",
        "http://localhost.evil",
        "http://127.0.0.1:9090",
        "http://localhost",
        "http://localhost:8080.evil.example",
        "http://localhost:8080/",
        "http://user@localhost:8080",
        "",
        "https://app.example.evil",
        "http://app.example",
        "file://",
        "https://app.example https://evil",
    ];
    for bad in bad {
        assert_eq!(from(bad), Err(StatusCode::FORBIDDEN), "{bad}");
    }
}

#[test]
fn the_allowed_hosts_depend_on_the_listen_address() {
    let names = |bound, tls| {
        let guard = guard(bound, tls);
        ["localhost", "localhost:443", "192.0.2.7:443", "192.0.2.7", "0.0.0.0:443"]
            .map(|host| check(&guard, &[("host", host)], "/").is_ok())
    };
    assert_eq!(names(Some("192.0.2.7:443"), true), [false, false, true, true, false], "an address of its own");
    assert_eq!(names(Some("192.0.2.7:443"), false), [false, false, true, false, false], "not the scheme's port");
    assert_eq!(names(Some("0.0.0.0:443"), true), [true, true, false, false, false], "any address");
    assert_eq!(names(None, false), [true, false, false, false, false], "a Unix socket");
}
