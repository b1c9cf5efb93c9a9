//! Custom sections of components.

use wasm_encoder::{ComponentSection as _, CustomSection};
use wasmparser::{BinaryReader, CustomSectionReader};

const HEADER: usize = 8;
const CUSTOM: u8 = 0;

/// The component with one custom section of that name, at its end, in place of those that it has.
pub fn with_custom_section(component: &[u8], name: &str, content: &[u8]) -> Vec<u8> {
    let mut with = without_custom_section(component, name);
    CustomSection { name: name.into(), data: content.into() }.append_to_component(&mut with);
    with
}

/// The component without custom sections of that name.
pub fn without_custom_section(component: &[u8], name: &str) -> Vec<u8> {
    let (header, sections) = component.split_at(component.len().min(HEADER));
    let mut without = Vec::with_capacity(component.len());
    without.extend_from_slice(header);
    let mut rest = BinaryReader::new(sections, HEADER);
    let mut at = 0;
    // The bytes of a damaged section stay as they are.
    while let (Ok(id), Ok(body)) = (rest.read_u8(), rest.read_reader()) {
        let end = rest.original_position() - HEADER;
        let is_former = id == CUSTOM && CustomSectionReader::new(body).is_ok_and(|section| section.name() == name);
        if !is_former {
            without.extend_from_slice(&sections[at..end]);
        }
        at = end;
    }
    without.extend_from_slice(&sections[at..]);
    without
}

#[cfg(test)]
mod tests {
    use wasmparser::{Parser, Payload, Validator};

    use super::{with_custom_section, without_custom_section};

    fn sections(component: &[u8]) -> Vec<(String, Vec<u8>)> {
        let custom = |payload| match payload {
            Ok(Payload::CustomSection(section)) => Some((section.name().to_owned(), section.data().to_vec())),
            Ok(_) => None,
            Err(error) => panic!("{error}"),
        };
        Parser::new(0).parse_all(component).filter_map(custom).collect()
    }

    fn section(name: &str, content: &str) -> (String, Vec<u8>) {
        (name.into(), content.into())
    }

    #[test]
    fn a_section_is_added_once_and_all_else_stays() {
        let plain = wat::parse_str(r#"(component (core module (func)) (@custom "other" "o"))"#).expect("valid WAT");
        let once = with_custom_section(&plain, "mine", b"first");
        assert!(once.starts_with(&plain));
        let long = "x".repeat(1000);
        let again = with_custom_section(&once, "mine", long.as_bytes());
        assert_eq!(sections(&again), [section("other", "o"), section("mine", &long)]);
        assert_eq!(with_custom_section(&again, "mine", b"first"), once);
        Validator::new().validate_all(&again).expect("a component");
        assert_eq!(without_custom_section(&again, "mine"), plain);
    }

    #[test]
    fn damaged_bytes_stay() {
        let plain = wat::parse_str("(component (core module (func)))").expect("valid WAT");
        for length in 0..plain.len() {
            assert!(with_custom_section(&plain[..length], "mine", b"").starts_with(&plain[..length]), "{length}");
        }
    }
}
