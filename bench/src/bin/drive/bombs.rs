//! Plugins that mean harm, made on the spot. What a plugin of each does is its tool's name.
//! It measures nothing.

use anyhow::{Context as _, Result};

use crate::component::burdened;
use crate::support::guest::{Guest, bodies};

/// Takes all memory that it gets, and writes to every page of it.
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

/// Takes handles of the host's and keeps them.
const LEAK: &str = "(loop $again (drop (call $stdout)) (br $again))";

/// Over what a result may have by default.
const OUTPUT: usize = 8 << 20;
const PAGE: usize = 64 << 10;
/// Of 1 KiB each: hundreds of times what a call may log.
const LINES: usize = 20_000;

/// Of one function: together just under the 1 MiB that a function may have.
const LOCALS: usize = 20_000;
const BLOCKS: usize = 90_000;

/// A plugin with all of them, and `version`, which harms nobody.
pub fn all() -> Vec<u8> {
    Guest::returning("1")
        .does("spin", bodies::SPIN)
        .does("fill", FILL)
        // Ends well, so that nobody stops calling it.
        .does("take", TAKE)
        .does("take-and-crash", &format!("{TAKE} unreachable"))
        .returns_bytes("output", OUTPUT, OUTPUT / PAGE)
        .logs("log", &"x".repeat(1 << 10), LINES, "")
        .does("table", bodies::GROW_TABLE)
        .does("handles", LEAK)
        .build()
}

/// How many tools that plugin has.
pub const TOOLS: usize = 9;

/// A plugin that takes the compiler more than it may have.
pub fn for_the_compiler() -> Result<Vec<u8>> {
    // All values live through all blocks, and the register allocator writes down which.
    let loads: String = (1..=LOCALS).map(|n| format!("(local.set {n} (i32.load offset={n} (local.get 0)))")).collect();
    let blocks = "(block (br_if 0 (local.get 0)))".repeat(BLOCKS);
    let uses: String = (1..=LOCALS).map(|n| format!("(local.get {n}) i32.add ")).collect();
    let function = format!(
        "(func (param i32) (result i32) (local {}) {loads} {blocks} (local.get 0) {uses})",
        "i32 ".repeat(LOCALS)
    );
    let module = wat::parse_str(format!("(module (memory 1) {function})")).context("make a module")?;
    Ok(burdened(&Guest::returning("1").build(), &module))
}
