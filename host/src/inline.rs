//! Polling a future on the calling thread before spawning it.
//!
//! Handing a future to another thread costs more than most requests and calls take.

use std::task::{Context, Poll, Waker};

/// Polls once. A pending future is returned, to be spawned: the next poll registers a waker, so none
/// is needed here.
///
/// # Errors
/// The future, if it is pending.
pub(crate) fn poll_inline<F: Future + Unpin>(mut future: F) -> Result<F::Output, F> {
    match std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => Err(future),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[test]
    fn ready_futures_finish_and_pending_ones_are_returned() {
        assert_eq!(poll_inline(ready(1)).ok(), Some(1));
        assert!(poll_inline(pending::<()>()).is_err());
        // It can be polled again, and is ready then.
        let mut polls = 0;
        let second = std::future::poll_fn(|_| {
            polls += 1;
            if polls == 2 { Poll::Ready(polls) } else { Poll::Pending }
        });
        let Err(again) = poll_inline(second) else { panic!("it was pending") };
        assert_eq!(poll_inline(again).ok(), Some(2));
    }
}
