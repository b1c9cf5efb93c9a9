//! Plugin projects: created, tested, built, checked and called.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use toml::Table;

use crate::language::Language;
use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::home::{Home, repository, scratch};
use crate::support::play::play_to_binary;
use crate::support::process::{Process, binary};
use crate::support::schemas::unreadable;

/// A new project of the language works.
pub(crate) fn template(language: &Language) {
    let name = format!("my-{}", language.name);
    let home = Home::new();
    let dir = home.path("home").join(&name);
    let made = wharf(&home, &home.path("home"), &["new", &name, "--lang", language.name]);
    let next = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(
        next.contains("wharf build") && next.contains("wharf test") && next.contains(&format!("dist/{name}.wasm")),
        "{next}"
    );
    let again = wharf_with(&home, &home.path("home"), &["new", &name, "--lang", language.name]);
    assert_eq!(again.status.code(), Some(2), "a project was overwritten");
    // As in a clone of the author's repository.
    fs::remove_dir_all(dir.join("wharf")).expect("the library");
    // Built before it is tested, since the build restores the library and installs the language's packages.
    let file = build(&home, &dir, &name);
    shell(language.name, &home, &dir, language.test);
    // Its recording is one of a component that was built elsewhere.
    let (code, shown) = test(&home, &dir, &[]);
    assert!(code == Some(0) && shown.contains("1 of 1 recordings"), "{shown}");
    let findings = wharf(&home, &dir, &["check", "--json", &file.display().to_string()]);
    let findings: Value = serde_json::from_slice(&findings.stdout).expect("one JSON document");
    assert_eq!((&findings["loads"], &findings["warnings"]), (&json!(true), &json!([])), "{findings}");
    home.put_file(&file, &name);
    for revision in ["2025-11-25", MODERN] {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, json!({}));
        client.tools_until(|tools| tools.iter().any(|tool| *tool == format!("{name}_greet")));
        readable(&mut client);
        let greeting = client.call(&format!("{name}_greet"), json!({ "name": "Ada" }));
        assert_eq!(first_text(&greeting), "Hello, Ada!", "{revision}: {greeting}");
        let wrong = client.post("tools/call", json!({ "name": format!("{name}_greet"), "arguments": {} }));
        let wrong = client.answer(wrong);
        assert!(wrong.to_string().contains("name"), "{revision}: the missing argument is not named: {wrong}");
        assert!(wrong.get("error").is_some() || wrong["result"]["isError"] == true, "{revision}: {wrong}");
    }
    changed(&home, &dir, language);
}

/// `wharf test` in a project: its exit code, and what it prints.
fn test(home: &Home, dir: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = wharf_with(home, dir, &[&["test"], more].concat());
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A plugin that behaves otherwise than its recording is found out, until that is accepted.
fn changed(home: &Home, dir: &Path, language: &Language) {
    let source = dir.join(language.source);
    let greeting = fs::read_to_string(&source).expect("the source");
    fs::write(&source, greeting.replace("Hello, ", "Goodbye, ")).expect("the source");
    build(home, dir, &format!("my-{}", language.name));
    let (code, shown) = test(home, dir, &[]);
    assert!(code == Some(1) && shown.contains("differs") && shown.contains("Goodbye, Ada!"), "{shown}");
    let (code, shown) = test(home, dir, &["--bless"]);
    assert!(code == Some(0) && shown.contains("accepted"), "{shown}");
    let (code, shown) = test(home, dir, &[]);
    assert!(code == Some(0), "{shown}");
}

/// A sample builds, passes its tests and transcripts, and offers the same tools in both eras.
pub(crate) fn sample(language: &Language, dir: &Path) {
    let home = Home::new();
    let (name, file) = played(&home, dir);
    shell(language.name, &home, dir, language.sample_test);
    home.put_file(&file, &name);
    let listed = ["2025-11-25", MODERN].map(|revision| {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, json!({}));
        let names = client.tools_until(|tools| !tools.is_empty());
        readable(&mut client);
        names
    });
    assert_eq!(listed[0], listed[1], "{name} offers different tools in the two eras");
    let reported: String =
        transcripts(dir).iter().map(|file| fs::read_to_string(file).expect("a transcript")).collect();
    for tool in &listed[0] {
        assert!(reported.contains(&format!("\"name\":\"{tool}\"")), "{}: {tool} is not called", dir.display());
    }
}

/// All features of a wrapper, checked on the wire; returns the component.
pub(crate) fn everything(dir: &Path) -> PathBuf {
    let home = Home::new();
    let (name, file) = played(&home, dir);
    home.put_file(&file, &name);
    let mut client = Client::start_modern(&home);
    client.tools_until(|tools| !tools.is_empty());
    readable(&mut client);
    file
}

/// The tools are shown in shapes that agent libraries can read.
fn readable(client: &mut Client) {
    let wrong = unreadable(&client.tool_entries());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Builds a plugin and plays its transcripts; returns its name and its component.
fn played(home: &Home, dir: &Path) -> (String, PathBuf) {
    let text = fs::read_to_string(dir.join("plugin.toml")).expect("a manifest");
    let manifest: Table = text.parse().expect("TOML");
    let name = manifest["name"].as_str().expect("a name").to_owned();
    let file = build(home, dir, &name);
    let transcripts = transcripts(dir);
    assert!(!transcripts.is_empty(), "{}: no transcript", dir.display());
    for transcript in transcripts {
        play_to_binary(&transcript, &[(&name, file.clone())]);
    }
    (name, file)
}

/// `transcript.txt`, or one for each revision.
fn transcripts(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_one = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("transcript") && name.ends_with(".txt")
    };
    let mut files: Vec<PathBuf> = files.filter(is_one).collect();
    files.sort();
    files
}

/// The wrapper's own tests.
pub(crate) fn wrapper(language: &Language, folder: &str, command: &str) {
    shell(language.name, &Home::new(), &repository().join("plugin-sdk").join(folder), command);
}

/// `wharf build --install`; returns the component.
pub(crate) fn build(home: &Home, dir: &Path, name: &str) -> PathBuf {
    let built = wharf(home, dir, &["build", "--install"]);
    let stdout = String::from_utf8(built.stdout).expect("UTF-8");
    let file = PathBuf::from(stdout.strip_suffix('\n').expect("one line"));
    let expected = dir.canonicalize().expect("a folder").join("dist").join(format!("{name}.wasm"));
    assert_eq!(file, expected, "stdout is the component's path and nothing else");
    file
}

/// Runs the binary, which must succeed.
pub(crate) fn wharf(home: &Home, dir: &Path, arguments: &[&str]) -> Output {
    let output = wharf_with(home, dir, arguments);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "wharf {}: {}\n{reported}", arguments.join(" "), output.status);
    output
}

pub(crate) fn wharf_with(home: &Home, dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.args(arguments).current_dir(dir).envs(environment(home)).stdin(Stdio::null());
    command.output().expect("the binary runs")
}

/// Runs a shell command of the language's tools, which must succeed.
pub(crate) fn shell(language: &str, home: &Home, dir: &Path, line: &str) {
    let output = shell_with(home, dir, line);
    let reported = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{language}: {line}: {}\n{reported}", output.status);
}

pub(crate) fn shell_with(home: &Home, dir: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(dir).envs(environment(home)).stdin(Stdio::null());
    command.output().expect("a shell")
}

/// The home's environment, but with the user's toolchains and a shared Cargo target folder.
fn environment(home: &Home) -> Vec<(&'static str, PathBuf)> {
    let mut environment = home.environment();
    environment.retain(|(name, _)| *name != "HOME");
    environment.push(("CARGO_TARGET_DIR", scratch("languages-rust")));
    environment
}
