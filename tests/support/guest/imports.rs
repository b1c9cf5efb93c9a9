//! Host functions for the guest's instructions. Only called functions are imported.

/// The name in the instructions, the interface, the function, and its lowered type.
const IMPORTS: [(&str, &str, &str, &str); 16] = [
    // Severity, then the message.
    ("$log", "wharf:plugin/host@0.1.0", "log", "(param i32 i32 i32)"),
    // Severity, then the logger, then the data.
    ("$log_data", "wharf:plugin/host@0.1.0", "log-data", "(param i32 i32 i32 i32 i32)"),
    // The list: 0 is the tools.
    ("$list_changed", "wharf:plugin/host@0.1.0", "list-changed", "(param i32)"),
    // Progress, optional total, optional message.
    ("$progress", "wharf:plugin/host@0.1.0", "progress", "(param f64 i32 f64 i32 i32 i32)"),
    ("$updated", "wharf:plugin/host@0.1.0", "resource-updated", "(param i32 i32)"),
    ("$cancelled", "wharf:plugin/host@0.1.0", "cancelled", "(result i32)"),
    ("$environment", "wasi:cli/environment@0.2.0", "get-environment", "(param i32)"),
    ("$arguments", "wasi:cli/environment@0.2.0", "get-arguments", "(param i32)"),
    ("$folders", "wasi:filesystem/preopens@0.2.0", "get-directories", "(param i32)"),
    ("$stdin", "wasi:cli/stdin@0.2.0", "get-stdin", "(result i32)"),
    ("$stdout", "wasi:cli/stdout@0.2.0", "get-stdout", "(result i32)"),
    ("$stderr", "wasi:cli/stderr@0.2.0", "get-stderr", "(result i32)"),
    ("$random", "wasi:random/random@0.2.0", "get-random-u64", "(result i64)"),
    ("$read", "wasi:io/streams@0.2.0", "[method]input-stream.blocking-read", "(param i32 i64 i32)"),
    ("$write", "wasi:io/streams@0.2.0", "[method]output-stream.blocking-write-and-flush", "(param i32 i32 i32 i32)"),
    // 1 is failure.
    ("$exit", "wasi:cli/exit@0.2.0", "exit", "(param i32)"),
];

/// The imports of a module with these instructions.
pub(super) fn called_by(instructions: &str) -> String {
    let called = |name: &str| instructions.contains(&format!("(call {name} "));
    let import = |(name, interface, function, kind): &(&str, &str, &str, &str)| {
        format!("(import \"{interface}\" \"{function}\" (func {name} {kind}))\n")
    };
    IMPORTS
        .iter()
        .filter(|(name, ..)| called(name) || instructions.contains(&format!("(call {name})")))
        .map(import)
        .collect()
}
