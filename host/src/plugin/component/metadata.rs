//! What a component says of itself: the custom sections of `wasm-metadata`, which other tools write too.

use wasmparser::{Parser, Payload};

/// Names of sections, each of one text.
const SECTIONS: [&str; 7] = ["authors", "description", "homepage", "licenses", "revision", "source", "version"];
/// Bytes of one text.
const MAX_TEXT: usize = 4096;

/// The texts of the outermost component, by the names of their sections.
pub fn metadata(component: &[u8]) -> Vec<(&'static str, String)> {
    let text = |(own, data): (&str, &[u8])| {
        let name = SECTIONS.into_iter().find(|name| *name == own)?;
        let text = std::str::from_utf8(data).ok().filter(|text| text.len() <= MAX_TEXT)?;
        Some((name, text.to_owned()))
    };
    custom_sections(component).filter_map(text).collect()
}

/// The first custom section of the outermost component with that name.
pub(super) fn custom_section<'c>(component: &'c [u8], name: &str) -> Option<&'c [u8]> {
    custom_sections(component).find(|(own, _)| *own == name).map(|(_, data)| data)
}

/// The custom sections of the outermost component. A damaged one has those before the damage.
fn custom_sections(component: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let mut depth = 0usize;
    Parser::new(0).parse_all(component).map_while(Result::ok).filter_map(move |payload| {
        match payload {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 1 => return Some((section.name(), section.data())),
            _ => {}
        }
        None
    })
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
