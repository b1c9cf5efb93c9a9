//! `[record]` of a server: how it begins to record, and what `wharf doctor` and `wharf status` say of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wharf_report::ShowPath as _;

use super::finding::Finding;
use crate::config::{Config, Live, Recording};
use crate::plugin::{RecordFolder, Recorder, recording_of};
use crate::report::Failure;

/// Entries of a folder that are looked at: a server keeps fewer.
const MAX_ENTRIES: usize = 100_000;

/// Records calls as the configuration says. A server that cannot do so does not start: who wrote it counts on it.
pub(super) fn open(config: &Config) -> Result<Recorder, Failure> {
    let recorder = Recorder::default();
    if let Some(Recording { folder, settings, retention }) = config.recording() {
        let opened = RecordFolder::open(folder.clone(), retention).map_err(|error| unusable(&folder, &error))?;
        tracing::info!(folder = %folder.shown(), sample = settings.sample, "recording calls");
        recorder.write_to(settings, opened);
        recorder.hide(&config.readable_secrets());
    }
    Ok(recorder)
}

fn unusable(folder: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("open the folder of recordings: {error}: {}", folder.shown()))
        .hint("name a folder that only this user can write to: record.folder".to_owned())
}

/// Takes out of recordings the secrets that the configuration has by now.
pub(super) async fn follow_secrets(config: Live, recorder: Recorder) {
    let mut changed = config.changed();
    while changed.changed().await.is_ok() {
        let (config, recorder) = (config.get(), recorder.clone());
        let hidden = tokio::task::spawn_blocking(move || recorder.hide(&config.readable_secrets())).await;
        if let Err(error) = hidden {
            tracing::error!("failed to take new secrets out of recordings: {error}");
        }
    }
}

/// Whether a server could record, for `wharf doctor`. `None`: it is not to.
pub(super) fn finding(config: &Config) -> Option<Finding> {
    let about = "recordings";
    let Recording { folder, settings, retention } = config.recording()?;
    Some(match RecordFolder::check(&folder).and_then(|()| Kept::in_folder(folder.clone())) {
        Ok(kept) => {
            let whose = settings
                .plugins
                .map_or_else(|| "all plugins".to_owned(), |names| names.into_iter().collect::<Vec<_>>().join(", "));
            let share = settings.sample * 100.0;
            let text = format!("{} of at most {}; {share}% of the calls of {whose}", kept.text(), retention.files);
            Finding::good(about, text)
        }
        Err(error) => Finding::bad(about, unusable(&folder, &error)),
    })
}

/// The recordings that servers left in a folder.
pub(super) struct Kept {
    folder: PathBuf,
    files: usize,
    bytes: u64,
}

impl Kept {
    /// Those that the configuration speaks of. `None`: it does not.
    ///
    /// # Errors
    /// If the folder cannot be read; one that is missing has none.
    pub(super) fn of(config: &Config) -> Result<Option<Self>, Failure> {
        let Some(Recording { folder, .. }) = config.recording() else { return Ok(None) };
        match Self::in_folder(folder.clone()) {
            Ok(kept) => Ok(Some(kept)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(Self { folder, files: 0, bytes: 0 })),
            Err(error) => Err(Failure::new(format!("read the folder of recordings: {error}: {}", folder.shown()))),
        }
    }

    fn in_folder(folder: PathBuf) -> io::Result<Self> {
        let (mut files, mut bytes) = (0, 0u64);
        for entry in fs::read_dir(&folder)?.take(MAX_ENTRIES) {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(|name| recording_of(name).is_some()) {
                files += 1;
                bytes = bytes.saturating_add(entry.metadata().map_or(0, |found| found.len()));
            }
        }
        Ok(Self { folder, files, bytes })
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let Self { folder, files, bytes } = self;
        let noun = if *files == 1 { "recording" } else { "recordings" };
        format!("{files} {noun} ({}) in {}", bytesize::ByteSize::b(*bytes), folder.shown())
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"folder": self.folder.to_string_lossy(), "files": self.files, "bytes": self.bytes})
    }
}
