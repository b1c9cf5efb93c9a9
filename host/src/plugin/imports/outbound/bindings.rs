//! Links `wasi:http`: the interfaces `types` and `outgoing-handler` of 0.2, and `types` and `client` of 0.3, of
//! `wasmtime-wasi-http`.
//!
//! `outbound` enforces policy. Handlers of components are called by `dialects/server`.

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentNamedList, Lift, Linker, LinkerInstance, Resource};
use wasmtime_wasi_http::p2::bindings::http::types as v0_2;
use wasmtime_wasi_http::p3::bindings::http::types as v0_3;
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView as _, p2, p3};

use crate::plugin::imports::state::GuestState;

/// The versions that the engine's bindings have.
const TYPES_0_2: &str = "wasi:http/types@0.2.12";
const TYPES_0_3: &str = "wasi:http/types@0.3.0";

/// Adds the interfaces of 0.2 to the linker.
pub(in crate::plugin::imports) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    p2::add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES_0_2)?;
    counted(&mut types, "[method]outgoing-request.set-method", size_0_2, |mut http, request, method| {
        v0_2::HostOutgoingRequest::set_method(&mut http, request, method)
    })?;
    counted(&mut types, "[method]outgoing-request.set-path-with-query", size, |mut http, request, path| {
        v0_2::HostOutgoingRequest::set_path_with_query(&mut http, request, path)
    })?;
    counted(&mut types, "[method]outgoing-request.set-authority", size, |mut http, request, authority| {
        v0_2::HostOutgoingRequest::set_authority(&mut http, request, authority)
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Adds those of 0.3.
pub(in crate::plugin::imports) fn link_0_3(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    p3::add_to_linker(linker)?;
    linker.allow_shadowing(true);
    let mut types = linker.instance(TYPES_0_3)?;
    counted(&mut types, "[method]request.set-method", size_0_3, |mut http, request, method| {
        v0_3::HostRequest::set_method(&mut http, request, method)
    })?;
    counted(&mut types, "[method]request.set-path-with-query", size, |mut http, request, path| {
        v0_3::HostRequest::set_path_with_query(&mut http, request, path)
    })?;
    counted(&mut types, "[method]request.set-authority", size, |mut http, request, authority| {
        v0_3::HostRequest::set_authority(&mut http, request, authority)
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

/// A function of a request that keeps a value.
type Set<R, V> = fn(WasiHttpCtxView<'_>, Resource<R>, V) -> wasmtime::Result<Result<(), ()>>;

/// Replaces a function with one that counts the text, which the host keeps, against the memory of the call.
fn counted<R: 'static, V>(
    types: &mut LinkerInstance<'_, GuestState>,
    name: &str,
    size: fn(&V) -> usize,
    set: Set<R, V>,
) -> wasmtime::Result<()>
where
    V: 'static,
    (Resource<R>, V): ComponentNamedList + Lift,
{
    types.func_wrap(name, move |mut store: StoreContextMut<'_, GuestState>, (request, value): (Resource<R>, V)| {
        if !store.data_mut().quota.grow(size(&value) as u64) {
            wasmtime::bail!("its requests exceed the memory limit");
        }
        Ok((set(store.data_mut().http(), request, value)?,))
    })
}

fn size(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}

fn size_0_2(method: &v0_2::Method) -> usize {
    match method {
        v0_2::Method::Other(method) => method.len(),
        _ => 0,
    }
}

fn size_0_3(method: &v0_3::Method) -> usize {
    match method {
        v0_3::Method::Other(method) => method.len(),
        _ => 0,
    }
}
