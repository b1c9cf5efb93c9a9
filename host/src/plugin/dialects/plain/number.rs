//! Exact JSON numbers: `1e2` and `100.0` are the integer 100; nothing is rounded to an integer.

use super::shape::Width;

/// More digits than the largest integer type has.
const MAX_DIGITS: usize = 30;

/// A JSON number as an integer, if it is one and fits the width.
pub(super) fn integer(text: &str, width: Width) -> Option<i128> {
    let (min, max) = width.bounds();
    whole(text).filter(|number| (min..=max).contains(number))
}

fn whole(text: &str) -> Option<i128> {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return text.parse().ok();
    }
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let after = after.trim_end_matches('0');
    let digits = format!("{before}{after}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    // An exponent that does not fit is far outside of all integer types.
    let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
    let shift = exponent.checked_sub(after.len() as i64)?;
    let number: i128 = if shift < 0 {
        let cut = usize::try_from(shift.unsigned_abs()).ok()?;
        let kept = digits.len().checked_sub(cut)?;
        if !digits[kept..].bytes().all(|digit| digit == b'0') {
            return None;
        }
        digits[..kept].parse().ok()?
    } else {
        let zeros = usize::try_from(shift).ok().filter(|zeros| digits.len().saturating_add(*zeros) <= MAX_DIGITS)?;
        format!("{digits}{}", "0".repeat(zeros)).parse().ok()?
    };
    Some(if negative { -number } else { number })
}

/// The nearest number of 64 bits; `None` beyond the largest.
pub(super) fn f64(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The nearest number of 32 bits; `None` beyond the largest.
pub(super) fn f32(text: &str) -> Option<f32> {
    f64(text).filter(|number| number.abs() <= f64::from(f32::MAX))?;
    text.parse().ok()
}
