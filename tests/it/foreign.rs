//! Third-party components: the test components of the crate `wit-component`. Few of them are
//! meant to be called; none may do harm.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::run;

/// The release of `wit-component` that the host is built with.
const RELEASE: &str = "wit-component-0.254.";

/// Where cargo stores the sources of that crate. `cargo metadata` is not used: offline it fails
/// unless the packages of all platforms are present.
fn sources() -> PathBuf {
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).expect("a home folder");
    let registries = std::fs::read_dir(cargo.join("registry/src")).expect("cargo's sources");
    let crates =
        registries.flatten().filter_map(|registry| std::fs::read_dir(registry.path()).ok()).flatten().flatten();
    let of_release = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(RELEASE)
    };
    let folder = crates.map(|folder| folder.path()).find(of_release).expect("the crate");
    folder.join("tests/components")
}

/// Puts all of them into the home's plugin folder, and returns their files.
fn collect(home: &Home) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(sources()).expect("the components") {
        let folder = entry.expect("an entry").path();
        let Ok(text) = std::fs::read(folder.join("component.wat")) else { continue };
        let Ok(bytes) = wat::parse_bytes(&text) else { continue };
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let file = home.plugin(&name);
        std::fs::write(&file, bytes).expect("a component");
        files.push(file);
    }
    files.sort();
    files
}

#[test]
fn third_party_components_are_served_or_refused_with_a_reason() {
    let home = Home::new();
    let files = collect(&home);
    assert!(files.len() > 50, "only {} components", files.len());
    let mut arguments = vec!["check".into(), "--json".into()];
    arguments.extend(files.iter().map(|file| file.clone().into_os_string()));
    let output = run(&home, arguments);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let verdicts: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    assert_eq!(verdicts.len(), files.len());
    let mut promised = Vec::new();
    for verdict in &verdicts {
        let tools = verdict["tools"].as_array().expect("a list");
        if verdict["loads"] == true {
            assert_eq!(verdict["kind"], "plain-component", "{verdict}");
            assert!(!tools.is_empty(), "{verdict}");
            promised.push(tools.len());
        } else {
            assert!(verdict["reason"].as_str().is_some_and(|why| !why.is_empty()), "{verdict}");
        }
    }
    assert!(promised.len() >= 10, "only {} load", promised.len());

    let mut client = Client::start(&home);
    let tools = client.result("tools/list", json!({}))["tools"].take();
    let tools = tools.as_array().expect("a list");
    assert_eq!(tools.len(), promised.iter().sum::<usize>());
    for tool in tools {
        // Most of their functions trap; those with required arguments refuse the call.
        let name = tool["name"].as_str().expect("a name");
        let id = client.post("tools/call", json!({ "name": name, "arguments": {} }));
        let answer = client.answer(id);
        let needs = tool["inputSchema"]["required"].as_array().is_some_and(|needed| !needed.is_empty());
        if needs {
            let refused = answer["error"]["code"] == -32602 || answer["result"]["isError"] == true;
            assert!(refused, "{name}: {answer}");
        } else {
            assert!(answer["result"]["content"].is_array(), "{name}: {answer}");
        }
    }
    client.result("ping", json!({}));
}
