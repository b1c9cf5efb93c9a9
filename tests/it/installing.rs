//! `wharf install`: the entry that a client reads, and nothing else of its file.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::process::{binary, run, run_hint};

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The entry that starts the server of this home.
fn entry(home: &Home) -> Value {
    json!({"command": binary().canonicalize().expect("the binary"), "args": ["serve", home.plugins()]})
}

fn install(home: &Home, client: &str, more: &[&str]) -> Output {
    let folder = home.plugins();
    let words = ["install".as_ref(), client.as_ref(), folder.as_os_str()];
    run(home, words.into_iter().chain(more.iter().map(AsRef::as_ref)))
}

fn read(home: &Home, file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(home.path(file)).expect("the file")).expect("JSON")
}

#[test]
fn a_folder_that_serves_nothing_yet_is_told() {
    let home = Home::new();
    let shown = home.plugins().display().to_string();
    let empty = err(&install(&home, "cursor", &["--yes"]));
    let add = format!("there are no plugins in {shown} yet; to add one: cp plugin.wasm {shown}\n");
    assert!(empty.contains(&add), "{empty}");
    home.put("echo", "echo");
    let filled = err(&install(&home, "cursor", &["--yes"]));
    assert!(!filled.contains("no plugins") && !filled.contains("status"), "{filled}");
    home.configure("[server]\ntrust = \"strict\"\n");
    let strict = err(&install(&home, "cursor", &["--yes"]));
    assert!(strict.contains(&format!("only what is approved; to see what is not: wharf status {shown}\n")), "{strict}");
}

#[test]
fn each_client_gets_an_entry_of_its_form() {
    let home = Home::new();
    for (client, file, key) in [
        ("claude-desktop", "config/Claude/claude_desktop_config.json", "mcpServers"),
        ("cursor", "home/.cursor/mcp.json", "mcpServers"),
        ("vscode", "config/Code/User/mcp.json", "servers"),
        ("gemini", "home/.gemini/settings.json", "mcpServers"),
    ] {
        let output = install(&home, client, &["--yes"]);
        assert!(output.status.success(), "{client}: {}", err(&output));
        let mut expected = entry(&home);
        if client == "vscode" {
            expected["type"] = json!("stdio");
        }
        assert_eq!(read(&home, file), json!({key: {"wharf": expected}}), "{client}");
        let again = install(&home, client, &["--yes"]);
        assert!(again.status.success() && err(&again).contains("is there already"), "{}", err(&again));
    }
    assert!(install(&home, "codex", &["--yes", "--name", "tools"]).status.success());
    let text = fs::read_to_string(home.path("home/.codex/config.toml")).expect("the file");
    let table: toml::Table = text.parse().expect("TOML");
    assert_eq!(serde_json::to_value(&table["mcp_servers"]["tools"]).expect("JSON"), entry(&home));
    assert!(err(&install(&home, "codex", &["--yes", "--name", "tools"])).contains("is there already"));

    let output = install(&home, "claude-code", &[]);
    let program = binary().canonicalize().expect("the binary");
    let folder = home.plugins();
    let line = format!("claude mcp add --scope user wharf -- {} serve {}\n", program.display(), folder.display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), line);
    // The server that the line starts takes it.
    let config = home.path("other.toml");
    fs::write(&config, "").expect("a file");
    let words =
        ["install".as_ref(), "claude-code".as_ref(), folder.as_os_str(), "--config".as_ref(), config.as_os_str()];
    let output = run(&home, words);
    let line = format!("{} --config {}\n", line.trim_end(), config.display());
    assert_eq!(String::from_utf8_lossy(&output.stdout), line, "{}", err(&output));
}

#[test]
fn what_else_is_in_the_file_stays() {
    let home = Home::new();
    let file = home.path("home/.gemini/settings.json");
    fs::create_dir_all(home.path("home/.gemini")).expect("a folder");
    fs::write(&file, r#"{"theme": "x", "mcpServers": {"other": {"command": "a"}}, "n": 1.50}"#).expect("a file");
    let output = install(&home, "gemini", &[]);
    assert_eq!(output.status.code(), Some(2), "nobody can be asked: {}", err(&output));
    assert!(install(&home, "gemini", &["--yes"]).status.success());
    let text = fs::read_to_string(&file).expect("the file");
    let found: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&found["theme"], &found["mcpServers"]["other"]), (&json!("x"), &json!({"command": "a"})));
    assert_eq!(found["mcpServers"]["wharf"], entry(&home));
    assert!(text.contains("1.50") && text.find("theme") < text.find("mcpServers"), "{text}");

    // A file with comments is not rewritten without them.
    let commented = "{\n  // mine\n  \"theme\": \"x\"\n}\n";
    fs::write(&file, commented).expect("a file");
    let output = install(&home, "gemini", &["--yes"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    let hint = "hint: add this to its outermost object, after a comma: \"mcpServers\": {\"wharf\": {\"command\":";
    assert!(err(&output).contains(hint), "{}", err(&output));
    assert_eq!(fs::read_to_string(&file).expect("the file"), commented);
    // What is there already is not repeated in what is to be added.
    for (text, hint) in [
        (
            "{\n  // mine\n  \"mcpServers\": {\"other\": {\"command\": \"a\"},},\n}",
            "add this in its \"mcpServers\", after a comma: \"wharf\": {\"command\":",
        ),
        ("{} // mine", "add this to its outermost object: \"mcpServers\": {\"wharf\": {\"command\":"),
        ("{\"mcpServers\": {}} // mine", "add this in its \"mcpServers\": \"wharf\": {\"command\":"),
        (
            "{\"mcpServers\": {\"wharf\": {}}} // mine",
            "replace \"wharf\" in its \"mcpServers\" by this: \"wharf\": {\"command\":",
        ),
        ("{\"mcpServers\": {", "correct that, then run the command again"),
        ("{\"mcpServers\": []}", "correct that, then run the command again"),
    ] {
        fs::write(&file, text).expect("a file");
        let reported = err(&install(&home, "gemini", &["--yes"]));
        assert!(reported.contains(&format!("hint: {hint}")), "{text}: {reported}");
    }

    let codex = home.path("home/.codex/config.toml");
    fs::create_dir_all(home.path("home/.codex")).expect("a folder");
    for (text, what) in [
        ("a = 1\nb = [\n", "configuration: it is not TOML: line "),
        ("mcp_servers = 5\n", "hint: replace its `mcp_servers` by this: mcp_servers.wharf = { command = "),
        ("[mcp_servers]\nwharf = 5\n", "hint: replace \"wharf\" in its `mcp_servers` by this: wharf = { command = "),
    ] {
        fs::write(&codex, text).expect("a file");
        let output = install(&home, "codex", &["--yes"]);
        let reported = err(&output);
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(reported.contains(what) && !reported.contains("\\n"), "{text}: {reported}");
        // What the hint says to write is what is there then.
        if let Some((_, line)) = reported.split_once(" by this: ") {
            let line = line.trim_end();
            let written = if text.starts_with('[') { format!("[mcp_servers]\n{line}\n") } else { line.to_owned() };
            fs::write(&codex, written).expect("a file");
            let again = err(&install(&home, "codex", &["--yes"]));
            assert!(again.contains("is there already"), "{line}: {again}");
        }
    }
    fs::write(&codex, "# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"a\" # b\n").expect("a file");
    assert!(install(&home, "codex", &["--yes"]).status.success());
    let text = fs::read_to_string(&codex).expect("the file");
    assert!(text.starts_with("# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"a\" # b\n"), "{text}");
    assert!(text.contains("[mcp_servers.wharf]\ncommand = "), "{text}");
    // What the entry keeps is shown with it.
    fs::write(&codex, "[mcp_servers.wharf]\ncommand = \"/opt/wharf\"\n\n[mcp_servers.wharf.env]\nLD_PRELOAD = \"x\"\n")
        .expect("a file");
    let reported = err(&install(&home, "codex", &["--yes"]));
    assert!(reported.contains("LD_PRELOAD = \"x\""), "{reported}");
}

#[test]
fn an_entry_is_replaced_and_removed_again() {
    let home = Home::new();
    home.configure("[secrets]\napi = { env = \"API_TOKEN\" }\nother = { file = \"other\" }\n");
    let file = home.path("home/.cursor/mcp.json");
    fs::create_dir_all(home.path("home/.cursor")).expect("a folder");
    let before = "{\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \"a\"\n    }\n  }\n}\n";
    fs::write(&file, before).expect("a file");
    let added = err(&install(&home, "cursor", &["--yes", "--name", "tools"]));
    assert!(added.contains("added tools;") && added.contains("may not give the server"), "{added}");
    assert!(added.contains("\"env\": {\"API_TOKEN\": \"…\"}") && !added.contains("replaced"), "{added}");
    // Another folder, by another way to it. What the person added to the entry stays.
    let mut edited = read(&home, "home/.cursor/mcp.json");
    edited["mcpServers"]["tools"]["env"] = json!({"API_TOKEN": "x"});
    fs::write(&file, edited.to_string()).expect("a file");
    fs::create_dir(home.path("served/elsewhere")).expect("a folder");
    let around = home.plugins().join("../elsewhere");
    let words = ["install".as_ref(), "cursor".as_ref(), around.as_os_str()];
    let replaced = run(&home, words.into_iter().chain(["--yes", "--name", "tools"].map(AsRef::as_ref)));
    assert!(err(&replaced).contains("replaced tools;"), "{}", err(&replaced));
    let tools = &read(&home, "home/.cursor/mcp.json")["mcpServers"]["tools"];
    assert_eq!(tools["args"], json!(["serve", home.path("served/elsewhere").canonicalize().expect("a folder")]));
    assert_eq!(tools["env"], json!({"API_TOKEN": "x"}));

    let wrong = run(&home, ["install", "cursor", "--undo", "--yes"]);
    assert!(wrong.status.code() == Some(2) && err(&wrong).contains("start Wharf: tools;"), "{}", err(&wrong));
    let asked = run(&home, ["install", "cursor", "--undo", "--name", "tools"]);
    assert_eq!(asked.status.code(), Some(2), "nobody can be asked: {}", err(&asked));
    let undone = run_hint(&home, &err(&replaced), "to remove it again:");
    assert!(undone.status.success() && err(&undone).contains("removed tools"), "{}", err(&undone));
    assert_eq!(fs::read_to_string(&file).expect("the file"), before);

    let codex = home.path("home/.codex/config.toml");
    fs::create_dir_all(home.path("home/.codex")).expect("a folder");
    let before = "# mine\n[mcp_servers.other]\ncommand = \"a\" # b\n";
    fs::write(&codex, before).expect("a file");
    assert!(install(&home, "codex", &["--yes"]).status.success());
    assert!(run(&home, ["install", "codex", "--undo", "--yes"]).status.success());
    assert_eq!(fs::read_to_string(&codex).expect("the file"), before);
}

/// What a person agrees to is the entry, and not only the lines that differ.
#[test]
fn what_stays_of_an_entry_is_shown_and_line_ends_stay() {
    let home = Home::new();
    let file = home.path("home/.cursor/mcp.json");
    fs::create_dir_all(home.path("home/.cursor")).expect("a folder");
    let before = "{\r\n  \"mcpServers\": {\r\n    \"wharf\": {\r\n      \"command\": \"/old/wharf\",\r\n      \"args\": [],\r\n\
                  \x20     \"env\": {\r\n        \"LD_PRELOAD\": \"/tmp/x.so\"\r\n      }\r\n    }\r\n  }\r\n}\r\n";
    fs::write(&file, before).expect("a file");
    let reported = err(&install(&home, "cursor", &["--yes"]));
    let (_, whole) = reported.split_once("the whole entry is then:\n").unwrap_or_else(|| panic!("{reported}"));
    assert!(whole.contains("LD_PRELOAD") && whole.contains("\"command\": "), "{reported}");
    let text = fs::read_to_string(&file).expect("the file");
    assert!(text.matches('\n').count() == text.matches("\r\n").count() && text.contains("LD_PRELOAD"), "{text:?}");
    assert!(err(&install(&home, "cursor", &["--yes"])).contains("is there already"));

    let codex = home.path("home/.codex/config.toml");
    fs::create_dir_all(home.path("home/.codex")).expect("a folder");
    let before = "# mine\r\n[mcp_servers.other]\r\ncommand = \"a\"\r\n";
    fs::write(&codex, before).expect("a file");
    assert!(install(&home, "codex", &["--yes"]).status.success());
    let text = fs::read_to_string(&codex).expect("the file");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
    assert!(err(&install(&home, "codex", &["--yes"])).contains("is there already"));
    assert!(run(&home, ["install", "codex", "--undo", "--yes"]).status.success());
    assert_eq!(fs::read_to_string(&codex).expect("the file"), before);
}

/// Also with `--yes`, and however it is written.
#[test]
fn another_server_of_that_name_is_neither_replaced_nor_removed() {
    let home = Home::new();
    for (client, file, text, words) in [
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers": {"wharf": {"command": "old", "args": ["a b"]}}}"#,
            "old 'a b'",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            r#"{"mcpServers": {"wharf": {"url": "http://x/mcp"}}} // mine"#,
            "'http://x/mcp'",
        ),
        ("codex", ".codex/config.toml", "[mcp_servers.wharf]\ncommand = \"old\"\n", "old"),
    ] {
        let file = home.path(&format!("home/{file}"));
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, text).expect("a file");
        for output in [install(&home, client, &["--yes"]), run(&home, ["install", client, "--undo", "--yes"])] {
            let reported = err(&output);
            let expected = format!("change wharf in {}: it is another server: {words}\n", file.display());
            assert!(output.status.code() == Some(2) && reported.contains(&expected), "{reported}");
            assert!(reported.contains("hint: choose another name with --name; "), "{reported}");
            assert_eq!(fs::read_to_string(&file).expect("the file"), text);
        }
        // What can be taken, is.
        if client != "gemini" {
            assert!(install(&home, client, &["--yes", "--name", "tools"]).status.success());
            assert!(run(&home, ["install", client, "--undo", "--yes", "--name", "tools"]).status.success());
        }
    }
}

#[test]
fn a_link_that_leads_nowhere_is_not_replaced() {
    let home = Home::new();
    let (file, target) = (home.path("home/.cursor/mcp.json"), home.path("home/dotfiles/mcp.json"));
    fs::create_dir_all(home.path("home/.cursor")).expect("a folder");
    symlink(&target, &file).expect("a link");
    let output = install(&home, "cursor", &["--yes"]);
    let reported = err(&output);
    assert!(
        output.status.code() == Some(1) && reported.contains(&format!("a link to {}", target.display())),
        "{reported}"
    );
    assert!(fs::read_link(&file).is_ok() && !target.exists());
    fs::create_dir_all(home.path("home/dotfiles")).expect("a folder");
    fs::write(&target, "").expect("a file");
    assert!(install(&home, "cursor", &["--yes"]).status.success());
    assert!(fs::read_link(&file).is_ok() && fs::read_to_string(&target).expect("it").contains("mcpServers"));
}
