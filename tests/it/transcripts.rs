//! Plays every transcript in memory, and to the real binary over stdio and HTTP.

use std::fs;

use crate::support::home::repository;
use crate::support::play::play;

/// One test per transcript, and one that checks that all are played.
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
                // The examples of the JSON-RPC specification, which the host's unit tests play.
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
    approval
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
    skills
    skills_old
    structured
    subscribe
    tasks
    subscriptions
}
