//! Proxies of the environment: plain requests name the whole URL, and TLS goes through a tunnel.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

use super::double::Double;
use super::*;
use crate::outbound::certified;
use crate::support::process::command;

/// A proxy that leads all requests to one port of this machine, and keeps their heads.
fn proxy(to: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let seen = seen.clone();
            thread::spawn(move || relay(client, to, &seen));
        }
    });
    (port, heads)
}

fn relay(mut client: TcpStream, to: u16, seen: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    seen.lock().expect("no panic").push(head.clone());
    let mut server = TcpStream::connect(("127.0.0.1", to))?;
    if head.starts_with("CONNECT ") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        let (mut from, mut into) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || io::copy(&mut from, &mut into));
    } else {
        server.write_all(head.replace("http://registry.test:5000/", "/").as_bytes())?;
    }
    io::copy(&mut server, &mut client).map(drop)
}

#[test]
fn a_proxy_is_asked_for_what_has_no_tls() {
    let (home, double) = (Home::new(), Double::start());
    home.configure("[registries.\"registry.test:5000\"]\nhttp = true\n");
    double.publish("1", &component("Does a thing."), json!({}));
    let (port, heads) = proxy(double.port());
    let output = command(&home, ["add", "oci://registry.test:5000/acme/p:1", "--yes"])
        .arg(home.plugins())
        .env("HTTP_PROXY", format!("http://me:secret@127.0.0.1:{port}"))
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", err(&output));
    let heads = heads.lock().expect("no panic");
    assert!(heads[0].starts_with("GET http://registry.test:5000/v2/acme/p/manifests/1 HTTP/1.1\r\n"), "{}", heads[0]);
    let has_password = |head: &String| head.to_ascii_lowercase().contains("proxy-authorization: basic bwu6c2vjcmv0");
    assert!(heads.iter().all(has_password), "{heads:?}");
    assert!(!err(&output).contains("secret"));
}

#[test]
fn tls_goes_through_a_tunnel_that_learns_nothing() {
    let (own, config) = certified("registry.test");
    let (home, double) = (Home::new(), Double::with_tls(config));
    let roots = home.path("home/roots.pem");
    fs::write(&roots, own.cert.pem()).expect("a file");
    double.publish("1", &component("Does a thing."), json!({}));
    let (port, heads) = proxy(double.port());
    let add = |roots: &std::path::Path| {
        command(&home, ["add", "oci://registry.test/acme/p:1", "--yes"])
            .arg(home.plugins())
            .env("HTTPS_PROXY", format!("http://me:secret@127.0.0.1:{port}"))
            .env("SSL_CERT_FILE", roots)
            .output()
            .expect("the binary runs")
    };
    let untrusted = add(&home.path("home/none.pem"));
    assert!(err(&untrusted).contains("set SSL_CERT_FILE"), "{}", err(&untrusted));
    let output = add(&roots);
    assert!(output.status.success(), "{}", err(&output));
    for head in heads.lock().expect("no panic").iter() {
        assert!(head.starts_with("CONNECT registry.test:443 HTTP/1.1\r\n") && !head.contains("acme"), "{head}");
    }
    assert!(double.heads().iter().all(|head| !head.to_ascii_lowercase().contains("proxy-")));
}

#[test]
fn a_registry_of_this_machine_has_tls_if_the_configuration_says_so() {
    let (own, config) = certified("localhost");
    let (home, double) = (Home::new(), Double::with_tls(config));
    double.publish("1", &component("Does a thing."), json!({}));
    home.configure(&format!("[registries.\"{}\"]\nhttp = false\n", double.host()));
    let roots = home.path("home/roots.pem");
    fs::write(&roots, own.cert.pem()).expect("a file");
    let mut add = command(&home, ["add", &double.reference(":1"), "--yes"]);
    let output = add.arg(home.plugins()).env("SSL_CERT_FILE", roots).output().expect("the binary runs");
    assert!(output.status.success(), "{}", err(&output));
}
