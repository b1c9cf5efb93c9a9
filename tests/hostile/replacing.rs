//! Files replaced as real programs do, and loads that fail half-way: no call is lost, and later
//! versions are loaded.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::Row;
use crate::arena::{Arena, Setup, outcome_code};
use crate::support::client::first_text;
use crate::support::guest::Guest;
use crate::support::home::component;

pub(crate) const ROWS: &[Row] =
    rows![h69_files_unlinked_and_recreated, h70_retargeted_links_and_folders, h71_compilers_killed_and_files_broken,];

/// Time limit until a new version serves, with a debug build of the compiler.
const SERVES: Duration = Duration::from_secs(15);

/// A unique version, which is not in the compilation cache.
fn version(answer: &str) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    Guest::returning(answer).described("act", &format!("As version {answer} does it, {now}.")).build()
}

/// Calls `p` continuously while `change` changes its file, until it returns that answer.
fn loses_no_call(arena: &mut Arena, what: &str, answer: &str, change: impl FnOnce() + Send) {
    let calls = std::thread::scope(|scope| {
        let change = scope.spawn(change);
        let (began, mut calls) = (Instant::now(), 0);
        loop {
            let id = arena.start_call_with_text("p_version", "{}");
            let message = arena.response_to(id, Duration::from_secs(5));
            calls += 1;
            let at = began.elapsed();
            assert_eq!(outcome_code(&message), "ok", "{what}: call {calls} was lost, {at:?} after it began: {message}");
            if first_text(&message["result"]) == answer && change.is_finished() {
                return calls;
            }
            assert!(at < SERVES, "{what}: version {answer} does not serve after {at:?}");
        }
    });
    assert!(calls > 0, "{what}: nothing was called");
}

fn pause(milliseconds: u64) {
    std::thread::park_timeout(Duration::from_millis(milliseconds));
}

/// Writes a file in parts, with pauses.
fn written(path: &Path, options: &OpenOptions, bytes: &[u8], then: impl FnOnce(&File)) {
    let mut file = options.open(path).expect("a file");
    then(&file);
    for part in bytes.chunks(bytes.len().div_ceil(3)) {
        pause(60);
        file.write_all(part).expect("written");
    }
}

/// Replaces a file with new contents.
type Way<'a> = Box<dyn Fn(&[u8]) + Send + Sync + 'a>;

fn h69_files_unlinked_and_recreated(setup: Setup) -> Arena {
    let mut arena = setup.open("");
    arena.listen();
    arena.loads("p", &version("0"));
    arena.pause(Duration::from_millis(600));
    arena.notifications.clear();
    let file = arena.home.plugin("p");
    let (mode, aside) = (Permissions::from_mode(0o644), arena.home.path("aside"));
    let ways: [(&str, Way<'_>); 6] = [
        (
            "rename",
            Box::new(|bytes| {
                fs::write(&aside, bytes).expect("written");
                fs::rename(&aside, &file).expect("renamed");
            }),
        ),
        (
            "cp --remove-destination",
            Box::new(|bytes| {
                fs::remove_file(&file).expect("removed");
                fs::write(&file, bytes).expect("written");
            }),
        ),
        (
            "install",
            Box::new(|bytes| {
                fs::remove_file(&file).expect("removed");
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).mode(0o600);
                written(&file, &options, bytes, |_| {});
                fs::set_permissions(&file, mode.clone()).expect("permissions");
            }),
        ),
        (
            "git checkout",
            Box::new(|bytes| {
                fs::remove_file(&file).expect("removed");
                pause(120);
                let mut options = OpenOptions::new();
                options.write(true).create_new(true).mode(0o644);
                written(&file, &options, bytes, |_| {});
            }),
        ),
        (
            "copyFile of Node",
            Box::new(|bytes| {
                // The permissions come before the contents.
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true);
                written(&file, &options, bytes, |file| file.set_permissions(mode.clone()).expect("permissions"));
            }),
        ),
        (
            "moved away and recreated",
            Box::new(|bytes| {
                fs::rename(&file, &aside).expect("moved");
                pause(200);
                fs::write(&file, bytes).expect("written");
                fs::remove_file(&aside).expect("removed");
            }),
        ),
    ];
    for (n, (what, way)) in ways.iter().enumerate() {
        let answer = (n + 1).to_string();
        let bytes = version(&answer);
        arena.may_serve("p", &bytes);
        loses_no_call(&mut arena, what, &answer, || way(&bytes));
    }
    arena.pause(Duration::from_millis(600));
    let notified =
        arena.notifications.iter().filter(|message| message["method"] == "notifications/tools/list_changed").count();
    assert_eq!(notified, ways.len(), "one notification per replacement");
    arena
}

fn h70_retargeted_links_and_folders(setup: Setup) -> Arena {
    let [served, one, two, three] =
        ["served", "releases/one", "releases/two", "releases/three"].map(|it| setup.home.path(it));
    fs::create_dir(setup.home.path("releases")).expect("a folder");
    fs::rename(&served, &one).expect("moved");
    symlink(&one, &served).expect("a link");
    let echo = fs::read(component("echo")).expect("a guest");
    let release = |folder: &Path, bytes: &[u8]| {
        fs::create_dir_all(folder.join("plugins")).expect("a folder");
        fs::write(folder.join("plugins/echo.wasm"), &echo).expect("a file");
        fs::write(folder.join("plugins/p.wasm"), bytes).expect("a file");
    };
    // The OS sandbox does not allow the target of a link that is changed after the start.
    let mut arena = setup.open("[sandbox]\nos-sandbox = false\n");
    arena.loads("p", &version("0"));
    let [a, b, c] = ["1", "2", "3"].map(version);
    for bytes in [&a, &b, &c] {
        arena.may_serve("p", bytes);
    }
    let next = arena.home.path("next");
    loses_no_call(&mut arena, "a link to the next release", "1", || {
        release(&two, &a);
        symlink(&two, &next).expect("a link");
        fs::rename(&next, &served).expect("put in its place");
    });
    let aside = arena.home.path("releases/aside");
    loses_no_call(&mut arena, "a replaced parent folder", "2", || {
        release(&three, &b);
        fs::rename(&two, &aside).expect("moved");
        fs::rename(&three, &two).expect("moved");
    });
    let plugins = two.join("plugins");
    loses_no_call(&mut arena, "a replaced plugin folder", "3", || {
        release(&three, &c);
        fs::rename(&plugins, aside.join("old")).expect("moved");
        fs::rename(three.join("plugins"), &plugins).expect("moved");
    });
    arena
}

/// The children of a process.
fn children(process: u32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// Whether it is none of the processes of plugins.
fn is_compiler(process: i32) -> bool {
    let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).contains("compile-worker")
}

fn h71_compilers_killed_and_files_broken(setup: Setup) -> Arena {
    let mut arena = setup.open("");
    arena.loads("p", &version("0"));
    let host = arena.process();
    for n in 0..3 {
        // Its compiler process is killed as soon as it starts, as by the OOM killer.
        let bytes = version(&format!("killed {n}"));
        arena.may_serve("p", &bytes);
        arena.home.put_bytes(&bytes, "p");
        let killed = arena.meanwhile(|| {
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(2) {
                let mut compilers = children(host).into_iter().filter(|child| is_compiler(*child));
                if let Some(pid) = compilers.find_map(Pid::from_raw) {
                    return kill_process(pid, Signal::KILL).is_ok();
                }
                pause(1);
            }
            false
        });
        assert!(killed, "no compiler was seen");
        for _ in 0..3 {
            arena.call("p_version", json!({}));
        }
    }
    // One good file among many broken ones.
    let good = version("good");
    arena.may_serve("p", &good);
    for n in 0..60 {
        let broken =
            if n % 2 == 0 { good[..good.len() - n - 1].to_vec() } else { version(&n.to_string())[..900].to_vec() };
        arena.home.put_bytes(&broken, &format!("broken{n}"));
        if n == 30 {
            arena.home.put_bytes(&good, "p");
        }
    }
    loses_no_call(&mut arena, "after compilers were killed", "good", || {});
    for n in 0..60 {
        arena.home.remove(&format!("broken{n}"));
    }
    arena
}
