//! What is kept of a bearer token.

/// The hash of a token, which is in memory in its place. Two of them compare in constant time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash(blake3::Hash);

impl TokenHash {
    pub fn of(token: &[u8]) -> Self {
        Self(blake3::hash(token))
    }
}
