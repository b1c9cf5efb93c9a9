//! Wraps a core module in a component, for languages whose compilers emit core modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{BinaryReaderError, Parser, Payload};
use wharf_report::Failure;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::world::{self, World};
use crate::project::Import;

/// The prefix of the names of a plugin's interfaces.
const OURS: &str = "wharf:plugin/";

/// Wraps the module in a component, in `work`. Its world has the module's exports, and those imports
/// of plugins that the module uses. WASI 0.1, which C libraries and Go's runtime use, is adapted to
/// WASI 0.2.
pub(super) fn of_module(module: &Path, work: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: anyhow::Error| Failure::new(format!("create a component from the module: {error:#}"));
    let mut bytes = fs::read(module).map_err(|error| failed(error.into()))?;
    let exports = interfaces(&bytes).map_err(|error| failed(error.into()))?;
    if exports.is_empty() {
        return Err(Failure::new("create a component from the module: it exports none of Wharf's interfaces")
            .hint("add a tool, as described in the wrapper's README".to_owned()));
    }
    let wit = work.join("wit");
    // The encoder drops unused imports.
    World::new(exports, world::imports(&[Import::Http, Import::Keyvalue, Import::Config])).write(&wit)?;
    let component = work.join("component.wasm");
    encode(&mut bytes, &wit).and_then(|bytes| Ok(fs::write(&component, bytes)?)).map_err(failed).map(|()| component)
}

/// The plugin's interfaces among the exported functions: `wharf:plugin/tools@0.1.0` for
/// `wharf:plugin/tools@0.1.0#call-tool`.
fn interfaces(module: &[u8]) -> Result<BTreeSet<String>, BinaryReaderError> {
    let mut found = BTreeSet::new();
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ExportSection(section) = payload? {
            for export in section {
                let interface = export?.name.split_once('#').map(|(interface, _)| interface);
                found.extend(interface.filter(|name| name.starts_with(OURS)).map(str::to_owned));
            }
        }
    }
    Ok(found)
}

fn encode(module: &mut Vec<u8>, wit: &Path) -> anyhow::Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit)?;
    let world = resolve.select_world(&[package], Some(world::NAME))?;
    embed_component_metadata(module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default()
        .validate(true)
        .module(module)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .encode()
}

#[cfg(test)]
mod tests {
    use wasmparser::{Parser, Payload, Validator, WasmFeatures};

    use super::of_module;

    /// A minimal plugin that imports WASI 0.1.
    const MODULE: &str = r#"(module
        (import "wharf:plugin/host@0.1.0" "cancelled" (func $cancelled (result i32)))
        (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
        (func (export "wharf:plugin/completions@0.1.0#complete")
            (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
        (func (export "other") (drop (call $cancelled)) (drop (call $random (i32.const 0) (i32.const 8)))))"#;

    #[test]
    fn a_module_becomes_a_component_with_its_imports_and_exports() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("core.wasm");
        // The parameters of `complete` exceed the limit for flat parameters, so they are passed by one
        // pointer.
        let parameters = "(param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)";
        let module = MODULE.replace(parameters, "(param i32)");
        std::fs::write(&file, wat::parse_str(module).expect("a module")).expect("a file");
        let component = of_module(&file, dir.path()).expect("a component");
        let component = std::fs::read(component).expect("it was written");
        Validator::new_with_features(WasmFeatures::all()).validate_all(&component).expect("it is valid");
        let (mut imports, mut exports) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(&component) {
            match payload.expect("it parses") {
                Payload::ComponentImportSection(section) => {
                    imports.extend(section.into_iter().map(|import| import.expect("an import").name.name.to_owned()));
                }
                Payload::ComponentExportSection(section) => {
                    exports.extend(section.into_iter().map(|export| export.expect("an export").name.name.to_owned()));
                }
                _ => {}
            }
        }
        assert!(exports.iter().any(|name| name == "wharf:plugin/completions@0.1.0"), "{exports:?}");
        assert!(imports.iter().any(|name| name == "wharf:plugin/host@0.1.0"), "{imports:?}");
        assert!(imports.iter().any(|name| name.starts_with("wasi:random/random@0.2.")), "{imports:?}");
        assert!(!imports.iter().any(|name| name.contains("keyvalue")), "{imports:?}");
    }

    #[test]
    fn modules_that_are_not_plugins_are_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("core.wasm");
        let wrong = r#"(module (func (export "wharf:plugin/tools@0.1.0#list-tools")))"#;
        for (module, said) in [
            (b"\0asm\x01\0\0\0".to_vec(), "exports none"),
            (b"no wasm".to_vec(), "magic"),
            (wat::parse_str(wrong).expect("a module"), "list-tools"),
        ] {
            std::fs::write(&file, module).expect("a file");
            let failure = format!("{:?}", of_module(&file, dir.path()).expect_err(said));
            assert!(failure.contains(said), "{failure}");
        }
        assert!(of_module(&dir.path().join("missing"), dir.path()).is_err());
    }
}
