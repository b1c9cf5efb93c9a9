//! The engine's settings: wasm features, instance allocation, interruption.
//!
//! Runs nothing. The same settings compile in the child process and run in this one, or in a plugin's own.

use std::num::NonZeroUsize;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Strategy,
    WasmBacktraceDetails, WasmFeatures,
};

use crate::plugin::error::LoadError;
use crate::plugin::limits::quota::{CORE_INSTANCES, MEMORIES, TABLES};
use crate::plugin::limits::{Limits, TaskLimits};

/// Concurrent calls with an instance.
pub(in crate::plugin) const SLOTS: u32 = 160;
/// Maximum slots of one plugin; the rest is for other plugins.
pub(in crate::plugin) const SLOTS_PER_PLUGIN: u32 = Limits::MAX_CONCURRENCY;
/// Elements of one table.
const TABLE_ELEMENTS: usize = 20_000;
/// Tables that one core module defines.
pub(in crate::plugin) const TABLES_PER_MODULE: u32 = 2;
/// Bytes of an instance besides memories and tables, which no quota counts: the contexts of all its
/// core instances together, and its own. Guests in Rust take 12 KiB, in Python 400 KiB.
const INSTANCE_SIZE: usize = 1 << 20;

/// Proposals that no component may use: each has had its own vulnerabilities, and no
/// toolchain that makes plugins needs one. Multiple memories are not among them, because the
/// engine's glue between nested components needs them; `prescan` refuses a module with two.
const FORBIDDEN: [WasmFeatures; 11] = [
    WasmFeatures::MEMORY64,
    WasmFeatures::THREADS,
    WasmFeatures::GC,
    WasmFeatures::GC_TYPES,
    WasmFeatures::EXCEPTIONS,
    WasmFeatures::FUNCTION_REFERENCES,
    WasmFeatures::STACK_SWITCHING,
    WasmFeatures::CUSTOM_PAGE_SIZES,
    WasmFeatures::WIDE_ARITHMETIC,
    WasmFeatures::RELAXED_SIMD,
    WasmFeatures::TAIL_CALL,
];

/// What the components of an engine may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// WASI 0.2.
    #[default]
    Synchronous,
    /// Async functions, streams and futures too, and WASI 0.3. It is young in the engine, so that only the processes of
    /// single plugins have it.
    Asynchronous,
}

impl EngineKind {
    pub(in crate::plugin) const ALL: [Self; 2] = [Self::Synchronous, Self::Asynchronous];
}

/// How instances get their memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plugin) enum Allocation {
    /// The pooling allocator: reserves some terabytes of address space at the start.
    Pooling {
        /// Instances in addition to those of running calls.
        extra: u32,
    },
    /// On demand: slower; the compiler process may reserve no more.
    OnDemand,
}

/// Makes an engine, and checks that it accepts no forbidden proposal.
pub(in crate::plugin) fn engine(kind: EngineKind, allocation: Allocation) -> wasmtime::Result<Engine> {
    let engine = Engine::new(&config(kind, allocation))?;
    let accepted = engine.get_wasm_features();
    let asynchronous = (kind == EngineKind::Synchronous).then_some(WasmFeatures::CM_ASYNC);
    for feature in FORBIDDEN.into_iter().chain(asynchronous) {
        if accepted.intersects(feature) {
            wasmtime::bail!("the engine accepts a forbidden proposal: {feature:?}");
        }
    }
    Ok(engine)
}

/// Which limit of the pool a component exceeds. The error has no type of its own: the phrases are
/// those of wasmtime's pooling allocator.
pub(in crate::plugin) fn exceeded(error: &wasmtime::Error) -> Option<LoadError> {
    let too_many = |what, limit| Some(LoadError::TooMany { what, limit });
    let message = format!("{error:#}");
    match message.as_str() {
        text if text.contains("core module instances, which exceeds") => {
            too_many("core module instances", u64::from(CORE_INSTANCES))
        }
        text if text.contains("linear memories, which exceeds") => too_many("memories", u64::from(MEMORIES)),
        text if text.contains("tables, which exceeds") => too_many("tables", u64::from(TABLES)),
        text if text.contains("defined tables count of") => {
            too_many("tables in one core module", u64::from(TABLES_PER_MODULE))
        }
        text if text.contains("has a minimum element size of") => {
            too_many("elements in one table", TABLE_ELEMENTS as u64)
        }
        text if text.contains("instance size does not fit in pooling allocator") => {
            too_many("bytes for the state of one instance", INSTANCE_SIZE as u64)
        }
        _ => None,
    }
}

fn config(kind: EngineKind, allocation: Allocation) -> Config {
    let mut config = Config::new();
    config.allocation_strategy(match allocation {
        Allocation::Pooling { extra } => InstanceAllocationStrategy::Pooling(pool(extra)),
        Allocation::OnDemand => InstanceAllocationStrategy::OnDemand,
    });
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        // Not fuel: it is two to three times slower, and yields by instructions and not by time.
        .epoch_interruption(true)
        // QuickJS overflows the default of 512 KiB at a recursion depth of 500. The rest of
        // the fibre's stack is for host functions.
        .max_wasm_stack(2 << 20)
        .async_stack_size(4 << 20)
        // So that no guest reads another's data on a reused stack.
        .async_stack_zeroing(true)
        // The default reads an environment variable and parses the guest's own DWARF.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(16))
        .signals_based_traps(true)
        // Also whether `CM_ASYNC` is accepted.
        .concurrency_support(kind == EngineKind::Asynchronous);
    for feature in FORBIDDEN {
        config.wasm_features(feature, false);
    }
    config
}

fn pool(extra: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    let slots = SLOTS + TaskLimits::MAX_CONCURRENCY + extra;
    pool.total_component_instances(slots)
        .total_core_instances(slots * CORE_INSTANCES)
        .total_stacks(slots)
        .total_memories(slots * MEMORIES)
        .total_tables(slots * TABLES)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_memories_per_module(1)
        .max_tables_per_module(TABLES_PER_MODULE)
        .table_elements(TABLE_ELEMENTS)
        .max_component_instance_size(INSTANCE_SIZE)
        .max_core_instance_size(INSTANCE_SIZE)
        .max_memory_size(Limits::MAX_MEMORY as usize)
        // More than there are ready instances of one thread: each plugin finds memory that is mapped already.
        .max_unused_warm_slots(32)
        // Pages up to here are zeroed by `memset` and not returned to the OS, which is
        // what makes a fresh instance cheap.
        .linear_memory_keep_resident(1 << 20)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(32 << 10)
        // Of these, only those that were written to (Linux 6.7).
        .pagemap_scan(Enabled::Auto)
        // More than one would delay the return to the baseline.
        .decommit_batch_size(1);
    pool
}

#[cfg(test)]
mod tests;
