//! Cursors of paged lists: opaque to clients, authenticated when they come back.
//! Stateless: a cursor is self-contained.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::error::{self, ErrorObject};

/// Which list a cursor continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ListKind {
    Tools = 1,
    Resources = 2,
    ResourceTemplates = 3,
    Prompts = 4,
    Skills = 5,
    /// What is in a folder of a skill.
    Directory = 6,
}

/// Where the next page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub kind: ListKind,
    /// A digest of the list that the offset counts in. If its items change or move, the cursor is
    /// invalid, so that no item is skipped or repeated; it stays valid for the same list of another
    /// process.
    pub list: u64,
    /// Items before the page.
    pub offset: u64,
}

const BODY: usize = 17;
/// Long enough against brute force, short enough for a log line.
const SEAL: usize = 15;

impl Cursor {
    /// 43 characters of base64url, authenticated with `key`.
    pub fn encode(self, key: &[u8; 32]) -> String {
        let mut bytes = [0; BODY + SEAL];
        bytes[0] = self.kind as u8;
        bytes[1..9].copy_from_slice(&self.list.to_le_bytes());
        bytes[9..BODY].copy_from_slice(&self.offset.to_le_bytes());
        let seal = blake3::keyed_hash(key, &bytes[..BODY]);
        bytes[BODY..].copy_from_slice(&seal.as_bytes()[..SEAL]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The offset in the list of that kind and digest; -32602 for everything that
    /// [`Cursor::encode`] did not make with this key for this list.
    pub fn decode(text: &str, key: &[u8; 32], kind: ListKind, list: u64) -> Result<u64, ErrorObject> {
        let mut bytes = [0; BODY + SEAL];
        // All cursors have one length: a longer text is not worth decoding.
        let decoded = (text.len() == 43).then(|| URL_SAFE_NO_PAD.decode_slice(text, &mut bytes));
        if !matches!(decoded, Some(Ok(length)) if length == bytes.len()) {
            return Err(error::invalid_cursor());
        }
        let mut offset = [0; 8];
        offset.copy_from_slice(&bytes[9..BODY]);
        let offset = u64::from_le_bytes(offset);
        if (Cursor { kind, list, offset }).encode(key) != text {
            return Err(error::invalid_cursor());
        }
        Ok(offset)
    }
}
