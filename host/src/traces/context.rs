//! The parent that a request names, and that it becomes for what it causes.
//!
//! Source: W3C Trace Context, section 3.2 ("traceparent Header").

use std::fmt;

use super::state::TraceState;

/// Bytes of a `traceparent` of version 00: version, trace, parent and flags, with `-` between them.
const LENGTH: usize = 55;
/// Maximum bytes: later versions may add members, which are not read.
const MAX_LENGTH: usize = 256;

/// A span of a trace. As text it is a `traceparent` of version 00.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub is_sampled: bool,
    /// What goes with it, on to all that it causes.
    pub state: Option<TraceState>,
}

impl TraceParent {
    /// `None` if it is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let (known, more) = text.split_at_checked(LENGTH)?;
        let mut parts = known.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // What follows in a later version begins with a `-`; version 255 is forbidden.
        let may_follow = version != "00" && more.starts_with('-') && text.len() <= MAX_LENGTH;
        if hex::<1>(version)? == [0xff] || !(more.is_empty() || may_follow) {
            return None;
        }
        let (trace, span, [flags]) = (hex(trace)?, hex(span)?, hex(flags)?);
        (trace != [0; 16] && span != [0; 8]).then_some(Self { trace, span, is_sampled: flags & 1 == 1, state: None })
    }

    /// The same with a `tracestate`, if that is valid.
    pub fn with_state(self, text: &str) -> Self {
        Self { state: TraceState::parse(text), ..self }
    }

    /// 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.trace))
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = (u128::from_be_bytes(self.trace), u64::from_be_bytes(self.span));
        write!(f, "00-{trace:032x}-{span:016x}-{:02x}", u8::from(self.is_sampled))
    }
}

/// So many bytes of hexadecimal digits in lower case.
fn hex<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * BYTES {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, TraceParent};

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    fn id(text: &str) -> Option<String> {
        TraceParent::parse(text).map(|parent| parent.trace_id())
    }

    fn of(version: &str, more: &str) -> String {
        format!("{version}-{TRACE}-{PARENT}-01{more}")
    }

    #[test]
    fn the_version_decides_what_may_follow() {
        let longest = "-".repeat(MAX_LENGTH - of("01", "").len());
        for (version, more) in
            [("00", ""), ("01", ""), ("01", "-"), ("cc", "-what the future will be"), ("fe", &longest)]
        {
            assert_eq!(id(&of(version, more)), Some(TRACE.to_owned()), "{version} {more:?}");
        }
        let too_long = format!("{longest}-");
        for (version, more) in [
            ("00", "-"),
            ("00", "-01"),
            ("01", "x"),
            ("01", "1"),
            ("ff", ""),
            ("fe", &too_long),
            ("0", ""),
            ("000", ""),
            ("0A", ""),
        ] {
            assert_eq!(id(&of(version, more)), None, "{version} {more:?}");
        }
    }

    #[test]
    fn each_part_has_its_length_and_digits_in_lower_case() {
        let (zero_trace, zero_parent) = ("0".repeat(32), "0".repeat(16));
        let (low_trace, low_parent) = (format!("{}1", "0".repeat(31)), format!("{}1", "0".repeat(15)));
        assert_eq!(id(&format!("00-{low_trace}-{low_parent}-00")), Some(low_trace.clone()));
        for wrong in [
            String::new(),
            format!("00-{zero_trace}-{PARENT}-01"),
            format!("00-{TRACE}-{zero_parent}-01"),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", PARENT.to_uppercase()),
            format!("00-{TRACE}-{PARENT}-0F"),
            format!("00-{TRACE}-{PARENT}-0"),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}0-{}-01", &PARENT[1..]),
            format!("00-{}-{PARENT}0-01", &TRACE[1..]),
            format!("00 {TRACE} {PARENT} 01"),
            format!(" 00-{TRACE}-{PARENT}-01"),
            format!("00-{TRACE}-{PARENT}-01 "),
            format!("00-{}ä-{PARENT}-01", &TRACE[2..]),
            format!("00-{TRACE}-{PARENT}-ä"),
            format!("01-{TRACE}-{PARENT}-0ä"),
        ] {
            assert_eq!(id(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn it_is_written_as_it_was_read() {
        for flags in ["00", "01"] {
            let text = format!("00-{TRACE}-{PARENT}-{flags}");
            let read = TraceParent::parse(&text).expect(&text);
            assert_eq!((read.to_string(), read.is_sampled), (text, flags == "01"));
        }
        // Other flags than the last are not passed on.
        let read = TraceParent::parse(&format!("00-{TRACE}-{PARENT}-03")).map(|read| read.to_string());
        assert_eq!(read, Some(of("00", "")));
    }
}
