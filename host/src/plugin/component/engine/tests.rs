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
