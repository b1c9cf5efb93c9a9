//! Components that take long to compile, or that compile to much code. Compilation runs in a child
//! process, so the levels of the host and the bystander must not suffer.
//!
//! The debug build of the compiler is slow: what takes an optimised one 20 s takes it minutes. These
//! take it seconds, and use the same techniques.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::source::bytes_of;

pub(crate) const ROWS: &[Row] =
    rows![h07_too_many_functions, h08_huge_function_bodies, h09_too_many_types_and_modules,];

/// Refused after compilation as not a plugin, or, on a loaded machine, for its compilation time.
const COMPILED: &str = " the component";

/// A component of one core module with these fields. It is not a plugin, so the reason of its
/// refusal shows whether it was compiled.
fn module(fields: &str) -> Vec<u8> {
    // Makes the component unique, so that its code is not in the cache.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    bytes_of(&format!("(component (core module (global i64 (i64.const {now})) {fields}))"))
}

fn h07_too_many_functions(setup: Setup) -> Arena {
    let bomb = module(&"(func)".repeat(100_001));
    let crowd = module(&"(func (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))".repeat(8_000));
    let mut arena = setup.open("");
    arena.refuses("bomb", &bomb, "functions than 100000");
    arena.refuses("crowd", &crowd, COMPILED);
    arena
}

fn h08_huge_function_bodies(setup: Setup) -> Arena {
    // Every local is live across every loop.
    let (mut loops, locals) = (String::new(), 400);
    for n in 0..600 {
        let (from, to) = (n % locals, (n * 7 + 1) % locals);
        let _ = write!(
            loops,
            "(loop (local.set {to} (i32.add (local.get {to}) (local.get {from}))) (br_if 0 (local.get {to})))"
        );
    }
    let live: String = (0..locals).map(|n| format!("(i32.store (i32.const {}) (local.get {n}))", n * 4)).collect();
    let spaghetti = module(&format!("(memory 1) (func (local {}) {loops} {live})", "i32 ".repeat(locals)));
    let branches = "(if (local.get 0) (then (local.set 0 (i32.const 1))) (else (local.set 0 (i32.const 2))))";
    let diamonds = module(&format!("(func (param i32) {})", branches.repeat(4000)));
    let long = module(&format!("(func {})", "(drop (i64.const 81985529216486895))".repeat(110_000)));
    let mut arena = setup.open("");
    arena.refuses("long", &long, "bytes in one function than 1048576");
    arena.refuses("spaghetti", &spaghetti, COMPILED);
    arena.refuses("diamonds", &diamonds, COMPILED);
    arena
}

/// Components that each instantiate the one before twice, down to a core module.
fn doubled(levels: usize) -> Vec<u8> {
    let mut text = "(component (component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
    for level in 1..=levels {
        let below = level - 1;
        let _ = write!(
            text,
            "(component $c{level} (alias outer 1 {below} (component $b)) (instance (instantiate $b)) (instance (instantiate $b)))"
        );
    }
    bytes_of(&format!("{text}(instance (instantiate $c{levels})))"))
}

fn h09_too_many_types_and_modules(setup: Setup) -> Arena {
    let nested = |depth: usize| {
        let first = "(type $t0 (list u8))".to_owned();
        (1..depth).fold(first, |text, n| format!("{text}(type $t{n} (list $t{}))", n - 1))
    };
    let instances = "(core instance (instantiate $m))".repeat(65);
    let crowds = [
        ("deep", bytes_of(&format!("(component {})", nested(101))), ""),
        ("types", module(&"(type (func))".repeat(100_000)), COMPILED),
        ("modules", bytes_of(&format!("(component {})", "(core module)".repeat(1000))), "core modules than 64"),
        ("components", bytes_of(&format!("(component {})", "(component)".repeat(1000))), "nested components than 64"),
        ("doubled", doubled(40), "core module instances than 64"),
        (
            "passed",
            bytes_of("(component (component (import \"c\" (component)) (instance (instantiate 0))))"),
            "imports of components than 0",
        ),
        ("instances", bytes_of(&format!("(component (core module $m) {instances})")), "core module instances than 64"),
    ];
    let mut arena = setup.open("");
    for (name, bytes, word) in crowds {
        arena.refuses(name, &bytes, word);
    }
    arena
}
