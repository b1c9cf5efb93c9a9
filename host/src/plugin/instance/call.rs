//! One call: a fresh store and instance, a function, an outcome.
//!
//! Everything that can be done once per load is in `PreparedComponent`; every way out of a call
//! drops its store. The content of the outcome is checked in `outcome`.

mod failure;
mod store;

use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, InstancePre, Lift, Lower};

use super::breaker::{Breaker, Pause};
use super::cause;
use super::eligibility::InlineEligibility;
use super::function::{BoundInstance, Function};
use super::invocation::{Invocation, Typed};
use super::metered::Metered;
use super::poll_limiter::PollLimiter;
use super::ready::{MAX_RECYCLED, Source};
use super::runtime::Runtime;
use super::ticker::Ticking;
use super::variants::Variants;
use crate::audit::{Event, Record};
use crate::budgets::Charge;
use crate::identity::Identity;
use crate::inline::poll_inline;
use crate::metrics::Cost;
use crate::plugin::abi::CallContext;
use crate::plugin::component::engine;
use crate::plugin::fault::{CallError, Fault, size};
use crate::plugin::id::{Digest, PluginId};
use crate::plugin::imports::granted::Granted;
use crate::plugin::imports::state::GuestState;
use crate::plugin::limits::cpu::CpuMeter;
use crate::plugin::limits::fair_semaphore::{FairPermit, FairSemaphore};
use crate::plugin::limits::{Limits, TaskLimits};
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::redact::Redactable;
use crate::plugin::provider::Call;
use crate::plugin::schema::forms::Forms;
use crate::traces::OpenSpan;
use failure::panicked;
use store::TICKS;

/// A linked component with its limits and grants, ready to be instantiated.
pub(in crate::plugin) struct PreparedComponent {
    pub(in crate::plugin) id: PluginId,
    pub(in crate::plugin) digest: Digest,
    pub(in crate::plugin) limits: Limits,
    /// `None`: its instances are in another process.
    pre: Option<InstancePre<GuestState>>,
    pub(in crate::plugin) runtime: Arc<Runtime>,
    pub(in crate::plugin) granted: Arc<Granted>,
    /// The same component for callers for whom extras hold.
    variants: Variants,
    /// The same component for calls that may become tasks.
    task: OnceLock<Arc<PreparedComponent>>,
    pub(in crate::plugin) forms: Arc<Forms>,
    /// Wraps every call from a client.
    pub(in crate::plugin) breaker: Arc<Breaker>,
    inline: InlineEligibility,
    limiter: Arc<PollLimiter>,
    concurrency: Arc<FairSemaphore>,
    /// As `concurrency`, for calls that may become tasks.
    task_concurrency: Arc<FairSemaphore>,
    /// Those of the pool that its calls take.
    slots: Arc<FairSemaphore>,
    /// How long a call waits for a permit.
    queue_wait: Duration,
    /// Whether it is for calls that may become tasks.
    of_task: bool,
}

impl PreparedComponent {
    pub(in crate::plugin) fn new(
        runtime: Arc<Runtime>,
        id: PluginId,
        digest: Digest,
        limits: Limits,
        grants: Grants,
        pre: Option<InstancePre<GuestState>>,
    ) -> Arc<Self> {
        let limits = Limits { memory: limits.memory.min(Limits::MAX_MEMORY), ..limits };
        let concurrency = limits.concurrency.clamp(1, engine::SLOTS_PER_PLUGIN);
        let tasks = limits.tasks.concurrency.clamp(1, TaskLimits::MAX_CONCURRENCY);
        let (plugin, audit) = (id.clone(), runtime.audit.clone());
        let breaker = Breaker::new(move |pause: &Pause| {
            let (seconds, caller) = (pause.length.as_secs(), pause.caller.as_deref().unwrap_or("all"));
            tracing::warn!(%plugin, seconds, caller, "quarantined after repeated failures");
            audit.record(&Record {
                plugin: Some(plugin.to_string()),
                content: Some(*digest.as_bytes()),
                principal: pause.caller.clone(),
                took: Some(pause.length),
                ..Record::new(Event::Quarantine)
            });
        });
        Arc::new(Self {
            variants: Variants::new(&grants.extras),
            granted: match &pre {
                Some(_) => Granted::new(id.clone(), grants, &runtime.resources),
                None => Granted::elsewhere(id.clone(), grants, &runtime.resources),
            },
            id,
            digest,
            forms: Arc::default(),
            breaker: Arc::new(breaker),
            pre,
            inline: InlineEligibility::default(),
            limiter: Arc::new(PollLimiter::new(runtime.threads_per_plugin())),
            concurrency: FairSemaphore::new(concurrency, limits.queue, runtime.shared),
            task_concurrency: FairSemaphore::new(tasks, limits.queue, runtime.shared),
            task: OnceLock::new(),
            slots: runtime.slots.clone(),
            queue_wait: Limits::QUEUE_WAIT,
            of_task: false,
            runtime,
            limits,
        })
    }

    /// The same component under other limits and grants.
    pub(in crate::plugin) fn with_settings(&self, limits: Limits, grants: Grants) -> Arc<Self> {
        Self::new(self.runtime.clone(), self.id.clone(), self.digest, limits, grants, self.pre.clone())
    }

    /// The same component with what a caller has: the grants and limits of the extras that hold for them. Calls of all
    /// of them share its permits.
    pub(in crate::plugin) fn of_caller(self: &Arc<Self>, caller: Option<&Identity>) -> &Arc<Self> {
        let extras = &self.granted.grants.extras;
        let holding = extras.holding(caller);
        self.variants
            .get_or_make(holding, || {
                let limits = self.limits.with_extras(extras, holding);
                Arc::new(self.variant(limits, self.granted.with_extras(holding)))
            })
            .unwrap_or(self)
    }

    /// The same component for calls that may become tasks: under limits of their own, and with permits of their own, so
    /// that none of the other calls waits for them.
    pub(in crate::plugin) fn as_task(&self) -> &Arc<Self> {
        self.task.get_or_init(|| {
            let TaskLimits { timeout, cpu, .. } = self.limits.tasks;
            Arc::new(Self {
                concurrency: self.task_concurrency.clone(),
                slots: self.runtime.task_slots.clone(),
                queue_wait: timeout,
                of_task: true,
                ..self.variant(Limits { timeout, cpu, ..self.limits.clone() }, self.granted.clone())
            })
        })
    }

    pub(in crate::plugin) fn out_of_time(&self) -> Fault {
        Fault::Timeout { limit: self.limits.timeout, of_task: self.of_task }
    }

    pub(in crate::plugin) fn out_of_cpu(&self) -> Fault {
        Fault::Cpu { limit: self.limits.cpu, of_task: self.of_task }
    }

    /// The same component, with the same permits.
    fn variant(&self, limits: Limits, granted: Arc<Granted>) -> Self {
        Self {
            id: self.id.clone(),
            digest: self.digest,
            limits,
            pre: self.pre.clone(),
            runtime: self.runtime.clone(),
            granted,
            variants: Variants::default(),
            task: OnceLock::new(),
            forms: self.forms.clone(),
            breaker: self.breaker.clone(),
            inline: InlineEligibility::default(),
            limiter: self.limiter.clone(),
            concurrency: self.concurrency.clone(),
            task_concurrency: self.task_concurrency.clone(),
            slots: self.slots.clone(),
            queue_wait: self.queue_wait,
            of_task: self.of_task,
        }
    }

    /// Calls one function in a fresh instance. `params` makes its parameters from the call's
    /// context. Dropping the future stops the guest.
    pub(in crate::plugin) async fn call_function<P, R>(
        self: &Arc<Self>,
        function: &Function<P, (R,)>,
        call: Call,
        params: impl FnOnce(CallContext) -> P + Send + 'static,
    ) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: Redactable + Send + 'static,
        (R,): ComponentNamedList + Lift,
    {
        self.invoke(Typed { function: function.clone(), params }, call).await
    }

    /// Runs an invocation in a fresh instance. Dropping the future stops the guest.
    pub(in crate::plugin) async fn invoke<I: Invocation>(
        self: &Arc<Self>,
        invocation: I,
        call: Call,
    ) -> Result<I::Outcome, Fault> {
        self.invoke_checked(invocation, call, ready(Ok(())), |outcome| ready(Ok(outcome)), |_| false).await
    }

    /// Runs an invocation between a check of its input and one of its output. Both are part of
    /// the call: they run on its threads, under its deadline and CPU limit.
    pub(in crate::plugin) async fn invoke_checked<I: Invocation, T, E, F>(
        self: &Arc<Self>,
        invocation: I,
        call: Call,
        before: impl Future<Output = Result<(), E>> + Send + 'static,
        after: impl FnOnce(I::Outcome) -> F + Send + 'static,
        is_small: fn(&T) -> bool,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let prepared = self.clone();
        let call = async move {
            let (permits, deadline) = prepared.admitted(&call).await?;
            let cpu = CpuMeter::new(prepared.limits.cpu);
            let (charge, cost) = (call.charge.clone(), call.cost.clone());
            let _timed = Timed { inline: &prepared.inline, cpu: cpu.clone(), charge, cost };
            let meter = cpu.clone();
            let future = Box::pin(async {
                before.await?;
                let outcome = prepared.instantiate_and_run(invocation, call, deadline, cpu.clone()).await?;
                let checked = after(outcome).await?;
                // Covers the checks; the guest's CPU time is checked while it runs.
                if cpu.check() { Err(prepared.out_of_cpu().into()) } else { Ok(checked) }
            });
            let metered = Metered { meter, waiter: prepared.limiter.waiter(), future };
            match timeout_at(deadline, metered).await {
                Ok(outcome) => outcome.map(|outcome| {
                    let permits = (!is_small(&outcome)).then_some(permits);
                    (outcome, permits)
                }),
                Err(_) => Err(prepared.out_of_time().into()),
            }
        };
        // The permits are released when the caller has the outcome and can count its bytes: no more
        // outcomes are ready at a time than there are permits. A small one is not counted, so the
        // next call need not wait for the caller's thread.
        let (outcome, _permits) = self.begin::<_, E>(Box::pin(call)).await?;
        Ok(outcome)
    }

    /// Runs a call in another process, with the permits that it would have here, until its deadline.
    pub(in crate::plugin) async fn elsewhere<R, F>(
        self: &Arc<Self>,
        call: Call,
        run: impl FnOnce(Call, Instant) -> F,
    ) -> Result<R, CallError>
    where
        F: Future<Output = Result<R, CallError>>,
    {
        let (_permits, deadline) = self.admitted(&call).await?;
        run(call, deadline).await
    }

    /// The permits of a call, and when it has to end.
    async fn admitted(&self, call: &Call) -> Result<([FairPermit; 2], Instant), Fault> {
        let own_deadline = Instant::now() + self.limits.timeout;
        let deadline = call.deadline.map_or(own_deadline, |deadline| deadline.min(own_deadline));
        let permits = self.acquire_permits(call, deadline).await?;
        if call.unread.as_ref().is_some_and(|unread| !unread.is_open()) {
            return Err(Fault::Busy);
        }
        Ok((permits, deadline))
    }

    /// Whether it is for calls that may become tasks.
    pub(in crate::plugin) fn is_of_task(&self) -> bool {
        self.of_task
    }

    /// Runs work for a call outside of it, on the guests' threads and within the plugin's limit of
    /// them.
    pub(in crate::plugin) async fn compute<T: Send + 'static, E: From<Fault> + Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        let prepared = self.clone();
        let work = AssertUnwindSafe(async move {
            let meter = CpuMeter::new(prepared.limits.cpu);
            let metered = Metered { meter, waiter: prepared.limiter.waiter(), future: Box::pin(work) };
            let ended = tokio::time::timeout(prepared.limits.timeout, metered).await;
            ended.unwrap_or_else(|_| Err(prepared.out_of_time().into()))
        });
        let work = work.catch_unwind();
        AbortOnDrop(self.runtime.guests().spawn(async move { work.await.unwrap_or_else(panicked) })).outcome().await
    }

    /// Runs a call on the guests' own threads, or, if the plugin is eligible, inline on this
    /// thread until it first waits or yields.
    async fn begin<R: Send + 'static, E: From<Fault> + Send + 'static>(
        &self,
        call: impl Future<Output = Result<R, E>> + Send + Unpin + 'static,
    ) -> Result<R, E> {
        let mut call = AssertUnwindSafe(call).catch_unwind();
        let guests = self.runtime.guests();
        if self.inline.is_eligible() {
            // Timers and I/O must belong to the runtime that the call moves to.
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
    pub(in crate::plugin) fn free_permits(&self) -> usize {
        self.concurrency.free()
    }

    #[cfg(test)]
    pub(in crate::plugin) fn waiting(&self) -> usize {
        self.concurrency.waiting()
    }

    /// Waits for a permit of the plugin and for a slot of the pool, so that instantiation never finds
    /// the pool full.
    async fn acquire_permits(&self, call: &Call, deadline: Instant) -> Result<[FairPermit; 2], Fault> {
        let (slots, caller) = (&self.slots, &call.caller);
        if let Some(permit) = self.concurrency.try_acquire(caller)
            && let Some(slot) = slots.try_acquire(caller)
        {
            return Ok([permit, slot]);
        }
        let queued = Instant::now();
        let _span = call.cost.as_ref().and_then(|cost| cost.span(None, "queue"));
        let until = deadline.min(queued + self.queue_wait);
        let both = async {
            let permit = self.concurrency.acquire(caller).await.ok_or(Fault::Busy)?;
            let slot = slots.acquire(caller).await.ok_or(Fault::Busy)?;
            self.breaker.still_admits(caller, Instant::now())?;
            Ok([permit, slot])
        };
        let acquired = timeout_at(until, both).await.unwrap_or(Err(Fault::Busy));
        if let Some(cost) = &call.cost {
            cost.add_queued(queued.elapsed());
        }
        acquired
    }

    async fn instantiate_and_run<I: Invocation>(
        self: &Arc<Self>,
        invocation: I,
        call: Call,
        deadline: Instant,
        cpu: Arc<CpuMeter>,
    ) -> Result<I::Outcome, Fault> {
        self.granted.open_folders().await;
        let granted = self.granted.of_caller(call.identity.as_ref()).await;
        let _ticking = self.runtime.ticker.run();
        // What an instance asks while it is made belongs to the recording of its call.
        let ready = if call.tape.is_none() { self.runtime.ready.take(self) } else { None };
        let (mut store, instance) = match ready {
            Some(ReadyInstance { mut store, instance }) => {
                store.data_mut().bind(cpu, call.events, call.cancelled);
                store.set_epoch_deadline(TICKS);
                (store, Some(instance))
            }
            None => (self.store(cpu, call.events, call.cancelled), None),
        };
        store.data_mut().set_caller(call.identity, granted);
        let cost = call.cost;
        let span = |name: &'static str| cost.as_ref().and_then(|cost| cost.span(None, name));
        store.data_mut().cost = cost.clone();
        let mut context = CallContext {
            id: call.id,
            client: call.client & self.granted.grants.features(),
            time_left_ms: (deadline - Instant::now()).as_millis() as u64,
            answers: call.answers,
            state: call.state,
            meta: call.meta,
        };
        if let Some(tape) = &call.tape {
            let state = store.data();
            context = tape.begin(context, (&state.granted.grants, &self.limits), &state.redaction);
        }
        store.data_mut().tape = call.tape;
        let instance = match instance {
            Some(instance) => instance,
            None => {
                let instantiating = span("instantiate");
                store.data_mut().within = instantiating.as_ref().map(OpenSpan::id);
                let pre = self.pre.as_ref().ok_or(Fault::Host)?;
                match BoundInstance::new(pre, &mut store).await {
                    Ok(instance) => instance,
                    Err(error) => return Err(self.fault(cause::of_instantiation(&error), &error, store.data())),
                }
            }
        };
        store.set_hostcall_fuel(self.lift_limit(I::LIFTED));
        let running = span("guest");
        store.data_mut().within = running.as_ref().map(OpenSpan::id);
        let ran = invocation.run(&mut store, &instance, context).await;
        drop(running);
        if let Some(cost) = &cost {
            cost.used_memory(store.data().quota.taken());
        }
        match ran {
            Ok(mut outcome) => {
                for redactor in store.data().redaction.each() {
                    outcome.redact(&redactor);
                }
                if store.data().quota.over_limit() {
                    let (plugin, limit) = (&self.id, size(self.limits.memory));
                    tracing::info!(
                        target: "wharf::plugin", %plugin,
                        "an allocation failed: it exceeds the call's memory limit of {limit} (`limits.memory`)"
                    );
                }
                if self.inline.is_eligible() && store.data().quota.taken() <= MAX_RECYCLED {
                    store.data_mut().close();
                    self.runtime.ready.recycle(self, store);
                }
                Ok(outcome)
            }
            Err(error) => Err(self.fault(cause::of_call(&error), &error, store.data())),
        }
    }

    /// Makes an instance before a call needs it, while the ticker runs. `None` if it could
    /// not be made, if the guest logged something, which belongs to a call, or if a granted folder
    /// is missing, which may be there at the call. Nor is there one of grants that are the caller's
    /// own: it may read them when it starts.
    pub(in crate::plugin) async fn prepare(&self) -> Option<ReadyInstance> {
        if self.granted.grants.are_personal() {
            return None;
        }
        self.granted.open_folders().await;
        if !self.granted.has_all_folders() {
            return None;
        }
        let mut store = self.store(CpuMeter::new(self.limits.cpu), None, CancellationToken::new());
        let instance = BoundInstance::new(self.pre.as_ref()?, &mut store).await.ok()?;
        (!store.data().has_logged()).then_some(ReadyInstance { store, instance })
    }
}

/// An instance that has not been called yet.
pub(in crate::plugin) struct ReadyInstance {
    store: Store<GuestState>,
    instance: BoundInstance,
}

impl Source for PreparedComponent {
    type Ready = ReadyInstance;
    type Used = Store<GuestState>;
    type Busy = Ticking;

    fn busy(self: &Arc<Self>) -> Ticking {
        self.runtime.ticker.run()
    }

    /// An instance that takes long to make is recorded like a long call.
    fn make(self: &Arc<Self>) -> Option<ReadyInstance> {
        let began = std::time::Instant::now();
        let made = AssertUnwindSafe(self.prepare()).catch_unwind().now_or_never();
        // A guest whose start computes long or waits would delay the thread that reads requests. A
        // single instruction cannot be interrupted, so success is timed too.
        let instance = made.and_then(Result::ok).flatten();
        self.inline.record(if instance.is_some() { began.elapsed() } else { Duration::MAX });
        instance
    }
}

/// Records the CPU time of a call when it ends or is dropped.
struct Timed<'a> {
    inline: &'a InlineEligibility,
    cpu: Arc<CpuMeter>,
    charge: Option<Arc<Charge>>,
    cost: Option<Arc<Cost>>,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let spent = self.cpu.spent();
        self.inline.record(spent);
        if let Some(charge) = &self.charge {
            charge.cpu(spent);
        }
        if let Some(cost) = &self.cost {
            cost.add_cpu(spent);
        }
    }
}

/// A task that is aborted when its handle is dropped.
struct AbortOnDrop<R, E>(JoinHandle<Result<R, E>>);

impl<R, E: From<Fault>> AbortOnDrop<R, E> {
    async fn outcome(mut self) -> Result<R, E> {
        // Not a panic, which is caught: the guests' runtime has shut down with the host.
        (&mut self.0).await.unwrap_or_else(|_| Err(Fault::Host.into()))
    }
}

impl<R, E> Drop for AbortOnDrop<R, E> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call that the host makes on its own behalf.
pub(in crate::plugin) fn internal(id: &str, limit: Duration) -> Call {
    Call { deadline: Some(Instant::now() + limit), ..Call::new(id) }
}
