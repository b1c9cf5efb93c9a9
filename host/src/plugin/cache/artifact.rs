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
        Ok(Code { component, in_file: false })
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
        Ok(Code { component, in_file: true })
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// Code that can be run.
pub(in crate::plugin) struct Code {
    component: Component,
    /// Whether it is mapped from there.
    in_file: bool,
}

impl Code {
    pub(in crate::plugin) fn component(&self) -> &Component {
        &self.component
    }

    /// Takes the code out of this process's memory until it is run again. The system has it still,
    /// as a part of the file: to map a page again takes about a microsecond.
    pub(in crate::plugin) fn rest(&self) {
        #[cfg(target_os = "linux")]
        if self.in_file {
            use rustix::mm::{Advice, madvise};

            let image = self.component.image_range();
            let length = image.end.addr() - image.start.addr();
            // SAFETY: the advice throws away what was written to a private mapping. Nothing was:
            // wasmtime loads no code that needs relocations, and write-protects the image before
            // anybody has the component. Whoever reads or runs it meanwhile finds the bytes of the
            // file, which does not change as long as the component lives (see `Kept::load`). In
            // memory that no file backs they would be zeros, so that is left out.
            #[allow(unsafe_code)]
            let advised = unsafe { madvise(image.start.cast_mut().cast(), length, Advice::LinuxDontNeed) };
            // Locked memory, for one, stays.
            let _ = advised;
        }
    }
}
