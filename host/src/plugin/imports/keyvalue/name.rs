//! How the key of an entry in a store says whose value it is, and under which key of a bucket.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::store::QUOTAS;

/// What the keys of all values begin with.
pub(super) const ALL: &str = QUOTAS;
/// The digits of a key's hash, by which keys are in order: the cursor of a listing is a number.
pub(super) const HASH: usize = 16;
/// In place of a user.
const NOBODY: &str = "-";

/// How values say whose they are, by a user's name, which may be long.
pub(super) fn subject(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex().to_string()
}

/// What names begin with, of all users of a plugin.
pub(super) fn of_plugin(plugin: &str) -> String {
    format!("{ALL}{plugin}/")
}

/// Of an owner.
pub(super) fn of_owner(plugin: &str, subject: Option<&str>) -> String {
    format!("{}{}/", of_plugin(plugin), subject.unwrap_or(NOBODY))
}

/// Of a bucket.
pub(super) fn of_bucket(plugin: &str, subject: Option<&str>, bucket: &str) -> String {
    format!("{}{}/", of_owner(plugin, subject), URL_SAFE_NO_PAD.encode(bucket))
}

/// The name of a key in a bucket.
pub(super) fn of_key(of_bucket: &str, key: &str) -> String {
    let hash = blake3::hash(key.as_bytes()).to_hex();
    format!("{of_bucket}{}{}", &hash[..HASH], URL_SAFE_NO_PAD.encode(key))
}

/// The key, of a name without what the names of its bucket begin with. `None`: no plugin has written it.
pub(super) fn key(rest: &str) -> Option<String> {
    decoded(rest.get(HASH..)?)
}

/// Whose value it is, by bucket and key.
pub(super) struct Parsed<'a> {
    pub(super) plugin: &'a str,
    pub(super) subject: Option<&'a str>,
    pub(super) bucket: String,
    pub(super) key: String,
}

/// What a name says. `None`: no plugin has written it.
pub(super) fn parse(name: &str) -> Option<Parsed<'_>> {
    let mut parts = name.strip_prefix(ALL)?.split('/');
    let (plugin, subject, bucket, rest) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let subject = Some(subject).filter(|subject| *subject != NOBODY);
    parts.next().is_none().then_some(())?;
    Some(Parsed { plugin, subject, bucket: decoded(bucket)?, key: key(rest)? })
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_was_made_of() {
        for subject in [None, Some("0f")] {
            let name = of_key(&of_bucket("a", subject, "ö/"), "k/-~");
            let parsed = parse(&name).expect("a name");
            assert_eq!((parsed.plugin, parsed.subject), ("a", subject));
            assert_eq!((parsed.bucket.as_str(), parsed.key.as_str()), ("ö/", "k/-~"));
        }
        for text in
            ["", "keyvalue/a/-/eA", "keyvalue/a/-/eA/0123", "keyvalue/a/-/eA/0123456789abcdefeA/x", "tasks/a/-/eA/x"]
        {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
