//! A future whose polls are timed and limited in number.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::poll_limiter::Waiter;
use crate::plugin::limits::cpu::CpuMeter;

/// A future whose polls are timed and need a permit of the plugin's `PollLimiter`.
pub(in crate::plugin) struct Metered<'a, F> {
    pub(in crate::plugin) meter: Arc<CpuMeter>,
    pub(in crate::plugin) waiter: Waiter<'a>,
    pub(in crate::plugin) future: Pin<Box<F>>,
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(_permit) = self.waiter.acquire(cx) else { return Poll::Pending };
        let meter = self.meter.clone();
        meter.time(|| self.future.as_mut().poll(cx))
    }
}
