//! One component under the limits and grants of different callers, each made when it is first needed.

use std::sync::{Arc, OnceLock};

use super::call::PreparedComponent;
use crate::plugin::policy::extra::{Extras, Holding};

/// Those of one component, besides the one for callers for whom no extra holds.
#[derive(Default)]
pub(super) struct Variants(Box<[OnceLock<Arc<PreparedComponent>>]>);

impl Variants {
    pub(super) fn new(extras: &Extras) -> Self {
        Self((0..extras.combinations()).map(|_| OnceLock::new()).collect())
    }

    /// The one for such callers. `None`: no extra holds for them.
    pub(super) fn get_or_make(
        &self,
        holding: Holding,
        make: impl FnOnce() -> Arc<PreparedComponent>,
    ) -> Option<&Arc<PreparedComponent>> {
        let slot = self.0.get(holding.number().checked_sub(1)?)?;
        Some(slot.get_or_init(make))
    }
}
