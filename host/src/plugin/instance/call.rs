//! One call: a fresh store and instance, a function, an outcome.
//!
//! Everything that can be done once per load is in `Program`; every way out of a call
//! drops its store. What the outcome says is checked in `outcome`.

use std::any::Any;
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use wasmtime::component::{ComponentNamedList, InstancePre, Lift, Lower};
use wasmtime::{Store, UpdateDeadline};

use super::breaker::{Breaker, Pause};
use super::cause;
use super::cause::Cause;
use super::eligibility::InlineEligibility;
use super::function::{BoundInstance, Function};
use super::invocation::{Invocation, Typed};
use super::metered::Metered;
use super::poll_limiter::PollLimiter;
use super::ready::{MAX_RECYCLED, Source};
use super::runtime::Runtime;
use super::ticker::Ticking;
use super::turns::{Turn, Turns};
use crate::audit::{Event, Record};
use crate::inline::poll_inline;
use crate::plugin::abi::CallContext;
use crate::plugin::component::engine;
use crate::plugin::events::Events;
use crate::plugin::fault::Fault;
use crate::plugin::id::{Digest, PluginId};
use crate::plugin::imports::granted::Granted;
use crate::plugin::imports::state::State;
use crate::plugin::limits::Limits;
use crate::plugin::limits::cpu::CpuMeter;
use crate::plugin::limits::quota::Quota;
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::redact::Said;
use crate::plugin::provider::Call;
use crate::plugin::schema::forms::Forms;
use crate::plugin::text;

/// Handles of component resources that a store may hold.
const COMPONENT_HANDLES: usize = 4096;
/// After which a guest yields first: one tick may come at once, so the second one counts.
const TICKS: u64 = 2;
/// What lifting a result costs beside its bytes.
const LIFT_SLACK: u64 = 64 << 10;

/// A component ready to be instantiated, and the limits under which that happens.
pub(in crate::plugin) struct Program {
    pub(in crate::plugin) id: PluginId,
    pub(in crate::plugin) digest: Digest,
    pub(in crate::plugin) limits: Limits,
    pre: InstancePre<State>,
    pub(in crate::plugin) runtime: Arc<Runtime>,
    pub(in crate::plugin) granted: Arc<Granted>,
    pub(in crate::plugin) forms: Forms,
    /// Around every call that a client makes.
    pub(in crate::plugin) breaker: Breaker,
    inline: InlineEligibility,
    limiter: PollLimiter,
    turns: Arc<Turns>,
}

impl Program {
    pub(in crate::plugin) fn new(
        runtime: Arc<Runtime>,
        id: PluginId,
        digest: Digest,
        limits: Limits,
        grants: Grants,
        pre: InstancePre<State>,
    ) -> Arc<Self> {
        let limits = Limits { memory: limits.memory.min(Limits::MEMORY_CEILING), ..limits };
        let turns = limits.concurrency.clamp(1, engine::SLOTS_OF_ONE);
        let (plugin, audit) = (id.clone(), runtime.audit.clone());
        let breaker = Breaker::new(move |pause: &Pause| {
            let (seconds, caller) = (pause.length.as_secs(), pause.caller.as_deref().unwrap_or("all"));
            tracing::warn!(%plugin, seconds, caller, "quarantined: its calls fail again and again");
            audit.record(&Record {
                plugin: Some(plugin.to_string()),
                content: Some(*digest.as_bytes()),
                principal: pause.caller.clone(),
                took: Some(pause.length),
                ..Record::new(Event::Quarantine)
            });
        });
        Arc::new(Self {
            granted: Granted::new(id.clone(), grants, &runtime.resources),
            id,
            digest,
            forms: Forms::default(),
            breaker,
            pre,
            inline: InlineEligibility::default(),
            limiter: PollLimiter::new(runtime.threads_of_one()),
            turns: Turns::new(turns, limits.queue, runtime.shared),
            runtime,
            limits,
        })
    }

    /// The same component under other limits and grants.
    pub(in crate::plugin) fn with_settings(&self, limits: Limits, grants: Grants) -> Arc<Self> {
        Self::new(self.runtime.clone(), self.id.clone(), self.digest, limits, grants, self.pre.clone())
    }

    /// Calls one function in a fresh instance. `params` makes its parameters from the time
    /// that is left. Dropping the future stops the guest.
    pub(in crate::plugin) async fn invoke<P, R>(
        self: &Arc<Self>,
        function: &Function<P, (R,)>,
        call: Call,
        params: impl FnOnce(CallContext) -> P + Send + 'static,
    ) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: Said + Send + 'static,
        (R,): ComponentNamedList + Lift,
    {
        self.perform(Typed { function: function.clone(), params }, call).await
    }

    /// Makes any call in a fresh instance. Dropping the future stops the guest.
    pub(in crate::plugin) async fn perform<I: Invocation>(
        self: &Arc<Self>,
        invocation: I,
        call: Call,
    ) -> Result<I::Outcome, Fault> {
        self.perform_checked(invocation, call, ready(Ok(())), |outcome| ready(Ok(outcome)), |_| false).await
    }

    /// Makes a call between a check of what goes in and one of what comes out. Both are part of
    /// the call: they run where it runs, under its deadline and computing time.
    pub(in crate::plugin) async fn perform_checked<I: Invocation, T, E, F>(
        self: &Arc<Self>,
        invocation: I,
        call: Call,
        before: impl Future<Output = Result<(), E>> + Send + 'static,
        after: impl FnOnce(I::Outcome) -> F + Send + 'static,
        is_light: fn(&T) -> bool,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let program = self.clone();
        let call = async move {
            let limit = program.limits.timeout;
            let own = Instant::now() + limit;
            let deadline = call.deadline.map_or(own, |deadline| deadline.min(own));
            let turn = program.turn(&call.caller, deadline).await?;
            if call.unread.as_ref().is_some_and(|unread| !unread.is_open()) {
                return Err(Fault::Busy.into());
            }
            let cpu = CpuMeter::new(program.limits.cpu);
            let _timed = Timed { inline: &program.inline, cpu: cpu.clone() };
            let meter = cpu.clone();
            let future = Box::pin(async {
                before.await?;
                let outcome = program.run(invocation, call, deadline, cpu.clone()).await?;
                let checked = after(outcome).await?;
                // The guest's own time is looked at while it runs.
                if cpu.check() { Err(Fault::Cpu { limit: program.limits.cpu }.into()) } else { Ok(checked) }
            });
            let metered = Metered { meter, waiter: program.limiter.waiter(), future };
            match timeout_at(deadline, metered).await {
                Ok(outcome) => outcome.map(|outcome| {
                    let turn = (!is_light(&outcome)).then_some(turn);
                    (outcome, turn)
                }),
                Err(_) => Err(Fault::Timeout { limit }.into()),
            }
        };
        // The turn is over when the caller has the outcome and can count its bytes: no more of
        // them are ready at a time than there are turns. A light one needs no counting, and the
        // next call need not wait for the caller's thread.
        let (outcome, _turn) = self.begin::<_, E>(Box::pin(call)).await?;
        Ok(outcome)
    }

    /// Does work for a call beside it, on the guests' threads and as part of what the plugin may
    /// take of them.
    pub(in crate::plugin) async fn compute<T: Send + 'static, E: From<Fault> + Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let program = self.clone();
        let work = AssertUnwindSafe(async move {
            let meter = CpuMeter::new(program.limits.cpu);
            let metered = Metered { meter, waiter: program.limiter.waiter(), future: Box::pin(work) };
            let limit = program.limits.timeout;
            tokio::time::timeout(limit, metered).await.unwrap_or_else(|_| Err(Fault::Timeout { limit }.into()))
        });
        let work = work.catch_unwind();
        AbortOnDrop(self.runtime.guests().spawn(async move { work.await.unwrap_or_else(panicked) })).outcome().await
    }

    /// Runs a call on the guests' own threads, or, where the plugin has earned that, on this
    /// one until it first waits or yields.
    async fn begin<R: Send + 'static, E: From<Fault> + Send + 'static>(
        &self,
        call: impl Future<Output = Result<R, E>> + Send + Unpin + 'static,
    ) -> Result<R, E> {
        let mut call = AssertUnwindSafe(call).catch_unwind();
        let guests = self.runtime.guests();
        if self.inline.is_eligible() {
            // What it waits for must be of the threads that it goes over to.
            let _entered = guests.enter();
            call = match poll_inline(call) {
                Ok(ended) => return ended.unwrap_or_else(panicked),
                Err(pending) => pending,
            };
        }
        AbortOnDrop(guests.spawn(async move { call.await.unwrap_or_else(panicked) })).outcome().await
    }

    #[cfg(test)]
    pub(in crate::plugin) fn make_eligible(&self) {
        self.inline.grant();
    }

    #[cfg(test)]
    pub(in crate::plugin) fn free_turns(&self) -> usize {
        self.turns.free()
    }

    #[cfg(test)]
    pub(in crate::plugin) fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    /// Waits for the caller's turn and for a slot of the pool, so that instantiation never finds
    /// the pool full.
    async fn turn(&self, caller: &Arc<str>, deadline: Instant) -> Result<[Turn; 2], Fault> {
        let slots = &self.runtime.slots;
        if let Some(turn) = self.turns.try_take(caller)
            && let Some(slot) = slots.try_take(caller)
        {
            return Ok([turn, slot]);
        }
        let until = deadline.min(Instant::now() + Limits::QUEUE_WAIT);
        let both = async {
            let turn = self.turns.take(caller).await.ok_or(Fault::Busy)?;
            let slot = slots.take(caller).await.ok_or(Fault::Busy)?;
            self.breaker.still_admits(caller, Instant::now())?;
            Ok([turn, slot])
        };
        timeout_at(until, both).await.unwrap_or(Err(Fault::Busy))
    }

    async fn run<I: Invocation>(
        self: &Arc<Self>,
        invocation: I,
        call: Call,
        deadline: Instant,
        cpu: Arc<CpuMeter>,
    ) -> Result<I::Outcome, Fault> {
        self.granted.open_folders().await;
        let _ticking = self.runtime.ticker.run();
        let (mut store, instance) = match self.runtime.ready.take(self) {
            Some(ReadyInstance { mut store, instance }) => {
                store.data_mut().take_up(cpu, call.events, call.cancelled);
                store.set_epoch_deadline(TICKS);
                (store, Some(instance))
            }
            None => (self.store(cpu, call.events, call.cancelled), None),
        };
        let context = CallContext {
            id: call.id,
            client: call.client & self.granted.grants.features(),
            time_left_ms: (deadline - Instant::now()).as_millis() as u64,
            answers: call.answers,
            state: call.state,
            meta: call.meta,
        };
        let instance = match instance {
            Some(instance) => instance,
            None => match BoundInstance::new(&self.pre, &mut store).await {
                Ok(instance) => instance,
                Err(error) => return Err(self.fault(cause::of_making(&error), &error, store.data())),
            },
        };
        store.set_hostcall_fuel(self.lifted(I::LIFTED));
        match invocation.run(&mut store, &instance, context).await {
            Ok(mut outcome) => {
                if let Some(redactor) = &self.granted.redactor {
                    outcome.redact(redactor);
                }
                if self.inline.is_eligible() && store.data().quota.taken() <= MAX_RECYCLED {
                    store.data_mut().close();
                    self.runtime.ready.recycle(self, store);
                }
                Ok(outcome)
            }
            Err(error) => Err(self.fault(cause::of_calling(&error), &error, store.data())),
        }
    }

    /// An instance that no call waits for, made while the ticker runs. There is none if it could
    /// not be made, or if the guest said something meanwhile that its caller should hear.
    pub(in crate::plugin) async fn prepare(&self) -> Option<ReadyInstance> {
        self.granted.open_folders().await;
        let mut store = self.store(CpuMeter::new(self.limits.cpu), None, CancellationToken::new());
        let instance = BoundInstance::new(&self.pre, &mut store).await.ok()?;
        (!store.data().has_spoken()).then_some(ReadyInstance { store, instance })
    }

    /// Bytes that may be lifted, for a result that takes so many times the output that is allowed.
    fn lifted(&self, times: u64) -> usize {
        let bytes = self.limits.output.saturating_mul(times).saturating_add(LIFT_SLACK);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn store(&self, cpu: Arc<CpuMeter>, events: Option<Arc<Events>>, cancelled: CancellationToken) -> Store<State> {
        let quota = Quota::new(self.runtime.memory.clone(), self.limits.memory);
        let granted = self.granted.clone();
        let state = State::new(self.id.clone(), quota, cpu, self.limits.log, events, cancelled, granted);
        let mut store = Store::new(&self.runtime.engine, state);
        store.limiter(|state| &mut state.quota);
        store.set_hostcall_fuel(self.lifted(1));
        store.set_max_component_handles(COMPONENT_HANDLES);
        store.set_epoch_deadline(TICKS);
        // Touches nothing of the store but its data (RUSTSEC-2026-0223). Not plain `Yield`:
        // that puts the task in front of its worker's queue, where it starves the others.
        store.epoch_deadline_callback(|store| {
            if store.data().cpu.check() {
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
        });
        store
    }

    /// What to tell of an error; its text goes to the log alone.
    fn fault(&self, cause: Cause, error: &wasmtime::Error, state: &State) -> Fault {
        let plugin = &self.id;
        let text = text::quote(&format!("{error:#}"), 2048);
        tracing::info!(target: "wharf::plugin", %plugin, "call stopped: {text}");
        if state.cpu.exceeded() {
            return Fault::Cpu { limit: self.limits.cpu };
        }
        match cause {
            Cause::TooMuch => Fault::OutputTooLarge { limit: self.limits.output },
            Cause::NoRoom => Fault::Busy,
            _ if state.quota.refused() => Fault::Memory { limit: self.limits.memory },
            Cause::Guest => Fault::Trap,
            Cause::Abi => Fault::BadOutput("a value that breaks the component ABI".into()),
            Cause::Host => {
                tracing::error!(target: "wharf::plugin", %plugin, "the host failed to make an instance: {text}");
                Fault::Host
            }
        }
    }
}

/// An instance that nobody has called yet.
pub(in crate::plugin) struct ReadyInstance {
    store: Store<State>,
    instance: BoundInstance,
}

impl Source for Program {
    type Ready = ReadyInstance;
    type Used = Store<State>;
    type Busy = Ticking;

    fn busy(self: &Arc<Self>) -> Ticking {
        self.runtime.ticker.run()
    }

    /// One that takes long to make is the last for a while.
    fn make(self: &Arc<Self>) -> Option<ReadyInstance> {
        let began = std::time::Instant::now();
        let made = AssertUnwindSafe(self.prepare()).catch_unwind().now_or_never();
        // A guest that does much when it starts, or waits, holds up whoever brings the calls. What
        // one instruction does cannot be interrupted, so also what was made is timed.
        let spare = made.and_then(Result::ok).flatten();
        self.inline.record(if spare.is_some() { began.elapsed() } else { Duration::MAX });
        spare
    }
}

/// Counts a call as short or not when it ends, also if it is dropped.
struct Timed<'a> {
    inline: &'a InlineEligibility,
    cpu: Arc<CpuMeter>,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        self.inline.record(self.cpu.spent());
    }
}

/// A panic in a host function: contained to the call, but ours to mend.
fn panicked<R, E: From<Fault>>(_: Box<dyn Any + Send>) -> Result<R, E> {
    tracing::error!(target: "wharf::plugin", "host panic during call");
    Err(Fault::Host.into())
}

/// A task that ends with whoever waits for it.
struct AbortOnDrop<R, E>(JoinHandle<Result<R, E>>);

impl<R, E: From<Fault>> AbortOnDrop<R, E> {
    async fn outcome(mut self) -> Result<R, E> {
        // Not a panic: the guests' threads are gone, and so is the host.
        (&mut self.0).await.unwrap_or_else(|_| Err(Fault::Host.into()))
    }
}

impl<R, E> Drop for AbortOnDrop<R, E> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call that the host makes for itself.
pub(in crate::plugin) fn internal(id: &str, limit: Duration) -> Call {
    Call { deadline: Some(Instant::now() + limit), ..Call::new(id) }
}
