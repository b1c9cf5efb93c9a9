use wasmparser::{Parser, Payload};
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, Store};

use super::linked;
use crate::plugin::component::engine::{Allocation, EngineKind, engine};

/// A library with memory, table and globals, and a program that uses all of them and fills the table.
const PROGRAM: &str = r#"
    (core module $lib
      (memory (export "memory") 1)
      (table (export "table") 4 funcref)
      (global (export "base") i32 (i32.const 1))
      (global (export "counter") (mut i32) (i32.const 40))
      (data (i32.const 8) "h")
      (func (export "load") (result i32) (i32.load8_u (i32.const 8))))
    (core module $program
      (import "lib" "memory" (memory 1))
      (import "lib" "base" (global $base i32))
      (import "lib" "counter" (global $counter (mut i32)))
      (import "lib" "table" (table 4 funcref))
      (import "lib" "load" (func $load (result i32)))
      (type $number (func (result i32)))
      (elem (global.get $base) func $two $load)
      (func $two (result i32) (i32.const 2))
      START
      (func (export "run") (result i32)
        (global.set $counter (i32.add (global.get $counter) (i32.const 1)))
        (i32.add
          (global.get $counter)
          (i32.add (call_indirect (type $number) (i32.const 1)) (call_indirect (type $number) (i32.const 2))))))
    (core instance $l (instantiate $lib))
    (core instance $p (instantiate $program (with "lib" (instance $l))))
    (func (export "run") (result u32) (canon lift (core func $p "run")))"#;

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("a component in text form")
}

fn of(component: &[u8]) -> Option<Vec<u8>> {
    linked(component, engine(EngineKind::Synchronous, Allocation::OnDemand).expect("an engine").get_wasm_features())
}

fn modules(component: &[u8]) -> usize {
    let payloads = Parser::new(0).parse_all(component).map(|payload| payload.expect("a valid component"));
    payloads.filter(|payload| matches!(payload, Payload::ModuleSection { .. })).count()
}

/// What the component's function `run` returns, when it is called once and again.
fn run(component: &[u8]) -> [u32; 2] {
    let engine = Engine::new(&Config::new()).expect("an engine");
    let component = Component::new(&engine, component).expect("a valid component");
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &component).expect("an instance");
    let run = instance.get_typed_func::<(), (u32,)>(&mut store, "run").expect("a function");
    [(); 2].map(|()| run.call(&mut store, ()).expect("a result").0)
}

#[test]
fn linked_modules_do_the_same() {
    let original = component(&format!("(component {})", PROGRAM.replace("START", "")));
    let linked = of(&original).expect("linked");
    assert_eq!((modules(&original), modules(&linked)), (2, 1));
    assert_eq!(run(&original), [147, 148]);
    assert_eq!(run(&linked), [147, 148]);
}

#[test]
fn components_within_components_are_linked() {
    let inner = PROGRAM.replace("START", "");
    let text = format!(
        r#"(component (component $inner {inner}) (instance $i (instantiate $inner)) (export "run" (func $i "run")))"#
    );
    let original = component(&text);
    let linked = of(&original).expect("linked");
    assert_eq!((modules(&original), modules(&linked)), (2, 1));
    assert_eq!(run(&linked), run(&original));
    let deep = (0..8).fold(inner, |within, _| format!("(component {within})"));
    assert!(of(&component(&format!("(component {deep})"))).is_none(), "linked at any depth");
}

#[test]
fn modules_that_run_when_they_are_instantiated_stay() {
    let start = "(func $start (global.set $counter (i32.const 1))) (start $start)";
    assert!(of(&component(&format!("(component {})", PROGRAM.replace("START", start)))).is_none());
}

#[test]
fn references_to_functions_stay_declared() {
    let text = r#"(component
        (core module $lib (func (export "seven") (result i32) (i32.const 7)))
        (core module $program
          (import "lib" "seven" (func $seven (result i32)))
          (table 1 funcref)
          (elem declare func $seven)
          (func (export "run") (result i32)
            (table.set (i32.const 0) (ref.func $seven))
            (call_indirect (result i32) (i32.const 0))))
        (core instance $l (instantiate $lib))
        (core instance $p (instantiate $program (with "lib" (instance $l))))
        (func (export "run") (result u32) (canon lift (core func $p "run"))))"#;
    assert_eq!(run(&of(&component(text)).expect("linked")), [7, 7]);
}

/// Its type is in the way: it needs its destructor before the program.
#[test]
fn components_with_destructors_stay() {
    let text = r#"(component
        (core module $a (func (export "drop") (param i32)))
        (core module $b (import "a" "drop" (func (param i32))) (func (export "f")))
        (core instance $i (instantiate $a))
        (core instance $j (instantiate $b (with "a" (instance $i))))
        (type $r (resource (rep i32) (dtor (core func $i "drop"))))
        (func (export "f") (canon lift (core func $j "f"))))"#;
    assert!(of(&component(text)).is_none());
}

/// As the toolchains of Rust make them: a program, its adapter's trampolines, and what fills their table once the
/// program's memory is there.
#[test]
fn plugins_become_two_modules() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins/prebuilt");
    let files = std::fs::read_dir(folder).expect("the folder");
    let mut count = 0;
    for file in files.map(|file| file.expect("a file").path()).filter(|file| file.extension().is_some()) {
        let original = std::fs::read(&file).expect("a component");
        let linked = of(&original).expect("linked");
        assert!(modules(&original) > 2 && modules(&linked) == 2, "{}: {}", file.display(), modules(&linked));
        wasmparser::validate(&linked).expect("a valid component");
        count += 1;
    }
    assert!(count > 3, "{count}");
}

#[test]
fn what_is_invalid_is_not_linked() {
    // The program expects another type than the library has.
    let text = r#"(component
        (core module $lib (func (export "f") (param i32)))
        (core module $program (import "lib" "f" (func (param i64))) (func (export "run")))
        (core instance $l (instantiate $lib))
        (core instance (instantiate $program (with "lib" (instance $l)))))"#;
    assert!(of(&component(text)).is_none());
    let valid = component(&format!("(component {})", PROGRAM.replace("START", "")));
    // Some of its beginnings are components too.
    for linked in (0..valid.len()).filter_map(|end| of(&valid[..end])) {
        wasmparser::validate(&linked).expect("a valid component");
    }
}
