//! Line by line comparison.

use similar::{ChangeTag, TextDiff};
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
    let lines = TextDiff::from_lines(&args.old, &args.new);
    let count = |tag| lines.iter_all_changes().filter(|change| change.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let mut unified = lines.unified_diff();
    let diff = unified.context_radius(args.context).header(&args.old_name, &args.new_name).to_string();
    Ok(Json(Difference { diff: if added + removed == 0 { String::new() } else { diff }, added, removed }))
}
