//! Ids of traces and spans: unique, and spread over their whole range, as samplers elsewhere expect. They are no secret.

use std::sync::atomic::{AtomicU64, Ordering};

/// The step of the counter: odd, so that no value comes twice.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Makes ids from a random start, so that those of several processes differ.
pub(super) struct Ids {
    seeds: [u64; 2],
    next: AtomicU64,
}

impl Ids {
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        Ok(Self { seeds: [getrandom::u64()?, getrandom::u64()?], next: AtomicU64::new(getrandom::u64()?) })
    }

    pub(super) fn trace(&self) -> [u8; 16] {
        let number = self.number();
        let halves = self.seeds.map(|seed| mixed(number ^ seed));
        (u128::from(halves[0]) << 64 | u128::from(halves[1])).max(1).to_be_bytes()
    }

    pub(super) fn span(&self) -> [u8; 8] {
        mixed(self.number()).max(1).to_be_bytes()
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(STEP, Ordering::Relaxed)
    }
}

/// The finalizer of SplitMix64: other numbers give others.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
