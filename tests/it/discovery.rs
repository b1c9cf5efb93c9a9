//! The host's own discovery tools, for clients that read the list of tools only once.

use std::path::Path;
use std::process::Output;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::process::{Process, run};

fn discovering(guests: &[&str]) -> Home {
    let home = Home::with(guests);
    home.configure("[server]\ndiscovery = true\n");
    home
}

fn found(client: &mut Client, query: Value) -> Vec<String> {
    let result = client.call("find_tools", query);
    let tools = result["structuredContent"]["tools"].as_array().expect("a list of tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_client_that_lists_once_can_call_later_tools() {
    for modern in [false, true] {
        let home = discovering(&["echo"]);
        let mut client = if modern { Client::start_modern(&home) } else { Client::start(&home) };
        assert_eq!(client.tools(), ["find_tools", "call_tool", "echo", "echo_add"]);
        home.put_bytes(&Guest::returning("1").build(), "late");
        let deadline = Instant::now() + TIMEOUT;
        while found(&mut client, json!({"query": "late version"})) != ["late_version"] {
            assert!(Instant::now() < deadline, "the new tool does not appear");
        }
        assert_eq!(client.text("call_tool", json!({"name": "late_version"})), "1");
        home.remove("late");
        let gone = || json!({"name": "call_tool", "arguments": {"name": "late_version"}});
        loop {
            let id = client.post("tools/call", gone());
            let answer = client.answer(id);
            if answer.get("error").is_some() {
                assert_eq!(answer["error"]["data"]["reason"], "tool_not_found");
                break;
            }
            assert!(Instant::now() < deadline, "the old tool does not disappear");
        }
    }
}

#[test]
fn discovery_tools_are_off_by_default() {
    let home = Home::with(&["echo"]);
    // Without discovery the name is not reserved.
    home.put_bytes(&Guest::returning("1").tools(&[("call_tool", r#"{"type":"object"}"#)]).build(), "wharf");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["echo", "echo_add", "wharf_call_tool"]);
    assert_eq!(client.text("wharf_call_tool", json!({"name": "echo"})), "1");
    let error = client.error("tools/call", json!({"name": "find_tools", "arguments": {}}));
    assert_eq!(error["data"]["reason"], "tool_not_found");
}

/// Commands know the names that a server with this configuration keeps for itself.
#[test]
fn commands_reserve_the_names_that_a_server_does() {
    let home = discovering(&["echo"]);
    home.configure("[server]\ndiscovery = true\n[plugins.plain]\nprefix = false\n");
    let any = r#"{"type":"object"}"#;
    home.put_bytes(&Guest::returning("1").build(), "wharf");
    home.put_bytes(&Guest::returning("2").tools(&[("find_tools", any), ("own", any)]).build(), "plain");
    let mut client = Client::start(&home);
    let served = ["find_tools", "call_tool", "echo", "echo_add", "own"];
    assert_eq!(client.tools(), served);
    let (folder, reserved, plain) = (home.plugins(), home.plugin("wharf"), home.plugin("plain"));
    client.process().log_with("which is reserved: wharf");
    let with = |words: &[&str], path: &Path| run(&home, words.iter().map(AsRef::as_ref).chain([path.as_os_str()]));
    let said = |output: &Output| {
        [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
    };

    let listed = with(&["list", "--json"], &folder);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let names = listed["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str());
    assert_eq!(names.collect::<Vec<_>>(), served);
    let commands = [&["list"][..], &["check"], &["status"], &["approve", "--yes", "wharf"]];
    for (words, path) in
        commands.into_iter().map(|words| (words, &folder)).chain([(&["list"][..], &reserved), (&["check"], &reserved)])
    {
        let output = with(words, path);
        assert!(
            !output.status.success() && said(&output).contains("which is reserved: wharf"),
            "{words:?}: {output:?}"
        );
        assert!(said(&output).contains("rename it to NAME.wasm"), "{words:?}: {output:?}");
    }
    // Of one file too, the name that is listed is the one that is called.
    let called = run(&home, ["call".as_ref(), plain.as_os_str(), "find_tools".as_ref(), "query=own".as_ref()]);
    assert!(called.status.success() && said(&called).contains("own"), "{called:?}");
    let listed = said(&with(&["list"], &plain));
    assert!(listed.contains("plugin 'plain' may not use the name 'find_tools'"), "{listed}");
    let called = run(&home, ["call".as_ref(), plain.as_os_str(), "own".as_ref()]);
    assert!(called.status.success(), "{called:?}");
}

#[test]
fn matches_in_names_rank_before_other_texts() {
    let home = discovering(&[]);
    let any = r#"{"type":"object"}"#;
    let guest = Guest::returning("1").tools(&[("other", any), ("Rename", any), ("list", any)]);
    let guest = guest.described("move", "Renames a FILE.").described("file-rename", "Something else.");
    home.put_bytes(&guest.build(), "disk");
    let mut client = Client::start(&home);
    client.tools();
    let mut names = |query: Value| found(&mut client, query);
    assert_eq!(names(json!({"query": "rename file"})), ["disk_file-rename", "disk_Rename", "disk_move"]);
    assert_eq!(names(json!({"query": "disk", "limit": 2})), ["disk_other", "disk_Rename"]);
    assert_eq!(names(json!({})).len(), 5);
    assert!(names(json!({"query": "nothing"})).is_empty());
    for wrong in [json!({"limit": 0}), json!({"limit": 51}), json!({"query": 1}), json!({"other": 1})] {
        assert_eq!(client.call("find_tools", wrong.clone())["isError"], true, "{wrong}");
    }
}

#[test]
fn a_found_tool_can_be_called_without_the_list() {
    let home = discovering(&["echo"]);
    let mut client = Client::start(&home);
    let result = client.call("find_tools", json!({"query": "add"}));
    let tool = &result["structuredContent"]["tools"][0];
    assert_eq!(tool["name"], "echo_add");
    assert_eq!(tool["inputSchema"]["type"], "object");
    // As every tool, they take null for what is optional, and integers written as doubles.
    assert_eq!(found(&mut client, json!({"query": "add", "limit": 1.0})), ["echo_add"]);
    assert_eq!(found(&mut client, json!({"query": null, "limit": null})), ["echo", "echo_add"]);
    let none = json!({"name": "echo", "arguments": null});
    assert!(first_text(&client.call("call_tool", none)).contains("message"), "the arguments are echo's own matter");
    // Also for clients that ignore structured content.
    let text: Value = serde_json::from_str(first_text(&result)).expect("JSON");
    assert_eq!(&text, &result["structuredContent"]);
    let listed = client.result("tools/list", json!({}));
    let own = listed["tools"].as_array().and_then(|tools| tools.iter().find(|tool| tool["name"] == "find_tools"));
    assert_eq!(own.expect("it is listed")["annotations"]["readOnlyHint"], true);
}

/// A redirected call has the same outcome as a direct one.
#[test]
fn a_redirected_call_has_the_outcome_of_a_direct_one() {
    let home = discovering(&["everything"]);
    let calls = [
        ("everything_test_structured_content", json!({"text": "äöü"})),
        ("everything_test_structured_content", json!({"text": 1})),
        ("everything_test_structured_content", json!({})),
        ("everything_test_list", json!({})),
        ("everything_test_bare_list", json!({})),
        ("everything_test_error_handling", json!({})),
        ("everything_test_error_result", json!({})),
        ("everything_test_wrong_structure", json!({})),
        ("everything_test_multiple_content_types", json!({})),
        ("everything_test_simple_tex", json!({})),
    ];
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let process = Process::serve(&home);
        let mut client =
            if revision == "2026-07-28" { Client::new(process, true) } else { Client::initialized(process, revision) };
        for (name, arguments) in &calls {
            let called = json!({"name": name, "arguments": arguments});
            let mut answers = [called.clone(), json!({"name": "call_tool", "arguments": called})].map(|params| {
                let id = client.post("tools/call", params);
                client.answer(id)
            });
            answers.iter_mut().for_each(|answer| answer["id"] = Value::Null);
            assert_eq!(answers[0], answers[1], "{revision} {called}");
        }
    }
}

#[test]
fn arguments_of_a_redirection_are_validated() {
    let home = discovering(&["echo"]);
    let mut client = Client::initialized(Process::serve(&home), "2025-06-18");
    for wrong in [json!({}), json!({"name": 1}), json!({"name": "echo", "arguments": []})] {
        let error = client.error("tools/call", json!({"name": "call_tool", "arguments": wrong}));
        assert_eq!(
            (&error["data"]["reason"], &error["data"]["toolName"]),
            (&json!("invalid_arguments"), &json!("call_tool"))
        );
    }
    let itself = json!({"name": "call_tool", "arguments": {"name": "call_tool", "arguments": {"name": "echo"}}});
    let error = client.error("tools/call", itself);
    assert_eq!(error["data"]["path"], "params.arguments.name");
    let unknown = client.error("tools/call", json!({"name": "call_tool", "arguments": {"name": "ecko"}}));
    assert_eq!((&unknown["code"], &unknown["data"]["availableTools"][0]), (&json!(-32602), &json!("echo")));
}

#[test]
fn no_plugin_may_have_the_hosts_name() {
    let home = discovering(&["echo"]);
    home.put_bytes(&Guest::returning("1").build(), "wharf");
    let folder = home.plugins();
    let output = run(&home, ["list".as_ref(), folder.as_os_str()]);
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("wharf.wasm") && reported.contains("which is reserved"), "{reported}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("wharf_version"));
}

#[test]
fn no_plugin_may_have_the_names_of_the_hosts_tools() {
    let home = discovering(&[]);
    home.configure("[server]\ndiscovery = true\n[plugins.aaa]\nprefix = false\n");
    home.put_bytes(&Guest::returning("mine").tools(&[("call_tool", r#"{"type":"object"}"#)]).build(), "aaa");
    home.put_bytes(&Guest::returning("1").build(), "other");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["find_tools", "call_tool", "other_version"]);
    assert_eq!(client.text("call_tool", json!({"name": "other_version"})), "1");
}
