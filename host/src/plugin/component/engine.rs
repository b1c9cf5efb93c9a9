//! The engine's settings: wasm features, instance allocation, interruption.
//!
//! Runs nothing. The same settings compile in the child process and run in this one.

use std::num::NonZeroUsize;

use wasmparser::Validator;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Strategy,
    WasmBacktraceDetails, WasmFeatures,
};

use crate::plugin::limits::Limits;
use crate::plugin::limits::quota::{CORE_INSTANCES, MEMORIES, TABLES};

/// Concurrent calls with an instance.
pub(in crate::plugin) const SLOTS: u32 = 160;
/// Maximum slots of one plugin; the rest is for other plugins.
pub(in crate::plugin) const SLOTS_PER_PLUGIN: u32 = Limits::MAX_CONCURRENCY;
/// Elements of one table.
const TABLE_ELEMENTS: usize = 20_000;

/// Proposals that no component may use: each has had its own vulnerabilities, and no
/// toolchain that makes plugins needs one. Multiple memories are not among them, because the
/// engine's glue between nested components needs them; `prescan` refuses a module with two.
const FORBIDDEN: [WasmFeatures; 12] = [
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
    WasmFeatures::CM_ASYNC,
];

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
pub(in crate::plugin) fn engine(allocation: Allocation) -> wasmtime::Result<Engine> {
    let engine = Engine::new(&config(allocation))?;
    let accepted = engine.get_wasm_features();
    for feature in FORBIDDEN {
        if accepted.intersects(feature) {
            wasmtime::bail!("the engine accepts a forbidden proposal: {feature:?}");
        }
    }
    Ok(engine)
}

/// Whether a component that the engine rejects would be valid with the asynchronous component
/// ABI of WASI 0.3.
pub(in crate::plugin) fn is_asynchronous(engine: &Engine, component: &[u8]) -> bool {
    let asynchronous = WasmFeatures::CM_ASYNC
        | WasmFeatures::CM_ASYNC_STACKFUL
        | WasmFeatures::CM_MORE_ASYNC_BUILTINS
        | WasmFeatures::CM_ERROR_CONTEXT
        | WasmFeatures::CM_THREADING;
    let is_valid = |features| Validator::new_with_features(features).validate_all(component).is_ok();
    let accepted = engine.get_wasm_features();
    // A component that is valid without it was rejected for another reason.
    is_valid(accepted | asynchronous) && !is_valid(accepted)
}

fn config(allocation: Allocation) -> Config {
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
        .signals_based_traps(true);
    for feature in FORBIDDEN {
        config.wasm_features(feature, false);
    }
    config
}

fn pool(extra: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    let slots = SLOTS + extra;
    pool.total_component_instances(slots)
        .total_core_instances(slots * CORE_INSTANCES)
        .total_stacks(slots)
        .total_memories(slots * MEMORIES)
        .total_tables(slots * TABLES)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_memories_per_module(1)
        .max_tables_per_module(2)
        .table_elements(TABLE_ELEMENTS)
        .max_component_instance_size(1 << 20)
        .max_core_instance_size(1 << 20)
        .max_memory_size(Limits::MAX_MEMORY as usize)
        .max_unused_warm_slots(16)
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
