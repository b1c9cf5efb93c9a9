//! Which requests' spans are collected.

use super::context::TraceParent;

/// Source: OpenTelemetry Trace SDK, "Built-in samplers".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// A request with a parent is sampled if that is.
    pub follows_parent: bool,
    /// The share of all others, from 0 to 1.
    pub ratio: f64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self { follows_parent: true, ratio: 1.0 }
    }
}

impl Sampler {
    pub(super) fn samples(&self, parent: Option<&TraceParent>, trace: &[u8; 16]) -> bool {
        match parent {
            Some(parent) if self.follows_parent => parent.is_sampled,
            _ => self.is_in_share(trace),
        }
    }

    /// The same for all that sample a trace by its id.
    fn is_in_share(&self, trace: &[u8; 16]) -> bool {
        let low: [u8; 8] = std::array::from_fn(|index| trace[index + 8]);
        // 63 bits, as other SDKs take.
        let number = u64::from_be_bytes(low) >> 1;
        (number as f64) < self.ratio * (1_u64 << 63) as f64
    }
}
