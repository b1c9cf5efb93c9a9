//! What a component exports and imports, read from its bytes without running or
//! compiling anything.
//!
//! Does not decide whether it would load: that needs the engine.

use wasmparser::{Parser, Payload};

use super::engine::EngineKind;
use super::kind::{Kind, summarize};
use super::prescan::prescan;
use super::proposals::engine_kind;
use crate::plugin::error::LoadError;
use crate::plugin::limits::Limits;
use crate::plugin::policy::access::Access;
use crate::text::quote;

/// A component's own interfaces, names escaped and in the file's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspection {
    pub exports: Vec<String>,
    pub imports: Vec<Import>,
    /// Whether it has async functions, streams or futures.
    pub is_asynchronous: bool,
}

/// One import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub name: String,
    /// Whether this host provides the interface. Without its grant it is denied on use.
    pub linked: bool,
    /// The grant that its use requires.
    pub grant: Option<Access>,
}

/// Reads the outermost component's exports and imports.
///
/// # Errors
/// If the bytes are not a component, or exceed the limits of any component.
pub fn inspect(component: &[u8]) -> Result<Inspection, LoadError> {
    let ceiling = Limits { memory: Limits::MAX_MEMORY, ..Limits::default() };
    prescan(component, &ceiling)?;
    let is_asynchronous = engine_kind(component) == EngineKind::Asynchronous;
    let mut found = Inspection { is_asynchronous, ..Inspection::default() };
    let mut depth = 0usize;
    for payload in Parser::new(0).parse_all(component) {
        let invalid = |error: wasmparser::BinaryReaderError| LoadError::Invalid(quote(error.message(), 200));
        match payload.map_err(invalid)? {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    let name = import.map_err(invalid)?.name.name;
                    found.imports.push(Import { name: quote(name, 120), linked: is_linked(name), grant: grant(name) });
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    found.exports.push(quote(export.map_err(invalid)?.name.name, 120));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Checks whether bytes could be a plugin, as far as possible without compiling them.
///
/// # Errors
/// Why no settings make them a plugin.
pub fn could_be_plugin(component: &[u8], limits: &Limits) -> Result<(), LoadError> {
    prescan(component, limits)?;
    let kind = summarize(component).kind;
    let has_nothing = matches!(kind, Kind::Component | Kind::WitPackage);
    if has_nothing || kind.is_for_another_host() { Err(no_interface(component)) } else { Ok(()) }
}

/// Refuses a component that only another host can call, which need not be compiled to find that out.
///
/// # Errors
/// If it exports tools for another host.
pub(in crate::plugin) fn not_for_another_host(component: &[u8]) -> Result<(), LoadError> {
    if summarize(component).kind.is_for_another_host() { Err(no_interface(component)) } else { Ok(()) }
}

/// The error for a component without callable exports, with what to do about its kind.
pub(in crate::plugin) fn no_interface(component: &[u8]) -> LoadError {
    let exports = inspect(component).unwrap_or_default().exports;
    LoadError::no_interface(&exports, summarize(component).kind.advice())
}

/// The interfaces that the linker provides, without versions. `load` does the real linking; this
/// list lets an error name the missing import.
const LINKED: [&str; 40] = [
    "wharf:plugin/types",
    "wharf:plugin/host",
    "wharf:plugin/http",
    "wasmcp:mcp-v20251125/mcp",
    "wasmcp:mcp-v20251125/server-handler",
    "wasmcp:mcp-v20251125/server-io",
    "wasmcp:mcp-v20251125/server-auth",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:clocks/wall-clock",
    "wasi:clocks/monotonic-clock",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:filesystem/types",
    "wasi:filesystem/preopens",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    "wasi:sockets/network",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
    "wasi:http/types",
    "wasi:http/outgoing-handler",
    "wasi:keyvalue/store",
    "wasi:keyvalue/atomics",
    "wasi:keyvalue/batch",
    "wasi:config/store",
];

/// Those of WASI 0.3, for components with async functions.
const LINKED_0_3: [&str; 23] = [
    "wasi:clocks/types",
    "wasi:clocks/system-clock",
    "wasi:clocks/monotonic-clock",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:filesystem/types",
    "wasi:filesystem/preopens",
    "wasi:cli/types",
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    "wasi:sockets/types",
    "wasi:sockets/ip-name-lookup",
    "wasi:http/types",
    "wasi:http/client",
];

/// Whether the linker provides an import in a compatible version.
pub(in crate::plugin) fn is_linked(import: &str) -> bool {
    let (name, version) = import.split_once('@').unwrap_or((import, ""));
    let served = match name.split_once(':') {
        // Drafts are compatible only with themselves.
        Some(("wasi", keyvalue)) if keyvalue.starts_with("keyvalue/") => version == "0.2.0-draft",
        Some(("wasi", config)) if config.starts_with("config/") => matches!(version, "0.2.0-rc.1" | "0.2.0-draft"),
        Some(("wasi", _)) if version.starts_with("0.3.") => return LINKED_0_3.contains(&name),
        Some(("wasi", _)) => version.starts_with("0.2."),
        _ => version.starts_with("0.1."),
    };
    LINKED.contains(&name) && served
}

/// The grant that the use of an import requires.
pub(in crate::plugin) fn grant(import: &str) -> Option<Access> {
    let name = import.split_once('@').map_or(import, |(name, _)| name);
    match name {
        "wharf:plugin/http" | "wasi:http/outgoing-handler" | "wasi:http/client" => Some(Access::Http),
        _ => name.starts_with("wasi:keyvalue/").then_some(Access::Keyvalue),
    }
}
