//! Requests in flight: each has one answer, and a waiter for the last of them is woken.

use shuttle::future::block_on;
use tokio_util::sync::CancellationToken;

use crate::check;
use crate::jsonrpc::RequestId;
use crate::sync::{Arc, AtomicUsize, Ordering, thread};

#[path = "../../host/src/server/connection/in_flight.rs"]
mod in_flight;

use in_flight::InFlight;

fn id(number: u64) -> RequestId {
    RequestId::new_number(number)
}

/// Finishes and cancels requests on separate threads, and waits until nothing is in flight.
fn answered_or_cancelled(cancel: fn(&InFlight)) {
    let in_flight = Arc::new(InFlight::default());
    let tokens = [1, 2].map(|number| {
        let token = CancellationToken::new();
        assert!(in_flight.start(&id(number), token.clone()));
        assert!(!in_flight.start(&id(number), token.clone()));
        token
    });
    let answered = Arc::new(AtomicUsize::new(0));
    let finishing = [1, 2].map(|number| {
        let (in_flight, answered) = (in_flight.clone(), answered.clone());
        thread::spawn(move || {
            if in_flight.finish(&id(number)) {
                answered.fetch_add(number as usize, Ordering::SeqCst);
            }
        })
    });
    let of_other = in_flight.clone();
    let cancelling = thread::spawn(move || cancel(&of_other));
    block_on(in_flight.idle());
    for thread in finishing {
        thread.join().expect("no panic");
    }
    cancelling.join().expect("no panic");
    let answered = answered.load(Ordering::SeqCst);
    for (number, token) in [1, 2].into_iter().zip(tokens) {
        assert_ne!(answered & number != 0, token.is_cancelled(), "request {number}: not either answered or cancelled");
    }
}

#[test]
fn each_request_is_answered_or_cancelled_and_the_last_wakes_the_waiter() {
    check(2000, || answered_or_cancelled(|in_flight| in_flight.cancel(&id(1))));
}

#[test]
fn all_requests_are_cancelled_or_answered() {
    check(2000, || answered_or_cancelled(InFlight::cancel_all));
}
