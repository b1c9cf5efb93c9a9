//! The memory of a server and its child processes, as the kernel counts it. Linux only.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// In MiB.
#[derive(Clone, Copy)]
pub struct Memory {
    /// RSS: resident pages, shared ones in full.
    pub resident: f64,
    /// PSS: resident pages, shared ones divided among the processes that share them.
    pub proportional: f64,
}

/// The memory once it no longer changes, or after three seconds.
pub fn settled(process: u32) -> Result<Memory> {
    const STEP: Duration = Duration::from_millis(100);
    const STEPS: usize = 30;
    let mut last = now(process)?;
    for _ in 0..STEPS {
        thread::sleep(STEP);
        let next = now(process)?;
        let stable = (next.resident - last.resident).abs() < last.resident / 200.0;
        last = next;
        if stable {
            break;
        }
    }
    Ok(last)
}

/// The current memory.
pub fn now(process: u32) -> Result<Memory> {
    let mut memory =
        Memory { resident: field(process, "status", "VmRSS:")?, proportional: field(process, "smaps_rollup", "Pss:")? };
    for child in children(process) {
        // A child may exit before it is read.
        if let Ok(its) = now(child) {
            memory.resident += its.resident;
            memory.proportional += its.proportional;
        }
    }
    Ok(memory)
}

/// A line `Name:  123 kB` of a file of `/proc`, in MiB.
fn field(process: u32, file: &str, name: &str) -> Result<f64> {
    let path = format!("/proc/{process}/{file}");
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<f64>().ok())
        .with_context(|| format!("find {name} in {path}"))?;
    Ok(kib / 1024.0)
}

fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}
