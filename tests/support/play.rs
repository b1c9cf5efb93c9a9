//! Plays transcripts over each transport.

use std::fs;
use std::path::{Path, PathBuf};

use super::home::{Home, repository};
use super::http;
use super::memory::Memory;
use super::process::Process;
use super::record::Recorded;
use super::streamable::Streamable;
use super::transcript::Transcript;

/// Plays a transcript in memory and to the binary, with the plugins that it names, or else with
/// `plugins`, each a name and its file.
pub fn play(path: &Path, plugins: &[(&str, PathBuf)]) {
    let transcript = read(path);
    transcript.play(&mut Memory::serve(&home(&transcript, plugins)));
    play_to_binary(path, plugins);
}

/// As [`play`], but not in memory.
pub fn play_to_binary(path: &Path, plugins: &[(&str, PathBuf)]) {
    let transcript = read(path);
    // A new home each time, with empty plugin storage.
    let home = home(&transcript, plugins);
    let mut wire = Recorded::new(Process::serve(&home));
    transcript.play(&mut wire);
    let status = wire.wire().wait();
    let name = path.display();
    assert!(status.success(), "{name}: the host ended with {status}; its log:\n{}", wire.wire().log());
    if let Some(transcript) = transcript.over_http() {
        let home = self::home(&transcript, plugins);
        let (process, address) = http::serve(&home, &[]);
        transcript.play(&mut Recorded::new(Streamable::connect(address)));
        drop(process);
    }
}

fn read(path: &Path) -> Transcript {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.strip_prefix(repository()).unwrap_or(path).display().to_string();
    Transcript::parse(&name, &text)
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
    for (path, text) in &transcript.files {
        let file = home.plugins().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    if !transcript.settings.is_empty() {
        home.configure(&transcript.settings);
    }
    home
}
