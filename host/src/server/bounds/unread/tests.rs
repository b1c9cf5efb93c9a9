use std::sync::Arc;

use super::AllUnread;
use crate::byte_budget::SMALL;

const MIB: usize = 1 << 20;

fn caller(name: &str) -> Arc<str> {
    name.into()
}

#[test]
fn a_connection_has_its_limit() {
    let all = AllUnread::new(100 * MIB, 200 * MIB);
    let unread = all.of(&caller("a"), 4 * MIB);
    let _one = unread.try_take(2 * MIB).expect("there is room");
    assert!(unread.is_open());
    let _two = unread.try_take(2 * MIB).expect("there is room to the last byte");
    assert!(!unread.is_open() && unread.try_take(1).is_none());
    assert!(all.of(&caller("a"), 4 * MIB).is_open(), "another connection of the same caller");
}

#[test]
fn a_caller_with_megabytes_unread_is_limited_and_others_are_not() {
    let all = AllUnread::new(8 * MIB, 12 * MIB);
    let unread: Vec<_> = (0..4).map(|_| all.of(&caller("a"), 4 * MIB)).collect();
    let held: Vec<_> = unread.iter().filter_map(|unread| unread.try_take(4 * MIB)).collect();
    assert_eq!(held.len(), 2, "the limit of the caller");
    assert!(unread[3].is_open() && unread[3].try_take(SMALL).is_some(), "small messages are still sent");
    let other = all.of(&caller("b"), 4 * MIB);
    let more = other.try_take(4 * MIB).expect("there is room for others");
    assert!(all.of(&caller("c"), 4 * MIB).try_take(SMALL + 1).is_none(), "the limit of all");
    drop((held, more));
    assert!(all.of(&caller("c"), 4 * MIB).try_take(4 * MIB).is_some(), "released");
}

#[test]
fn small_messages_are_limited_for_each_caller() {
    let all = AllUnread::new(2 * MIB, 4 * MIB);
    let unread: Vec<_> = (0..9).map(|_| all.of(&caller("a"), MIB)).collect();
    let held: Vec<_> = unread.iter().map(|unread| unread.take(SMALL)).collect();
    assert!(unread.iter().all(|unread| !unread.is_open()), "nine times 64 KiB exceed half of 1 MiB");
    assert!(all.of(&caller("b"), MIB).is_open(), "another caller is not limited");
    drop(held);
    assert!(unread.iter().all(|unread| unread.is_open()));
}
