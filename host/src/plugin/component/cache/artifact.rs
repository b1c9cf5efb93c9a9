//! Native code that may be loaded: made by our compiler, or authenticated.
//!
//! One of the three files with `unsafe` code (`tests/it/tidy.rs` names them); there is no other
//! way to get an `Artifact`, a `Kept` or a `Code` than their constructors.

use std::io::Write as _;

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::os::memory;
use crate::os::sealed::Sealed;
use crate::plugin::id::Digest;

/// The output of `Engine::precompile_component`.
pub(in crate::plugin) struct Artifact(Vec<u8>);

impl Artifact {
    /// What our compiler has just written, from this process or its child.
    pub(in crate::plugin) fn of_compiler(code: Vec<u8>) -> Self {
        Self(code)
    }

    pub(super) fn code(&self) -> &[u8] {
        &self.0
    }

    /// Loads the code, which is of that component; fails if another version or other settings of
    /// the engine made it.
    pub(in crate::plugin) fn load(&self, engine: &Engine, content: Digest) -> wasmtime::Result<Code> {
        let mut open = super::memory_for(content);
        open.write_all(&self.0)?;
        Kept(open.seal()?).load(engine)
    }
}

/// Code of the cache, as it was when its MAC was found right.
pub(in crate::plugin) struct Kept(Sealed);

impl Kept {
    /// What the cache has kept, after its MAC was found right.
    pub(super) fn authenticated(code: Sealed) -> Self {
        Self(code)
    }

    /// Loads the code; fails if another version or other settings of the engine made it.
    pub(in crate::plugin) fn load(self, engine: &Engine) -> wasmtime::Result<Code> {
        if let Some(path) = self.0.path() {
            // SAFETY: `deserialize_file` wants bytes that `precompile_component` made, and that do
            // not change as long as the component lives. The constructors see to the first: they
            // come straight from our own compiler, or were authenticated while they were copied
            // here. The second is what the seals of the file are for.
            #[allow(unsafe_code)]
            let component = unsafe { Component::deserialize_file(engine, path) }?;
            return Ok(Code { component, sealed: true });
        }
        let code = self.0.into_bytes()?;
        // SAFETY: as above, but for bytes in memory, of which it makes a copy.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize(engine, code) }?;
        Ok(Code { component, sealed: false })
    }

    #[cfg(test)]
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes().expect("readable")
    }
}

/// Code that can be run.
pub(in crate::plugin) struct Code {
    component: Component,
    /// Whether it is mapped from a sealed file.
    sealed: bool,
}

impl Code {
    pub(in crate::plugin) fn component(&self) -> &Component {
        &self.component
    }

    /// Takes the code out of this process's mappings until it is run again: to map a page again
    /// takes about a microsecond, and what is not mapped can go to swap at once.
    pub(in crate::plugin) fn unmap(&self) {
        if self.sealed {
            // SAFETY: the advice throws away what was written to a private mapping. Nothing was:
            // wasmtime loads no code that needs relocations, and write-protects the image before
            // anybody has the component. Whoever reads or runs it meanwhile finds the bytes of the
            // file, which is sealed (see `Kept::load`). In memory that no file backs they would be
            // zeros, so that is left out.
            #[allow(unsafe_code)]
            unsafe {
                memory::unmap(self.component.image_range());
            }
        }
    }
}
