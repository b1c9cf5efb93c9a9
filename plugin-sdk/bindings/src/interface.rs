//! `wit/` with what WASI offers beside it, and the worlds that bindings are made for.

use std::path::Path;

use anyhow::Result;
use wit_bindgen_core::{Files, WorldGenerator};
use wit_parser::Resolve;

/// What a plugin may export, one interface at a time.
pub(crate) const EXPORTS: [&str; 5] = ["tools", "resources", "prompts", "completions", "extensions"];

/// Everything at once; the name is the prefix of the names in C.
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

    /// What a generator makes of a world, such as `wharf:plugin/tools-plugin`.
    pub(crate) fn generate(&self, mut generator: Box<dyn WorldGenerator>, world: &str) -> Result<Files> {
        // A generator changes what it reads.
        let mut resolve = self.resolve.clone();
        let packages: Vec<_> = resolve.packages.iter().map(|(id, _)| id).collect();
        let world = resolve.select_world(&packages, Some(world))?;
        let mut files = Files::default();
        generator.generate(&mut resolve, world, &mut files)?;
        Ok(files)
    }
}
