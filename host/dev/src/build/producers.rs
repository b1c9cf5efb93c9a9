//! What a component says it was made with.
//!
//! Tools name what an interpreter or an adapter was made with, which is in nearly every component, and not the
//! language of the plugin.

use wasm_encoder::Encode as _;

use crate::language::Language;
use crate::section::with_custom_section;

/// The name of the section.
/// Source: the tool conventions of WebAssembly, ProducersSection.md.
const SECTION: &str = "producers";

/// The component with the language of its sources, and the tool that makes components of it.
pub(super) fn with_producers(component: Vec<u8>, language: Language) -> Vec<u8> {
    let (name, tool) = match language {
        // Its own tools name them.
        Language::Rust => return component,
        Language::TypeScript => ("TypeScript", "componentize-qjs"),
        Language::JavaScript => ("JavaScript", "componentize-qjs"),
        Language::Python => ("Python", "componentize-py"),
        Language::Go => ("Go", "go"),
        Language::C => ("C", "clang"),
        Language::Cpp => ("C++", "clang"),
    };
    let fields = [("language", vec![(name, "")]), ("processed-by", vec![(tool, ""), ("wharf", VERSION)])];
    let mut content = Vec::new();
    fields.len().encode(&mut content);
    for (role, values) in fields {
        role.encode(&mut content);
        values.len().encode(&mut content);
        for (name, version) in values {
            name.encode(&mut content);
            version.encode(&mut content);
        }
    }
    with_custom_section(&component, SECTION, &content)
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
mod tests {
    use wasmparser::{BinaryReader, Parser, Payload, ProducersSectionReader};

    use super::with_producers;
    use crate::language::Language;

    #[test]
    fn a_component_names_the_language_of_its_sources() {
        let plain = wat::parse_str(r#"(component (@producers (processed-by "x" "1")))"#).expect("valid WAT");
        let made = with_producers(plain.clone(), Language::Python);
        let mut found = Vec::new();
        for payload in Parser::new(0).parse_all(&made) {
            let Payload::CustomSection(section) = payload.expect("a component") else { continue };
            let fields = ProducersSectionReader::new(BinaryReader::new(section.data(), 0)).expect("producers");
            for field in fields {
                let field = field.expect("a field");
                found.extend(field.values.into_iter().map(|value| (field.name, value.expect("a value").name)));
            }
        }
        let expected = [("language", "Python"), ("processed-by", "componentize-py"), ("processed-by", "wharf")];
        assert_eq!(found, expected);
        assert_eq!(with_producers(plain.clone(), Language::Rust), plain);
    }
}
