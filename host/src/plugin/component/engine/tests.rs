use super::*;
use std::hash::{DefaultHasher, Hash, Hasher};

#[test]
fn no_forbidden_proposal_is_accepted() {
    let engine = engine(Allocation::OnDemand).expect("an engine");
    let accepted = engine.get_wasm_features();
    assert!(accepted.contains(WasmFeatures::SIMD | WasmFeatures::BULK_MEMORY));
    for feature in FORBIDDEN {
        assert!(!accepted.intersects(feature), "{feature:?}");
    }
}

#[test]
fn both_allocators_run_the_same_code() {
    let hash = |allocation| {
        let engine = engine(allocation).expect("an engine");
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(Allocation::OnDemand), hash(Allocation::Pooling { extra: 0 }));
}

#[test]
fn asynchronous_and_invalid_components_are_distinguished() {
    let engine = engine(Allocation::OnDemand).expect("an engine");
    for (text, refused, asynchronous) in [
        ("(component)", false, false),
        ("(component (type (stream u8)))", true, true),
        (r#"(component (import "f" (func async)))"#, true, true),
        ("(component (core module (memory i64 1)))", true, false),
    ] {
        let component = wat::parse_str(text).expect("valid WAT");
        assert_eq!(engine.precompile_component(&component).is_err(), refused, "{text}");
        assert_eq!(is_asynchronous(&engine, &component), asynchronous, "{text}");
    }
    assert!(!is_asynchronous(&engine, b"no component"));
}
