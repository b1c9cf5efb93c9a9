//! When a collector wants the next request.
//!
//! Source: RFC 9110, sections 10.2.3 ("Retry-After") and 5.6.7 ("Date/Time Formats"); of the latter the preferred format,
//! which alone may be sent.

use std::time::{Duration, SystemTime};

use http::header::{HeaderMap, RETRY_AFTER};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// For how long it wants none; `None`: it does not say.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    Some(date(text)?.duration_since(now).unwrap_or_default())
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<SystemTime> {
    let parts: Vec<&str> = text.split(' ').collect();
    let [_, day, month, year, time, "GMT"] = *parts else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    humantime::parse_rfc3339(&format!("{year}-{month:02}-{day}T{time}Z")).ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};

    use super::retry_after;

    #[test]
    fn it_is_a_number_of_seconds_or_a_date() {
        // Sun, 06 Nov 1994 08:49:37 GMT.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let wait = |text: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_str(text).expect("a value"))]);
            retry_after(&headers, now).map(|wait| wait.as_secs())
        };
        for (text, expected) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:49:07 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:50:07 CET", None),
            ("Sun, 06 Non 1994 08:50:07 GMT", None),
            ("Sun, 66 Nov 1994 08:50:07 GMT", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(wait(text), expected, "{text:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
