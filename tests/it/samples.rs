//! Plays the transcripts of the Rust samples, with the fresh builds and with the prebuilt files.
//! Samples in other languages need their toolchains: `tests/languages`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::client::Client;
use crate::support::home::{Home, component, repository};
use crate::support::play::play;

/// A sample's folder, `plugins/<name>-rust`.
struct Sample {
    name: String,
    transcript: PathBuf,
}

fn samples() -> Vec<Sample> {
    let entries = fs::read_dir(repository().join("plugins")).expect("the plugins");
    let sample = |folder: PathBuf| {
        let name = folder.file_name()?.to_str()?.strip_suffix("-rust")?;
        Some(Sample { name: name.into(), transcript: folder.join("transcript.txt") })
    };
    let folders = entries.map(|entry| entry.expect("a folder entry").path()).filter(|path| path.is_dir());
    let samples: Vec<Sample> = folders.filter_map(sample).collect();
    assert!(samples.len() >= 4, "only {} samples were found", samples.len());
    samples
}

/// Names and files of the prebuilt components in the repository.
fn prebuilt() -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(repository().join("plugins/prebuilt")).expect("the prebuilt plugins");
    let files = entries.map(|entry| entry.expect("a folder entry").path());
    let named = |file: PathBuf| Some((file.file_stem()?.to_str()?.to_owned(), file));
    let found: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "wasm")).filter_map(named).collect();
    assert!(!found.is_empty(), "there are no prebuilt plugins");
    found
}

#[test]
fn each_sample_has_a_transcript() {
    let silent: Vec<String> =
        samples().into_iter().filter(|sample| !sample.transcript.is_file()).map(|sample| sample.name).collect();
    assert!(silent.is_empty(), "without transcript.txt: {silent:?}");
}

#[test]
fn samples_match_their_transcripts() {
    for Sample { name, transcript } in &samples() {
        play(transcript, &[(name, component(name))]);
    }
}

#[test]
fn prebuilt_plugins_match_their_transcripts() {
    let samples = samples();
    for (name, file) in prebuilt() {
        let sample = samples.iter().find(|sample| sample.name == name);
        let sample = sample.unwrap_or_else(|| panic!("prebuilt {name}.wasm has no source"));
        play(&sample.transcript, &[(&name, file)]);
    }
}

/// Prebuilt components are current with their sources.
#[test]
fn prebuilt_plugins_are_current_with_their_sources() {
    for (name, file) in prebuilt() {
        assert_eq!(
            listed(&name, &file),
            listed(&name, &component(&name)),
            "build {name} with plugins/build.sh --prebuilt"
        );
    }
}

/// Each transcript calls each tool of its plugin.
#[test]
fn transcripts_call_every_tool() {
    for Sample { name, transcript } in &samples() {
        let text = fs::read_to_string(transcript).expect("a transcript");
        let called: BTreeSet<String> = listed(name, &component(name))
            .into_iter()
            .map(|tool| tool["name"].as_str().expect("a tool's name").to_owned())
            .filter(|tool| !text.contains(&format!(r#""name":"{tool}""#)))
            .collect();
        assert!(called.is_empty(), "{}: calls no {called:?}", transcript.display());
    }
}

/// What `tests/agents.sh` calls: each prebuilt tool that asks the client nothing, with arguments that work.
#[test]
fn agent_libraries_call_every_prebuilt_tool_that_asks_nothing() {
    const ASKING: [&str; 5] = ["notes_delete", "survey_ask", "survey_link", "survey_roots", "survey_summarise"];
    let home = Home::new();
    home.configure(&fs::read_to_string(repository().join("tests/agents/wharf.toml")).expect("a configuration"));
    let prebuilt = prebuilt();
    for (name, file) in &prebuilt {
        home.put_file(file, name);
    }
    let mut client = Client::start(&home);
    let listed = client.tools();
    let calls = fs::read(repository().join("tests/agents/calls.json")).expect("the calls");
    let calls: Vec<serde_json::Value> = serde_json::from_slice(&calls).expect("JSON");
    let mut called: BTreeSet<&str> = ASKING.into();
    for call in &calls {
        let tool = call["tool"].as_str().expect("a tool's name");
        if prebuilt.iter().any(|(name, _)| tool.starts_with(&format!("{name}_"))) {
            let result = client.call(tool, call["arguments"].clone());
            assert!(result.get("isError").is_none(), "{tool}: {result}");
            called.insert(tool);
        }
    }
    assert_eq!(called, listed.iter().map(String::as_str).collect());
}

/// The complete entries of a plugin's list of tools.
fn listed(name: &str, file: &Path) -> Vec<serde_json::Value> {
    let home = Home::new();
    home.put_file(file, name);
    let mut client = Client::start(&home);
    let mut page = client.result("tools/list", json!({}));
    assert!(page.get("nextCursor").is_none(), "{name}: more tools than a page");
    match page["tools"].take() {
        serde_json::Value::Array(tools) if !tools.is_empty() => tools,
        other => panic!("{name}: no tools but {other}"),
    }
}
