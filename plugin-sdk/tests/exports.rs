//! A component exports the interfaces that its author named and nothing else, and imports
//! no more of the system than its code uses.

use std::path::Path;

use wasmparser::{Parser, Payload};

struct Surface {
    imports: Vec<String>,
    exports: Vec<String>,
}

/// What the outermost component imports and exports.
fn surface(name: &str) -> Surface {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/prebuilt").join(name);
    let bytes = std::fs::read(&path).expect("the sample plugins are in the repository");
    let mut surface = Surface { imports: Vec::new(), exports: Vec::new() };
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(&bytes) {
        match payload.expect("a whole component") {
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
fn a_plugin_of_tools_exports_tools_alone() {
    for name in ["text.wasm", "time.wasm", "math.wasm", "survey.wasm"] {
        assert_eq!(surface(name).exports, ["wharf:plugin/tools@0.1.0"], "{name}");
    }
}

#[test]
fn what_a_plugin_does_not_use_it_does_not_import() {
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
fn a_plugin_that_keeps_values_imports_no_more_of_the_store_than_it_calls() {
    let imports = surface("notes.wasm").imports;
    let of_store: Vec<&String> = imports.iter().filter(|import| import.starts_with("wasi:keyvalue")).collect();
    assert_eq!(of_store, ["wasi:keyvalue/store@0.2.0-draft", "wasi:keyvalue/atomics@0.2.0-draft"]);
    assert!(!imports.iter().any(|import| import.starts_with("wasi:filesystem")), "{imports:?}");
}
