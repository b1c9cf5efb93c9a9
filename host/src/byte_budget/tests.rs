use std::sync::Arc;

use futures_util::FutureExt as _;

use super::{ByteBudget, Parts};

#[test]
fn every_level_has_its_limit_and_bytes_are_released() {
    let all = ByteBudget::new(100);
    let (one, other) = (all.part(60), all.part(60));
    let first = one.try_take(60).expect("enough free bytes");
    assert!(one.try_take(1).is_err_and(|full| full.is(&one)), "its own limit");
    assert!(other.try_take(41).is_err_and(|full| full.is(&all)), "the parent's limit");
    assert_eq!((one.taken(), other.taken(), all.taken()), (60, 0, 60), "a refused request takes nothing");
    let second = other.try_take(40).expect("exactly enough free bytes");
    drop(first);
    assert_eq!((one.taken(), other.taken(), all.taken()), (0, 40, 40));
    drop(second);
    assert_eq!((other.taken(), all.taken()), (0, 0));
    assert!(one.try_take(usize::MAX).is_err());
}

#[test]
fn bytes_beyond_the_limit_are_counted() {
    let all = ByteBudget::new(10);
    let one = all.part(10);
    let over = one.take(25);
    assert!(one.try_take(0).is_err() && !one.is_open());
    drop(over);
    assert!(one.is_open());
    assert_eq!(all.taken(), 0);
}

#[test]
fn it_is_open_while_half_is_free_at_every_level() {
    let all = ByteBudget::new(100);
    let (one, other) = (all.part(60), all.part(1000));
    let mut held = one.try_take(31).expect("enough free bytes");
    assert!(!one.is_open() && other.is_open() && all.is_open());
    held.shrink_to(30);
    assert_eq!(held.bytes(), 30);
    assert!(one.is_open(), "half is not more than half");
    let _much = other.try_take(21).expect("enough free bytes");
    assert!(!one.is_open() && !other.is_open() && !all.is_open());
}

#[tokio::test]
async fn a_waiter_is_woken_by_the_level_that_was_full() {
    let all = ByteBudget::new(100);
    let (one, other) = (all.part(100), all.part(100));
    let (mine, others) = (one.take(40), other.take(40));
    let mut waiting = Box::pin(one.open());
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(others);
    waiting.await;
    let _more = one.take(40);
    let mut waiting = Box::pin(one.open());
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(mine);
    waiting.await;
}

#[test]
fn a_name_has_one_part_while_it_is_in_use() {
    let parts = Parts::new(ByteBudget::new(100), 50);
    let name = |number: usize| Arc::<str>::from(number.to_string());
    let part = parts.of(&name(0));
    assert!(parts.of(&name(0)).is(&part));
    assert!(!parts.of(&name(1)).is(&part));
    for number in 2..10_000 {
        let _ = parts.of(&name(number));
    }
    assert!(parts.known() <= 256, "{}", parts.known());
    assert!(parts.of(&name(0)).is(&part), "it is in use");
}
