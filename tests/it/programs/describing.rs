//! How the tool of a program is described: by a file that the configuration names.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::run;

const FILE: &str = r#"{ "title": "Commander", "description": "Does it.",
    "inputSchema": { "type": "object", "properties": { "args": { "type": "array", "items": { "enum": ["args", "--help"] } } } } }"#;

fn tool(client: &mut Client<impl crate::support::wire::Wire>) -> Value {
    client.result("tools/list", json!({}))["tools"][0].clone()
}

#[test]
fn a_file_of_the_configuration_describes_the_tool() {
    let home = Home::with(&["command"]);
    fs::write(home.path("config/wharf/command.tool.json"), FILE).expect("a file");
    // Beside the plugin, where whoever wrote the plugin could put it, it is not looked for.
    fs::write(home.plugins().join("command.tool.json"), FILE).expect("a file");
    let mut client = Client::start(&home);
    assert_eq!(tool(&mut client).get("title"), None);
    home.configure("[plugins.command]\ncommand = { tool = \"command.tool.json\" }\n");
    client.notification("notifications/tools/list_changed");
    let described = tool(&mut client);
    assert_eq!((&described["title"], &described["description"]), (&json!("Commander"), &json!("Does it.")));
    let refused = client.call("command_run", json!({ "args": ["cat"] }));
    assert_eq!(refused["_meta"]["wharf/fault"]["code"], "bad-input", "{refused}");
    assert_eq!(client.text("command_run", json!({ "args": ["args"] })), r#"["command", "args"]"#);
}

#[test]
fn a_wrong_file_refuses_the_plugin() {
    let home = Home::with(&["command"]);
    home.configure("[plugins.command]\ncommand = { tool = \"command.tool.json\" }\n");
    let file = home.plugin("command");
    let path = home.path("config/wharf/command.tool.json");
    for (text, why) in [
        (None, "No such file"),
        (Some("[]"), "use what the configuration says of the command's tool"),
        (Some(r#"{"name":"other"}"#), "unknown field `name`"),
        (Some(r#"{"inputSchema":{"type":"string"}}"#), "schema"),
    ] {
        if let Some(text) = text {
            fs::write(&path, text).expect("a file");
        }
        let output = run(&home, ["check".as_ref(), file.as_os_str()]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && said.contains(why) && said.contains("`command.tool`"), "{why}: {said}");
    }
}

#[test]
fn describe_writes_what_the_program_says() {
    let home = Home::with(&["command"]);
    let folder = home.plugins();
    let words = ["describe".as_ref(), "command".as_ref(), folder.as_os_str()];
    let unasked = run(&home, words);
    assert!(!unasked.status.success() && String::from_utf8_lossy(&unasked.stderr).contains("add --yes"));
    let path = home.path("config/wharf/command.tool.json");
    assert!(!path.exists());
    let output = run(&home, words.into_iter().chain(["--yes".as_ref()]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("+ tool = \"command.tool.json\""), "{said}");
    let mut client = Client::start_modern(&home);
    let described = tool(&mut client);
    let text = described["description"].as_str().expect("a text");
    assert!(text.contains("Its help:\n\nDoes what its first argument says.\n\nUsage: command WORD…"), "{text}");
    assert_eq!(described["inputSchema"]["required"], json!(["args"]));
    // Again: the rest of the file stays, and the configuration.
    let mut own: Value = serde_json::from_str(&fs::read_to_string(&path).expect("a file")).expect("JSON");
    own["title"] = json!("Mine");
    own["description"] = json!("old");
    fs::write(&path, own.to_string()).expect("a file");
    assert!(run(&home, words.into_iter().chain(["--yes".as_ref()])).status.success());
    let own: Value = serde_json::from_str(&fs::read_to_string(&path).expect("a file")).expect("JSON");
    assert_eq!((&own["title"], &own["description"]), (&json!("Mine"), &json!(text)));
    let failed = run(&home, words.into_iter().chain(["--arg=-h".as_ref(), "--yes".as_ref()]));
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && said.contains("unknown word"), "{said}");
}

#[test]
fn an_approval_is_for_the_description() {
    let home = Home::with(&["command"]);
    let strict = "[server]\ntrust = \"strict\"\n";
    home.configure(strict);
    let folder = home.plugins();
    let approve = || {
        let output = run(&home, ["approve".as_ref(), "command".as_ref(), folder.as_os_str(), "--yes".as_ref()]);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (approved, said) = approve();
    assert!(approved, "{said}");
    let mut client = Client::start_modern(&home);
    assert_eq!(client.tools(), ["command_run"]);
    fs::write(home.path("config/wharf/command.tool.json"), FILE).expect("a file");
    home.configure(&format!("{strict}[plugins.command]\ncommand = {{ tool = \"command.tool.json\" }}\n"));
    client.process().log_with("keeping the approved ones");
    assert_eq!(tool(&mut client).get("title"), None);
    let (approved, said) = approve();
    assert!(approved && said.contains("Commander"), "{said}");
    // The running server has it, and one that starts.
    let until = Instant::now() + TIMEOUT;
    while tool(&mut client)["title"] != "Commander" {
        assert!(Instant::now() < until, "{}", tool(&mut client));
    }
    let mut client = Client::start_modern(&home);
    assert_eq!(tool(&mut client)["title"], "Commander");
}
