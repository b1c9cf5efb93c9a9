//! Components that are no plugins, from `tests/guests/hostile/*.wat` or made on the spot.

use crate::support::home::repository;

/// The bytes of one of the files.
pub(crate) fn source(name: &str) -> Vec<u8> {
    let file = repository().join(format!("tests/guests/hostile/{name}.wat"));
    wat::parse_file(&file).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn bytes_of(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}
