//! Regular expressions.

use regex_lite::{NoExpand, RegexBuilder};
use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Replace {
    /// The text to change.
    text: String,
    /// What to look for: a regular expression as in Perl, without look-around and
    /// backreferences. \w, \d and \s know ASCII only; name other letters in [...].
    pattern: String,
    /// What to put there; $1 or ${name} stand for groups. Write $$ for a dollar sign.
    replacement: String,
    /// Take pattern and replacement as plain text.
    #[serde(default)]
    literal: bool,
    /// Do not tell small letters from capitals (ASCII).
    #[serde(default)]
    ignore_case: bool,
    /// Let ^ and $ match at every line.
    #[serde(default)]
    multiline: bool,
    /// Replace only so many, from the start; all if absent.
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Replaced {
    /// The text after the change.
    text: String,
    /// How many places were replaced.
    count: usize,
}

pub(crate) fn replace(_: &Call, args: Replace) -> Result<Json<Replaced>> {
    let pattern = if args.literal { regex_lite::escape(&args.pattern) } else { args.pattern };
    let regex = RegexBuilder::new(&pattern)
        .case_insensitive(args.ignore_case)
        .multi_line(args.multiline)
        // The expression is the caller's: it must fit in the plugin's own memory.
        .size_limit(8 << 20)
        .build()
        .map_err(|error| Error::invalid("/pattern", error.to_string()))?;
    let limit = args.limit.unwrap_or(usize::MAX);
    let count = regex.find_iter(&args.text).take(limit).count();
    let text = match (count, args.literal) {
        (0, _) => args.text,
        (count, true) => regex.replacen(&args.text, count, NoExpand(&args.replacement)).into_owned(),
        (count, false) => regex.replacen(&args.text, count, args.replacement.as_str()).into_owned(),
    };
    Ok(Json(Replaced { text, count }))
}
