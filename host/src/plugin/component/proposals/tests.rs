use super::*;
use crate::plugin::component::engine::{Allocation, engine};

fn refused_text(text: &str) -> Option<LoadError> {
    let engine = engine(EngineKind::Synchronous, Allocation::OnDemand).expect("an engine");
    let component = wat::parse_str(text).expect("valid WAT");
    let refused = refused(&engine, &component);
    assert_eq!(refused.is_some(), engine.precompile_component(&component).is_err(), "{text}");
    refused
}

#[test]
fn accepted_proposals_are_not_refused() {
    assert_eq!(refused_text("(component)"), None);
    assert_eq!(refused_text("(component (core module (func (result v128) v128.const i64x2 0 0)))"), None);
}

#[test]
fn the_kind_of_engine_follows_from_the_types() {
    let body = "(core module (func unreachable unreachable (drop (i32.add))))";
    for (text, kind) in [
        ("(component)".into(), EngineKind::Synchronous),
        (format!("(component {body})"), EngineKind::Synchronous),
        ("(component (type (stream u8)))".into(), EngineKind::Asynchronous),
        (format!("(component {body} (type (future u8)))"), EngineKind::Asynchronous),
        (r#"(component (import "f" (func async)))"#.into(), EngineKind::Asynchronous),
        (r#"(component (component (import "f" (func async))))"#.into(), EngineKind::Asynchronous),
        // Others are refused, whatever the engine.
        ("(component (core module (memory i64 1)))".into(), EngineKind::Synchronous),
        ("(component (core module (tag)) (type (future u8)))".into(), EngineKind::Asynchronous),
    ] {
        let component = wat::parse_str(&text).expect("valid WAT");
        assert_eq!(engine_kind(&component), kind, "{text}");
    }
    assert_eq!(engine_kind(b"no component"), EngineKind::Synchronous);
}

#[test]
fn newer_parts_of_async_functions_are_refused() {
    let engine = engine(EngineKind::Asynchronous, Allocation::OnDemand).expect("an engine");
    let component = wat::parse_str("(component (type (future u8)) (core func (canon error-context.drop)))");
    let component = component.expect("valid WAT");
    assert_eq!(engine_kind(&component), EngineKind::Asynchronous);
    let Some(LoadError::Proposals { names, hint }) = refused(&engine, &component) else { panic!("not refused") };
    assert_eq!(names, "error contexts");
    assert!(hint.contains("a type of its own"), "{hint}");
}

#[test]
fn each_proposal_that_is_needed_is_named() {
    let body = |code: &str| format!("(component (core module {code}))");
    for (text, names) in [
        (body("(tag)"), "exceptions"),
        (body("(memory i64 1)"), "64-bit memories"),
        (body("(memory 1 1 shared)"), "threads"),
        (body("(type (struct))"), "garbage collection"),
        (body("(func (param externref))"), "garbage collection"),
        (body("(func $f return_call $f)"), "tail calls"),
        (body("(func (param v128 v128) (result v128) local.get 0 local.get 1 i8x16.relaxed_swizzle)"), "relaxed SIMD"),
        (body("(memory 1 (pagesize 1))"), "custom page sizes"),
        (body("(type (struct)) (tag) (memory 1 1 shared)"), "garbage collection, exceptions, threads"),
        ("(component (type (list u8 4)))".into(), "fixed-length lists"),
        ("(component (type (stream u8)))".into(), "async functions"),
        ("(component (core module (tag)) (type (future u8)))".into(), "exceptions, async functions"),
    ] {
        let Some(LoadError::Proposals { names: found, hint }) = refused_text(&text) else {
            panic!("unexpected event: {text}");
        };
        assert_eq!(found, names, "{text}");
        assert_eq!(named(&found), Some(LoadError::Proposals { names: found, hint }));
    }
}

#[test]
fn a_component_with_exceptions_is_told_how_to_build_without() {
    let catches =
        "(tag $t (param i32)) (func (block $caught (result i32) (try_table (catch $t $caught)) i32.const 1) drop)";
    let throws = "(tag $t) (func throw $t)";
    for code in [catches, throws] {
        let refused = refused_text(&format!("(component (core module {code}))"));
        let Some(LoadError::Proposals { names, hint }) = refused else { panic!("{refused:?}: {code}") };
        assert_eq!(names, "exceptions");
        assert!(["-fno-exceptions", "setjmp", "panic = \"abort\""].iter().all(|way| hint.contains(way)), "{hint}");
    }
}

#[test]
fn damaged_components_are_not_blamed_on_a_proposal() {
    let engine = engine(EngineKind::Synchronous, Allocation::OnDemand).expect("an engine");
    assert_eq!(refused(&engine, b"no component"), None);
    let component = wat::parse_str("(component (core module (tag)))").expect("valid WAT");
    assert_eq!(refused(&engine, &component[..component.len() - 1]), None);
    let invalid = wat::parse_str("(component (core module (tag) (func (result i32))))").expect("valid WAT");
    assert_eq!(refused(&engine, &invalid), None);
    assert_eq!(named("something else"), None);
}

/// It is not the first proposal that is off which is wrong with it.
#[test]
fn an_invalid_component_is_told_what_is_invalid() {
    let wrong = r#"(component (type (stream u8)) (core module $m (func (export "f"))) (core instance $i (instantiate $m))
        (func (export "f") (param "x" u32) (canon lift (core func $i "f"))))"#;
    let reason = invalid(&wat::parse_str(wrong).expect("valid WAT")).expect("a reason");
    assert!(!reason.contains("async feature") && reason.contains("type"), "{reason}");
    assert_eq!(invalid(&wat::parse_str("(component (type (stream u8)))").expect("valid WAT")), None);
}
