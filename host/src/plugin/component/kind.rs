//! Classifies a file, whether or not it can be a plugin: by its sections and the names in
//! them, without compiling or running anything.
//!
//! For diagnostics only; `load` decides what loads.

use std::fmt;

use wasmparser::{
    ComponentExternalKind, CustomSectionReader, Encoding, ExternalKind, Parser, Payload, ProducersSectionReader,
};

use super::header::classify;
use crate::text::quote;

/// Maximum names shown of one file.
const MAX_NAMES: usize = 64;
/// Prefixes of interfaces whose functions are not tools themselves.
const OLD_WASMCP: &str = "wasmcp:protocol/";
const ACT: &str = "act:tools/tool-provider";
/// The role of a language.
const LANGUAGE: &str = "language";
/// Maximum producers shown of one file.
const MAX_PRODUCERS: usize = 32;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// It exports interfaces of `wharf:plugin`.
    Wharf,
    /// It exports functions in other interfaces, or directly.
    Plain,
    /// It exports wasmcp's interfaces.
    Wasmcp,
    /// It exports those of wasmcp's first releases, `wasmcp:protocol`.
    OldWasmcp,
    /// It exports ACT's interface, `act:tools/tool-provider`.
    Act,
    /// A command-line program, `wasi:cli`.
    Command,
    /// An HTTP server, `wasi:http`.
    HttpServer,
    /// Interfaces without code.
    WitPackage,
    /// A component without callable exports.
    Component,
    /// A component that is damaged before any callable export.
    Damaged,
    /// A core module that `wasm-tools component new` turns into a component.
    Unwrapped,
    /// An Extism plugin.
    Extism,
    /// A WASI preview 1 program, from before components.
    Preview1,
    /// Any other core module.
    Module,
    #[default]
    NotWasm,
}

impl Kind {
    /// Whether only another host can call it: tools for that host.
    pub(super) fn is_for_another_host(self) -> bool {
        self == Self::OldWasmcp
    }

    /// A stable code for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Wharf => "wharf-plugin",
            Self::Plain => "plain-component",
            Self::Wasmcp => "wasmcp-component",
            Self::OldWasmcp => "old-wasmcp-component",
            Self::Act => "act-component",
            Self::Command => "wasi-cli-program",
            Self::HttpServer => "wasi-http-server",
            Self::WitPackage => "wit-package",
            Self::Component => "component",
            Self::Damaged => "damaged-component",
            Self::Unwrapped => "unwrapped-component",
            Self::Extism => "extism-plugin",
            Self::Preview1 => "wasi-preview1-program",
            Self::Module => "core-module",
            Self::NotWasm => "not-wasm",
        }
    }

    /// What to change so that it loads, if its kind is the reason that it does not.
    pub fn advice(self) -> Option<&'static str> {
        Some(match self {
            Self::Wharf | Self::Plain | Self::Wasmcp | Self::Command | Self::Damaged | Self::NotWasm => return None,
            Self::OldWasmcp => "rebuild it against the package wasmcp:mcp-v20251125@0.1.1, which current wasmcp uses",
            Self::Act => "build it against the package act:tools@0.1 or 0.2",
            Self::HttpServer => {
                "build it for WASI 0.2 (wasi:http/incoming-handler) or 0.3 (handler), and let it speak MCP; or export functions"
            }
            Self::WitPackage => "build a component that implements these interfaces; a WIT package has no code",
            Self::Component => "export functions, or an interface of wharf:plugin",
            Self::Unwrapped => "convert it to a component: `wasm-tools component new FILE -o PLUGIN.wasm`",
            Self::Extism => {
                "rebuild it for wasm32-wasip2, as a component that exports its functions; Extism's calling convention is not supported"
            }
            Self::Preview1 => "rebuild it for wasm32-wasip2: a command-line program is a plugin with one tool",
            Self::Module => {
                "rebuild it for wasm32-wasip2: functions of a core module pass only numbers, without interface types"
            }
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wharf => "Wharf plugin",
            Self::Plain => "plain component",
            Self::Wasmcp => "wasmcp component",
            Self::OldWasmcp => "component for an older wasmcp (wasmcp:protocol)",
            Self::Act => "ACT component (act:tools)",
            Self::Command => "command-line program (wasi:cli), served as one tool",
            Self::HttpServer => "HTTP server (wasi:http), served if it speaks MCP",
            Self::WitPackage => "WIT package",
            Self::Component => "component without callable exports",
            Self::Damaged => "damaged component",
            Self::Unwrapped => "core module that is not yet a component",
            Self::Extism => "Extism plugin, a core module",
            Self::Preview1 => "WASI preview 1 program, a core module",
            Self::Module => "core module",
            Self::NotWasm => "not WebAssembly",
        })
    }
}

/// A summary of a file. Names are escaped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSummary {
    pub kind: Kind,
    /// Its `producers` section: languages first, then tools.
    pub producers: Vec<Producer>,
    /// For a core module, as `module.name`; for a component see [`super::inspect::inspect`].
    pub imports: Vec<String>,
    pub exports: Vec<String>,
}

/// A language or a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Producer {
    /// `language`, `processed-by` or `sdk`.
    pub role: String,
    pub name: String,
    /// Empty if unknown.
    pub version: String,
}

/// Summarizes a file; a damaged one up to the damage.
pub fn summarize(bytes: &[u8]) -> FileSummary {
    let mut found = FileSummary::default();
    let Ok(encoding) = classify(bytes) else { return found };
    let mut scan = Scan::default();
    for payload in Parser::new(0).parse_all(bytes) {
        let Ok(payload) = payload else {
            scan.is_damaged = true;
            break;
        };
        scan.at(&payload, &mut found);
    }
    found.kind = match encoding {
        Encoding::Module => scan.module(&found),
        Encoding::Component => scan.component(),
    };
    // What a component itself says, which `wharf build` writes, is of all of it. Its parts name what an interpreter or an
    // adapter was made with.
    if scan.producers.iter().any(|own| own.role == LANGUAGE) {
        found.producers = scan.producers;
    }
    found.producers.sort();
    found.producers.dedup();
    found
}

/// The state of the scan.
#[derive(Default)]
struct Scan {
    depth: usize,
    has_code: bool,
    /// Of the outermost component.
    exports: Vec<(String, ComponentExternalKind)>,
    /// It has a custom section with a component's type: see [`Kind::Unwrapped`].
    has_component_type: bool,
    /// Of the outermost component or module.
    producers: Vec<Producer>,
    is_damaged: bool,
}

impl Scan {
    fn at(&mut self, payload: &Payload<'_>, found: &mut FileSummary) {
        match payload {
            Payload::Version { encoding, .. } => {
                self.depth += 1;
                self.has_code |= *encoding == Encoding::Module;
            }
            Payload::End(_) => self.depth = self.depth.saturating_sub(1),
            Payload::ComponentExportSection(section) if self.depth == 1 => {
                let exports = section.clone().into_iter().flatten();
                self.exports.extend(exports.take(MAX_NAMES).map(|export| (export.name.name.to_owned(), export.kind)));
            }
            Payload::ImportSection(section) if self.depth == 1 => {
                let imports = section.clone().into_imports().flatten().take(MAX_NAMES);
                found.imports.extend(imports.map(|import| quote(&format!("{}.{}", import.module, import.name), 120)));
            }
            Payload::ExportSection(section) if self.depth == 1 => {
                let functions =
                    section.clone().into_iter().flatten().filter(|export| export.kind == ExternalKind::Func);
                found.exports.extend(functions.take(MAX_NAMES).map(|export| quote(export.name, 120)));
            }
            Payload::CustomSection(section) => {
                self.has_component_type |= self.depth == 1 && section.name().starts_with("component-type");
                producers(section, &mut found.producers);
                if self.depth == 1 {
                    producers(section, &mut self.producers);
                }
            }
            _ => {}
        }
    }

    fn component(&self) -> Kind {
        let exports = |prefix: &str| self.exports.iter().any(|(name, _)| name.starts_with(prefix));
        // With tools, ACT's components export sessions and more of its interfaces.
        let for_other_hosts = ["wasi:", OLD_WASMCP, if exports(ACT) { "act:" } else { ACT }];
        let callable = |(name, kind): &(String, ComponentExternalKind)| match kind {
            ComponentExternalKind::Func => true,
            ComponentExternalKind::Instance => !for_other_hosts.iter().any(|host| name.starts_with(host)),
            _ => false,
        };
        if exports("wharf:plugin/") {
            Kind::Wharf
        } else if exports("wasmcp:mcp-") {
            Kind::Wasmcp
        } else if self.exports.iter().any(callable) {
            Kind::Plain
        } else if exports(OLD_WASMCP) {
            Kind::OldWasmcp
        } else if exports(ACT) {
            Kind::Act
        } else if exports("wasi:http/incoming-handler@") || exports("wasi:http/handler@") {
            Kind::HttpServer
        } else if exports("wasi:cli/run@") {
            Kind::Command
        } else if !self.has_code && !self.exports.is_empty() {
            Kind::WitPackage
        } else if self.is_damaged {
            Kind::Damaged
        } else {
            Kind::Component
        }
    }

    fn module(&self, found: &FileSummary) -> Kind {
        let imports = |module: &str| found.imports.iter().any(|import| import.starts_with(module));
        if self.has_component_type {
            Kind::Unwrapped
        } else if imports("extism:host/") {
            Kind::Extism
        } else if imports("wasi_snapshot_preview1.") || imports("wasi_unstable.") {
            Kind::Preview1
        } else {
            Kind::Module
        }
    }
}

impl FileSummary {
    /// The languages that it is made of, as far as it says so.
    pub fn languages(&self) -> Vec<String> {
        let of_language = |producer: &&Producer| producer.role == LANGUAGE;
        self.producers.iter().filter(of_language).map(|producer| producer.name.clone()).collect()
    }
}

/// Reads a `producers` section.
fn producers(section: &CustomSectionReader<'_>, producers: &mut Vec<Producer>) {
    if section.name() != "producers" {
        return;
    }
    let reader = wasmparser::BinaryReader::new(section.data(), section.data_offset());
    let Ok(fields) = ProducersSectionReader::new(reader) else { return };
    for field in fields.into_iter().flatten() {
        for value in field.values.into_iter().flatten() {
            if producers.len() < MAX_PRODUCERS {
                let (name, version) = (quote(value.name, 60), quote(value.version, 60));
                producers.push(Producer { role: field.name.to_owned(), name, version });
            }
        }
    }
}

#[cfg(test)]
mod tests;
