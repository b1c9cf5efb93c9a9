//! What other tracing systems pass along with a parent. It is not read, but by whom it is for.
//!
//! Source: W3C Trace Context, section 3.3 ("tracestate Header") and section 3.5 ("Mutating the traceparent Field").

use std::sync::Arc;

/// Members of a list, and bytes of a key and of a value.
const MAX_MEMBERS: usize = 32;
const MAX_PART: usize = 256;
/// Bytes that are passed on: what must be at least.
const MAX_LENGTH: usize = 512;
/// Members over this many bytes are left out first.
const LONG_MEMBER: usize = 128;
/// Bytes that are looked at.
const MAX_READ: usize = 8 << 10;

/// A valid `tracestate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceState(Arc<str>);

impl TraceState {
    /// `None` if it is not valid, or has no members. One that is too long is cut, whole members at a time.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_READ {
            return None;
        }
        let mut members = Vec::new();
        for member in text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty())
        {
            let (key, value) = member.split_once('=')?;
            let is_known = members.iter().any(|(known, _)| *known == key);
            if is_known || members.len() == MAX_MEMBERS || !is_key(key) || !is_value(value) {
                return None;
            }
            members.push((key, value));
        }
        let bytes = |(key, value): &(&str, &str)| key.len() + value.len() + 1;
        while members.iter().map(|member| bytes(member) + 1).sum::<usize>() > MAX_LENGTH + 1 {
            let long = members.iter().rposition(|member| bytes(member) > LONG_MEMBER);
            members.remove(long.unwrap_or(members.len() - 1));
        }
        let kept: Vec<String> = members.iter().map(|(key, value)| format!("{key}={value}")).collect();
        (!kept.is_empty()).then(|| Self(kept.join(",").into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_key(key: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let rest = |byte: u8| is_letter(byte) || b"_-*/@".contains(&byte);
    key.len() <= MAX_PART && key.bytes().next().is_some_and(is_letter) && key.bytes().all(rest)
}

/// Visible characters and blanks; the last one is none.
fn is_value(value: &str) -> bool {
    let is_visible = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    (1..=MAX_PART).contains(&value.len()) && value.bytes().all(is_visible) && !value.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, MAX_MEMBERS, TraceState};

    fn read(text: &str) -> Option<String> {
        TraceState::parse(text).map(|state| state.as_str().to_owned())
    }

    #[test]
    fn members_are_kept_in_their_order_without_blanks() {
        assert_eq!(read("rojo=00f067aa0ba902b7, congo=t61rcWkgMzE ,,\t1@a/b*_-=x y"), {
            Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE,1@a/b*_-=x y".to_owned())
        });
        let most = (0..MAX_MEMBERS).map(|at| format!("k{at}=v")).collect::<Vec<_>>().join(",");
        assert_eq!(read(&most), Some(most.clone()));
        for wrong in [
            "",
            " , ",
            "a",
            "a=",
            "=v",
            "A=v",
            "_a=v",
            "a=v,a=w",
            "a=v=w",
            "a=ä",
            "a=v\u{7f}",
            &format!("{most},more=v"),
            &format!("{}=v", "k".repeat(257)),
            &format!("k={}", "v".repeat(257)),
            &format!("a={}", ",".repeat(9000)),
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn one_that_is_too_long_loses_long_members_first_and_then_the_last() {
        let member = |name: &str, bytes: usize| format!("{name}={}", "v".repeat(bytes - name.len() - 1));
        let exact = [member("a", 255), member("b", 256)].join(",");
        assert_eq!((exact.len(), read(&exact)), (MAX_LENGTH, Some(exact.clone())));
        let more = [member("a", 100), member("long", 200), member("b", 128), member("c", 128)].join(",");
        assert_eq!(read(&more), Some([member("a", 100), member("b", 128), member("c", 128)].join(",")));
        let short: Vec<String> = (0..6).map(|at| member(&format!("k{at}"), 100)).collect();
        assert_eq!(read(&short.join(",")), Some(short[..5].join(",")));
    }
}
