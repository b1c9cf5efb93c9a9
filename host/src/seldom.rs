//! Log lines that a lasting failure would write for each call: one in ten seconds of each place.

use std::fmt;
use std::time::{Duration, Instant};

use crate::sync::{Mutex, lock};

/// From one line to the next.
const BETWEEN: Duration = Duration::from_secs(10);

/// Lines of one place.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    last: Option<Instant>,
    left_out: u64,
}

/// How many lines were left out since the last one; to be written after the text of the next one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut(u64);

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(f, " ({count} times more since the last such line)"),
        }
    }
}

impl Seldom {
    /// `None`: there was a line a moment ago, so this one is left out.
    pub(crate) fn due(&self) -> Option<LeftOut> {
        self.due_at(Instant::now())
    }

    fn due_at(&self, now: Instant) -> Option<LeftOut> {
        let mut said = lock(&self.0);
        if said.last.is_some_and(|last| now.saturating_duration_since(last) < BETWEEN) {
            said.left_out += 1;
            return None;
        }
        said.last = Some(now);
        Some(LeftOut(std::mem::take(&mut said.left_out)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_ten_seconds_says_how_many_were_left_out() {
        let (seldom, start) = (Seldom::default(), Instant::now());
        let said: Vec<Option<String>> = [0, 1, 9, 10, 11, 40]
            .map(|second| start + Duration::from_secs(second))
            .map(|now| seldom.due_at(now).map(|left_out| left_out.to_string()))
            .into();
        let of = |count: u64| Some(LeftOut(count).to_string());
        assert_eq!(said, [of(0), None, None, of(2), None, of(1)]);
        assert_eq!((of(0), of(2)), (Some(String::new()), Some(" (2 times more since the last such line)".into())));
    }
}
