//! Hostile plugins, generated here. Each tool is named after what it does.

use anyhow::{Context as _, Result};

use crate::component::with_module;
use crate::support::guest::{Guest, bodies};

/// Allocates all memory up to its limit, and writes to every page.
const TAKE: &str = "(loop $more
    (local.set $n (memory.grow (i32.const 16)))
    (if (i32.ne (local.get $n) (i32.const -1)) (then
        (memory.fill (i32.mul (local.get $n) (i32.const 65536)) (i32.const 1) (i32.const 1048576))
        (br $more))))";

/// Writes to 48 MiB in one instruction, again and again.
const FILL: &str = "(local.set $n (i32.mul (memory.grow (i32.const 768)) (i32.const 65536)))
    (loop $for_ever
        (memory.fill (local.get $n) (i32.const 1) (i32.const 50331648))
        (br $for_ever))";

/// Takes resource handles from the host and never drops them.
const LEAK: &str = "(loop $again (drop (call $stdout)) (br $again))";

/// Over the default limit of a result.
const OUTPUT: usize = 8 << 20;
const PAGE: usize = 64 << 10;
/// Of 1 KiB each: hundreds of times the log limit of a call.
const LINES: usize = 20_000;

/// Of one function, whose body stays just under the limit of 1 MiB.
const LOCALS: usize = 20_000;
const BLOCKS: usize = 90_000;

/// A plugin with all of them, and the harmless tool `version`.
pub fn all() -> Vec<u8> {
    Guest::returning("1")
        .does("spin", bodies::SPIN)
        .does("fill", FILL)
        // Returns normally, so that the plugin is not quarantined.
        .does("take", TAKE)
        .does("take-and-crash", &format!("{TAKE} unreachable"))
        .returns_bytes("output", OUTPUT, OUTPUT / PAGE)
        .logs("log", &"x".repeat(1 << 10), LINES, "")
        .does("table", bodies::GROW_TABLE)
        .does("handles", LEAK)
        .build()
}

/// Number of tools of that plugin.
pub const TOOLS: usize = 9;

/// A plugin that exceeds the compiler's limits.
pub fn for_the_compiler() -> Result<Vec<u8>> {
    // All values are live across all blocks, which the register allocator has to record.
    let loads: String = (1..=LOCALS).map(|n| format!("(local.set {n} (i32.load offset={n} (local.get 0)))")).collect();
    let blocks = "(block (br_if 0 (local.get 0)))".repeat(BLOCKS);
    let uses: String = (1..=LOCALS).map(|n| format!("(local.get {n}) i32.add ")).collect();
    let function = format!(
        "(func (param i32) (result i32) (local {}) {loads} {blocks} (local.get 0) {uses})",
        "i32 ".repeat(LOCALS)
    );
    let module = wat::parse_str(format!("(module (memory 1) {function})")).context("make a module")?;
    Ok(with_module(&Guest::returning("1").build(), &module))
}
