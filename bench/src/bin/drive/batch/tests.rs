use std::path::PathBuf;

use super::{ADD, Batch, ECHO, Workload};
use crate::contender::{Contender, Kind};

const FIRST: u64 = 7;

fn batch(workload: Workload) -> Batch {
    let wharf = Contender { kind: Kind::Wharf, program: PathBuf::new() };
    Batch::new(workload, &wharf, FIRST, 3)
}

fn sum(id: u64, sum: u64) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"structuredContent\":{{\"sum\":{sum}}}}}}}\n")
}

#[test]
fn lines_returns_the_requested_calls() {
    let batch = batch(ECHO);
    let all = String::from_utf8_lossy(batch.lines(0..3)).into_owned();
    assert_eq!(all.lines().count(), 3);
    let second = String::from_utf8_lossy(batch.lines(1..2)).into_owned();
    assert_eq!(second.trim_end(), all.lines().nth(1).unwrap_or_default());
    assert!(second.contains("\"id\":8") && second.contains("number 8") && second.ends_with('\n'), "{second}");
    assert!(batch.lines(3..3).is_empty());
}

#[test]
fn answers_may_come_in_any_order() {
    let right = [sum(9, 10), sum(7, 8), sum(8, 9)].concat();
    assert!(batch(ADD).check(right.as_bytes()).is_ok());
}

#[test]
fn missing_repeated_wrong_and_unexpected_answers_fail() {
    let bad = [
        [sum(7, 8), sum(8, 9), String::new()],
        [sum(7, 8), sum(8, 9), sum(8, 9)],
        [sum(7, 8), sum(8, 9), sum(9, 11)],
        [sum(7, 8), sum(8, 9), sum(6, 7)],
        [sum(7, 8), sum(8, 9), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n".to_owned()],
    ];
    for answers in bad {
        assert!(batch(ADD).check(answers.concat().as_bytes()).is_err(), "{answers:?}");
    }
}
