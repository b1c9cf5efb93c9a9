//! The engine's settings: what is compiled, how instances are kept, how guests are stopped.
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

/// Calls that can have an instance at the same time.
pub(in crate::plugin) const SLOTS: u32 = 160;
/// Those that one plugin may take; the others are for the others.
pub(in crate::plugin) const SLOTS_OF_ONE: u32 = 128;
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
    /// From address space set aside at the start: some terabytes, not used but named.
    Pooling {
        /// Instances that exist beside those of the calls that run.
        beside: u32,
    },
    /// When needed: slower, and all that the compiler process may have.
    OnDemand,
}

/// Makes an engine, and checks that it accepts nothing that is forbidden.
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

/// Whether a component that the engine refuses would be valid for one that runs asynchronous
/// components, as those of WASI 0.3 are.
pub(in crate::plugin) fn is_asynchronous(engine: &Engine, component: &[u8]) -> bool {
    let asynchronous = WasmFeatures::CM_ASYNC
        | WasmFeatures::CM_ASYNC_STACKFUL
        | WasmFeatures::CM_MORE_ASYNC_BUILTINS
        | WasmFeatures::CM_ERROR_CONTEXT
        | WasmFeatures::CM_THREADING;
    let is_valid = |features| Validator::new_with_features(features).validate_all(component).is_ok();
    let accepted = engine.get_wasm_features();
    // What is valid as it is was refused for something else.
    is_valid(accepted | asynchronous) && !is_valid(accepted)
}

fn config(allocation: Allocation) -> Config {
    let mut config = Config::new();
    config.allocation_strategy(match allocation {
        Allocation::Pooling { beside } => InstanceAllocationStrategy::Pooling(pool(beside)),
        Allocation::OnDemand => InstanceAllocationStrategy::OnDemand,
    });
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        // Not fuel: it costs two to three times as much and cannot yield as we want.
        .epoch_interruption(true)
        // QuickJS overflows the default of 512 KiB at a recursion depth of 500. The rest of
        // the fibre's stack is for host functions.
        .max_wasm_stack(2 << 20)
        .async_stack_size(4 << 20)
        // So that no guest reads what another left on the stack.
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

fn pool(beside: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    let slots = SLOTS + beside;
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
        .max_memory_size(Limits::MEMORY_CEILING as usize)
        .max_unused_warm_slots(16)
        // Pages up to here are cleared by hand and not given back to the system, which is
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
