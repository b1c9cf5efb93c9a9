//! Native code that may be loaded: made by our compiler, or authenticated.
//!
//! Holds the program's only `unsafe`; there is no other way to get an `Artifact` than the
//! two constructors.

use wasmtime::Engine;
use wasmtime::component::Component;

/// The output of `Engine::precompile_component`.
pub(in crate::plugin) struct Artifact(Vec<u8>);

impl Artifact {
    /// What our compiler has just written, from this process or its child.
    pub(in crate::plugin) fn of_compiler(code: Vec<u8>) -> Self {
        Self(code)
    }

    /// What the cache has kept, after its MAC was found right.
    pub(super) fn authenticated(code: Vec<u8>) -> Self {
        Self(code)
    }

    pub(super) fn code(&self) -> &[u8] {
        &self.0
    }

    /// Loads the code; fails if another version or other settings of the engine made it.
    pub(in crate::plugin) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        // SAFETY: `deserialize` wants bytes that `precompile_component` made and nobody
        // changed. Both constructors see to that: the bytes come straight from our own
        // compiler, or carry a MAC by a key that only this user can read. They are in
        // memory, so no one changes them while they are read.
        #[allow(unsafe_code)]
        unsafe {
            Component::deserialize(engine, &self.0)
        }
    }
}
