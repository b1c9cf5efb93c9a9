//! The data of a store: quota, log budget, WASI contexts.
//!
//! Built for every call, so it is cheap: the WASI context is made when the guest first uses WASI.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use super::filesystem::OpenHandles;
use super::granted::Granted;
use super::guest_log::{GuestOutput, LogBudget, STDERR};
use super::outbound::WasiHttp;
use super::program::Program;
use crate::identity::Identity;
use crate::metrics::Cost;
use crate::plugin::events::Events;
use crate::plugin::id::PluginId;
use crate::plugin::limits::cpu::CpuMeter;
use crate::plugin::limits::quota::Quota;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::redact::call::Redaction;
use crate::plugin::tape::Tape;
use crate::plugin::tape::kept::Kept;
use crate::text::Leeway;
use crate::traces::{OpenSpan, SpanId};

/// Maximum handles of host resources that a guest holds, files and buckets included.
const MAX_HANDLES: usize = 128;
/// Maximum bytes of one request for random numbers: a larger one would block the thread without
/// yielding.
const MAX_RANDOM: u64 = 64 << 10;

/// The state of the host for one guest: the data of its store.
pub(in crate::plugin) struct GuestState {
    pub(in crate::plugin) plugin: PluginId,
    pub(in crate::plugin) quota: Quota,
    pub(in crate::plugin) cpu: Arc<CpuMeter>,
    pub(in crate::plugin) events: Option<Arc<Events>>,
    pub(in crate::plugin) cancelled: CancellationToken,
    pub(in crate::plugin) granted: Arc<Granted>,
    /// Whose call it is; `None`: the host's.
    pub(in crate::plugin) identity: Option<Arc<Identity>>,
    /// Adds up what the call costs.
    pub(in crate::plugin) cost: Option<Arc<Cost>>,
    /// The span of the guest, which what it does is a part of.
    pub(in crate::plugin) within: Option<SpanId>,
    pub(in crate::plugin) redaction: Redaction,
    /// What it asks and is answered, if that is recorded or replayed.
    pub(in crate::plugin) tape: Option<Tape>,
    /// The highest progress reported so far.
    pub(in crate::plugin) progress: f64,
    /// The remaining leeway for hidden characters in its messages.
    pub(in crate::plugin) hidden: Leeway,
    /// Its open files and folders.
    pub(in crate::plugin) held: OpenHandles,
    /// What a command runs with; other plugins have no arguments, and an empty stdin.
    pub(in crate::plugin) program: Option<Program>,
    log_limit: u64,
    log: Option<Arc<LogBudget>>,
    wasi: Option<WasiCtx>,
    http: Option<WasiHttp>,
    table: ResourceTable,
}

impl GuestState {
    pub(in crate::plugin) fn new(
        plugin: PluginId,
        quota: Quota,
        cpu: Arc<CpuMeter>,
        log_limit: u64,
        events: Option<Arc<Events>>,
        cancelled: CancellationToken,
        granted: Arc<Granted>,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            plugin,
            quota,
            cpu,
            events,
            cancelled,
            redaction: Redaction::new(granted.redactor.clone()),
            granted,
            identity: None,
            cost: None,
            within: None,
            tape: None,
            progress: f64::NEG_INFINITY,
            hidden: Leeway::default(),
            held: OpenHandles::default(),
            program: None,
            log_limit,
            log: None,
            wasi: None,
            http: None,
            table,
        }
    }

    /// Binds a pre-built store to a call.
    pub(in crate::plugin) fn bind(
        &mut self,
        cpu: Arc<CpuMeter>,
        events: Option<Arc<Events>>,
        cancelled: CancellationToken,
    ) {
        self.cpu = cpu;
        self.events = events;
        self.cancelled = cancelled;
    }

    /// Closes all handles of the guest and drops the references to its caller, when the call is over.
    pub(in crate::plugin) fn close(&mut self) {
        self.events = None;
        self.identity = None;
        self.cost = None;
        self.within = None;
        self.tape = None;
        self.redaction = Redaction::default();
        self.cancelled = CancellationToken::new();
        self.wasi = None;
        self.http = None;
        if !self.table.is_empty() {
            self.table = ResourceTable::new();
        }
        self.held = OpenHandles::default();
        self.program = None;
    }

    /// Whether the guest may have logged or printed something.
    pub(in crate::plugin) fn has_logged(&self) -> bool {
        self.log.is_some()
    }

    /// The guest crashed: its last lines on stderr are logged over the budget.
    pub(in crate::plugin) fn set_crashed(&self) {
        if let Some(log) = &self.log {
            log.set_crashed();
        }
    }

    /// The resources behind the guest's handles.
    pub(in crate::plugin) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    /// Whose call it is, and what is granted to them.
    pub(in crate::plugin) fn set_caller(&mut self, caller: Option<Arc<Identity>>, granted: Arc<Granted>) {
        self.redaction = Redaction::new(granted.redactor.clone());
        (self.identity, self.granted) = (caller, granted);
    }

    /// Begins a span of what the guest does, which ends when it is dropped.
    pub(in crate::plugin) fn span(&self, name: &'static str) -> Option<OpenSpan> {
        self.cost.as_ref().and_then(|cost| cost.span(self.within, name))
    }

    /// Asks something of the host whose answer differs from call to call, as [`Tape::through`].
    pub(super) fn through<A: Kept>(
        &mut self,
        what: &'static str,
        with: serde_json::Value,
        real: impl FnOnce(&mut Self) -> wasmtime::Result<A>,
    ) -> wasmtime::Result<A> {
        match self.tape.clone() {
            None => real(self),
            Some(tape) => tape.through(what, with, || real(self)),
        }
    }

    /// As [`Tape::tell`]; `with` makes what is said.
    pub(super) fn tell(&self, what: &'static str, with: impl FnOnce() -> serde_json::Value) {
        if let Some(tape) = &self.tape {
            tape.tell(what, with());
        }
    }

    /// Whether the host only answers what was recorded.
    pub(super) fn replays(&self) -> bool {
        self.tape.as_ref().is_some_and(Tape::replays)
    }

    /// As [`Granted::deny`].
    pub(in crate::plugin) fn deny(&self, access: Access, remedy: impl FnOnce() -> (String, String)) {
        self.granted.deny(self.events.as_deref(), access, remedy);
    }

    /// The call's log budget, made when first needed.
    pub(in crate::plugin) fn log(&mut self) -> &Arc<LogBudget> {
        self.log.get_or_insert_with(|| {
            let trace = self.cost.as_ref().and_then(|cost| cost.trace()).map(|trace| trace.own().trace_id());
            let tape = self.tape.clone();
            Arc::new(LogBudget::new(self.plugin.clone(), trace, self.redaction.clone(), self.log_limit).with_tape(tape))
        })
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        if self.wasi.is_none() {
            let budget = self.log().clone();
            self.wasi = Some(context(budget, self.program.as_ref()));
        }
        let ctx = self.wasi.as_mut().expect("it was made above");
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl WasiHttpView for GuestState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let http = self.http.take().unwrap_or_else(|| WasiHttp::of(self));
        let http = self.http.insert(http);
        WasiHttpCtxView { ctx: &mut http.context, hooks: &mut http.hooks, table: &mut self.table }
    }
}

/// A context without files, environment variables (`filesystem` and `environment` have them),
/// arguments (as `environment`) or network. Only a command has a stdin, and an stdout that is not the log.
fn context(budget: Arc<LogBudget>, program: Option<&Program>) -> WasiCtx {
    let mut builder = WasiCtx::builder();
    let stderr = GuestOutput { name: STDERR, budget: budget.clone() };
    match program {
        None => builder.stdout(GuestOutput { name: "stdout", budget }).stderr(stderr),
        Some(program) => builder.stdin(program.stdin()).stdout(program.stdout()).stderr(program.stderr(stderr)),
    };
    builder
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .allow_blocking_current_thread(false)
        .max_random_size(MAX_RANDOM)
        .monotonic_clock(CoarseClock::new())
        .wall_clock(CoarseClock::new())
        .build()
}

/// Clocks with a resolution of 1 ms: finer ones make timing attacks on other guests easier.
struct CoarseClock {
    start: Instant,
}

const GRAIN: Duration = Duration::from_millis(1);

impl CoarseClock {
    fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl HostMonotonicClock for CoarseClock {
    fn resolution(&self) -> u64 {
        GRAIN.as_nanos() as u64
    }

    fn now(&self) -> u64 {
        // Go's runtime treats a clock at 0 as broken, and aborts.
        let elapsed = (self.start.elapsed() + GRAIN).as_millis() as u64;
        elapsed.saturating_mul(GRAIN.as_nanos() as u64)
    }
}

impl HostWallClock for CoarseClock {
    fn resolution(&self) -> Duration {
        GRAIN
    }

    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Duration::from_millis(now.as_millis() as u64)
    }
}

#[cfg(test)]
impl GuestState {
    /// For a call of a plugin without grants.
    pub(in crate::plugin) fn without_grants(
        log_limit: u64,
        events: Option<Arc<Events>>,
        cancelled: CancellationToken,
    ) -> Self {
        use super::granted::Resources;
        use crate::plugin::limits::quota::ByteBudget;

        let plugin = PluginId::parse("guest").expect("an id");
        let granted =
            Granted::new(plugin.clone(), crate::plugin::policy::grants::Grants::default(), &Resources::for_tests());
        let quota = Quota::new(Arc::new(ByteBudget::new(1 << 20)), 1 << 20);
        let cpu = CpuMeter::new(Duration::from_secs(1));
        Self::new(plugin, quota, cpu, log_limit, events, cancelled, granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn closing_releases_all_handles() {
        let cancelled = CancellationToken::new();
        let mut state = GuestState::without_grants(0, None, cancelled.clone());
        let open = Arc::new(());
        state.table().push(open.clone()).expect("a handle");
        state.ctx();
        state.http();
        state.close();
        assert_eq!(Arc::strong_count(&open), 1);
        assert!(state.wasi.is_none() && state.http.is_none() && state.events.is_none());
        cancelled.cancel();
        assert!(!state.cancelled.is_cancelled());
    }

    #[test]
    fn the_monotonic_clock_is_never_zero() {
        for _ in 0..100 {
            assert_ne!(HostMonotonicClock::now(&CoarseClock::new()), 0);
        }
    }
}
