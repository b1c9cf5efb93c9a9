//! Native code that may be loaded: made by our compiler, or authenticated.
//!
//! Holds one of the program's two `unsafe` places (`function` has the other); there is no other
//! way to get an `Artifact`, a `Kept` or a `Code` than their constructors.

#[cfg(test)]
use std::path::Path;
use std::path::PathBuf;

use wasmtime::Engine;
use wasmtime::component::Component;

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

    /// Loads the code; fails if another version or other settings of the engine made it.
    pub(in crate::plugin) fn load(&self, engine: &Engine) -> wasmtime::Result<Code> {
        // SAFETY: `deserialize` wants bytes that `precompile_component` made and nobody
        // changed. The constructor sees to that: they come straight from our own compiler,
        // and they are in memory.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize(engine, &self.0) }?;
        Ok(Code { component })
    }
}

/// An artifact in a file of the cache.
pub(in crate::plugin) struct Kept(PathBuf);

impl Kept {
    /// What the cache has kept, after its MAC was found right.
    pub(super) fn authenticated(file: PathBuf) -> Self {
        Self(file)
    }

    /// Loads the code; fails if another version or other settings of the engine made it. Code
    /// that is not run stays in the file.
    pub(in crate::plugin) fn load(&self, engine: &Engine) -> wasmtime::Result<Code> {
        // SAFETY: as above, but for bytes in a file, which must not change as long as the
        // component lives. The cache writes no file twice: it replaces one by another that
        // our compiler made of the same component. Nobody but this user can write to its
        // folder, and whoever can could as well replace this program.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize_file(engine, &self.0) }?;
        Ok(Code { component })
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// Code that can be run.
pub(in crate::plugin) struct Code {
    component: Component,
}

impl Code {
    pub(in crate::plugin) fn component(&self) -> &Component {
        &self.component
    }
}
