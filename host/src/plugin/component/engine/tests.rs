use super::*;
use std::hash::{DefaultHasher, Hash, Hasher};

#[test]
fn no_forbidden_proposal_is_accepted() {
    for kind in EngineKind::ALL {
        let engine = engine(kind, Allocation::OnDemand).expect("an engine");
        let accepted = engine.get_wasm_features();
        assert!(accepted.contains(WasmFeatures::SIMD | WasmFeatures::BULK_MEMORY));
        for feature in FORBIDDEN {
            assert!(!accepted.intersects(feature), "{feature:?}");
        }
        let is_asynchronous = kind == EngineKind::Asynchronous;
        assert_eq!(accepted.contains(WasmFeatures::CM_ASYNC), is_asynchronous);
        assert_eq!(engine.get_concurrency_support(), is_asynchronous);
    }
}

#[test]
fn both_allocators_run_the_same_code() {
    let hash = |kind, allocation| {
        let engine = engine(kind, allocation).expect("an engine");
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.finish()
    };
    for kind in EngineKind::ALL {
        assert_eq!(hash(kind, Allocation::OnDemand), hash(kind, Allocation::Pooling { extra: 0 }));
    }
}
