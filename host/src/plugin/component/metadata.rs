//! What a component says of itself: the custom sections of `wasm-metadata`, which other tools write too.

use wasmparser::{Parser, Payload};

/// Names of sections, each of one text.
const SECTIONS: [&str; 7] = ["authors", "description", "homepage", "licenses", "revision", "source", "version"];
/// Bytes of one text.
const MAX_TEXT: usize = 4096;

/// The texts of the outermost component, by the names of their sections.
pub fn metadata(component: &[u8]) -> Vec<(&'static str, String)> {
    let (mut found, mut depth) = (Vec::new(), 0usize);
    // A damaged component has said what comes before the damage.
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        match payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 1 => {
                let name = SECTIONS.into_iter().find(|name| *name == section.name());
                let text = std::str::from_utf8(section.data()).ok().filter(|text| text.len() <= MAX_TEXT);
                if let (Some(name), Some(text)) = (name, text) {
                    found.push((name, text.to_owned()));
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sections_of_the_outermost_component_count() {
        let text = r#"(component
            (@custom "description" "tells the weather") (@custom "other" "x") (@custom "version" "\ff")
            (component (@custom "authors" "somebody else")))"#;
        let component = wat::parse_str(text).expect("a component");
        assert_eq!(metadata(&component), [("description", "tells the weather".to_owned())]);
        assert_eq!(metadata(b"\0asm"), []);
    }
}
