//! `wit/` with the additional WASI packages, and the worlds for which bindings are generated.

use std::path::Path;

use anyhow::Result;
use wit_bindgen_core::{Files, WorldGenerator};
use wit_parser::Resolve;

/// The interfaces that a plugin may export.
pub(crate) const EXPORTS: [&str; 5] = ["tools", "resources", "prompts", "completions", "extensions"];

/// All interfaces; the name is the prefix of the C names.
const WORLDS: &str = "package wharf:bindings;
world wharf-abi {
  include wharf:plugin/plugin@0.1.0;
  import wasi:keyvalue/store@0.2.0-draft;
  import wasi:keyvalue/atomics@0.2.0-draft;
  import wasi:config/store@0.2.0-rc.1;
}
";

pub(crate) struct Interface {
    resolve: Resolve,
}

impl Interface {
    pub(crate) fn read(wit: &Path) -> Result<Self> {
        let mut resolve = Resolve::default();
        resolve.push_dir(wit)?;
        resolve.push_dir(wit.join("wasi-keyvalue"))?;
        resolve.push_dir(wit.join("wasi-config"))?;
        resolve.push_str("bindings.wit", WORLDS)?;
        Ok(Self { resolve })
    }

    /// The files that a generator makes for a world, such as `wharf:plugin/tools-plugin`.
    pub(crate) fn generate(&self, mut generator: Box<dyn WorldGenerator>, world: &str) -> Result<Files> {
        // Cloned, since generators modify their input.
        let mut resolve = self.resolve.clone();
        let packages: Vec<_> = resolve.packages.iter().map(|(id, _)| id).collect();
        let world = resolve.select_world(&packages, Some(world))?;
        let mut files = Files::default();
        generator.generate(&mut resolve, world, &mut files)?;
        Ok(files)
    }
}
