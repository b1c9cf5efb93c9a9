//! Figures of the last hour, in steps of ten seconds; and of each plugin since the start.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::audit::Record;

/// Seconds of one step.
const STEP: u64 = 10;
/// Steps of an hour.
pub(super) const STEPS: usize = 360;
/// Plugins that have totals of their own; the others have one together.
pub(super) const MAX_PLUGINS: usize = 1000;
/// The name under which those are.
pub(super) const OTHER: &str = "other";

/// What happened in one step.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Its number since the start: the slot is of an older one, or of none, otherwise.
    step: u64,
    calls: u64,
    errors: u64,
    faults: u64,
    cpu_us: u64,
    took_us: u64,
}

/// Of one plugin, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    pub calls: u64,
    pub errors: u64,
    pub faults: u64,
    pub cpu_us: u64,
    pub took_us: u64,
    /// The most that a call had.
    pub memory_bytes: u64,
}

pub(super) struct Hour {
    slots: Box<[Slot; STEPS]>,
    plugins: BTreeMap<String, Totals>,
}

impl Default for Hour {
    fn default() -> Self {
        Self { slots: Box::new([Slot::default(); STEPS]), plugins: BTreeMap::new() }
    }
}

impl Hour {
    /// `now`: the time since the start.
    pub(super) fn count(&mut self, now: Duration, record: &Record, is_error: bool) {
        let step = now.as_secs() / STEP;
        let slot = &mut self.slots[(step % STEPS as u64) as usize];
        if slot.step != step {
            *slot = Slot { step, ..Slot::default() };
        }
        let (errors, faults) = (u64::from(is_error), u64::from(record.event == crate::audit::Event::Fault));
        let took_us = record.took.unwrap_or_default().as_micros() as u64;
        let (cpu_us, memory) =
            record.spent.as_ref().map_or((0, 0), |spent| (spent.cpu.as_micros() as u64, spent.memory));
        slot.calls += 1;
        slot.errors += errors;
        slot.faults += faults;
        slot.cpu_us += cpu_us;
        slot.took_us += took_us;
        // A request that named none has none.
        let Some(plugin) = &record.plugin else { return };
        let name = match self.plugins.len() < MAX_PLUGINS || self.plugins.contains_key(plugin) {
            true => plugin.as_str(),
            false => OTHER,
        };
        if !self.plugins.contains_key(name) {
            self.plugins.insert(name.to_owned(), Totals::default());
        }
        let Some(totals) = self.plugins.get_mut(name) else { return };
        totals.calls += 1;
        totals.errors += errors;
        totals.faults += faults;
        totals.cpu_us += cpu_us;
        totals.took_us += took_us;
        totals.memory_bytes = totals.memory_bytes.max(memory);
    }

    pub(super) fn totals(&self) -> Vec<(String, Totals)> {
        self.plugins.iter().map(|(name, totals)| (name.clone(), *totals)).collect()
    }

    /// The oldest step first. The newest one has not ended yet.
    pub(super) fn to_json(&self, now: Duration) -> Value {
        let newest = now.as_secs() / STEP;
        let oldest = newest.saturating_sub(STEPS as u64 - 1);
        let column = |value: fn(&Slot) -> u64| -> Vec<u64> {
            let slot = |step: u64| &self.slots[(step % STEPS as u64) as usize];
            (oldest..=newest).map(|step| if slot(step).step == step { value(slot(step)) } else { 0 }).collect()
        };
        json!({
            "step": STEP,
            // Of the newest step, how many seconds have passed.
            "passed": now.as_secs() % STEP + 1,
            "calls": column(|slot| slot.calls),
            "errors": column(|slot| slot.errors),
            "faults": column(|slot| slot.faults),
            "cpu_us": column(|slot| slot.cpu_us),
            "took_us": column(|slot| slot.took_us),
        })
    }
}
