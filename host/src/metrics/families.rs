//! The families of metrics, and their text.
//!
//! Names and buckets of `mcp.server.operation.duration`: OpenTelemetry's semantic conventions for MCP, with buckets
//! below their first, since most calls take less than a millisecond.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::tools::Tools;
use super::{Called, OpenKind, Operation, Sample, Spent};

/// Seconds.
const BUCKETS: [f64; 18] =
    [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

type Seconds = Counter<f64, AtomicU64>;
type Number = Gauge<f64, AtomicU64>;
type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OperationLabels {
    mcp_method_name: &'static str,
    mcp_protocol_version: &'static str,
    error_type: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ToolLabels {
    plugin: Arc<str>,
    tool: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    plugin: Arc<str>,
    tool: Arc<str>,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PluginLabels {
    plugin: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FaultLabels {
    plugin: Arc<str>,
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BudgetLabels {
    budget: String,
    resource: &'static str,
}

/// The counters of one tool.
pub(super) struct PerTool {
    labels: ToolLabels,
    ok: Counter,
    duration: Histogram,
    cpu: Seconds,
    queued: Seconds,
    received: Counter,
    sent: Counter,
    upstream_requests: Counter,
    upstream: Seconds,
    memory: Gauge<u64, AtomicU64>,
}

#[derive(Default)]
struct Now {
    plugins: Gauge,
    running: Gauge,
    waiting: Gauge,
    ready: Gauge,
    memory: Gauge,
    compilations: Family<ResultLabels, Counter>,
    compiling: Seconds,
    budgets: Family<BudgetLabels, Number>,
    process_cpu: Seconds,
    process_memory: Gauge,
}

pub(super) struct Families {
    registry: Registry,
    tools: Tools,
    operations: Durations<OperationLabels>,
    calls: Family<CallLabels, Counter>,
    durations: Durations<ToolLabels>,
    cpu: Family<ToolLabels, Seconds>,
    queued: Family<ToolLabels, Seconds>,
    received: Family<ToolLabels, Counter>,
    sent: Family<ToolLabels, Counter>,
    upstream_requests: Family<ToolLabels, Counter>,
    upstream: Family<ToolLabels, Seconds>,
    memory: Family<PluginLabels, Gauge<u64, AtomicU64>>,
    faults: Family<FaultLabels, Counter>,
    refusals: Family<ReasonLabels, Counter>,
    queue: Histogram,
    reloads: Family<ResultLabels, Counter>,
    loading: Histogram,
    open: Family<KindLabels, Gauge>,
    now: Now,
}

fn durations() -> Histogram {
    Histogram::new(BUCKETS)
}

impl Families {
    pub(super) fn new(version: &str) -> Option<Self> {
        let mut families = Self {
            registry: Registry::default(),
            tools: Tools::default(),
            operations: Family::new_with_constructor(durations as fn() -> Histogram),
            calls: Family::default(),
            durations: Family::new_with_constructor(durations as fn() -> Histogram),
            cpu: Family::default(),
            queued: Family::default(),
            received: Family::default(),
            sent: Family::default(),
            upstream_requests: Family::default(),
            upstream: Family::default(),
            memory: Family::default(),
            faults: Family::default(),
            refusals: Family::default(),
            queue: durations(),
            reloads: Family::default(),
            loading: durations(),
            open: Family::default(),
            now: Now::default(),
        };
        families.register(version);
        // They are there before the first of them: what appears with the value 1 is not seen as an increase.
        for reason in ["rights", "budget"] {
            drop(families.refusals.get_or_create(&ReasonLabels { reason }));
        }
        for result in ["loaded", "held", "refused", "removed", "reconfigured"] {
            drop(families.reloads.get_or_create(&ResultLabels { result }));
        }
        for kind in OpenKind::ALL {
            families.opened(kind, 0);
        }
        Some(families)
    }

    pub(super) fn opened(&self, kind: OpenKind, by: i64) {
        self.open.get_or_create(&KindLabels { kind: kind.name() }).inc_by(by);
    }

    fn register(&mut self, version: &str) {
        let registry = &mut self.registry;
        let help = "Requests of clients, by method and revision";
        registry.register_with_unit("mcp_server_operation_duration", help, Unit::Seconds, self.operations.clone());
        let help = "Calls of plugins that ended with a result";
        registry.register_with_unit("wharf_call_duration", help, Unit::Seconds, self.durations.clone());
        let help = "Processor time of plugins' calls";
        registry.register_with_unit("wharf_call_cpu", help, Unit::Seconds, self.cpu.clone());
        let help = "Time that calls waited for a turn";
        registry.register_with_unit("wharf_call_queued", help, Unit::Seconds, self.queued.clone());
        let help = "Time that calls waited for responses of HTTP";
        registry.register_with_unit("wharf_call_upstream", help, Unit::Seconds, self.upstream.clone());
        let help = "Time that a call waited for its turn";
        registry.register_with_unit("wharf_queue_duration", help, Unit::Seconds, self.queue.clone());
        let help = "Time from a file's change to its service";
        registry.register_with_unit("wharf_load_duration", help, Unit::Seconds, self.loading.clone());
        let help = "Processor time of the process";
        registry.register_with_unit("process_cpu", help, Unit::Seconds, self.now.process_cpu.clone());
        registry.register("wharf_calls", "Calls of plugins, by how they ended", self.calls.clone());
        registry.register("wharf_call_received_bytes", "Bytes of params of calls", self.received.clone());
        registry.register("wharf_call_sent_bytes", "Bytes of results of calls", self.sent.clone());
        let help = "Requests of HTTP that calls sent";
        registry.register("wharf_call_upstream_requests", help, self.upstream_requests.clone());
        let help = "The most memory that a call of the plugin had";
        registry.register_with_unit("wharf_plugin_memory_peak", help, Unit::Bytes, self.memory.clone());
        registry.register("wharf_faults", "Calls that failed because of the plugin", self.faults.clone());
        registry.register("wharf_refusals", "Calls refused by rights and budgets", self.refusals.clone());
        registry.register("wharf_reloads", "Files of plugins, by what became of them", self.reloads.clone());
        let now = &self.now;
        registry.register("wharf_open", "Connections, sessions, streams and tasks that are open", self.open.clone());
        registry.register("wharf_plugins", "Plugins in service", now.plugins.clone());
        registry.register("wharf_instances_running", "Calls that run", now.running.clone());
        registry.register("wharf_calls_waiting", "Calls that wait for a slot of the pool", now.waiting.clone());
        registry.register("wharf_instances_ready", "Instances made before their calls", now.ready.clone());
        registry.register_with_unit("wharf_guest_memory", "Memory of all guests", Unit::Bytes, now.memory.clone());
        let help = "Components, by how they got their code";
        registry.register("wharf_compilations", help, now.compilations.clone());
        let help = "Time that the compiler took";
        registry.register_with_unit("wharf_compilation", help, Unit::Seconds, now.compiling.clone());
        let help = "What is left of a budget, from 0 to 1: of the account that has least";
        registry.register("wharf_budget_left_ratio", help, now.budgets.clone());
        let help = "Memory of the process";
        registry.register_with_unit("process_resident_memory", help, Unit::Bytes, now.process_memory.clone());
        let build = Info::new([("version", version.to_owned())]);
        registry.register("wharf_build", "The version of the server", build);
    }

    pub(super) fn operation(&self, operation: Operation, took: Duration) {
        let Operation { method, revision, error } = operation;
        let labels = OperationLabels { mcp_method_name: method, mcp_protocol_version: revision, error_type: error };
        self.operations.get_or_create(&labels).observe(took.as_secs_f64());
    }

    fn per_tool(&self, plugin: Arc<str>, tool: Arc<str>) -> PerTool {
        let labels = ToolLabels { plugin: plugin.clone(), tool: tool.clone() };
        PerTool {
            ok: self.calls.get_or_create_owned(&CallLabels { plugin: plugin.clone(), tool, result: "ok" }),
            duration: self.durations.get_or_create_owned(&labels),
            cpu: self.cpu.get_or_create_owned(&labels),
            queued: self.queued.get_or_create_owned(&labels),
            received: self.received.get_or_create_owned(&labels),
            sent: self.sent.get_or_create_owned(&labels),
            upstream_requests: self.upstream_requests.get_or_create_owned(&labels),
            upstream: self.upstream.get_or_create_owned(&labels),
            memory: self.memory.get_or_create_owned(&PluginLabels { plugin }),
            labels,
        }
    }

    pub(super) fn target(&self, plugin: &str, tool: &str) -> Arc<PerTool> {
        self.tools.get(plugin, tool, |plugin, tool| self.per_tool(plugin, tool))
    }

    pub(super) fn called(&self, tool: &PerTool, called: &Called) {
        let reason = match called.result {
            "forbidden" => Some("rights"),
            "over-budget" => Some("budget"),
            _ => None,
        };
        if let Some(reason) = reason {
            self.refusals.get_or_create(&ReasonLabels { reason }).inc();
        }
        let spent = called.spent;
        tool.received.inc_by(called.received);
        tool.sent.inc_by(called.sent);
        tool.cpu.inc_by(spent.cpu.as_secs_f64());
        tool.memory.inner().fetch_max(spent.memory, Ordering::Relaxed);
        if !spent.queued.is_zero() {
            tool.queued.inc_by(spent.queued.as_secs_f64());
        }
        // One that was refused never waited for a turn.
        if spent != Spent::default() {
            self.queue.observe(spent.queued.as_secs_f64());
        }
        if spent.upstream_requests > 0 {
            tool.upstream_requests.inc_by(spent.upstream_requests);
            tool.upstream.inc_by(spent.upstream.as_secs_f64());
        }
        if called.result == "ok" {
            tool.ok.inc();
            tool.duration.observe(called.took.as_secs_f64());
            return;
        }
        let ToolLabels { plugin, tool } = tool.labels.clone();
        if called.is_fault {
            self.faults.get_or_create(&FaultLabels { plugin: plugin.clone(), kind: called.result }).inc();
        }
        self.calls.get_or_create(&CallLabels { plugin, tool, result: called.result }).inc();
    }

    pub(super) fn reload(&self, result: &'static str, took: Option<Duration>) {
        self.reloads.get_or_create(&ResultLabels { result }).inc();
        if let Some(took) = took {
            self.loading.observe(took.as_secs_f64());
        }
    }

    pub(super) fn text(&self, sample: &Sample) -> String {
        let now = &self.now;
        let gauges = [
            (&now.plugins, sample.plugins),
            (&now.running, sample.running),
            (&now.waiting, sample.waiting),
            (&now.ready, sample.ready),
            (&now.memory, sample.memory),
            (&now.process_memory, sample.process_memory.unwrap_or_default()),
        ];
        for (gauge, value) in gauges {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let compilations = [("cached", sample.cached), ("compiled", sample.compiled), ("failed", sample.not_compiled)];
        for (result, count) in compilations {
            now.compilations.get_or_create(&ResultLabels { result }).inner().store(count, Ordering::Relaxed);
        }
        now.compiling.inner().store(sample.compiling.as_secs_f64().to_bits(), Ordering::Relaxed);
        now.budgets.clear();
        for left in &sample.budgets {
            let labels = BudgetLabels { budget: left.budget.clone(), resource: left.resource };
            now.budgets.get_or_create(&labels).set(left.ratio);
        }
        if let Some(cpu) = sample.process_cpu {
            now.process_cpu.inner().store(cpu.as_secs_f64().to_bits(), Ordering::Relaxed);
        }
        let mut text = String::with_capacity(16 << 10);
        // Infallible: it is written to memory.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
