//! What is in `tests/guests/hostile/*.wat`: instructions of tools, and components that are no
//! plugins.

use crate::support::home::repository;

/// What a tool does, as instructions in text.
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
