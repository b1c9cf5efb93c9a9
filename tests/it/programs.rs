//! Command-line programs (`wasi:cli`): each is one tool.

mod describing;
mod others;

use std::fs;

use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::run;

/// The result of a run of the test program.
fn start(client: &mut Client<impl crate::support::wire::Wire>, arguments: &[&str]) -> Value {
    client.call("command_run", json!({ "args": arguments }))
}

#[test]
fn a_program_is_a_tool() {
    let home = Home::with(&["command"]);
    let mut client = Client::start_modern(&home);
    let listed = client.result("tools/list", json!({}));
    let tool = &listed["tools"][0];
    assert_eq!((&tool["name"], listed["tools"].as_array().map(Vec::len)), (&json!("command_run"), Some(1)));
    assert_eq!(tool["inputSchema"]["required"], json!(["args"]));
    assert!(tool.get("outputSchema").is_none(), "{tool}");
    let args = start(&mut client, &["args", "a b", "", "é$HOME"]);
    assert_eq!(args["content"], json!([{ "type": "text", "text": r#"["command", "args", "a b", "", "é$HOME"]"# }]));
    assert!(args.get("isError").is_none() && args.get("structuredContent").is_none(), "{args}");
    let cat = client.call("command_run", json!({ "args": ["cat"], "stdin": "one\ntwo\n" }));
    assert_eq!(first_text(&cat), "one\ntwo\n");
    let large = "0123456789abcdef".repeat(16 << 10);
    for (stdin, printed) in [(json!("three"), "5 0"), (json!(large), "262144 0"), (json!(null), "0 0")] {
        let count = client.call("command_run", json!({ "args": ["count"], "stdin": stdin }));
        assert_eq!(first_text(&count), printed);
    }
    // A fresh instance each: none has what another one was given.
    assert_eq!(first_text(&start(&mut client, &["count"])), "0 0");
    assert_eq!(first_text(&start(&mut client, &["warn", "only this"])), "only this");
}

#[test]
fn failures_are_results_that_a_model_can_read() {
    let home = Home::with(&["command"]);
    let mut client = Client::start_modern(&home);
    let failed = start(&mut client, &["nonsense"]);
    assert_eq!(failed["isError"], true);
    assert_eq!(first_text(&failed), "The program failed with exit code 1:\ncommand: unknown word");
    let ended = start(&mut client, &["exit", "3"]);
    assert_eq!((&ended["isError"], &ended["content"][1]["text"]), (&json!(true), &json!("before the end")));
    assert!(first_text(&ended).starts_with("The program failed with exit code "), "{ended}");
    let succeeded = start(&mut client, &["exit", "0"]);
    assert_eq!((succeeded.get("isError"), first_text(&succeeded)), (None, "before the end"));
    let bytes = start(&mut client, &["bytes"]);
    assert_eq!(bytes["isError"], true);
    assert!(first_text(&bytes).contains("its 3 bytes of output are not text"), "{bytes}");
    // The end of a long stderr, in whole lines.
    let complained = start(&mut client, &["complain", "100000"]);
    let text = first_text(&complained);
    assert!(text.ends_with("command: that is all") && text.len() < 20 << 10, "{} bytes", text.len());
    assert!(text.lines().skip(1).all(|line| ["a line of stderr", "command: that is all"].contains(&line)), "{text}");
    // A crash is a fault, and its reason is in the log.
    let crashed = start(&mut client, &["panic"]);
    assert_eq!(crashed["_meta"]["wharf/fault"]["code"], "trap", "{crashed}");
    client.process().log_with("as it was told to");
    for wrong in [json!({ "args": "x" }), json!({}), json!({ "args": [], "cwd": "/" }), json!({ "args": ["a\u{0}b"] })]
    {
        let refused = client.call("command_run", wrong.clone());
        assert_eq!(refused["_meta"]["wharf/fault"]["code"], "bad-input", "{wrong}: {refused}");
    }
}

#[test]
fn output_and_time_are_limited() {
    let home = Home::with(&["command"]);
    home.configure("[plugins.command.limits]\noutput = \"64 KiB\"\ncpu = \"300ms\"\n");
    let mut client = Client::start_modern(&home);
    let fits = start(&mut client, &["print", "60000"]);
    assert_eq!(first_text(&fits).len(), 60000);
    for count in ["65537", "30000000"] {
        let over = start(&mut client, &["print", count]);
        assert_eq!(over["_meta"]["wharf/fault"]["code"], "output-too-large", "{over}");
    }
    let spun = start(&mut client, &["spin"]);
    assert_eq!(spun["_meta"]["wharf/fault"]["code"], "cpu", "{spun}");
}

#[test]
fn a_program_has_what_is_granted() {
    let home = Home::with(&["command"]);
    let (data, path) = (home.path("data-of-program"), home.path("config/wharf/key"));
    fs::create_dir(&data).expect("a folder");
    fs::write(data.join("note"), "from a file").expect("a file");
    fs::write(&path, "a-secret-of-some-length").expect("a secret");
    let mut client = Client::start_modern(&home);
    let denied = start(&mut client, &["read", "/data/note"]);
    assert_eq!((&denied["isError"], first_text(&denied).contains("/data/note")), (&json!(true), true), "{denied}");
    assert_eq!(first_text(&start(&mut client, &["environment"])), "[]");

    home.configure(&format!(
        "[secrets]\nkey = {{ file = \"key\" }}\n[plugins.command.grants]\nenv = {{ LANG = \"C\", KEY = \"${{key}}\" }}\n\
         fs = [{{ host = {:?}, guest = \"/data\" }}]\n",
        data.display()
    ));
    let mut client = Client::start_modern(&home);
    assert_eq!(first_text(&start(&mut client, &["read", "/data/note"])), "from a file");
    let environment = start(&mut client, &["environment"]);
    assert!(first_text(&environment).contains(r#"("LANG", "C")"#), "{environment}");
    // What it prints is redacted.
    assert!(first_text(&environment).contains(r#"("KEY", "[redacted key]")"#), "{environment}");
    let written = start(&mut client, &["write", "/data/note", "new"]);
    assert_eq!(written["isError"], true, "{written}");
    assert_eq!(written["_meta"]["wharf/fault"]["access"], "fs", "{written}");
    assert_eq!(fs::read_to_string(data.join("note")).expect("a file"), "from a file");
}

#[test]
fn output_that_is_json_can_be_structured() {
    let home = Home::with(&["command"]);
    let cat = |text: &str| json!({ "args": ["cat"], "stdin": text });
    let mut client = Client::start_modern(&home);
    let plain = client.call("command_run", cat("[1]"));
    assert_eq!((plain.get("structuredContent"), first_text(&plain)), (None, "[1]"));
    home.configure("[plugins.command]\ncommand = { json = true }\n");
    client.process().log_with("settings reloaded");
    let structured = client.call("command_run", cat("{\"a\": [1,\n 2.5]}\n"));
    assert_eq!(structured["structuredContent"], json!({ "a": [1, 2.5] }), "{structured}");
    let text = client.call("command_run", cat("{} {}"));
    assert_eq!((text.get("structuredContent"), first_text(&text)), (None, "{} {}"));
}

#[test]
fn commands_say_what_a_program_is() {
    let home = Home::with(&["command"]);
    let file = home.plugin("command");
    let output = run(&home, ["check".as_ref(), file.as_os_str()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for line in ["  kind     command-line program (wasi:cli), served as one tool\n", "  tool     run"] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let called = ["call".as_ref(), file.as_os_str(), "run".as_ref(), r#"{"args":["args"]}"#.as_ref()];
    let called = run(&home, called);
    assert_eq!(String::from_utf8_lossy(&called.stdout).trim(), r#"["command", "args"]"#);
}

/// With async functions, and streams in place of stdin and stdout.
#[test]
fn a_program_of_wasi_0_3_is_a_tool_too() {
    let home = Home::new();
    home.put("async-command", "command");
    home.configure("[plugins.command.limits]\noutput = \"64 KiB\"\n[plugins.command.grants]\nenv = { LANG = \"C\" }\n");
    let mut client = Client::start_modern(&home);
    assert_eq!(first_text(&start(&mut client, &["args", "a b"])), r#"["args", "a b"]"#);
    let large = "0123456789abcdef".repeat(2 << 10);
    for stdin in ["one\ntwo\n", &large] {
        let cat = client.call("command_run", json!({ "args": ["cat"], "stdin": stdin }));
        assert_eq!(first_text(&cat), stdin);
    }
    assert_eq!(first_text(&start(&mut client, &["cat"])), "");
    assert_eq!(first_text(&start(&mut client, &["environment"])), r#"[("LANG", "C")]"#);
    let failed = start(&mut client, &["nonsense"]);
    assert_eq!(first_text(&failed), "The program failed with exit code 1:\ncommand: unknown word");
    let ended = start(&mut client, &["exit", "3"]);
    assert!(first_text(&ended).starts_with("The program failed with exit code 3"), "{ended}");
    assert_eq!(ended["content"][1]["text"], "before the end");
    for count in ["65537", "30000000"] {
        let over = start(&mut client, &["print", count]);
        assert_eq!(over["_meta"]["wharf/fault"]["code"], "output-too-large", "{over}");
    }
}
