//! The time of day in lines for people.

use std::time::{SystemTime, UNIX_EPOCH};

/// In UTC, since a time zone is nothing that the standard library knows.
pub fn time_of_day(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{:02}:{:02}:{:02}Z", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_time_of_day_has_seconds_and_its_zone() {
        let time = UNIX_EPOCH + Duration::from_secs(20_000 * 86_400 + 7 * 3600 + 5 * 60 + 9);
        assert_eq!(super::time_of_day(time), "07:05:09Z");
    }
}
