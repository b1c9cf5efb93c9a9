//! The compiler process, as the host starts it.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use wharf::plugin::compile::{WITHOUT_OS_SANDBOX, WORKER};

fn start(options: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_wharf"))
        .arg(WORKER)
        .args(options)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn compile(component: &[u8], options: &[&str]) -> std::process::Output {
    let mut child = start(options);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(component).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_component_becomes_native_code() {
    for options in [[].as_slice(), &[WITHOUT_OS_SANDBOX]] {
        let done = compile(b"\0asm\x0d\0\x01\0", options);
        assert_eq!(done.status.code(), Some(0), "{options:?}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(done.stdout.starts_with(b"\x7fELF"));
    }
}

#[test]
fn what_is_no_component_is_distinguished_from_a_failure() {
    for bytes in [b"".as_slice(), b"(component)", b"\0asm\x0d\0\x01\0\xff"] {
        let done = compile(bytes, &[]);
        assert_eq!(done.status.code(), Some(2));
        assert!(done.stdout.is_empty() && !done.stderr.is_empty());
    }
}

/// Read from `/proc` while it waits for its first byte. What the limits and the OS sandbox prevent is
/// tested in `tests/os_sandbox`.
#[test]
#[cfg(target_os = "linux")]
fn it_is_limited_before_it_reads() {
    let mut child = start(&[]);
    let of = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", child.id())).expect("it lives");
    // Filters are inherited: a container may have one around everything.
    let filters = |status: &str| -> Option<u32> {
        status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:")?.trim().parse().ok())
    };
    let wanted = filters(&fs::read_to_string("/proc/self/status").expect("our own")).map(|ours| ours + 2);
    let started = Instant::now();
    // The system call filter is installed last.
    while filters(&of("status")) != wanted && started.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    let limits = of("limits");
    let hard = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).expect("a limit");
        line[name.len()..].split_whitespace().nth(1).expect("its hard value").to_owned()
    };
    assert_eq!(hard("Max cpu time"), "60");
    assert_eq!(hard("Max core file size"), "0");
    assert_eq!(hard("Max open files"), "16");
    assert_eq!(hard("Max address space"), (2u64 << 30).to_string());
    let status = of("status");
    assert!(status.contains("NoNewPrivs:\t1") && status.contains("Threads:\t1"), "{status}");
    assert_eq!(filters(&status), wanted, "{status}");
    child.kill().expect("it ends");
    child.wait().expect("it ends");
}
