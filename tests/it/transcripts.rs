//! Every transcript, played over memory, and to the real binary on stdio and over HTTP.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::home::{Home, repository};
use crate::support::http;
use crate::support::memory::Memory;
use crate::support::process::Process;
use crate::support::record::Recorded;
use crate::support::streamable::Streamable;
use crate::support::transcript::Transcript;

/// One test for each transcript, and one that none is forgotten.
macro_rules! transcripts {
    ($($test:ident)*) => {
        $(#[test]
        fn $test() {
            play(&repository().join("tests/transcripts").join(file(stringify!($test))), &[]);
        })*

        #[test]
        fn each_transcript_is_played() {
            let listed: Vec<String> = [$(stringify!($test)),*].into_iter().map(file).collect();
            for entry in fs::read_dir(repository().join("tests/transcripts")).expect("the transcripts") {
                let name = entry.expect("a folder entry").file_name().into_string().expect("a plain name");
                // The examples of JSON-RPC's own specification; the host's unit tests play them.
                let elsewhere = name == "jsonrpc-2.0.txt";
                assert!(elsewhere || listed.contains(&name), "{name} is not in tests/it/transcripts.rs");
            }
        }
    };
}

fn file(test: &str) -> String {
    format!("{}.txt", test.replace('_', "-"))
}

transcripts! {
    apps
    asking_2024_11_05
    asking_2025_03_26
    asking_2025_06_18
    asking_2025_11_25
    asking_2026_07_28
    asking_state
    batch_2024_11_05
    batch_2025_03_26
    batch_refused
    both_eras
    calls_2024_11_05
    calls_2025_03_26
    calls_2025_06_18
    calls_2025_11_25
    calls_2026_07_28
    completions
    custom
    discover
    envelope
    foreign
    ids
    lifecycle_2024_11_05
    lifecycle_2025_03_26
    lifecycle_2025_06_18
    lifecycle_2025_11_25
    list_changed
    listen_resources
    lists
    logging
    not_offered
    notes
    notifications
    openings
    params
    parse_errors
    plain
    progress
    prompts
    resources
    responses
    structured
    subscribe
    subscriptions
}

/// Plays one transcript, with the plugins that it names or else with `plugins`, each a name and
/// its file.
pub(super) fn play(path: &Path, plugins: &[(&str, PathBuf)]) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.strip_prefix(repository()).unwrap_or(path).display().to_string();
    let transcript = Transcript::parse(&name, &text);
    transcript.play(&mut Memory::serve(&home(&transcript, plugins)));
    // Another one each time: what plugins keep is not there yet.
    let home = home(&transcript, plugins);
    let mut wire = Recorded::new(Process::serve(&home));
    transcript.play(&mut wire);
    let status = wire.wire().wait();
    assert!(status.success(), "{name}: the host ended with {status}; its log:\n{}", wire.wire().log());
    if let Some(transcript) = transcript.over_http() {
        let home = self::home(&transcript, plugins);
        let (process, address) = http::serve(&home, &[]);
        transcript.play(&mut Recorded::new(Streamable::connect(address)));
        drop(process);
    }
}

fn home(transcript: &Transcript, plugins: &[(&str, PathBuf)]) -> Home {
    let home = Home::new();
    for plugin in &transcript.plugins {
        let (name, guest) = plugin.split_once('=').unwrap_or((plugin, plugin));
        home.put(guest, name);
    }
    for (plugin, file) in plugins.iter().filter(|_| transcript.plugins.is_empty()) {
        home.put_file(file, plugin);
    }
    for folder in &transcript.folders {
        fs::create_dir(home.path("config/wharf").join(folder)).expect("a folder");
    }
    if !transcript.settings.is_empty() {
        home.configure(&transcript.settings);
    }
    home
}
