//! Only a cursor that was sealed with this key for this list is accepted.

use wharf::protocol::cursor::{Cursor, ListKind};

use super::Target;

const KEY: [u8; 32] = [7; 32];
const LIST: u64 = 0x1234_5678_9abc_def0;
const SEALED: u64 = 64;

fn sealed(kind: ListKind, list: u64, offset: u64, key: &[u8; 32]) -> String {
    Cursor { kind, list, offset }.encode(key)
}

pub(super) fn target() -> Target {
    let ours = (0..SEALED).map(|offset| sealed(ListKind::Tools, LIST, offset, &KEY));
    let others = [
        sealed(ListKind::Prompts, LIST, 1, &KEY),
        sealed(ListKind::Tools, LIST + 1, 1, &KEY),
        sealed(ListKind::Tools, LIST, 1, &[8; 32]),
        String::new(),
    ];
    let seeds = ours.chain(others).map(String::into_bytes).collect();
    Target { name: "cursor", seeds, words: vec!["A", "_", "-", "=", "AQ", "/w"], run }
}

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(offset) = Cursor::decode(&text, &KEY, ListKind::Tools, LIST) {
        assert!(offset < SEALED, "{offset} was never sealed");
        assert_eq!(text, sealed(ListKind::Tools, LIST, offset, &KEY), "the encoding is not unique");
    }
}
