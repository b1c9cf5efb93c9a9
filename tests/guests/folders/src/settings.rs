//! The content of `wasi:config`.

#![allow(unsafe_code, unreachable_pub, clippy::all)]

wit_bindgen::generate!({ world: "wasi:config/imports", path: "../../../wit/wasi-config" });

/// All entries by key, and a missing key.
pub(crate) fn all() -> String {
    let mut all = wasi::config::store::get_all().unwrap_or_default();
    all.sort();
    let one = all.first().map(|(key, _)| wasi::config::store::get(key));
    format!("{all:?} {one:?} {:?}", wasi::config::store::get("nothing"))
}
