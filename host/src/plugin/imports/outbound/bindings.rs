//! Links `wasi:http@0.2`: the interfaces `types` and `outgoing-handler` of `wasmtime-wasi-http`.
//!
//! `outbound` enforces policy. An `incoming-handler` is called by `dialects/server`.

use wasmtime::component::Linker;
use wasmtime_wasi_http::WasiHttpView;

/// Adds both interfaces to the linker.
pub(in crate::plugin) fn link<T: WasiHttpView + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
}
