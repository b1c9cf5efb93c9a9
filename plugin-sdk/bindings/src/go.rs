//! Go: a package for each interface, and the exports of each in the corresponding package of the
//! wrapper: importing that package exports the interface.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::Files;
use crate::interface::{EXPORTS, Interface};

const WRAPPER: &str = "plugin-sdk/go";

pub(crate) fn bindings(interface: &Interface) -> Result<Files> {
    let mut files = Files::new();
    for (name, content) in interface.generate(generator(), "wharf:bindings/wharf-abi")?.iter() {
        // Exports are generated from smaller worlds; the module is the wrapper's own.
        if name.contains('/') {
            files.insert(Path::new(WRAPPER).join("internal/abi").join(name), renamed(content)?.into_bytes());
        }
    }
    for name in EXPORTS {
        let world = interface.generate(generator(), &format!("wharf:plugin/{name}-plugin@0.1.0"))?;
        let (_, exports) = world.iter().find(|(file, _)| *file == "wit_exports.go").context("Go has exports")?;
        files.insert(home(name), exported(name, &renamed(exports)?)?.into_bytes());
    }
    Ok(files)
}

fn generator() -> Box<dyn wit_bindgen_core::WorldGenerator> {
    // The result must not depend on whether `gofmt` is installed.
    wit_bindgen_go::Opts { format: wit_bindgen_go::Format::False, ..Default::default() }.build()
}

/// Tools are in the wrapper's root, the other interfaces in separate packages.
fn home(interface: &str) -> PathBuf {
    let folder = if interface == "tools" { PathBuf::new() } else { interface.into() };
    Path::new(WRAPPER).join(folder).join("exports_wasm.go")
}

/// Replaces the generator's module names with the wrapper's. `internal/wit` is its patched runtime.
fn renamed(content: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(content)?;
    let text = text.replace("go.bytecodealliance.org/pkg/wit/", "wharf-plugin/internal/wit/");
    let text = text.replace("wit_component/", "wharf-plugin/internal/abi/");
    // These functions exist only in a component; native tests use the types too.
    let only_wasm = if text.contains("//go:wasmimport") { "//go:build wasm\n\n" } else { "" };
    Ok(only_wasm.to_owned() + &text)
}

/// The exports as part of the wrapper's package, whose functions (`exportListTools`) they call.
fn exported(interface: &str, text: &str) -> Result<String> {
    let package = if interface == "tools" { "wharf" } else { interface };
    let implementation = format!("export_wharf_plugin_{interface}");
    let import = format!("\"wharf-plugin/internal/abi/{implementation}\"");
    let (text, _) = text.rsplit_once("// Unused, but present").context("Go has a main function")?;
    let lines = text.lines().filter(|line| line.trim() != import).map(str::trim_end);
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.replace("package main", &format!("package {package}"));
    Ok(text.replace(&format!("{implementation}."), "export").trim_end().to_owned() + "\n")
}
