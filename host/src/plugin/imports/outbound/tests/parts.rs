//! Addresses, the text of grants, header fields.

use super::*;
use crate::net::address::is_public;
use crate::plugin::policy::outbound::headers::strip;
use http::HeaderMap;

#[test]
fn special_purpose_addresses_are_not_public() {
    let inside = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:93.184.215.14",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:1ff::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];
    for address in inside {
        assert!(!is_public(address.parse().expect("an address")), "{address}");
    }
    let outside = [
        "1.1.1.1",
        "93.184.215.14",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:200::1",
        "2001:4860:4860::8888",
        "3fff:1000::1",
        "64:ff9b::101:101",
    ];
    for address in outside {
        assert!(is_public(address.parse().expect("an address")), "{address}");
    }
}

#[test]
fn a_grant_is_shown_as_it_is_written() {
    for url in ["https://api.example", "https://api.example:8443/v1", "http://[::1]:8080", "http://10.0.0.1/a/b"] {
        assert_eq!(grant(url).to_string(), format!("\"{url}\""));
    }
    assert_eq!(grant("HTTPS://API.Example.:443/v1/").to_string(), "\"https://api.example/v1\"");
    let long = grant("https://api.example")
        .methods(&["GET".into(), "POST".into()])
        .and_then(|grant| grant.header("X-Key", "${key}"))
        .expect("a grant")
        .private(true);
    let written =
        r#"{ url = "https://api.example", methods = ["GET", "POST"], private = true, headers = { x-key = "${key}" } }"#;
    assert_eq!(long.to_string(), written);
    assert_eq!(long.secrets().collect::<Vec<_>>(), ["key"]);
}

#[test]
fn invalid_grants_are_refused() {
    for url in [
        "*",
        "https://*",
        "https://*.example",
        "https://api.example/*",
        "api.example",
        "ftp://api.example",
        "",
        "https://user@api.example",
        "https://api.example?q",
        "https://api.example/#f",
        "https://api.example:0",
        "https://api.example/a/../b",
        "https://api.example/%2e%2e",
        "https://api.example/a%2fb",
        "https://bücher.example",
        "https://127.1",
        "https://0x7f.0.0.1",
        "https://",
        "https:///x",
        "/v1",
    ] {
        assert!(HttpGrant::new(url).is_err(), "{url}");
    }
    let https = || grant("https://api.example");
    for methods in [&[][..], &["get"], &["*"], &["CONNECT"], &["GET", ""], &["GET\r\n"]] {
        let methods: Vec<String> = methods.iter().map(|method| (*method).into()).collect();
        assert!(https().methods(&methods).is_err(), "{methods:?}");
    }
    for (name, value) in [
        ("Host", "x"),
        ("Connection", "x"),
        ("Content-Length", "1"),
        ("Transfer-Encoding", "x"),
        ("Proxy-Foo", "x"),
        ("", "x"),
        ("a b", "x"),
        ("x", "a\r\nb"),
        ("x", "${key"),
        ("x", "${}"),
        ("x:y", "z"),
    ] {
        assert!(https().header(name, value).is_err(), "{name}: {value}");
    }
}

#[test]
fn connection_fields_are_stripped() {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("connection", "close, X-Listed"),
        ("x-listed", "1"),
        ("proxy-authorization", "1"),
        ("proxy-anything", "1"),
        ("te", "trailers"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("keep-alive", "1"),
        ("host", "evil.example"),
        ("expect", "100-continue"),
        ("content-length", "3"),
        ("accept", "text/html"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    strip(&mut headers, None);
    assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
}
