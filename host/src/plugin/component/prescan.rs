//! A cheap check of bytes before compiling: are they a component within the limits?
//!
//! Validates only the framing; the compiler validates the rest. It is a pass of its own and the first: it ends at the
//! first limit, and the others read only what is within them. A pass takes milliseconds, compiling takes most of a load.

use super::expansion::Expansion;
use super::header::classify;
use super::kind::summarize;
use wasmparser::{Encoding, Parser, Payload, TypeRef};

use crate::plugin::limits::Limits;
use crate::plugin::limits::quota::CORE_INSTANCES;
use crate::text::quote;

use crate::plugin::error::LoadError;

const MAX_FUNCTIONS: u64 = 100_000;
const MAX_BODY: u64 = 1 << 20;
const MAX_MODULES: u64 = CORE_INSTANCES as u64;
/// The engine accepts several, since its own adapters between nested components use the memory
/// of each side; no toolchain makes such modules.
const MAX_MODULE_MEMORIES: u64 = 1;
/// Nested components: no toolchain makes more than a few.
const MAX_COMPONENTS: u64 = 64;

/// Instances of components, once all is expanded. Composed components have some dozens.
const MAX_COMPONENT_INSTANCES: u64 = 1_000;

/// Checks that the bytes are a component within the limits.
pub(in crate::plugin) fn prescan(bytes: &[u8], limits: &Limits) -> Result<(), LoadError> {
    if classify(bytes)? == Encoding::Module {
        let hint = summarize(bytes).kind.advice().unwrap_or("build a component");
        return Err(LoadError::CoreModule { hint });
    }
    let (mut functions, mut modules, mut components) = (0u64, 0u64, 0u64);
    let mut expansion = Expansion::default();
    // Of the current module: modules do not nest.
    let mut memories = 0u64;
    for payload in Parser::new(0).parse_all(bytes) {
        let invalid = |error: wasmparser::BinaryReaderError| LoadError::Invalid(quote(error.message(), 200));
        let payload = payload.map_err(invalid)?;
        if let Some(instances) = expansion.read(&payload).map_err(invalid)? {
            at_most("core module instances", instances.core, u64::from(CORE_INSTANCES))?;
            at_most("component instances", instances.components, MAX_COMPONENT_INSTANCES)?;
        }
        at_most("imports of components", expansion.component_imports, 0)?;
        match payload {
            Payload::Version { encoding: Encoding::Module, .. } => {
                modules += 1;
                memories = 0;
            }
            Payload::Version { .. } => components += 1,
            Payload::FunctionSection(section) => functions += u64::from(section.count()),
            Payload::CodeSectionEntry(body) => {
                let range = body.range();
                let size = range.end.saturating_sub(range.start) as u64;
                at_most("bytes in one function", size, MAX_BODY)?;
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    memories += u64::from(matches!(import.map_err(invalid)?.ty, TypeRef::Memory(_)));
                }
            }
            Payload::MemorySection(section) => {
                memories += u64::from(section.count());
                for memory in section {
                    let pages = memory.map_err(invalid)?.initial;
                    let bytes = pages.saturating_mul(64 << 10);
                    if bytes > limits.memory {
                        return Err(LoadError::DeclaredMemory { bytes, limit: limits.memory });
                    }
                }
            }
            _ => {}
        }
        at_most("functions", functions, MAX_FUNCTIONS)?;
        at_most("core modules", modules, MAX_MODULES)?;
        at_most("memories in one core module", memories, MAX_MODULE_MEMORIES)?;
        at_most("nested components", components, MAX_COMPONENTS)?;
    }
    Ok(())
}

fn at_most(what: &'static str, found: u64, limit: u64) -> Result<(), LoadError> {
    if found > limit { Err(LoadError::TooMany { what, limit }) } else { Ok(()) }
}
