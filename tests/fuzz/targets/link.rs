//! Static linking of a component's modules: what it makes of a valid component is valid.

use wasmparser::{Validator, WasmFeatures};
use wharf::plugin::linked;

use super::Target;

/// Modules that import functions, globals, memories and tables of each other; an instance made of exports; a function
/// of the host; a component within a component.
const SEEDS: &[&str] = &[
    r#"(component
        (core module $a (memory (export "m") 1) (table (export "t") 2 funcref) (global (export "g") i32 (i32.const 1))
          (func (export "f") (result i32) (i32.const 3)))
        (core module $b (import "a" "m" (memory 1)) (import "a" "t" (table 2 funcref)) (import "a" "g" (global $g i32))
          (import "a" "f" (func $f (result i32))) (elem (global.get $g) func $f) (data (global.get $g) "b")
          (func (export "f") (result i32) (call_indirect (result i32) (i32.const 1))))
        (core instance $i (instantiate $a))
        (core instance $j (instantiate $b (with "a" (instance $i))))
        (func (export "f") (result u32) (canon lift (core func $j "f"))))"#,
    r#"(component
        (import "h" (func $h (param "a" u32)))
        (core func $l (canon lower (func $h)))
        (core module $a (import "" "h" (func $h (param i32))) (func (export "f") (param i32) (call $h (local.get 0))))
        (core module $b (import "a" "g" (func $f (param i32))) (func (export "f") (call $f (i32.const 1))))
        (core instance $i (instantiate $a (with "" (instance (export "h" (func $l))))))
        (core instance $j (instantiate $b (with "a" (instance (export "g" (func $i "f"))))))
        (func (export "f") (canon lift (core func $j "f"))))"#,
    r#"(component (component $c
        (core module $a (func (export "f")))
        (core module $b (import "a" "f" (func)) (export "f" (func 0)))
        (core instance $i (instantiate $a))
        (core instance $j (instantiate $b (with "a" (instance $i))))
        (func (export "f") (canon lift (core func $j "f")))) (instance $i (instantiate $c)) (export "f" (func $i "f")))"#,
];

pub(super) fn target() -> Target {
    let seeds = SEEDS.iter().map(|text| wat::parse_str(text).expect("a component in text form")).collect();
    Target { name: "link", seeds, words: vec!["\0", "\u{1}", "\u{2}", "\u{7f}", "a", "f", "\u{41}", "\u{23}"], run }
}

fn run(input: &[u8]) {
    // The engine accepts no indices of 64 bits. Where they are accepted, a table that has them may be joined to an
    // import that has not, in a component but not in a module.
    let features = WasmFeatures::default() - WasmFeatures::MEMORY64;
    if let Some(linked) = linked(input, features) {
        Validator::new_with_features(features).validate_all(&linked).expect("a valid component");
    }
}
