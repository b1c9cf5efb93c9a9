//! Why a file could not be loaded as a plugin, for the person who installed it.
//!
//! Text from the component (names, messages) is escaped and truncated.

use std::io;
use std::time::Duration;

use super::fault::{Fault, TrapKind};
use crate::os::files;
use crate::text::quote;

/// Maximum number of functions named when none can be a tool.
const REASONS: usize = 3;

/// For a component of any kind.
const EXPORT_ONE: &str =
    "export one of wharf:plugin/tools, resources, prompts or completions @0.1.0, or plain functions";

/// Why there is no plugin. Reads after "failed to".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("load an empty file")]
    Empty,
    #[error("load a text file; a WebAssembly component is binary")]
    Text,
    #[error("load a web page; it is not a WebAssembly component")]
    Html,
    #[error("load a core WebAssembly module; a plugin is a component")]
    CoreModule { hint: &'static str },
    #[error("load precompiled machine code; only components are trusted to be sandboxed")]
    Precompiled,
    #[error("load a file that is not WebAssembly")]
    NotWasm,
    #[error("load a component of an unknown binary version")]
    UnknownVersion,
    #[error("read the component, which is damaged or truncated: {0}")]
    Invalid(String),
    #[error("record calls of a component with async functions, streams or futures")]
    NotRecorded,
    #[error("load a component that uses WebAssembly proposals which are not allowed: {names}")]
    Proposals { names: String, hint: &'static str },
    #[error("find a plugin interface in the component; it exports {exports}")]
    NoInterface { exports: String, hint: &'static str },
    #[error("find an exported function that can be exposed as a tool: {0}")]
    NoFunction(String),
    #[error("find a function required by its interface: {0}")]
    MissingFunction(String),
    #[error("use an export whose type differs from its interface: {0}")]
    WrongType(String),
    #[error("link the component; unknown import: {0}")]
    UnknownImport(String),
    #[error("link the component; import with a different type: {0}")]
    WrongImport(String),
    #[error("load more than {limit} bytes: {size}")]
    TooLarge { size: u64, limit: u64 },
    #[error("load a component with more {what} than {limit}")]
    TooMany { what: &'static str, limit: u64 },
    #[error("reserve the {bytes} bytes of memory that the component declares; its limit is {limit}")]
    DeclaredMemory { bytes: u64, limit: u64 },
    #[error("load a file that is a symbolic link")]
    Symlink,
    #[error("load a plugin from something that is not a regular file: {0}")]
    NotAFile(&'static str),
    #[error("load a file that other users can write")]
    WritableByOthers,
    #[error("load a file owned by another user")]
    ForeignOwner,
    #[error("read the file: {0}")]
    Unreadable(String),
    #[error("load the file now, because of an error of the system: {0}")]
    System(String),
    #[error("read the file, which changed while it was read")]
    Changed,
    #[error("find the signature that the configuration requires")]
    Unsigned,
    #[error("load the file, whose signature is invalid: {0}")]
    BadSignature(String),
    #[error("find an MCP server in the HTTP handler: {0}")]
    NotMcp(String),
    #[error("use what the configuration says of the command's tool: {0}")]
    CommandTool(String),
    #[error("list what the plugin offers; it refused: {0}")]
    ListingRefused(String),
    #[error("list what the plugin offers within its time limit")]
    ListingTimeout,
    #[error("list what the plugin offers; it crashed: {0}")]
    ListingTrap(TrapKind),
    #[error("list what the plugin offers: {}", .0.code())]
    ListingFault(Fault),
    #[error("list what the plugin offers; that is more than {limit} {what}")]
    ListingTooLarge { what: &'static str, limit: usize },
    /// Said by the process of a plugin that has its own.
    #[error("{why}")]
    InProcess { why: String, hint: Option<String>, is_of_listing: bool },
    #[error("compile the component within {} s", .0.as_secs())]
    CompileTimeout(Duration),
    #[error("compile the component within its time and memory limits")]
    CompileLimit,
    #[error("compile the component: {0}")]
    Compile(String),
    #[error("load the component because of a host error: {0}")]
    Host(String),
}

impl LoadError {
    /// A failed system call: [`LoadError::System`] if it is temporary, else `kind`.
    pub(in crate::plugin) fn of_system(error: &io::Error, kind: fn(String) -> Self, text: String) -> Self {
        if files::is_temporary(error) { Self::System(text) } else { kind(text) }
    }

    pub(in crate::plugin) fn unknown_import(name: &str) -> Self {
        Self::UnknownImport(quote(name, 120))
    }

    pub(in crate::plugin) fn unlinkable(error: wasmtime::Error) -> Self {
        Self::WrongImport(quote(&format!("{error:#}"), 300))
    }

    /// `hint`: what to do, if that depends on its kind.
    pub(in crate::plugin) fn no_interface(exports: &[String], hint: Option<&'static str>) -> Self {
        let exports = if exports.is_empty() { "nothing".into() } else { quote(&exports.join(", "), 200) };
        Self::NoInterface { exports, hint: hint.unwrap_or(EXPORT_ONE) }
    }

    /// Converts the outcome of a listing call.
    pub(in crate::plugin) fn of_listing<T>(outcome: Result<Result<T, String>, Fault>) -> Result<T, Self> {
        match outcome {
            Ok(Ok(list)) => Ok(list),
            Ok(Err(why)) => Err(Self::listing_refused(&why)),
            Err(fault) => Err(Self::of_fault(fault)),
        }
    }

    /// Converts the fault of a listing call.
    pub(in crate::plugin) fn of_fault(fault: Fault) -> Self {
        match fault {
            Fault::Timeout { .. } | Fault::Cpu { .. } => Self::ListingTimeout,
            Fault::Trap(kind) => Self::ListingTrap(kind),
            fault => Self::ListingFault(fault),
        }
    }

    pub(in crate::plugin) fn no_function(why: &[impl ToString]) -> Self {
        let more = if why.len() > REASONS { format!("; and {} more", why.len() - REASONS) } else { String::new() };
        let shown: Vec<String> = why.iter().take(REASONS).map(ToString::to_string).collect();
        Self::NoFunction(format!("{}{more}", shown.join("; ")))
    }

    pub(in crate::plugin) fn not_mcp(why: &str) -> Self {
        Self::NotMcp(quote(why, 200))
    }

    pub(in crate::plugin) fn listing_refused(why: &str) -> Self {
        Self::ListingRefused(quote(why, 300))
    }

    /// Whether the component was instantiated but its listing failed.
    pub fn is_of_listing(&self) -> bool {
        match self {
            Self::ListingRefused(_) | Self::ListingTimeout | Self::ListingTrap(_) | Self::ListingFault(_) => true,
            Self::InProcess { is_of_listing, .. } => *is_of_listing,
            _ => false,
        }
    }

    /// Whether other keys in the configuration might make it acceptable.
    pub fn is_of_signature(&self) -> bool {
        matches!(self, Self::Unsigned | Self::BadSignature(_))
    }

    /// Whether it is a temporary error: load the file again later.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::System(_))
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        Some(match self {
            Self::InProcess { hint, .. } => return hint.as_deref(),
            Self::Empty | Self::Invalid(_) | Self::Changed => "copy the file again; it may be incomplete",
            Self::System(_) => "the host tries again every second",
            Self::Text => "build it into a component, or convert WAT with `wasm-tools parse`",
            Self::Html => "the download saved a web page instead; download the file itself",
            Self::CoreModule { hint } => hint,
            Self::Proposals { hint, .. } => hint,
            Self::NotRecorded => "call it without a recording, or build it with synchronous functions, for WASI 0.2",
            Self::Precompiled => "use the .wasm file that it was compiled from",
            Self::NoInterface { hint, .. } => hint,
            Self::NoFunction(_) => "export a function that takes and returns values",
            Self::MissingFunction(_) | Self::WrongType(_) => "build it against the wit folder of this version",
            Self::UnknownImport(_) | Self::WrongImport(_) => {
                "a plugin may import WASI 0.2 and 0.3, wasi:http 0.2 and 0.3, wasi:keyvalue@0.2.0-draft, wasi:config and wharf:plugin, nothing else"
            }
            Self::Unsigned => "sign it: minisign -S -m NAME.wasm, which writes NAME.wasm.minisig beside it",
            Self::BadSignature(_) => {
                "sign the current file with one of the keys under [signatures], or remove the signature"
            }
            Self::NotMcp(_) => {
                "of HTTP handlers only those can be plugins that answer requests of MCP (server/discover, or initialize) at /mcp or /"
            }
            Self::CommandTool(_) => {
                "correct the file that `command.tool` of the plugin names, then save the configuration, or send the server SIGHUP"
            }
            Self::Symlink => "replace the link with a copy of the file",
            Self::WritableByOthers => "chmod go-w the file",
            Self::ForeignOwner => "chown the file to the user that runs the host",
            Self::TooMany { .. } => {
                "this is a limit of Wharf: split it into several plugins; in Python, build it without --stub-wasi and with fewer native packages"
            }
            Self::DeclaredMemory { .. } => "raise `limits.memory` for the plugin, or build it with less",
            _ => return None,
        })
    }
}
