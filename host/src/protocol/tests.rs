//! The rules of the five revisions, as tables.

mod cursors;
mod eras;
mod pieces;
mod requests;

use serde_json::Value;
use serde_json::value::RawValue;

use super::params::Params;
use super::{ErrorObject, Revision};

const ALL: [Revision; 5] =
    [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

fn raw(json: &str) -> Option<&RawValue> {
    (!json.is_empty()).then(|| serde_json::from_str(json).unwrap())
}

fn read(json: &str) -> Params<'_> {
    Params::read(raw(json))
}

fn reason(error: &ErrorObject) -> &str {
    error.data.as_ref().and_then(|data| data["reason"].as_str()).unwrap_or("none")
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}
