//! Which calls are recorded, and where their recordings go.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::called::Called;
use super::folder::RecordFolder;
use super::kept::Kept;
use super::recorded::{Input, Recorded, Spending};
use super::room::Room;
use super::{MAX_RECORDING, Tape, outcome};
use crate::metrics::Cost;
use crate::plugin::fault::CallError;
use crate::plugin::id::{Digest, PluginId};
use crate::plugin::policy::redact::Redactor;
use crate::plugin::policy::secret::Secret;
use crate::seldom::Seldom;
use crate::sync::lock;

/// Maximum bytes of what all calls at a time record, until it is written.
const MAX_ROOM: usize = 64 << 20;
/// Maximum calls that a command keeps.
const MAX_CALLS: usize = 64;

/// Records calls, if it is told to; copies are the same recorder.
#[derive(Clone, Default)]
pub struct Recorder(Arc<ArcSwapOption<Recording>>);

/// What is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSettings {
    /// Which part of the calls, from 0 to 1.
    pub sample: f64,
    /// `None`: of all plugins.
    pub plugins: Option<BTreeSet<String>>,
    /// Maximum bytes of one recording.
    pub max_size: usize,
}

struct Recording {
    settings: RecordSettings,
    sink: Sink,
    room: Room,
    /// What finds the secrets of all plugins: one may come from another plugin, in a text.
    hidden: ArcSwapOption<Redactor>,
    /// What is said of calls in other processes.
    elsewhere: Seldom,
}

enum Sink {
    /// For a command, which writes them itself.
    Memory(Mutex<Vec<Result<Recorded, &'static str>>>),
    Folder(RecordFolder),
}

/// A call that is being recorded.
pub(in crate::plugin) struct Taping {
    recording: Arc<Recording>,
    tape: Tape,
    input: Input,
    cost: Arc<Cost>,
}

impl Recorder {
    /// Keeps all calls until they are taken.
    pub fn in_memory() -> Self {
        let settings = RecordSettings { sample: 1.0, plugins: None, max_size: MAX_RECORDING };
        let recorder = Self::default();
        recorder.set(settings, Sink::Memory(Mutex::default()));
        recorder
    }

    /// Writes calls into a folder from now on.
    pub fn write_to(&self, settings: RecordSettings, folder: RecordFolder) {
        self.set(settings, Sink::Folder(folder));
    }

    /// Whether it is of a command that keeps all calls.
    pub(in crate::plugin) fn is_of_command(&self) -> bool {
        self.0.load().as_ref().is_some_and(|recording| matches!(recording.sink, Sink::Memory(_)))
    }

    /// Waits until what was recorded is written, or that time is over.
    pub fn finish(&self, most: Duration) {
        if let Some(Recording { sink: Sink::Folder(folder), .. }) = self.0.load().as_deref() {
            folder.finish(most);
        }
    }

    fn set(&self, settings: RecordSettings, sink: Sink) {
        let (room, hidden) = (Room::of(MAX_ROOM), ArcSwapOption::empty());
        self.0.store(Some(Arc::new(Recording { settings, sink, room, hidden, elsewhere: Seldom::default() })));
    }

    /// Takes these secrets out of what is recorded from now on, whichever plugin is called. Takes long for many.
    pub fn hide(&self, secrets: &[Secret]) {
        if let Some(recording) = self.0.load().as_deref() {
            recording.hidden.store(Redactor::of(secrets).map(Arc::new));
        }
    }

    /// The calls that were kept, and why others were not.
    pub fn take(&self) -> Vec<Result<Recorded, &'static str>> {
        match self.0.load().as_deref() {
            Some(Recording { sink: Sink::Memory(kept), .. }) => std::mem::take(&mut lock(kept)),
            _ => Vec::new(),
        }
    }

    /// A call of that plugin is not recorded, since what it asks is asked in another process: `always`, or by its settings.
    /// It is said if it was to be.
    pub(in crate::plugin) fn leave_out(&self, plugin: &PluginId, always: bool) {
        let recording = self.0.load();
        let Some(recording) = recording.as_ref().filter(|recording| recording.wants(plugin)) else { return };
        let Some(left_out) = recording.elsewhere.due() else { return };
        let why = match always {
            true => "it has async functions",
            false => "to record it, set `limits.isolation` to \"shared\"",
        };
        tracing::warn!(%plugin, "a call is not recorded: the plugin has a process of its own; {why}{left_out}");
    }

    /// A tape for a call of that plugin, if it is to be recorded.
    pub(in crate::plugin) fn begin(
        &self,
        (plugin, digest): (&PluginId, &Digest),
        as_task: bool,
        called: impl FnOnce() -> Called,
    ) -> Option<Taping> {
        let recording = self.0.load();
        let recording = recording.as_ref()?;
        if !recording.wants(plugin) {
            return None;
        }
        let (plugin, wharf) = (plugin.clone(), env!("CARGO_PKG_VERSION").to_owned());
        let input = Input { plugin, digest: *digest, wharf, called: called(), as_task };
        let tape = Tape::recording(recording.settings.max_size, Some(recording.room.clone()), input.size());
        Some(Taping { recording: recording.clone(), tape, input, cost: Arc::default() })
    }
}

impl Recording {
    fn wants(&self, plugin: &PluginId) -> bool {
        let RecordSettings { sample, plugins, max_size: _ } = &self.settings;
        plugins.as_ref().is_none_or(|plugins| plugins.contains(plugin.as_ref()))
            && (*sample >= 1.0 || getrandom::u32().is_ok_and(|drawn| f64::from(drawn) < sample * f64::from(u32::MAX)))
    }
}

fn keep(kept: &Mutex<Vec<Result<Recorded, &'static str>>>, call: Result<Recorded, &'static str>) {
    let mut kept = lock(kept);
    if kept.len() < MAX_CALLS {
        kept.push(call);
    }
}

impl Taping {
    pub(in crate::plugin) fn tape(&self) -> Tape {
        self.tape.clone()
    }

    /// Adds up what the call costs, if nothing else does.
    pub(in crate::plugin) fn cost(&mut self, cost: &mut Option<Arc<Cost>>) {
        self.cost = cost.get_or_insert_with(|| self.cost.clone()).clone();
    }

    /// The call has ended.
    pub(in crate::plugin) fn end<T: Kept>(self, ended: &Result<T, CallError>) {
        let Self { recording, tape, input, cost } = self;
        let outcome = outcome(&input.plugin, ended);
        let spent = cost.spent();
        let spending = Spending { cpu: spent.cpu, memory: spent.memory };
        let hidden = recording.hidden.load_full();
        match &recording.sink {
            Sink::Memory(kept) => keep(kept, tape.finish(&input, outcome, spending, hidden)),
            // Taking the secrets out takes long: not on this thread.
            Sink::Folder(folder) => folder.write(move || tape.finish(&input, outcome, spending, hidden)),
        }
    }
}
