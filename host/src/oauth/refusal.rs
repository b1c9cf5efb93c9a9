//! Why a token gives no identity.

use std::fmt;

/// Why a token is not accepted. The texts are printable ASCII without quotes and backslashes, as the parameter
/// `error_description` of a challenge must be (RFC 6750, section 3), and have no part of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The token is wrong: a new one may help.
    Invalid(String),
    /// It cannot be said now, since the issuer does not answer: the same token may be accepted later.
    Unavailable(String),
}

impl Refusal {
    pub(super) fn invalid(why: impl AsRef<str>) -> Self {
        Self::Invalid(plain(why.as_ref()))
    }

    pub(super) fn unavailable(why: impl AsRef<str>) -> Self {
        Self::Unavailable(plain(why.as_ref()))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Invalid(why) | Self::Unavailable(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for Refusal {}

/// Bytes of a reason: a parameter of a header.
const MOST: usize = 200;

fn plain(text: &str) -> String {
    let plain = |c: char| if matches!(c, ' '..='~') && c != '"' && c != '\\' { c } else { '?' };
    text.chars().map(plain).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_fit_into_a_quoted_string() {
        let Refusal::Invalid(text) = Refusal::invalid("a \"b\" \\ \r\n\u{e9}~") else { panic!() };
        assert_eq!(text, "a ?b? ? ???~");
        assert_eq!(Refusal::unavailable("x".repeat(MOST + 1)).to_string().len(), MOST);
    }
}
