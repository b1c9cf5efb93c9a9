//! Access to files, sockets and sites beyond what is granted, and exhaustion of these.

use std::fs;
use std::net::TcpListener;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::support::client::first_text;
use crate::support::home::names_in;
use crate::support::site::{Site, write};

pub(crate) const ROWS: &[Row] = rows![
    h33_escapes_from_a_folder,
    h34_fifo_in_a_granted_folder,
    h35_exhausted_file_handles,
    h36_folder_filled_to_its_quota,
    h37_sockets_and_sites_not_granted,
];

const MIB: u64 = 1 << 20;

/// Starts with the guest `folders` and a grant for the folder `shared` in that mode.
fn with_folder(setup: Setup, mode: &str) -> Arena {
    let shared = setup.home.path("shared");
    fs::create_dir_all(&shared).expect("a folder");
    let entry = format!("{{ host = '{}', guest = '/0', mode = {mode} }}", shared.display());
    let mut arena = setup.open(&format!("[plugins.folders.grants]\nfs = [{entry}]\n"));
    arena.loads_guest("folders", "folders");
    arena
}

/// The outcome of an attempt.
fn attempt(arena: &mut Arena, what: &str, mut with: Value) -> String {
    with["what"] = json!(what);
    first_text(&arena.call("folders_attempt", with)).to_owned()
}

fn h33_escapes_from_a_folder(setup: Setup) -> Arena {
    let (_, outside) = setup.home.folder_with_links();
    let absolute = outside.join("secret");
    let ways = [
        "../outside/secret",
        "sub/../../outside/secret",
        absolute.to_str().expect("UTF-8"),
        "relative",
        "absolute",
        "folder/secret",
        "root/etc/passwd",
        "/proc/self/environ",
        "%2e%2e/outside/secret",
    ];
    let mut arena = with_folder(setup, "'write'");
    for way in ways {
        for what in ["read", "write", "truncate", "unlink", "rmdir"] {
            // A link itself may be removed, its target may not.
            if what == "unlink" && !way.contains('/') {
                continue;
            }
            let outcome = attempt(&mut arena, what, json!({"path": way, "count": 1}));
            // An encoded path is an ordinary name in the folder.
            let is_own = what == "write" && way.starts_with('%') && outcome == "no-entry";
            assert!(!outcome.starts_with("ok") || is_own, "{what} {way}: {outcome}");
        }
        if way.contains('/') {
            for what in ["rename", "link", "symlink"] {
                let outcome = attempt(&mut arena, what, json!({"path": "here", "to": way}));
                assert!(!outcome.starts_with("ok"), "{what} to {way}: {outcome}");
            }
        }
    }
    for way in ["..", "../", "folder/", "folder/."] {
        assert_ne!(attempt(&mut arena, "list", json!({"path": way})).get(..2), Some("ok"), "{way}");
    }
    assert_ne!(attempt(&mut arena, "read", json!({"path": "here/"})).get(..2), Some("ok"));
    assert_eq!(fs::read_to_string(&absolute).expect("it"), "secret");
    assert_eq!(names_in(&outside), ["secret"]);
    assert_eq!(attempt(&mut arena, "read", json!({"path": "here"})), "ok hello");
    arena
}

/// A FIFO that is created after the grant; with one in it before, the folder is not granted at all.
fn h34_fifo_in_a_granted_folder(setup: Setup) -> Arena {
    let fifo = setup.home.path("shared/fifo");
    let mut arena = with_folder(setup, "'write'");
    assert_eq!(attempt(&mut arena, "list", json!({"path": "."})), "ok");
    mkfifoat(CWD, &fifo, Mode::RWXU).expect("a FIFO");
    assert_eq!(attempt(&mut arena, "open-anyway", json!({"path": "fifo", "count": 600})), "ok 0");
    let (now, before) = (arena.levels().threads, arena.before().threads);
    assert!(now <= before + 16, "{now} threads, of {before} before");
    arena
}

fn h35_exhausted_file_handles(setup: Setup) -> Arena {
    let shared = setup.home.path("shared");
    fs::create_dir_all(&shared).expect("a folder");
    fs::write(shared.join("ok.txt"), "hello").expect("a file");
    let mut arena = with_folder(setup, "'read'");
    let pending: Vec<u64> = (0..8)
        .map(|_| arena.start_call("folders_attempt", json!({"what": "open", "path": "ok.txt", "count": 2000})))
        .collect();
    for id in pending {
        let answer = arena.answer(id);
        let opened =
            first_text(&answer.message["result"]).strip_prefix("ok ").and_then(|rest| rest.strip_suffix(" busy"));
        assert!(
            opened.and_then(|opened| opened.parse().ok()).is_some_and(|opened: u32| opened <= 64),
            "{}",
            answer.message
        );
    }
    arena
}

fn h36_folder_filled_to_its_quota(setup: Setup) -> Arena {
    let shared = setup.home.path("shared");
    let mut arena = with_folder(setup, "'write', quota = '4MiB'");
    let outcome = attempt(&mut arena, "fill", json!({"path": "f", "count": 1000}));
    assert_eq!(outcome, "ok 3 quota", "the entries count too");
    for (what, with) in [
        ("append", json!({"path": "f0", "count": 2 * MIB})),
        ("resize", json!({"path": "f0", "count": 1u64 << 40})),
        ("fill-removed", json!({"path": "removed", "count": 1000})),
    ] {
        let outcome = attempt(&mut arena, what, with);
        assert!(outcome.ends_with("quota"), "{what}: {outcome}");
    }
    let lengths = names_in(&shared).into_iter().map(|name| fs::metadata(shared.join(name)).expect("a file").len());
    assert!(lengths.sum::<u64>() <= 4 * MIB);
    arena
}

/// The outcome of a request through `wharf:plugin/http`.
fn fetch(arena: &mut Arena, with: Value) -> String {
    first_text(&arena.call("online_fetch", with)).to_owned()
}

/// The same through `wasi:http`, for a URL without a path.
fn outgoing(arena: &mut Arena, authority: &str, path: &str, timeout: Option<u64>) -> String {
    let with = json!({"authority": authority, "path": path, "timeout_ms": timeout});
    first_text(&arena.call("online_outgoing", with)).to_owned()
}

fn h37_sockets_and_sites_not_granted(setup: Setup) -> Arena {
    let inside = Site::page("text/plain", "inside");
    let to_inside = format!("Location: {}\r\n", inside.url("/admin"));
    let site = Site::start(move |head, connection| match head.split(' ').nth(1) {
        Some("/v1/away") => write(connection, "302 Found", &to_inside, ""),
        Some("/v1/never") => drop(connection.read(&mut [0])),
        Some("/v1/fields") => write(connection, "200 OK", &"X: 1\r\n".repeat(33_000), ""),
        _ => write(connection, "200 OK", "", "granted"),
    });
    // It accepts connections, and never answers the TLS handshake.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mute = format!("https://{}/", silent.local_addr().expect("an address"));
    let (here, there) = (format!("127.0.0.1:{}", site.port), format!("127.0.0.1:{}", inside.port));
    let entry = |url: &str| format!("{{ url = \"{url}\", private = true }}");
    let entries = [entry(&site.url("/v1/")), entry(&mute)].join(", ");
    let grants = format!("[plugins.online.limits]\ntimeout = \"2s\"\n[plugins.online.grants]\nhttp = [{entries}]\n");
    let mut arena = setup.open(&grants);
    arena.loads_guest("hostile", "hostile");
    let refused = arena.call("hostile_sockets", json!({"port": inside.port}));
    let outcomes = first_text(&refused);
    assert!(!outcomes.contains("Ok") && outcomes.matches("Err(").count() == 5, "{outcomes}");

    arena.loads_guest("online", "online");
    assert_eq!(fetch(&mut arena, json!({"url": site.url("/v1/x")})), "200 \ngranted");
    let port = site.port;
    let urls = [
        format!("http://{there}/"),
        format!("https://{here}/v1/x"),
        format!("http://localhost:{port}/v1/x"),
        format!("http://2130706433:{port}/v1/x"),
        format!("http://0177.0.0.1:{port}/v1/x"),
        format!("http://0x7f000001:{port}/v1/x"),
        format!("http://127.1:{port}/v1/x"),
        format!("http://[::ffff:127.0.0.1]:{port}/v1/x"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        format!("http://{here}@{there}/v1/x"),
        format!("http://user:secret@{here}/v1/x"),
        format!("http://{here}/v1/../admin"),
        format!("http://{here}/v1/%2e%2e/admin"),
        format!("http://{here}/v1/x\r\nHost: evil.example"),
        format!("http://{here}/v2"),
        "file:///etc/passwd".to_owned(),
    ];
    let before = site.heads().len();
    for url in &urls {
        let result = arena.call("online_fetch", json!({"url": url}));
        assert_eq!(result["isError"], true, "{url}: {result}");
        let Some((authority, path)) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')) else {
            continue;
        };
        let with = json!({"authority": authority, "path": format!("/{path}")});
        let result = arena.call("online_outgoing", with);
        assert_eq!(result["isError"], true, "{url} through wasi:http: {result}");
    }
    let result = arena.call("online_fetch", json!({"url": site.url("/v1/x"), "method": "CONNECT"}));
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(site.heads().len(), before, "{:?}", site.heads());

    assert_eq!(fetch(&mut arena, json!({"url": site.url("/v1/away")})), format!("302 {}\n", inside.url("/admin")));
    let outcome = fetch(&mut arena, json!({"url": site.url("/v1/fields")}));
    assert!(outcome.contains("violated the protocol"), "{outcome}");
    // Ten times as many would cost more as arguments than as fields.
    let many: Vec<_> = (0..3_300).map(|n| json!([format!("x-{n}"), "1"])).collect();
    let outcome = fetch(&mut arena, json!({"url": site.url("/v1/x"), "headers": many}));
    assert!(outcome.contains("too many header fields"), "{outcome}");
    for timeout in [0, 100] {
        let outcome = outgoing(&mut arena, &here, "/v1/never", Some(timeout));
        assert!(outcome.contains("Timeout"), "{outcome}");
    }
    for url in [site.url("/v1/never"), mute] {
        arena.fault("online_fetch", json!({"url": url}), "timeout");
    }
    assert!(inside.heads().is_empty(), "{:?}", inside.heads());
    arena
}
