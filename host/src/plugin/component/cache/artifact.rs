//! Native code that may be loaded: made by our compiler, or authenticated.
//!
//! One of the files with `unsafe` code (`tests/it/tidy.rs` lists them). `Artifact`, `SealedCode`
//! and `Code` can be made by their constructors only.

use std::io::Write as _;

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::os::memory;
use crate::os::sealed::Sealed;
use crate::plugin::id::Digest;

/// The output of `Engine::precompile_component`.
pub(in crate::plugin) struct Artifact(Vec<u8>);

impl Artifact {
    /// The output of our own compiler, in this process or its child.
    pub(in crate::plugin) fn of_compiler(code: Vec<u8>) -> Self {
        Self(code)
    }

    pub(in crate::plugin) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn code(&self) -> &[u8] {
        &self.0
    }

    /// Loads the code of that component; fails if it was made by another version or other settings
    /// of the engine.
    pub(in crate::plugin) fn load(&self, engine: &Engine, content: Digest) -> wasmtime::Result<Code> {
        let mut open = super::memory_for(content);
        open.write_all(&self.0)?;
        SealedCode(open.seal()?).load(engine)
    }
}

/// Code in sealed memory: from our compiler, or from the cache and authenticated.
pub(in crate::plugin) struct SealedCode(Sealed);

impl SealedCode {
    /// Code of a cache entry whose MAC was verified while it was copied.
    pub(super) fn authenticated(code: Sealed) -> Self {
        Self(code)
    }

    /// Loads the code; fails if it was made by another version or other settings of the engine.
    pub(in crate::plugin) fn load(self, engine: &Engine) -> wasmtime::Result<Code> {
        if let Some(path) = self.0.path() {
            // SAFETY: `deserialize_file` requires bytes that `precompile_component` made, and that do
            // not change as long as the component lives. The constructors ensure the first: the bytes
            // come straight from our own compiler, or were authenticated while they were copied
            // here. The seals of the file ensure the second.
            #[allow(unsafe_code)]
            let component = unsafe { Component::deserialize_file(engine, path) }?;
            return Ok(Code { component, sealed: true });
        }
        let code = self.0.into_bytes()?;
        // SAFETY: as above, for bytes in memory, which `deserialize` copies.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize(engine, code) }?;
        Ok(Code { component, sealed: false })
    }

    /// # Errors
    /// If it cannot be read back.
    pub(in crate::plugin) fn into_bytes(self) -> std::io::Result<Vec<u8>> {
        self.0.into_bytes()
    }
}

/// Loaded code.
pub(in crate::plugin) struct Code {
    component: Component,
    /// Whether it is mapped from a sealed file.
    sealed: bool,
}

impl Code {
    pub(in crate::plugin) fn component(&self) -> &Component {
        &self.component
    }

    /// Unmaps the code's pages until it runs again: mapping a page again takes about a microsecond,
    /// and unmapped pages can be swapped out at once.
    pub(in crate::plugin) fn unmap(&self) {
        if self.sealed {
            // SAFETY: the advice discards what was written to a private mapping. Nothing was:
            // wasmtime loads no code that needs relocations, and write-protects the image before
            // it returns the component. A thread that reads or runs it meanwhile gets the bytes of
            // the file, which is sealed (see `SealedCode::load`). Anonymous memory would read as
            // zeros, so it is not unmapped.
            #[allow(unsafe_code)]
            unsafe {
                memory::unmap(self.component.image_range());
            }
        }
    }
}
