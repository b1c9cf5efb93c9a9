//! Arbitrary cursors.

use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::protocol::cursor::{Cursor, ListKind};

const KINDS: [ListKind; 4] = [ListKind::Tools, ListKind::Resources, ListKind::ResourceTemplates, ListKind::Prompts];

proptest! {
    #![proptest_config(Config { failure_persistence: None, cases: 4096, ..Config::default() })]

    #[test]
    fn an_issued_cursor_is_accepted(key: [u8; 32], kind in 0..4_usize, list: u64, offset: u64) {
        let text = Cursor { kind: KINDS[kind], list, offset }.encode(&key);
        prop_assert_eq!(Cursor::decode(&text, &key, KINDS[kind], list).ok(), Some(offset));
        prop_assert!(Cursor::decode(&text, &key, KINDS[(kind + 1) % 4], list).is_err());
        prop_assert!(Cursor::decode(&text, &key, KINDS[kind], list ^ 1).is_err());
        let mut other = key;
        other[31] ^= 1;
        prop_assert!(Cursor::decode(&text, &other, KINDS[kind], list).is_err());
    }

    /// A letter replaced, removed, inserted or swapped with the next.
    #[test]
    fn p34_a_mutation_is_refused(key: [u8; 32], offset: u64, kind in 0..4_u8, at in 0..43_usize, letter in "[ -~é]") {
        let text = Cursor { kind: ListKind::Tools, list: 7, offset }.encode(&key);
        let mut letters: Vec<char> = text.chars().collect();
        let letter = letter.chars().next().expect("one letter");
        match kind {
            0 => letters[at] = letter,
            1 => drop(letters.remove(at)),
            2 => letters.insert(at, letter),
            _ => letters.swap(at, (at + 1) % 43),
        }
        let mutated: String = letters.into_iter().collect();
        prop_assume!(mutated != text);
        prop_assert!(Cursor::decode(&mutated, &key, ListKind::Tools, 7).is_err(), "{}", mutated);
    }

    #[test]
    fn p34_a_forged_cursor_is_refused(key: [u8; 32], text in "[A-Za-z0-9_-]{43}|\\PC{0,60}") {
        prop_assert!(Cursor::decode(&text, &key, ListKind::Tools, 0).is_err(), "{}", text);
    }
}
