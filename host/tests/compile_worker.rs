//! The compiler process, as the host starts it.

use std::io::Write as _;
use std::process::{Command, Stdio};

fn compile(component: &[u8]) -> std::process::Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wharf"))
        .arg(wharf::plugin::compile::WORKER)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(component).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_component_becomes_native_code() {
    let done = compile(b"\0asm\x0d\0\x01\0");
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(done.stdout.starts_with(b"\x7fELF"));
}

#[test]
fn what_is_no_component_is_told_apart_from_a_failure() {
    for bytes in [b"".as_slice(), b"(component)", b"\0asm\x0d\0\x01\0\xff"] {
        let done = compile(bytes);
        assert_eq!(done.status.code(), Some(2));
        assert!(done.stdout.is_empty() && !done.stderr.is_empty());
    }
}
