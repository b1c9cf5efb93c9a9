//! Line by line comparison.

use diffy::{DiffOptions, Line};
use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Diff {
    /// The text before.
    old: String,
    /// The text after.
    new: String,
    /// How many unchanged lines to show around each change.
    #[serde(default = "three")]
    context: usize,
    /// The name of the text before, for the header.
    #[serde(default = "old")]
    old_name: String,
    /// The name of the text after, for the header.
    #[serde(default = "new")]
    new_name: String,
}

fn three() -> usize {
    3
}

fn old() -> String {
    "old".into()
}

fn new() -> String {
    "new".into()
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// The unified diff; empty if the texts are the same.
    diff: String,
    /// How many lines are new.
    added: usize,
    /// How many lines are gone.
    removed: usize,
}

pub(crate) fn diff(_: &Call, args: Diff) -> Result<Json<Difference>> {
    let mut options = DiffOptions::new();
    options.set_context_len(args.context).set_original_filename(args.old_name).set_modified_filename(args.new_name);
    let patch = options.create_patch(&args.old, &args.new);
    let lines = || patch.hunks().iter().flat_map(|hunk| hunk.lines());
    let added = lines().filter(|line| matches!(line, Line::Insert(_))).count();
    let removed = lines().filter(|line| matches!(line, Line::Delete(_))).count();
    let diff = if added + removed == 0 { String::new() } else { patch.to_string() };
    Ok(Json(Difference { diff, added, removed }))
}
