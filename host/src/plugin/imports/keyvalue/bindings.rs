//! `wasi:keyvalue@0.2.0-draft`: the only file that uses its bindgen modules.
//!
//! Links the functions, which are implemented in `keyvalue`. The interface `watcher` is not provided.

use wasmtime::component::{HasSelf, Linker};

mod generated {
    wasmtime::component::bindgen!({
        world: "wasi:keyvalue/imports",
        path: "../wit/wasi-keyvalue",
        imports: { default: async },
        with: { "wasi:keyvalue/store.bucket": crate::plugin::imports::keyvalue::Bucket },
    });
}

pub(in crate::plugin) use generated::wasi::keyvalue::atomics::Host as AtomicCalls;
pub(in crate::plugin) use generated::wasi::keyvalue::batch::Host as BatchCalls;
pub(in crate::plugin) use generated::wasi::keyvalue::store::{
    Error, Host as StoreCalls, HostBucket as BucketCalls, KeyResponse,
};

/// Adds the interfaces `store`, `atomics` and `batch` to the linker.
pub(in crate::plugin) fn link<T>(linker: &mut Linker<T>) -> wasmtime::Result<()>
where
    T: StoreCalls + BucketCalls + AtomicCalls + BatchCalls + Send + 'static,
{
    use generated::wasi::keyvalue::{atomics, batch, store};
    store::add_to_linker::<_, HasSelf<T>>(linker, |state| state)?;
    atomics::add_to_linker::<_, HasSelf<T>>(linker, |state| state)?;
    batch::add_to_linker::<_, HasSelf<T>>(linker, |state| state)
}
