use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Followed, Lines, MAX_LINE, MAX_USERS, Total};

fn record(user: &str, event: &str, code: &str) -> String {
    format!(
        "{{\"event\":\"{event}\",\"principal\":\"{user}\",\"method\":\"tools/call\",\"dur_us\":2000,\"cpu_us\":500000,\
         \"memory_bytes\":65536,\"in_bytes\":10,\"out_bytes\":20,\"code\":\"{code}\"}}\n"
    )
}

/// The calls of each user.
fn calls(lines: &Lines) -> Vec<(&str, f64)> {
    lines.users.iter().map(|((name, _), counts)| (name.as_str(), counts.get(Total::Calls))).collect()
}

#[test]
fn records_of_calls_are_added_up_by_user() {
    let mut lines = Lines::new();
    let others = "no record\n{\"event\":\"load\",\"principal\":\"a\"}\n[]\n\n";
    let text = record("a", "call", "ok") + others + &record("b", "fault", "trap") + &record("a", "call", "forbidden");
    // A byte at a time, as a slow writer may write.
    text.as_bytes().iter().for_each(|byte| lines.feed(&[*byte]));
    assert_eq!(calls(&lines), [("a", 2.0), ("b", 1.0)]);
    let of = |name: &str| &lines.users[&(name.to_owned(), String::new())];
    let totals = |name: &str| [Total::Errors, Total::Faults, Total::Cpu, Total::Sent].map(|total| of(name).get(total));
    assert_eq!((totals("a"), totals("b")), ([1.0, 0.0, 1.0, 40.0], [1.0, 1.0, 0.5, 20.0]));
    assert_eq!((of("a").memory, of("b").durations.quantile(0.5)), (Some(65536.0), None));
    let median = of("a").durations.quantile(0.5).expect("one");
    assert!((0.0015..0.0025).contains(&median), "{median}");
}

#[test]
fn so_many_users_are_told_apart_and_the_others_are_one() {
    let mut lines = Lines::new();
    for number in 0..MAX_USERS + 10 {
        lines.feed(record(&format!("user{number:05}"), "call", "ok").as_bytes());
    }
    lines.feed(record("user00000", "call", "ok").as_bytes());
    let all = calls(&lines);
    assert_eq!((all.len(), all[0], all[1]), (MAX_USERS + 1, ("other", 10.0), ("user00000", 2.0)));
}

#[test]
fn a_line_longer_than_any_record_is_left_out_and_not_kept() {
    let mut lines = Lines::new();
    for _ in 0..3 {
        lines.feed(&vec![b'x'; MAX_LINE]);
    }
    assert!(lines.begun.len() <= MAX_LINE);
    lines.feed(b"\n");
    lines.feed(record("a", "call", "ok").as_bytes());
    assert_eq!(calls(&lines), [("a", 1.0)]);
}

struct Log {
    folder: TempDir,
    followed: Followed,
}

impl Log {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let followed = Followed::at(folder.path().join("log"), 3);
        Self { folder, followed }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, user: &str) {
        let file = OpenOptions::new().append(true).create(true).open(self.path("log"));
        file.and_then(|mut file| file.write_all(record(user, "call", "ok").as_bytes())).expect("written");
    }

    fn rotate(&self) {
        let _ = fs::rename(self.path("log.1"), self.path("log.2"));
        fs::rename(self.path("log"), self.path("log.1")).expect("rotated");
    }

    fn calls(&mut self) -> Vec<(&str, f64)> {
        self.followed.follow().expect("readable");
        calls(&self.followed.lines)
    }
}

#[test]
fn no_record_is_missed_or_counted_twice_when_the_log_is_rotated() {
    let mut log = Log::new();
    log.write("a");
    assert_eq!(log.calls(), [("a", 1.0)]);
    log.write("b");
    log.rotate();
    log.write("c");
    assert_eq!(log.calls(), [("a", 1.0), ("b", 1.0), ("c", 1.0)]);
    // Twice between two readings.
    log.write("d");
    log.rotate();
    log.write("e");
    log.rotate();
    log.write("f");
    assert_eq!(log.calls(), ["a", "b", "c", "d", "e", "f"].map(|name| (name, 1.0)));
    assert_eq!(log.calls().len(), 6);
}

#[test]
fn a_log_that_is_away_for_a_while_is_followed_again() {
    let mut log = Log::new();
    log.write("a");
    assert_eq!(log.calls().len(), 1);
    fs::remove_file(log.path("log")).expect("removed");
    assert_eq!(log.calls().len(), 1);
    // It keeps the first one open: a new one would be no other if it had its number.
    log.write("b");
    assert_eq!(log.calls(), [("a", 1.0), ("b", 1.0)]);
}
