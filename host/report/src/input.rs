//! Parses TOML written by users: errors have a position and a suggestion.

use serde::de::DeserializeOwned;

/// Parses TOML; errors have a position, and a suggestion if there is one.
///
/// # Errors
/// The reason, and a hint if there is one.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, (String, Option<String>)> {
    toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(String::new, |span| {
            let before = &text[..span.start.min(text.len())];
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
            format!("line {line}, column {column}: ")
        });
        let message = error.message();
        let (reason, hint) = match did_you_mean(message) {
            Some(near) => {
                (message.split(", expected").next().unwrap_or(message), Some(format!("did you mean `{near}`?")))
            }
            None => (message, None),
        };
        (format!("{place}{reason}"), hint)
    })
}

/// The known name closest to an unknown one.
fn did_you_mean(message: &str) -> Option<String> {
    let unknown = ["unknown field ", "unknown variant "].iter().find_map(|start| message.strip_prefix(start))?;
    let mut names = unknown.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    names
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .min()
        .filter(|(distance, _)| *distance <= 3)
        .map(|(_, name)| name.to_owned())
}
