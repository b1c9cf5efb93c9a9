//! What one call does with its instance.

use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use super::abi::CallContext;
use super::function::{Function, Live};
use super::redact::Said;
use super::state::State;

/// What a call does with its instance.
pub(super) trait Invocation: Send + 'static {
    type Outcome: Said + Send + 'static;

    /// What a result takes in the host's memory, in times of the output that is allowed.
    const LIFTED: u64 = 1;

    /// Calls one function.
    fn run(
        self,
        store: &mut Store<State>,
        live: &Live,
        context: CallContext,
    ) -> impl Future<Output = wasmtime::Result<Self::Outcome>> + Send;
}

/// A call of a function whose types are known.
pub(super) struct Typed<P, R, F> {
    pub(super) function: Function<P, (R,)>,
    /// Makes the parameters.
    pub(super) params: F,
}

impl<P, R, F> Invocation for Typed<P, R, F>
where
    P: ComponentNamedList + Lower + Send + Sync + 'static,
    R: Said + Send + 'static,
    (R,): ComponentNamedList + Lift,
    F: FnOnce(CallContext) -> P + Send + 'static,
{
    type Outcome = R;

    async fn run(self, store: &mut Store<State>, live: &Live, context: CallContext) -> wasmtime::Result<R> {
        let function = live.function(&mut *store, &self.function)?;
        let (outcome,) = function.call_async(&mut *store, (self.params)(context)).await?;
        Ok(outcome)
    }
}
