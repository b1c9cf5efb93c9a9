//! What may be behind a failure that a plugin found by itself, by what it asked for in the call.

use std::path::Path;

use wharf_report::shell_word;

use super::folder::folder_at;
use crate::plugin::{Access, Provider};

/// What to do about questions that no person answers.
pub(super) const OTHER_CLIENT: &str =
    "call it from an MCP client: this command answers forms only, not sampling or roots";

/// What to do about grants, as words for `wharf grant`, that are of no use to this command.
pub(super) fn unanswerable(words: &[String]) -> Option<&'static str> {
    let is_one = |word: &String| [Access::Sample, Access::Roots].iter().any(|access| *word == access.word());
    words.iter().any(is_one).then_some(OTHER_CLIENT)
}

/// What may have been the reason, and what to do. `is_alone`: nobody could answer the plugin's questions.
pub(super) fn reason(plugin: &dyn Provider, program: &str, path: &Path, is_alone: bool) -> Option<String> {
    let asked = plugin.asked();
    if asked.contains(&Access::Sample) || asked.contains(&Access::Roots) {
        return Some(format!("if it needs what it asked for: {OTHER_CLIENT}"));
    }
    if asked.contains(&Access::Elicit) && is_alone {
        return Some(
            "it asked a question, and nobody could answer: run this on a terminal, or add --answer yes or \
             --answer NAME=VALUE"
                .to_owned(),
        );
    }
    plugin.lacked_folder().then(|| {
        let (id, folder, word) = (plugin.id(), shell_word(folder_at(path)), Access::Fs.word());
        format!(
            "if it needs a file: no folder is granted to it; run: {program} grant {id} {folder} {word}, with your folder \
             for PATH, and for /data where the plugin looks for it; with write= it may also write there"
        )
    })
}
