//! One line about the machine.

use std::fs;
use std::thread;

/// Processor, number of cores, memory, kernel, and the load at the start.
pub fn description() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let after = |text: &str, key: &str| {
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.split_once(':').map(|(_, value)| value.trim().to_owned()));
        value.unwrap_or_else(|| "unknown".to_owned())
    };
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let memory = read("/proc/meminfo")
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        .div_ceil(1 << 20);
    format!(
        "{}, {cores} cores, {memory} GiB, {} {}, load {} at the start",
        after(&cpuinfo, "model name"),
        std::env::consts::OS,
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").split_whitespace().next().unwrap_or("unknown"),
    )
}
