//! The command line: what each command prints to which stream, and its exit code.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::{Home, component};
use crate::support::process::{Process, binary, command, run};

/// The output of a command that must succeed.
fn out<I: IntoIterator<Item: AsRef<OsStr>>>(home: &Home, arguments: I) -> String {
    let output = run(home, arguments);
    assert!(output.status.success(), "{}: {}", output.status, err(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Runs a command that must fail with that code and print nothing to stdout, and returns its
/// stderr.
fn fails<I: IntoIterator<Item: AsRef<OsStr>>>(home: &Home, arguments: I, code: i32) -> String {
    let output = run(home, arguments);
    let reported = err(&output);
    assert_eq!(output.status.code(), Some(code), "{reported}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "stdout is for data");
    assert!(!reported.is_empty() && !reported.contains("panicked"), "{reported}");
    reported
}

#[test]
fn call_prints_the_answer_of_the_tool() {
    let home = Home::with(&["echo"]);
    let plugins = home.plugins();
    let folder = plugins.as_os_str();
    assert_eq!(
        out(&home, ["call".as_ref(), folder, "echo".as_ref(), r#"{"message":"hello"}"#.as_ref()]).trim_end(),
        "hello"
    );
    let file = component("echo");
    let sum = out(&home, ["call".as_ref(), file.as_os_str(), "echo_add".as_ref(), r#"{"a":2,"b":3}"#.as_ref()]);
    assert!(sum.contains('5'), "{sum}");
}

#[test]
fn a_misspelt_log_level_is_an_error() {
    let home = Home::new();
    for filter in ["infos", "info,debugg"] {
        let reported = fails(&home, ["--log", filter, "list", "plugins"], 2);
        assert!(
            reported.contains("read the log level") && reported.contains("hint: use off, error, warn"),
            "{reported}"
        );
    }
    assert!(run(&home, ["--log", "off,wharf=debug", "config"]).status.success());
}

#[test]
fn call_fails_when_the_tool_does() {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::trapping().build(), "trapper");
    let folder = home.plugins();
    let call = |tool: &str, arguments: &str| {
        let output = run(&home, ["call".as_ref(), folder.as_os_str(), tool.as_ref(), arguments.as_ref()]);
        assert!(!output.status.success(), "{tool} {arguments} succeeded");
        err(&output) + &String::from_utf8_lossy(&output.stdout)
    };
    let reported = call("ech", "{}");
    assert!(reported.contains("ech") && reported.contains("hint:") && reported.contains("echo"), "{reported}");
    let reported = call("echo", r#"{"message":5}"#);
    assert!(reported.contains("/message"), "{reported}");
    let reported = call("echo", "{");
    assert!(reported.contains("JSON"), "{reported}");
    let reported = call("echo", "[]");
    assert!(reported.contains("object"), "{reported}");
    let reported = call("trapper_version", "{}");
    assert!(reported.contains("trapper"), "{reported}");
}

#[test]
fn list_prints_what_a_client_would_see() {
    let home = Home::with(&["echo"]);
    home.put_bytes(b"no plugin", "broken");
    let folder = home.plugins();
    let output = run(&home, ["list".as_ref(), folder.as_os_str()]);
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    assert!(text.contains("echo_add"), "{text}");
    assert!(err(&output).contains("broken") || text.contains("broken"), "the broken plugin is not reported");
    let json = run(&home, ["list".as_ref(), folder.as_os_str(), "--json".as_ref()]);
    let listed: Value = serde_json::from_slice(&json.stdout).expect("one JSON document and nothing else");
    let mut client = Client::start(&home);
    for name in client.tools() {
        assert!(listed.to_string().contains(&format!("\"{name}\"")), "no {name} in {listed}");
    }
}

#[test]
fn texts_of_a_list_are_aligned_beside_long_names() {
    let home = Home::new();
    let guest = Guest::returning("one").described("act", "Acts.").described("acts_in_a_very_special_way", "Acts.");
    home.put_bytes(&guest.build(), "made");
    let listed = out(&home, ["list".as_ref(), home.plugins().as_os_str()]);
    let columns: Vec<_> = listed.lines().filter_map(|line| line.find("Acts.")).collect();
    assert_eq!(columns, [2 + "made_acts_in_a_very_special_way".len() + 2; 2], "{listed}");
}

#[test]
fn list_without_a_folder_uses_the_users_folder() {
    let home = Home::new();
    let own = home.path("data/wharf/plugins");
    out(&home, ["list"]);
    assert!(own.is_dir(), "the user's folder is made on first use");
    std::fs::copy(component("echo"), own.join("echo.wasm")).expect("a copy");
    assert!(out(&home, ["list"]).contains("echo_add"));
}

#[test]
fn check_describes_a_plugin() {
    let home = Home::new();
    let file = component("echo");
    let output = run(&home, ["check".as_ref(), file.as_os_str()]);
    let reported = String::from_utf8(output.stdout.clone()).expect("UTF-8") + &err(&output);
    assert_eq!(output.status.code(), Some(0), "{reported}");
    assert!(reported.contains("echo") && reported.contains("add"), "{reported}");
}

#[test]
fn check_warns_of_a_plugin_that_offers_nothing() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("x").tools(&[]).build(), "nothing");
    let warning = "  warning  it offers nothing: no tools, resources, prompts or methods";
    let of = |name: &str| out(&home, ["check".as_ref(), home.plugin(name).as_os_str()]);
    assert!(of("nothing").contains(warning), "{}", of("nothing"));
    home.put("echo", "echo");
    assert!(!of("echo").contains("offers nothing"), "{}", of("echo"));
}

#[test]
fn check_shows_methods_and_capabilities_of_a_plugin() {
    let home = Home::new();
    let file = component("everything");
    let text = out(&home, ["check".as_ref(), file.as_os_str()]);
    for line in [
        "  method   everything/echo\n",
        "  method   everything/fail\n",
        "  declares com.example/test  extensions, {\"versions\":[1,2]}\n",
        "  declares test.thing  experimental, {\"on\":true}\n",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let json = out(&home, ["check".as_ref(), "--json".as_ref(), file.as_os_str()]);
    let found: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(found["methods"], json!(["everything/echo", "everything/fail"]));
    let capabilities = json!({
        "experimental": { "test.thing": { "on": true } },
        "extensions": { "com.example/test": { "versions": [1, 2] } },
    });
    assert_eq!(found["capabilities"], capabilities);
}

#[test]
fn check_of_many_files_fails_when_one_is_bad() {
    let home = Home::new();
    home.put_bytes(b"no plugin", "broken");
    let (good, bad) = (component("echo"), home.plugin("broken"));
    let output = run(&home, ["check".as_ref(), good.as_os_str(), bad.as_os_str(), good.as_os_str()]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
}

#[test]
fn the_printed_configuration_equals_the_defaults() {
    let home = Home::with(&["echo"]);
    let defaults = out(&home, ["config"]);
    assert!(defaults.contains("[limits]") && defaults.contains("timeout"), "{defaults}");
    home.configure(&defaults);
    assert_eq!(out(&home, ["config"]), defaults);
    assert!(out(&home, ["list".as_ref(), home.plugins().as_os_str()]).contains("echo_add"));
}

#[test]
fn an_unknown_setting_is_an_error_with_a_suggestion() {
    let home = Home::with(&["echo"]);
    home.configure("[limits]\ntimeuot = \"3s\"\n");
    let folder = home.plugins();
    let reported = fails(&home, ["list".as_ref(), folder.as_os_str()], 2);
    assert!(
        reported.contains("timeuot") && reported.contains("timeout") && reported.contains("wharf.toml"),
        "{reported}"
    );
}

#[test]
fn a_configuration_in_the_current_or_plugin_folder_is_not_read() {
    let home = Home::with(&["echo"]);
    for place in ["home/wharf.toml", "served/plugins/wharf.toml"] {
        std::fs::write(home.path(place), "this is no TOML [").expect("a file");
    }
    assert!(out(&home, ["list".as_ref(), home.plugins().as_os_str()]).contains("echo_add"));
    std::fs::write(home.path("asked.toml"), "this is no TOML [").expect("a file");
    let asked = home.path("asked.toml");
    let reported =
        fails(&home, ["list".as_ref(), home.plugins().as_os_str(), "--config".as_ref(), asked.as_os_str()], 2);
    assert!(reported.contains("asked.toml"), "{reported}");
}

#[test]
fn a_missing_folder_is_an_error_at_once() {
    let home = Home::new();
    let missing = home.path("missing");
    for command in ["serve", "list"] {
        let reported = fails(&home, [command.as_ref(), missing.as_os_str()], 2);
        assert!(reported.contains("missing"), "{reported}");
        assert!(reported.starts_with("error: "), "{reported}");
    }
}

#[test]
fn wrong_usage_exits_with_code_two() {
    let home = Home::new();
    fails(&home, ["serve", "--no-such-flag"], 2);
    fails(&home, ["no-such-command"], 2);
    fails(&home, ["check"], 2);
    fails(&home, ["call"], 2);
}

#[test]
fn help_and_version_are_printed_to_stdout() {
    let home = Home::new();
    let version = out(&home, ["--version"]);
    assert_eq!(version.trim_end(), concat!("wharf ", env!("CARGO_PKG_VERSION")));
    let help = out(&home, ["--help"]);
    for command in ["serve", "check", "list", "call", "config"] {
        assert!(help.contains(command), "{help}");
        let text = out(&home, [command, "--help"]);
        assert!(text.contains("Usage"), "{text}");
    }
    assert!(!help.contains("compile-worker"), "{help}");
}

/// Output to a pipe has no colours, with or without `NO_COLOR`.
#[test]
fn pipes_get_no_colours() {
    let home = Home::with(&["echo"]);
    home.put_bytes(b"no plugin", "broken");
    let folder = home.plugins();
    for arguments in [vec!["list".as_ref(), folder.as_os_str()], vec!["--help".as_ref()], vec!["nonsense".as_ref()]] {
        for no_color in [false, true] {
            let mut command = command(&home, &arguments);
            if no_color {
                command.env("NO_COLOR", "1");
            }
            let output = command.output().expect("the binary runs");
            assert!(
                !output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b),
                "{arguments:?}: {}",
                err(&output)
            );
        }
    }
}

/// `wharf-mcp` with these arguments, in a folder that has a `wharf` only if `complete`.
fn package<I: IntoIterator<Item: AsRef<OsStr>>>(home: &Home, complete: bool, arguments: I) -> Command {
    let bin = home.path("package");
    fs::create_dir(&bin).expect("a new folder");
    // Not a link, which would be resolved. Not `fs::copy`: a process that another test starts meanwhile inherits the
    // open file, and the kernel runs no file that is open for writing.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_wharf-mcp")).arg(bin.join("wharf-mcp")).status();
    assert!(copied.expect("cp runs").success());
    if complete {
        symlink(binary(), bin.join("wharf")).expect("a link");
    }
    let mut command = Command::new(bin.join("wharf-mcp"));
    command.args(arguments).env_clear().envs(home.environment()).current_dir(home.path("home"));
    command
}

#[test]
fn wharf_mcp_serves_as_wharf_does() {
    let home = Home::with(&["echo"]);
    let serve = package(&home, true, ["serve".as_ref(), home.plugins().as_os_str()]);
    let mut client = Client::new(Process::start(serve), true);
    assert_eq!(client.text("echo", json!({ "message": "hello" })), "hello");
    client.process().signal(Signal::TERM);
    // The process that was started can be stopped: it is the only one.
    assert_eq!(client.process().wait().code(), Some(0));
}

#[test]
fn wharf_mcp_has_the_arguments_and_the_exit_code_of_wharf() {
    let home = Home::new();
    let output = package(&home, true, ["list", "no such folder"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("no such folder"), "{}", err(&output));
}

#[test]
fn wharf_mcp_without_wharf_beside_it_says_so() {
    let home = Home::new();
    let output = package(&home, false, ["serve"]).output().expect("it runs");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), b"".as_slice()));
    let reported = err(&output);
    assert!(reported.contains("there is no such file") && reported.contains("package/wharf"), "{reported}");
    assert!(reported.contains("hint: wharf-mcp runs the wharf in its own folder"), "{reported}");
}

#[test]
fn wharf_mcp_does_not_run_itself() {
    let home = Home::new();
    let mut command = package(&home, false, ["serve"]);
    let (itself, beside) = (home.path("package/wharf-mcp"), home.path("package/wharf"));
    for put in [|from: &Path, to: &Path| fs::copy(from, to).map(drop), |from: &Path, to: &Path| fs::hard_link(from, to)]
    {
        put(&itself, &beside).expect("the same file");
        let output = command.output().expect("it ends");
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains("is wharf-mcp itself, and not wharf: "), "{}", err(&output));
        fs::remove_file(&beside).expect("it was there");
    }
}

#[test]
fn the_default_folder_is_created_also_if_it_is_given() {
    let home = Home::new();
    let folder = home.path("data/wharf/plugins");
    assert!(!folder.exists());
    out(&home, ["list".as_ref(), folder.as_os_str()]);
    assert!(folder.is_dir());
    let other = home.path("data/wharf/other");
    // Of use for a server alone, which watches what is put there.
    let create = format!("hint: create it first: mkdir -p {}", other.display());
    assert!(fails(&home, ["serve".as_ref(), other.as_os_str()], 2).contains(&create));
    let name = "hint: name the folder that the plugins' .wasm files are in\n";
    for words in [&["list", "weather"][..], &["status", "weather"], &["approve", "text", "weather"]] {
        assert!(fails(&home, words, 2).ends_with(name), "{words:?}");
    }
}

/// A client shows the log of its server, and no tools.
#[test]
fn a_server_of_an_empty_folder_says_so() {
    let home = Home::new();
    let server = Process::start(command(&home, ["serve"]));
    let folder = home.path("data/wharf/plugins");
    let shown = folder.display();
    let expected = format!("no .wasm files in {shown}, which is watched; to serve one: cp plugin.wasm {shown}");
    let log = server.log_with(&expected);
    assert_eq!(log.matches("nothing is served yet").count(), 1, "{log}");
}

#[test]
fn a_wrong_word_of_a_call_gets_its_form() {
    let home = Home::with(&["echo"]);
    let folder = home.plugins();
    let option =
        run(&home, ["call".as_ref(), folder.as_os_str(), "echo_say".as_ref(), "--city".as_ref(), "Rome".as_ref()]);
    let reported = String::from_utf8_lossy(&option.stderr).into_owned();
    assert!(option.status.code() == Some(2) && reported.contains("write city=Rome"), "{reported}");
    let forgotten = run(&home, ["call", "current", "city=Rome"]);
    let reported = String::from_utf8_lossy(&forgotten.stderr).into_owned();
    assert!(reported.contains("first: wharf call DIR TOOL"), "{reported}");
    let misspelt = folder.with_file_name("plugin");
    let near = run(&home, ["status".as_ref(), misspelt.as_os_str()]);
    let reported = String::from_utf8_lossy(&near.stderr).into_owned();
    assert!(reported.contains(&format!("did you mean {}?", folder.display())), "{reported}");
}

#[test]
fn what_is_named_as_another_kind_gets_its_command() {
    let home = Home::with(&["notes"]);
    let folder = home.plugins();
    for (command, name, expected) in [
        ("prompt", "notes_add", "it is a tool\nhint: run: wharf call "),
        ("read", "notes_add", "it is a tool\nhint: run: wharf call "),
        ("call", "notes_summarise", "it is a prompt\nhint: run: wharf prompt "),
        ("call", "notes://1", "it is a resource\nhint: run: wharf read "),
    ] {
        let failed = fails(&home, [command.as_ref(), folder.as_os_str(), name.as_ref()], 2);
        assert!(failed.contains(expected), "{failed}");
    }
}
