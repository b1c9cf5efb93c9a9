//! The columns of the table.

use std::time::Duration;

use clap::ValueEnum;

use super::reading::{Counts, Total};

/// In their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Column {
    Name,
    Calls,
    P50,
    P95,
    Cpu,
    Errors,
    Faults,
    CpuPerCall,
    Upstream,
    Queue,
    In,
    Out,
    Memory,
}

impl Column {
    pub(super) const ALL: [Self; 13] = [
        Self::Name,
        Self::Calls,
        Self::P50,
        Self::P95,
        Self::Cpu,
        Self::Errors,
        Self::Faults,
        Self::CpuPerCall,
        Self::Upstream,
        Self::Queue,
        Self::In,
        Self::Out,
        Self::Memory,
    ];

    /// Its heading, and its name in JSON.
    pub(super) fn titles(self) -> (&'static str, &'static str) {
        match self {
            Self::Name => ("name", "name"),
            Self::Calls => ("calls/s", "callsPerSecond"),
            Self::P50 => ("p50", "p50Seconds"),
            Self::P95 => ("p95", "p95Seconds"),
            Self::Cpu => ("cpu%", "cpuPercent"),
            Self::Errors => ("errors/s", "errorsPerSecond"),
            Self::Faults => ("faults/s", "faultsPerSecond"),
            Self::CpuPerCall => ("cpu/call", "cpuSecondsPerCall"),
            Self::Upstream => ("upstream/call", "upstreamSecondsPerCall"),
            Self::Queue => ("queue/call", "queueSecondsPerCall"),
            Self::In => ("in kB/s", "receivedBytesPerSecond"),
            Self::Out => ("out kB/s", "sentBytesPerSecond"),
            Self::Memory => ("memory", "memoryPeakBytes"),
        }
    }

    /// The key that sorts by it.
    pub(super) fn key(self) -> char {
        match self {
            Self::Name => 'n',
            Self::Calls => 'c',
            Self::P50 => '5',
            Self::P95 => '9',
            Self::Cpu => 'u',
            Self::Errors => 'e',
            Self::Faults => 'f',
            Self::CpuPerCall => 'k',
            Self::Upstream => 'w',
            Self::Queue => 'd',
            Self::In => 'i',
            Self::Out => 'o',
            Self::Memory => 'm',
        }
    }

    /// The next column, or the one before it, around the ends.
    pub(super) fn beside(self, forward: bool) -> Self {
        let at = Self::ALL.iter().position(|column| *column == self).unwrap_or_default();
        let step = if forward { 1 } else { Self::ALL.len() - 1 };
        Self::ALL[(at + step) % Self::ALL.len()]
    }

    /// Its value, of what was counted in so many seconds. `None`: there is none, as of a name.
    pub(super) fn value(self, counts: &Counts, seconds: f64) -> Option<f64> {
        let calls = counts.get(Total::Calls);
        let per_second = |total: Total| (seconds > 0.0).then(|| counts.get(total) / seconds);
        let per_call = |total: Total| (calls > 0.0).then(|| counts.get(total) / calls);
        match self {
            Self::Name => None,
            Self::Calls => per_second(Total::Calls),
            Self::P50 => counts.durations.quantile(0.5),
            Self::P95 => counts.durations.quantile(0.95),
            Self::Cpu => per_second(Total::Cpu).map(|cores| cores * 100.0),
            Self::Errors => per_second(Total::Errors),
            Self::Faults => per_second(Total::Faults),
            Self::CpuPerCall => per_call(Total::Cpu),
            Self::Upstream => per_call(Total::Upstream),
            Self::Queue => per_call(Total::Queued),
            Self::In => per_second(Total::Received),
            Self::Out => per_second(Total::Sent),
            Self::Memory => counts.memory,
        }
    }

    pub(super) fn shown(self, value: Option<f64>) -> String {
        let Some(value) = value else { return "-".to_owned() };
        match self {
            Self::P50 | Self::P95 | Self::CpuPerCall | Self::Upstream | Self::Queue => time(value),
            Self::In | Self::Out => number(value / 1000.0),
            Self::Memory => bytes(value),
            _ => number(value),
        }
    }
}

/// With one decimal place where that says something.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value < 0.005 {
        // Not to be taken for none.
        "<0.01".to_owned()
    } else if value < 0.095 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

fn time(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0".to_owned();
    }
    Duration::try_from_secs_f64(seconds).map_or_else(
        |_| "-".to_owned(),
        |time| {
            // Finer than it is measured.
            let time = Duration::from_micros(u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX));
            format!("{time:.1?}")
        },
    )
}

pub(super) fn bytes(bytes: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let unit = units.into_iter().find(|(size, _)| bytes >= *size);
    unit.map_or_else(|| format!("{bytes:.0}B"), |(size, name)| format!("{:.1}{name}", bytes / size))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Column, bytes, number, time};
    use crate::cli::top::reading::{Counts, Total};

    #[test]
    fn values_are_rates_shares_and_costs_of_a_call() {
        let mut counts = Counts::default();
        for (total, amount) in [
            (Total::Calls, 40.0),
            (Total::Cpu, 2.0),
            (Total::Upstream, 8.0),
            (Total::Sent, 6000.0),
            (Total::Faults, 2.0),
        ] {
            counts.add(total, amount);
        }
        let value = |column: Column| column.value(&counts, 4.0);
        let columns = [Column::Calls, Column::Cpu, Column::CpuPerCall, Column::Upstream, Column::Out, Column::Faults];
        assert_eq!(columns.map(value), [10.0, 50.0, 0.05, 0.2, 1500.0, 0.5].map(Some));
        // There are none of what was not measured.
        let none = [Column::Name, Column::P50, Column::Memory].map(value);
        assert_eq!(none, [None; 3]);
        assert_eq!(Column::Cpu.value(&counts, 0.0), None);
        assert_eq!(Column::CpuPerCall.value(&Counts::default(), 1.0), None);
    }

    #[test]
    fn numbers_are_short_and_what_is_little_is_not_nothing() {
        assert_eq!(
            [0.0, 0.004, 0.05, 0.1, 9.96, 99.94, 123.4].map(number),
            ["0", "<0.01", "0.05", "0.1", "10.0", "99.9", "123"]
        );
        assert_eq!([0.0, 0.000_000_3, 0.000_25, 0.0123, 2.5].map(time), ["0", "1.0µs", "250.0µs", "12.3ms", "2.5s"]);
        assert_eq!([0.0, 999.0, 65536.0, 1.5e6, 2e9].map(bytes), ["0B", "999B", "65.5kB", "1.5MB", "2.0GB"]);
        assert_eq!(time(f64::INFINITY), "-");
    }

    #[test]
    fn each_column_has_a_key_of_its_own_and_the_arrows_reach_all() {
        let keys: BTreeSet<char> = Column::ALL.iter().map(|column| column.key()).chain("qpts".chars()).collect();
        assert_eq!(keys.len(), Column::ALL.len() + 4);
        let mut column = Column::Name;
        for next in Column::ALL.into_iter().cycle().skip(1).take(Column::ALL.len()) {
            assert_eq!((column.beside(true), next.beside(false)), (next, column));
            column = next;
        }
    }
}
