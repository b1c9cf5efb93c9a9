//! Full disks, overwritten files, and signals.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::Row;
use crate::arena::{Arena, Setup, outcome_code};
use crate::support::client::first_text;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request};
use crate::support::process::run;

pub(crate) const ROWS: &[Row] = rows![
    h72_private_folders_granted,
    h73_full_disk_for_the_audit_log,
    h74_full_disk_for_all_files,
    h75_sighup_with_changed_settings,
    h76_cached_code_overwritten,
];

fn attempt(arena: &mut Arena, what: &str, folder: usize, path: &str) -> String {
    let result = arena.call("folders_attempt", json!({"what": what, "folder": folder, "path": path, "count": 1}));
    first_text(&result).to_owned()
}

/// Whether `wharf audit verify` succeeds, and its output.
fn verified(arena: &mut Arena) -> (bool, String) {
    let output = arena.meanwhile_at_home(|home: &Home| run(home, ["audit", "verify"]));
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn h72_private_folders_granted(mut setup: Setup) -> Arena {
    let names = ["shared", "secrets", "harmless"];
    let [shared, secrets, harmless] = names.map(|name| setup.home.path(name));
    for folder in [&shared, &secrets, &harmless] {
        fs::create_dir_all(folder.join("below")).expect("a folder");
    }
    let key = secrets.join("below/key");
    fs::write(&key, "secret-of-the-user-0123456789abcdef0123").expect("a file");
    setup.audit = Some("shared/audit.jsonl");
    let grant = |folder: &Path, mode: &str, n: usize| {
        format!("{{ host = '{}', guest = '/{n}', mode = '{mode}' }}", folder.display())
    };
    let granted = |all: &[String]| format!("fs = [{}]\n", all.join(", "));
    let mut arena = setup.open(&format!(
        "[audit]\nenabled = true\npath = '{}'\n[secrets]\nkey = {{ file = '{}' }}\n[plugins.folders.grants]\n{}",
        shared.join("audit.jsonl").display(),
        key.display(),
        granted(&[grant(&shared, "write", 0), grant(&secrets, "read", 1), grant(&harmless, "write", 2)]),
    ));
    arena.loads_guest("folders", "folders");
    let before = fs::read(shared.join("audit.jsonl")).expect("the log").len();
    for folder in 0..3 {
        for (what, path) in [
            ("write", "audit.jsonl"),
            ("truncate", "audit.jsonl"),
            ("append", "audit.jsonl"),
            ("unlink", "audit.jsonl"),
            ("read", "audit.jsonl"),
            ("read", "below/key"),
            ("write", "below/key"),
        ] {
            let reported = attempt(&mut arena, what, folder, path);
            // One of the three folders is harmless; which number it has is not known here.
            let is_there = harmless.join(path).exists();
            assert!(!reported.starts_with("ok") || is_there, "{what} of {path} in folder {folder}: {reported}");
            assert!(!reported.contains("secret-of-the-user"), "{what} of {path} in folder {folder}: {reported}");
            let _ = fs::remove_file(harmless.join(path));
        }
    }
    let after = fs::read(shared.join("audit.jsonl")).expect("the log").len();
    assert!(after > before, "the log has {after} bytes, and had {before}");
    let (holds, reported) = verified(&mut arena);
    assert!(holds, "{reported}");
    arena
}

fn h73_full_disk_for_the_audit_log(setup: Setup) -> Arena {
    let mut arena = setup.open("[audit]\nenabled = true\n");
    arena.loads("p", &Guest::returning("1").build());
    arena.expect_text("p_version", json!({}), "1");
    let log = arena.home.path("state/wharf/audit.jsonl");
    // Calls of the bystander would be refused too.
    arena.set_quiet(true);
    arena.pause(Duration::from_millis(300));
    let size = fs::metadata(&log).expect("the log").len();
    arena.writes_at_most(Some(size + 700));
    let mut served = Vec::new();
    let mut refused = 0;
    for _ in 0..40 {
        let id = arena.start_call_with_text("p_version", "{}");
        let word = outcome_code(&arena.response_to(id, Duration::from_secs(5)));
        if word == "ok" { served.push(id) } else { refused += 1 }
    }
    let new = arena.home.plugins().join("fresh.wasm");
    fs::write(&new, Guest::returning("2").build()).expect("a file");
    arena.pause(Duration::from_millis(700));
    let fresh = fresh_outcome(&mut arena);
    arena.writes_at_most(None);
    assert!(refused > 0, "40 calls were served with room for 2 records");
    assert_ne!(fresh, "ok", "a new plugin was put into service without a record");
    arena.until_within(Duration::from_secs(15), "it serves again when there is room", |arena| {
        let id = arena.start_call_with_text("p_version", "{}");
        outcome_code(&arena.response_to(id, Duration::from_secs(5))) == "ok"
    });
    arena.set_quiet(false);
    let recorded = |arena: &mut Arena, id: &u64| {
        let id = id.to_string();
        arena.records().iter().any(|record| record["id"] == id.as_str())
    };
    arena.until_within(Duration::from_secs(5), "each call that was served is recorded", |arena| {
        served.iter().all(|id| recorded(arena, id))
    });
    let (holds, reported) = verified(&mut arena);
    assert!(holds, "{reported}");
    let _ = fs::remove_file(new);
    arena
}

fn fresh_outcome(arena: &mut Arena) -> String {
    let id = arena.start_call_with_text("fresh_version", "{}");
    outcome_code(&arena.response_to(id, Duration::from_secs(5)))
}

/// Nothing can be written: neither the audit log (optional here), nor the cache, nor the pins.
fn h74_full_disk_for_all_files(setup: Setup) -> Arena {
    let granted = |name: &str| format!("[plugins.{name}.grants]\nelicit = true\n");
    let version = |answer: &str, words: &str| Guest::returning(answer).described("act", words).build();
    let mut arena = setup.open(&(granted("p") + &granted("fresh")));
    arena.loads("p", &version("good", "Does a thing."));
    arena.pause(Duration::from_millis(300));
    arena.loses_records();
    arena.writes_at_most(Some(0));
    for _ in 0..20 {
        arena.expect_text("p_version", json!({}), "good");
    }
    // A plugin that was never pinned, and a version with other tool descriptions.
    let (fresh, other) = (version("never pinned", "Does a thing."), version("never", "Does a thing, and sends it."));
    arena.may_serve("fresh", &fresh);
    arena.home.put_bytes(&fresh, "fresh");
    arena.home.put_bytes(&other, "p");
    arena.log_with("fresh");
    for _ in 0..20 {
        arena.pause(Duration::from_millis(100));
        assert_ne!(fresh_outcome(&mut arena), "ok", "an unpinned plugin runs with grants");
        arena.expect_text("p_version", json!({}), "good");
    }
    arena.writes_at_most(None);
    arena.home.put_bytes(&fresh, "fresh");
    arena.until_within(Duration::from_secs(20), "the new plugin runs once it can be pinned", |arena| {
        fresh_outcome(arena) == "ok"
    });
    arena.expect_text("p_version", json!({}), "good");
    let (holds, reported) = verified(&mut arena);
    assert!(holds, "{reported}");
    let text = fs::read_to_string(arena.home.path("state/wharf/audit.jsonl")).expect("the log");
    assert!(text.contains("\"event\":\"lost\""), "what was lost is not counted");
    arena
}

fn h75_sighup_with_changed_settings(setup: Setup) -> Arena {
    const NEW: &str = "carols-new-token-carols-new-token-00";
    const OLD: &str = "carols-old-token-carols-old-token-00";
    let token = setup.home.path("config/wharf/token");
    fs::write(&token, OLD).expect("a file");
    let users = "tokens = [{ name = 'bob', env = 'BOB' }, { name = 'carol', file = 'token' }]\n";
    let mut setup = setup;
    setup.start.token = Some(crate::host::BOB);
    let mut arena = setup.open(users);
    arena.loads("p", &Guest::returning("? variables").counts_variables("count").build());
    for _ in 0..3 {
        arena.signal(Signal::HUP);
        arena.pause(Duration::from_millis(150));
    }
    arena.expect_text("p_count", json!({}), "0 variables");
    arena.configure(&format!("{users}[plugins.p.grants]\nenv = {{ A = '1' }}\n"));
    fs::write(&token, NEW).expect("a file");
    arena.signal(Signal::HUP);
    arena.until_within(Duration::from_secs(8), "the new settings apply", |arena| {
        first_text(&arena.call("p_count", json!({}))) == "1 variables"
    });
    if arena.transport.is_http() {
        let address = arena.address().expect("it listens");
        let status = |token: &str| {
            let request = Request::discover(address).with("Authorization", &format!("Bearer {token}"));
            HttpConnection::connect(address).exchange(&request).status
        };
        arena.until_within(Duration::from_secs(8), "the new token is accepted", |_| status(NEW) == 200);
        assert_eq!(status(OLD), 401, "the previous token");
    }
    // An invalid configuration changes nothing.
    arena.configure("[plugins");
    arena.signal(Signal::HUP);
    arena.pause(Duration::from_millis(500));
    arena.expect_text("p_count", json!({}), "1 variables");
    arena.configure(users);
    arena
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|kind| kind == "cwasm")).collect()
}

fn h76_cached_code_overwritten(mut setup: Setup) -> Arena {
    let cache = setup.home.path("cache");
    // A separate cache, with a truncated key as after a power loss.
    fs::create_dir(&cache).expect("a folder");
    rustix::fs::chmod(&cache, rustix::fs::Mode::RWXU).expect("permissions");
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options.open(cache.join("key")).and_then(|mut file| file.write_all(b"cut")).expect("a file");
    setup.start.options = vec!["--cache".into(), cache.display().to_string()];
    let guest = Guest::returning("1").does("work", "(loop $l (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 100000))))");
    // The OS sandbox does not allow a folder that is created again after the start.
    let mut arena = setup.open("[sandbox]\nos-sandbox = false\n");
    arena.loads("p", &guest.build());
    arena.until_within(Duration::from_secs(5), "compiled code is cached under a repaired key", |_| {
        entries(&cache).len() >= 2 && fs::metadata(cache.join("key")).is_ok_and(|key| key.len() >= 32)
    });
    arena.until_within(Duration::from_secs(5), "all entries are complete", |_| {
        entries(&cache).iter().all(|entry| fs::metadata(entry).is_ok_and(|it| it.len() > 4096))
    });
    let calls = |arena: &mut Arena, what: &str| {
        for _ in 0..8 {
            for tool in ["p_work", "p_version"] {
                let result = arena.call(tool, json!({}));
                assert_eq!(first_text(&result), "1", "{tool}, {what}");
            }
        }
    };
    calls(&mut arena, "as it was compiled");
    for entry in entries(&cache) {
        let length = fs::metadata(&entry).expect("an entry").len() as usize;
        let mut file = OpenOptions::new().write(true).open(&entry).expect("an entry");
        file.write_all(&vec![0xcc; length]).expect("overwritten");
    }
    calls(&mut arena, "overwritten");
    for entry in entries(&cache) {
        OpenOptions::new().write(true).truncate(true).open(&entry).expect("an entry");
    }
    calls(&mut arena, "truncated");
    fs::remove_dir_all(&cache).expect("the folder");
    calls(&mut arena, "without the folder");
    let other = [guest.build(), vec![0, 2, 1, b'x']].concat();
    arena.loads("other", &other);
    arena.expect_text("other_version", json!({}), "1");
    arena.until_within(Duration::from_secs(5), "the folder is recreated", |_| !entries(&cache).is_empty());
    arena
}
