//! Names the proposals that a component needs and the engine does not accept, so that a valid component
//! is not called damaged.

use wasmparser::{Parser, Validator};
use wasmtime::{Engine, WasmFeatures};

use super::engine::EngineKind;
use crate::plugin::error::LoadError;

/// A proposal, or several that are used together.
struct Proposal {
    name: &'static str,
    features: WasmFeatures,
    /// How to build without it.
    hint: &'static str,
}

/// Those with the most specific hint first. That of async functions is accepted by one kind of engine ([`EngineKind`]).
const PROPOSALS: [Proposal; 18] = [
    Proposal {
        name: "garbage collection",
        features: WasmFeatures::GC
            .union(WasmFeatures::GC_TYPES)
            .union(WasmFeatures::FUNCTION_REFERENCES)
            .union(WasmFeatures::CUSTOM_DESCRIPTORS)
            .union(WasmFeatures::CM_GC),
        hint: "use a compiler that manages memory itself, such as those of Rust, C, Go, Python and JavaScript; Kotlin, Dart and Scala need this proposal",
    },
    Proposal {
        name: "exceptions",
        features: WasmFeatures::EXCEPTIONS.union(WasmFeatures::LEGACY_EXCEPTIONS),
        hint: "build it without exceptions: in C++ with -fno-exceptions and without -fwasm-exceptions, in C without setjmp (-mllvm -wasm-enable-sjlj), in Rust with panic = \"abort\"",
    },
    Proposal {
        name: "threads",
        features: WasmFeatures::THREADS.union(WasmFeatures::SHARED_EVERYTHING_THREADS),
        hint: "build it without threads: without -pthread and the target feature `atomics`, for wasm32-wasip2",
    },
    Proposal {
        name: "64-bit memories",
        features: WasmFeatures::MEMORY64.union(WasmFeatures::CM64),
        hint: "build it for wasm32, not wasm64",
    },
    Proposal {
        name: "tail calls",
        features: WasmFeatures::TAIL_CALL,
        hint: "build it without the target feature `tail-call`: with Clang -mno-tail-call, with rustc -Ctarget-feature=-tail-call",
    },
    Proposal {
        name: "relaxed SIMD",
        features: WasmFeatures::RELAXED_SIMD,
        hint: "build it without the target feature `relaxed-simd`: with Clang -mno-relaxed-simd, with rustc -Ctarget-feature=-relaxed-simd",
    },
    Proposal {
        name: "wide arithmetic",
        features: WasmFeatures::WIDE_ARITHMETIC,
        hint: "build it without the target feature `wide-arithmetic`: with Clang -mno-wide-arithmetic, with rustc -Ctarget-feature=-wide-arithmetic",
    },
    Proposal {
        name: "stack switching",
        features: WasmFeatures::STACK_SWITCHING,
        hint: "build it without stack switching",
    },
    Proposal {
        name: "custom page sizes",
        features: WasmFeatures::CUSTOM_PAGE_SIZES,
        hint: "build it with memory pages of 64 KiB",
    },
    Proposal {
        name: "memory control",
        features: WasmFeatures::MEMORY_CONTROL,
        hint: "build it without the instruction memory.discard",
    },
    Proposal {
        name: "async functions",
        features: WasmFeatures::CM_ASYNC,
        hint: "build it with synchronous functions, for WASI 0.2",
    },
    Proposal {
        name: "async functions without callbacks",
        features: WasmFeatures::CM_ASYNC_STACKFUL,
        hint: "build its async functions with callbacks, as the bindings for Rust and C do",
    },
    Proposal {
        name: "error contexts",
        features: WasmFeatures::CM_ERROR_CONTEXT,
        hint: "use a type of its own for errors, in place of error-context",
    },
    Proposal {
        name: "threads of components",
        features: WasmFeatures::CM_THREADING,
        hint: "build it without the functions thread.* of the component model",
    },
    Proposal {
        name: "newer built-in functions for async functions",
        features: WasmFeatures::CM_MORE_ASYNC_BUILTINS,
        hint: "build it with an older version of its bindings",
    },
    Proposal {
        name: "maps",
        features: WasmFeatures::CM_MAP,
        hint: "use list<tuple<K, V>> instead of map<K, V> in its WIT",
    },
    Proposal {
        name: "fixed-length lists",
        features: WasmFeatures::CM_FIXED_LENGTH_LISTS,
        hint: "use list<T> or a tuple instead of list<T, N> in its WIT",
    },
    Proposal {
        name: "newer parts of the component format",
        features: WasmFeatures::CM_VALUES
            .union(WasmFeatures::CM_NESTED_NAMES)
            .union(WasmFeatures::CM_IMPLEMENTS)
            .union(WasmFeatures::CM_CANON_NAMES)
            .union(WasmFeatures::COMPACT_IMPORTS),
        hint: "build it without value imports, nested package names, `implements` and canonical names, and without compact imports",
    },
];

/// The kind of engine that a component needs, by its types: bodies of functions are not read.
pub(in crate::plugin) fn engine_kind(component: &[u8]) -> EngineKind {
    let everything = everything(WasmFeatures::default());
    let is_valid = |features| {
        let mut validator = Validator::new_with_features(features);
        Parser::new(0)
            .parse_all(component)
            .all(|payload| payload.is_ok_and(|payload| validator.payload(&payload).is_ok()))
    };
    // An invalid one is refused by the compiler, with the reason.
    match !is_valid(everything.difference(WasmFeatures::CM_ASYNC)) && is_valid(everything) {
        true => EngineKind::Asynchronous,
        false => EngineKind::Synchronous,
    }
}

/// Why a component is invalid, whatever the engine accepts. `None`: it is not.
pub(super) fn invalid(component: &[u8]) -> Option<String> {
    let mut validator = Validator::new_with_features(everything(WasmFeatures::default()));
    validator.validate_all(component).err().map(|error| error.to_string())
}

/// With all proposals besides those.
fn everything(accepted: WasmFeatures) -> WasmFeatures {
    PROPOSALS.iter().fold(accepted, |all, proposal| all | proposal.features)
}

/// The error for a component that is valid, but uses proposals that the engine does not accept.
/// `None` if it is invalid, or was rejected for another reason.
pub(in crate::plugin) fn refused(engine: &Engine, component: &[u8]) -> Option<LoadError> {
    let accepted = engine.get_wasm_features();
    let is_valid = |features| Validator::new_with_features(features).validate_all(component).is_ok();
    let everything = everything(accepted);
    if !is_valid(everything) || is_valid(accepted) {
        return None;
    }
    // Dropped one after the other, as long as the rest suffices.
    let mut rest = everything;
    let mut needs = |features: WasmFeatures| {
        let without = rest.difference(features.difference(accepted));
        let needed = !is_valid(without);
        if !needed {
            rest = without;
        }
        needed
    };
    of_needed(PROPOSALS.iter().filter(|proposal| needs(proposal.features)).collect())
}

/// The error for proposals that the compiler process named, as [`LoadError::Proposals`] has them.
pub(super) fn named(names: &str) -> Option<LoadError> {
    of_needed(PROPOSALS.iter().filter(|proposal| names.split(", ").any(|name| name == proposal.name)).collect())
}

fn of_needed(needed: Vec<&Proposal>) -> Option<LoadError> {
    let first = needed.first()?;
    let names: Vec<&str> = needed.iter().map(|proposal| proposal.name).collect();
    Some(LoadError::Proposals { names: names.join(", "), hint: first.hint })
}

#[cfg(test)]
mod tests;
