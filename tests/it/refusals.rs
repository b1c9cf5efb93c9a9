//! Invalid plugin files are refused with one clear sentence and affect no other plugin.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::{Home, component};
use crate::support::process::run;

/// A component with an import that no host provides.
fn with_unknown_import() -> Vec<u8> {
    wat::parse_str(r#"(component (import "evil:host/run@1.0.0" (instance (export "run" (func)))))"#)
        .expect("valid text")
}

fn parsed(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("valid text")
}

fn empty_component() -> Vec<u8> {
    wat::parse_str("(component)").expect("valid text")
}

fn core_module() -> Vec<u8> {
    wat::parse_str(r#"(module (func (export "run")))"#).expect("valid text")
}

/// Exports the interface with functions of the wrong types.
fn with_wrong_exports() -> Vec<u8> {
    let text = r#"(component
        (core module $m (func (export "f")))
        (core instance $i (instantiate $m))
        (func $f (canon lift (core func $i "f")))
        (instance $tools (export "list-tools" (func $f)) (export "call-tool" (func $f)))
        (export "wharf:plugin/tools@0.1.0" (instance $tools)))"#;
    wat::parse_str(text).expect("valid text")
}

/// Name and content of each bad file, and a word of the expected error.
fn bad_files() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let good = Guest::returning("1").build();
    let elf = [b"\x7fELF\x02\x01\x01\0".as_slice(), &[0; 4096]].concat();
    vec![
        ("empty", Vec::new(), "empty"),
        ("text", b"(component)".to_vec(), "not"),
        ("html", b"<!doctype html><title>404</title>".to_vec(), "not"),
        ("module", core_module(), "module"),
        ("precompiled", elf, "not"),
        ("byte-short", good[..good.len() - 1].to_vec(), ""),
        ("half", good[..good.len() / 2].to_vec(), ""),
        ("header-only", good[..8].to_vec(), "export"),
        ("no-exports", empty_component(), "export"),
        ("wrong-exports", with_wrong_exports(), "wharf:plugin/tools"),
        ("unknown-import", with_unknown_import(), "evil:host/run"),
        ("traps-in-list", Guest::trapping_in_list().build(), "list"),
        ("exceptions", parsed("(component (core module (tag)))"), "exceptions"),
        ("garbage-collection", parsed("(component (core module (type (struct))))"), "garbage collection"),
        ("later-abi", replaced(&good, b"tools@0.1.0", b"tools@9.1.0"), "9.1.0"),
    ]
}

/// The bytes with each occurrence of a text replaced by one of the same length.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn bad_files_do_not_affect_other_plugins() {
    let home = Home::with(&["echo"]);
    for (name, bytes, _) in bad_files() {
        home.put_bytes(&bytes, name);
    }
    home.put_bytes(&Guest::returning("1").build(), "zebra");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["echo", "echo_add", "zebra_version"]);
    assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
    assert_eq!(client.text("zebra_version", json!({})), "1");
    // Each is named in the log.
    let log = client.process().log();
    for (name, ..) in bad_files() {
        assert!(log.contains(name), "nothing about {name} in the log:\n{log}");
    }
}

#[test]
fn check_explains_each_bad_file_in_one_sentence() {
    let home = Home::new();
    for (name, bytes, word) in bad_files() {
        home.put_bytes(&bytes, name);
        refused(&home, &home.plugin(name), word);
    }
}

/// Commands of one file and of its folder say the same of it, and no more than is known.
#[test]
fn all_commands_say_the_same_of_a_file() {
    let home = Home::new();
    let good = Guest::returning("1").build();
    for (name, bytes, hint) in [
        ("module", core_module(), "hint: rebuild it for wasm32-wasip2: functions of a core module pass only numbers"),
        (
            "unwrapped",
            parsed(r#"(module (@custom "component-type:x" "y"))"#),
            "hint: convert it to a component: `wasm-",
        ),
        ("cut", good[..good.len() / 2].to_vec(), "hint: copy the file again"),
    ] {
        home.put_bytes(&bytes, name);
        let (file, folder) = (home.plugin(name), home.plugins());
        for words in [
            ["check".as_ref(), file.as_os_str()],
            ["list".as_ref(), file.as_os_str()],
            ["list".as_ref(), folder.as_os_str()],
        ] {
            let output = run(&home, words);
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(text.contains(hint) && !text.contains("callable exports"), "{name} {words:?}: {text}");
        }
        home.remove(name);
    }
}

#[test]
fn a_name_that_ends_with_capitals_is_reported_with_the_right_one() {
    let home = Home::with(&["echo"]);
    let file = home.plugins().join("text.WASM");
    fs::rename(home.plugin("echo"), &file).expect("it moves");
    let folder = home.plugins();
    for words in [
        ["check".as_ref(), file.as_os_str()],
        ["list".as_ref(), file.as_os_str()],
        ["list".as_ref(), folder.as_os_str()],
        ["status".as_ref(), folder.as_os_str()],
    ] {
        let output = run(&home, words);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let is_named = text.contains("ends in .wasm with capitals") && text.contains("text.WASM");
        assert!(is_named && text.contains("hint: rename it to NAME.wasm"), "{words:?}: {text}");
    }
}

#[test]
fn limits_and_proposals_are_reported_with_a_hint() {
    let home = Home::new();
    let instances = "(core instance (instantiate $m))".repeat(65);
    for (name, text, reason, hint) in [
        (
            "modules",
            format!("(component {})", "(core module)".repeat(65)),
            "more core modules than 64",
            "limit of Wharf",
        ),
        (
            "instances",
            format!("(component (core module $m) {instances})"),
            "more core module instances than 64",
            "limit of Wharf",
        ),
        ("exceptions", "(component (core module (tag)))".into(), "not allowed: exceptions", "-fno-exceptions"),
        ("memory64", "(component (core module (memory i64 1)))".into(), "not allowed: 64-bit memories", "wasm32"),
    ] {
        home.put_bytes(&parsed(&text), name);
        let output = run(&home, [OsStr::new("check"), home.plugin(name).as_os_str()]);
        let reported = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(
            reported.contains(reason) && reported.contains(hint) && !reported.contains("host error"),
            "{name}: {reported}"
        );
    }
}

#[test]
fn check_refuses_missing_special_and_oversized_files() {
    let home = Home::new();
    refused(&home, &home.plugin("missing"), "missing.wasm");
    let folder = home.plugin("folder");
    fs::create_dir(&folder).expect("a folder");
    refused(&home, &folder, "folder.wasm");
    refused(&home, &fifo(&home), "pipe.wasm");
    refused(&home, &too_large(&home), "more than");
}

/// Runs `wharf check`, and checks the form of its error message.
fn refused(home: &Home, file: &Path, word: &str) {
    let output = run(home, [OsStr::new("check"), file.as_os_str()]);
    let reported = String::from_utf8(output.stderr.clone()).expect("UTF-8") + &String::from_utf8_lossy(&output.stdout);
    let name = file.file_name().and_then(OsStr::to_str).expect("a plain name");
    assert_eq!(output.status.code(), Some(1), "{name}: {reported}");
    assert!(reported.contains(name), "{name} is not named: {reported}");
    assert!(reported.to_lowercase().contains(word), "{name}: no {word:?} in: {reported}");
    assert!(!reported.contains("panicked") && !reported.contains(" 0x"), "{name}: {reported}");
    let longest = reported.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!((1..400).contains(&longest), "{name}: {reported}");
}

/// A FIFO without a writer: opening it without `O_NONBLOCK` blocks for ever.
fn fifo(home: &Home) -> PathBuf {
    let path = home.plugin("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    path
}

/// A sparse file with a valid header, larger than the limit for plugins.
fn too_large(home: &Home) -> PathBuf {
    let path = home.plugin("huge");
    fs::write(&path, Guest::returning("1").build()).expect("a file");
    File::options().write(true).open(&path).and_then(|file| file.set_len(1 << 30)).expect("a sparse file");
    path
}

#[test]
fn special_and_misnamed_files_are_not_loaded() {
    let home = Home::with(&["echo"]);
    let outside = home.path("outside.wasm");
    fs::copy(component("echo"), &outside).expect("a copy outside");
    symlink(&outside, home.plugin("link")).expect("a link out of the folder");
    symlink("/dev/zero", home.plugin("zero")).expect("a link to a device");
    symlink(home.plugin("loop"), home.plugin("loop")).expect("a link to itself");
    fs::create_dir(home.plugin("folder")).expect("a folder");
    fifo(&home);
    too_large(&home);
    fs::copy(component("echo"), home.plugins().join("Echo Two!.wasm")).expect("a bad name");
    fs::copy(component("echo"), home.plugins().join("echo.wasm.part")).expect("another ending");
    fs::copy(component("echo"), home.plugins().join(".hidden.wasm")).expect("a hidden file");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["echo", "echo_add"]);
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    let resident = client.process().resident();
    assert!(resident < 512 << 20, "the sparse file was read: {resident} bytes resident");
}

#[test]
fn an_unreadable_file_is_refused_until_it_can_be_read() {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::returning("1").build(), "locked");
    fs::set_permissions(home.plugin("locked"), Permissions::from_mode(0o000)).expect("no rights");
    if File::open(home.plugin("locked")).is_ok() {
        // Root can read every file, so the plugin must be served.
        let mut client = Client::start(&home);
        client.tools_until(|tools| tools.len() == 3);
        return;
    }
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["echo", "echo_add"]);
    fs::set_permissions(home.plugin("locked"), Permissions::from_mode(0o644)).expect("rights");
    client.tools_until(|tools| tools.len() == 3);
}

#[test]
fn a_plugin_that_never_lists_delays_no_other() {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::spinning_in_list().build(), "spinner");
    let mut client = Client::start(&home);
    assert_eq!(client.tools_until(|tools| tools.len() == 2), ["echo", "echo_add"]);
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
}

/// They would take two seconds each; the plugin that sorts behind them is listed before they end.
#[test]
fn many_plugins_that_never_list_delay_no_other() {
    let home = Home::new();
    let spinner = Guest::spinning_in_list().build();
    for number in 0..12u8 {
        // A custom section makes each of them another component.
        home.put_bytes(&[spinner.as_slice(), &[0, 2, 1, number]].concat(), &format!("spinner{number:02}"));
    }
    home.put_bytes(&Guest::returning("1").build(), "z");
    let mut client = Client::start(&home);
    // They are refused all the same.
    let log = client.process().log_with("within its time");
    let first = log.find("within its time").expect("just found");
    assert!(log[..first].contains("loaded plugin=z"), "{log}");
    assert_eq!(client.tools_until(|tools| !tools.is_empty()).len(), 1);
}

#[test]
fn one_invalid_tool_does_not_drop_the_others() {
    let home = Home::new();
    let object = r#"{"type":"object"}"#;
    let guest = Guest::returning("1").tools(&[
        ("fine", object),
        ("not a name", object),
        ("", object),
        ("schema", "[1,"),
        ("fine-too", object),
    ]);
    home.put_bytes(&guest.build(), "mixed");
    let mut client = Client::start(&home);
    let tools = client.tools();
    assert!(tools.contains(&"mixed_fine".to_owned()) && tools.contains(&"mixed_fine-too".to_owned()), "{tools:?}");
    assert_eq!(tools.len(), 2, "{tools:?}");
}

#[test]
fn a_trap_fails_only_its_call() {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::trapping().build(), "trapper");
    let mut client = Client::start(&home);
    for _ in 0..3 {
        let result = client.call("trapper_version", json!({}));
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("trapper")), "{result}");
    }
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
}

/// Whether a terminal or a log would show a text as something else than it is.
fn is_forged(text: &str) -> bool {
    let deceives =
        |c: char| c != '\n' && c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}');
    text.contains(deceives) || text.lines().any(|line| line.starts_with("forged"))
}

#[test]
fn names_of_files_cannot_forge_lines_or_control_a_terminal() {
    let home = Home::with(&["echo"]);
    let names = ["a\nforged", "b\rc", "\u{1b}[31mred", "\u{1b}]0;title\u{7}", "\u{202e}abc", "d\u{200b}e", "\u{9b}31m"];
    for name in names {
        home.put("echo", name);
    }
    let folder = home.path("\u{1b}[2J\nforged");
    fs::create_dir(&folder).expect("a folder");
    let (plugins, file) = (home.plugins(), home.plugin("a\nforged"));
    let mut commands: Vec<Vec<&OsStr>> = vec![
        vec!["list".as_ref(), plugins.as_os_str()],
        vec!["list".as_ref(), folder.as_os_str()],
        vec!["status".as_ref(), plugins.as_os_str()],
        vec!["call".as_ref(), file.as_os_str(), "echo".as_ref()],
        vec!["--config".as_ref(), file.as_os_str(), "list".as_ref(), folder.as_os_str()],
        vec!["audit".as_ref(), "verify".as_ref(), folder.as_os_str()],
    ];
    let files: Vec<PathBuf> = names.iter().map(|name| home.plugin(name)).collect();
    for json in [None, Some("--json")] {
        let mut check: Vec<&OsStr> = vec!["check".as_ref()];
        check.extend(json.map(OsStr::new));
        check.extend(files.iter().map(|file| file.as_os_str()));
        commands.push(check);
    }
    for arguments in commands {
        let output = run(&home, &arguments);
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).expect("UTF-8");
            assert!(!is_forged(&text), "{arguments:?}: {text:?}");
        }
    }
    let mut client = Client::start(&home);
    for shown in ["a\\nforged", "b\\rc", "\\u{1b}[31mred", "\\u{202e}abc", "d\\u{200b}e", "\\u{9b}31m"] {
        client.process().log_with(&format!("{shown}.wasm"));
    }
    assert!(!is_forged(&client.process().log()), "{:?}", client.process().log());
}
