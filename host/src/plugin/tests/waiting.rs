use std::task::{Context, Poll, Waker};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::*;
use crate::plugin::instance::poll_limiter::PollLimiter;
use crate::plugin::limits::fair_semaphore::{FairPermit, FairSemaphore};

fn name(caller: &str) -> Arc<str> {
    caller.into()
}

/// A call that waits for a permit.
struct Waiting(BoxFuture<'static, Option<FairPermit>>);

impl Waiting {
    fn of(semaphore: &Arc<FairSemaphore>, caller: &str) -> Self {
        let (semaphore, caller) = (semaphore.clone(), name(caller));
        Self(async move { semaphore.acquire(&caller).await }.boxed())
    }

    /// `None`: it is still waiting.
    fn ended(&mut self) -> Option<Option<FairPermit>> {
        match self.0.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ended) => Some(ended),
            Poll::Pending => None,
        }
    }

    fn served(&mut self) -> FairPermit {
        self.ended().expect("it still waits").expect("it was refused")
    }

    fn is_refused(&mut self) -> bool {
        matches!(self.ended(), Some(None))
    }

    fn waits(&mut self) -> bool {
        self.ended().is_none()
    }
}

#[test]
fn a_single_caller_gets_all_permits() {
    for permits in [1, 2, 4] {
        let unshared = FairSemaphore::new(permits, 8, false);
        let held: Vec<FairPermit> = (0..permits).map(|_| unshared.try_acquire(&name("a")).expect("one")).collect();
        assert!(unshared.try_acquire(&name("a")).is_none());
        drop(held);
        assert_eq!(unshared.free(), permits as usize);
        assert!(unshared.is_forgotten());
    }
}

#[test]
fn a_quarter_is_reserved_for_callers_without_a_permit() {
    for (permits, at_most) in [(1, 1), (2, 1), (3, 2), (4, 3), (16, 12), (160, 120)] {
        let shared = FairSemaphore::new(permits, 8, true);
        let held: Vec<FairPermit> = std::iter::from_fn(|| shared.try_acquire(&name("alice"))).collect();
        assert_eq!(held.len(), at_most, "of {permits}");
        let mut others = Vec::new();
        for other in 0..permits as usize - at_most {
            let other = name(&format!("other {other}"));
            others.push(shared.try_acquire(&other).expect("a permit"));
            assert_eq!(shared.try_acquire(&other).is_none(), shared.free() <= permits as usize - at_most);
        }
        assert_eq!(shared.free(), 0);
    }
}

#[test]
fn reserved_permits_are_not_granted_to_callers_that_hold_one() {
    let shared = FairSemaphore::new(2, 8, true);
    let one = shared.try_acquire(&name("alice")).expect("a permit");
    let mut more = Waiting::of(&shared, "alice");
    assert!(more.waits());
    let others = shared.try_acquire(&name("bob")).expect("a permit");
    drop(others);
    assert!(more.waits());
    drop(one);
    let _more = more.served();
}

#[test]
fn permits_are_granted_round_robin_and_in_order_for_each_caller() {
    let shared = FairSemaphore::new(1, 8, true);
    let mut permit = shared.try_acquire(&name("alice"));
    let mut waiting: Vec<(&str, Waiting)> = ["alice 1", "alice 2", "alice 3", "bob 1", "bob 2", "carol 1"]
        .map(|call| (call, Waiting::of(&shared, call.split(' ').next().expect("a name"))))
        .into();
    assert!(waiting.iter_mut().all(|(_, call)| call.waits()));
    let mut order = Vec::new();
    while permit.take().is_some() && !waiting.is_empty() {
        let at = waiting.iter_mut().position(|(_, call)| {
            permit = call.ended().flatten();
            permit.is_some()
        });
        order.push(waiting.remove(at.expect("a permit for one of them")).0);
    }
    assert_eq!(order, ["alice 1", "bob 1", "carol 1", "alice 2", "bob 2", "alice 3"]);
    drop(permit);
    assert_eq!((shared.free(), shared.waiting()), (1, 0));
    assert!(shared.is_forgotten());
}

#[test]
fn a_full_queue_evicts_the_last_call_of_the_caller_with_the_most() {
    let shared = FairSemaphore::new(1, 4, true);
    let permit = shared.try_acquire(&name("alice"));
    let mut alice: Vec<Waiting> = (0..5).map(|_| Waiting::of(&shared, "alice")).collect();
    assert!(alice[..4].iter_mut().all(Waiting::waits) && alice[4].is_refused());
    let mut bob: Vec<Waiting> = (0..3).map(|_| Waiting::of(&shared, "bob")).collect();
    assert!(bob[..2].iter_mut().all(Waiting::waits) && bob[2].is_refused());
    assert!(alice[..2].iter_mut().all(Waiting::waits) && alice[2].is_refused() && alice[3].is_refused());
    assert_eq!(shared.waiting(), 4);
    drop(permit);
    drop(alice[0].served());
    let _bob = bob[0].served();
}

#[test]
fn a_dropped_waiter_leaves_nothing_behind() {
    let shared = FairSemaphore::new(1, 4, true);
    let permit = shared.try_acquire(&name("alice"));
    let [mut one, mut two, mut three] = ["bob", "carol", "carol"].map(|caller| Waiting::of(&shared, caller));
    assert!(one.waits() && two.waits() && three.waits());
    drop(two);
    drop(permit);
    // It had a permit, and was not polled since.
    drop(one);
    drop(three.served());
    assert_eq!((shared.free(), shared.waiting()), (1, 0));
    assert!(shared.is_forgotten());
}

#[test]
fn without_a_queue_calls_are_refused() {
    let shared = FairSemaphore::new(1, 0, true);
    let _permit = shared.try_acquire(&name("alice"));
    assert!(Waiting::of(&shared, "bob").is_refused());
}

#[test]
fn poll_permits_are_granted_in_order_of_arrival() {
    let limiter = PollLimiter::new(1);
    let context = Context::from_waker(Waker::noop());
    let permit = limiter.waiter().acquire(&context).expect("a thread");
    let mut waiting: Vec<_> = (0..4).map(|_| limiter.waiter()).collect();
    assert!(waiting.iter_mut().all(|waiter| waiter.acquire(&context).is_none()));
    // The call that has just released its permit does not overtake them.
    drop(permit);
    assert!(limiter.waiter().acquire(&context).is_none());
    waiting.remove(2);
    for number in 0..3 {
        assert!(waiting[number + 1..].iter_mut().all(|waiter| waiter.acquire(&context).is_none()));
        assert!(waiting[number].acquire(&context).is_some());
    }
    // A call that is woken and then dropped.
    let permit = limiter.waiter().acquire(&context).expect("a thread");
    let mut waiting: Vec<_> = (0..2).map(|_| limiter.waiter()).collect();
    assert!(waiting.iter_mut().all(|waiter| waiter.acquire(&context).is_none()));
    drop(permit);
    waiting.remove(0);
    assert!(waiting[0].acquire(&context).is_some());
    assert!(limiter.is_forgotten());
}
