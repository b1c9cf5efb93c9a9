//! The files `tests/guests/hostile/*.wat`: bodies of tools in the text format, and components that
//! are not plugins.

use crate::support::home::repository;

/// The body of a tool, as instructions in the text format.
pub(crate) fn body(name: &str) -> String {
    let file = repository().join(format!("tests/guests/hostile/{name}.wat"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The bytes of a component.
pub(crate) fn source(name: &str) -> Vec<u8> {
    bytes_of(&body(name))
}

pub(crate) fn bytes_of(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}
