//! What one call does with its instance.

use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use super::function::{BoundInstance, Function};
use crate::plugin::abi::CallContext;
use crate::plugin::imports::state::GuestState;
use crate::plugin::policy::redact::Redactable;

/// Host memory of a lifted value as a multiple of its size in a result: a byte of a
/// `list<u8>` becomes a value of tens of bytes.
pub(in crate::plugin) const LIFTED: u64 = 8;

/// What a call does with its instance.
pub(in crate::plugin) trait Invocation: Send + 'static {
    type Outcome: Redactable + Send + 'static;

    /// Host memory that a result takes, as a multiple of the allowed output.
    const LIFTED: u64 = 1;

    /// Calls one function.
    fn run(
        self,
        store: &mut Store<GuestState>,
        instance: &BoundInstance,
        context: CallContext,
    ) -> impl Future<Output = wasmtime::Result<Self::Outcome>> + Send;
}

/// A call of a function with static types.
pub(in crate::plugin) struct Typed<P, R, F> {
    pub(in crate::plugin) function: Function<P, (R,)>,
    /// Makes the parameters from the call's context.
    pub(in crate::plugin) params: F,
}

impl<P, R, F> Invocation for Typed<P, R, F>
where
    P: ComponentNamedList + Lower + Send + Sync + 'static,
    R: Redactable + Send + 'static,
    (R,): ComponentNamedList + Lift,
    F: FnOnce(CallContext) -> P + Send + 'static,
{
    type Outcome = R;

    async fn run(
        self,
        store: &mut Store<GuestState>,
        instance: &BoundInstance,
        context: CallContext,
    ) -> wasmtime::Result<R> {
        let function = instance.function(&mut *store, &self.function)?;
        let (outcome,) = function.call_async(&mut *store, (self.params)(context)).await?;
        Ok(outcome)
    }
}
