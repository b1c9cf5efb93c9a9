//! C: one header and one file for all interfaces, and a macro for each interface that
//! exports it. A plugin's source uses the macros of its interfaces, so that a component exports
//! nothing else.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::Files;
use crate::interface::{EXPORTS, Interface};

const FOLDER: &str = "plugin-sdk/c/abi";
/// The helpers use it, and it is defined beside the exports.
const REALLOC: &str = "extern void *cabi_realloc(void *ptr, size_t old_size, size_t align, size_t new_size);";
const EXPORT: &str = "__export_name__(\"";

pub(crate) fn bindings(interface: &Interface) -> Result<Files> {
    // The exports are not known here, so neither is the component's type.
    let options = wit_bindgen_c::Opts { no_object_file: true, ..Default::default() };
    let generated = interface.generate(options.build(), "wharf:bindings/wharf-abi")?;
    let mut files = Files::new();
    for (name, content) in generated.iter() {
        let mut text = std::str::from_utf8(content)?.to_owned();
        if name.ends_with(".c") {
            let (code, exports) = parted(&text)?;
            let (code, types) = without_types(&code)?;
            text = code;
            files.insert(Path::new(FOLDER).join("wharf_types.c"), types.into_bytes());
            files.insert(Path::new(FOLDER).join("wharf_exports.h"), header(&exports)?.into_bytes());
        }
        files.insert(Path::new(FOLDER).join(name), text.into_bytes());
    }
    Ok(files)
}

/// A function exported under a name that is not a C identifier.
struct Export {
    name: String,
    signature: String,
}

/// The code without the export attributes of the interfaces, and the functions that had them.
fn parted(text: &str) -> Result<(String, Vec<Export>)> {
    let (mut code, mut exports) = (String::new(), Vec::new());
    // The component's type would come from an object file that is not generated.
    let (text, _) = text.split_once("// Ensure that the *_component_type.o").context("C asks for its type")?;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let name = line.split_once(EXPORT).and_then(|(_, rest)| rest.split_once('"'));
        match name {
            Some((name, _)) if name.contains('#') => {
                let signature = lines.next().context("a function follows its attribute")?;
                let bare = signature.trim_end_matches('{').trim_end();
                exports.push(Export { name: name.to_owned(), signature: bare.to_owned() });
                writeln!(code, "{signature}")?;
            }
            _ => writeln!(code, "{line}")?,
        }
    }
    Ok((code, exports))
}

/// The code, and separately the functions that free values, which native tests need too.
fn without_types(code: &str) -> Result<(String, String)> {
    let (head, rest) = code.split_once("\n\n").context("C begins with its includes")?;
    let (before, rest) = rest.split_once("// Helper Functions").context("C has helpers")?;
    let (helpers, after) = rest.split_once("// Component Adapters").context("C has adapters")?;
    let types = format!("{head}\n\n{REALLOC}\n\n// Helper Functions{helpers}");
    Ok((format!("{head}\n\n{before}// Component Adapters{after}"), types))
}

fn header(exports: &[Export]) -> Result<String> {
    let mut text = String::from(
        "// Generated from wit/ by wharf-bindings. DO NOT EDIT!\n\
         // Each macro exports one interface: every function under its name in the interface.\n\
         #ifndef WHARF_EXPORTS_H\n#define WHARF_EXPORTS_H\n\n\
         #include <stddef.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
    );
    for export in exports {
        writeln!(text, "{};", export.signature)?;
    }
    for interface in EXPORTS {
        write!(text, "\n#define WHARF_EXPORT_{}", interface.to_uppercase())?;
        let of_interface = format!("wharf:plugin/{interface}@");
        for export in exports.iter().filter(|export| export.name.contains(&of_interface)) {
            write!(text, " \\\n  {}", forwarder(export)?)?;
        }
        writeln!(text)?;
    }
    text += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    Ok(text)
}

/// A function with the export's name that forwards its arguments.
fn forwarder(export: &Export) -> Result<String> {
    let (head, parameters) = export.signature.split_once('(').context("a signature has parameters")?;
    let (result, function) = head.rsplit_once(' ').context("a signature has a name")?;
    let parameters = parameters.trim_end_matches(')');
    let word = |parameter: &str| parameter.rsplit([' ', '*']).next().unwrap_or_default().to_owned();
    let names: Vec<String> = match parameters {
        "void" => Vec::new(),
        some => some.split(',').map(word).collect(),
    };
    let give = if result == "void" { "" } else { "return " };
    Ok(format!(
        "__attribute__((__export_name__(\"{}\"))) {result} {function}_export({parameters}) {{ {give}{function}({}); }}",
        export.name,
        names.join(", ")
    ))
}
