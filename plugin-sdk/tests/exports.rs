//! A component exports only the interfaces that its author listed, and imports only those that
//! its code uses.

use std::path::Path;

use wasmparser::{Parser, Payload};

struct Surface {
    imports: Vec<String>,
    exports: Vec<String>,
}

/// The imports and exports of the outermost component.
fn surface(name: &str) -> Surface {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/prebuilt").join(name);
    let bytes = std::fs::read(&path).expect("the sample plugins are in the repository");
    let mut surface = Surface { imports: Vec::new(), exports: Vec::new() };
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(&bytes) {
        match payload.expect("a valid component") {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                surface
                    .imports
                    .extend(section.into_iter().map(|import| import.expect("an import").name.name.to_owned()));
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                surface
                    .exports
                    .extend(section.into_iter().map(|export| export.expect("an export").name.name.to_owned()));
            }
            _ => {}
        }
    }
    surface
}

#[test]
fn a_tools_plugin_exports_only_tools() {
    for name in ["text.wasm", "time.wasm", "math.wasm", "survey.wasm"] {
        assert_eq!(surface(name).exports, ["wharf:plugin/tools@0.1.0"], "{name}");
    }
}

#[test]
fn unused_interfaces_are_not_imported() {
    for name in ["text.wasm", "time.wasm", "math.wasm", "survey.wasm"] {
        for import in surface(name).imports {
            let unused = [
                "wharf:plugin/host",
                "wharf:plugin/http",
                "wasi:filesystem",
                "wasi:sockets",
                "wasi:http",
                "wasi:keyvalue",
            ];
            assert!(!unused.iter().any(|unused| import.starts_with(unused)), "{name} imports {import}");
        }
    }
}

#[test]
fn only_called_store_interfaces_are_imported() {
    let imports = surface("notes.wasm").imports;
    let of_store: Vec<&String> = imports.iter().filter(|import| import.starts_with("wasi:keyvalue")).collect();
    assert_eq!(of_store, ["wasi:keyvalue/store@0.2.0-draft", "wasi:keyvalue/atomics@0.2.0-draft"]);
    assert!(!imports.iter().any(|import| import.starts_with("wasi:filesystem")), "{imports:?}");
}
