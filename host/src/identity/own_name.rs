//! What files, folders and variables of one person are called.
//!
//! No two identities have the same name, whatever an issuer lets people call themselves: not on a file system that
//! ignores case, and not of another kind of identity.

use super::{AccessGrant, Identity};

/// Maximum bytes of one name: a file system takes 255, and something may be before and after it.
const MOST: usize = 200;
/// Before the names of static tokens, and in place of an issuer. No name of a user has it: there it is encoded.
const OF_TOKEN: &str = "@";
/// The same in variables. Names of users have no underscore, or begin with one.
const TOKEN_VARIABLE: &str = "TOKEN_";
const NO_ISSUER: &str = "NONE";

impl Identity {
    /// As a part of a path: lower-case letters, digits, `-`, `_` and `.` as they are, unless a dot is the first or the
    /// last character; other bytes as `%XX`. That of a static token, and `local`, begins with `@`. `None`: too long.
    pub fn file_name(&self) -> Option<String> {
        match &self.grant {
            Some(grant) => short(encoded(&grant.subject)),
            None => short(format!("{OF_TOKEN}{}", encoded(&self.name))),
        }
    }

    /// Its issuer in the same form; `@` for who has none.
    pub fn issuer_file_name(&self) -> Option<String> {
        self.issuer().map_or_else(|| Some(OF_TOKEN.to_owned()), |issuer| short(encoded(issuer)))
    }

    /// As a part of a variable's name: in capitals if it consists of lower-case letters and digits; otherwise `_` and
    /// its bytes in hexadecimal. That of a static token, and `local`, begins with `TOKEN_`. `None`: too long.
    pub fn variable_name(&self) -> Option<String> {
        match &self.grant {
            Some(grant) => short(capitals(&grant.subject)),
            None => short(format!("{TOKEN_VARIABLE}{}", capitals(&self.name))),
        }
    }

    /// Its issuer in the same form; `NONE` for who has none.
    pub fn issuer_variable_name(&self) -> Option<String> {
        self.issuer().map_or_else(|| Some(NO_ISSUER.to_owned()), |issuer| short(capitals(issuer)))
    }

    fn issuer(&self) -> Option<&str> {
        self.grant.as_deref().map(|AccessGrant { issuer, .. }| &**issuer)
    }
}

fn short(name: String) -> Option<String> {
    (name.len() <= MOST).then_some(name)
}

fn encoded(text: &str) -> String {
    let mut name = String::new();
    let last = text.len().saturating_sub(1);
    for (at, byte) in text.bytes().enumerate() {
        // A dot at the end is left out by Windows; one at the beginning hides a file.
        let is_plain = byte == b'.' && at != 0 && at != last;
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(byte.into()),
            b'.' if is_plain => name.push('.'),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

fn capitals(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9')) {
        return text.to_ascii_uppercase();
    }
    text.bytes().fold("_".to_owned(), |name, byte| name + &format!("{byte:02X}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn person(issuer: &str, subject: &str) -> Identity {
        Identity::subject(AccessGrant::of(issuer, subject))
    }

    fn ada(subject: &str) -> Identity {
        person("https://id.example", subject)
    }

    #[test]
    fn names_can_be_predicted() {
        for (subject, file, variable) in [
            ("ada", "ada", "ADA"),
            ("1815", "1815", "1815"),
            ("Ada", "%41da", "_416461"),
            ("ada@acme.example", "ada%40acme.example", "_6164614061636D652E6578616D706C65"),
            ("a_b", "a_b", "_615F62"),
            (".", "%2E", "_2E"),
            ("..", "%2E%2E", "_2E2E"),
            ("../bob", "%2E.%2Fbob", "_2E2E2F626F62"),
            ("bob.", "bob%2E", "_626F622E"),
            ("b\u{f6}b", "b%C3%B6b", "_62C3B662"),
            ("a\0b", "a%00b", "_610062"),
            ("%41da", "%2541da", "_2534316461"),
            ("client:ci", "client%3Aci", "_636C69656E743A6369"),
        ] {
            let who = ada(subject);
            assert_eq!(who.file_name().as_deref(), Some(file));
            assert_eq!(who.variable_name().as_deref(), Some(variable));
        }
        let own = |who: &Identity| (who.file_name(), who.variable_name());
        assert_eq!(own(&Identity::local()), (Some("@local".into()), Some("TOKEN_LOCAL".into())));
        assert_eq!(own(&Identity::token("ci/1")), (Some("@ci%2F1".into()), Some("TOKEN__63692F31".into())));
        let issuer = ada("ada");
        assert_eq!(issuer.issuer_file_name().as_deref(), Some("https%3A%2F%2Fid.example"));
        assert_eq!(issuer.issuer_variable_name().as_deref(), Some("_68747470733A2F2F69642E6578616D706C65"));
        assert_eq!(Identity::local().issuer_file_name().as_deref(), Some("@"));
        assert_eq!(Identity::local().issuer_variable_name().as_deref(), Some("NONE"));
    }

    /// On a file system that ignores case too, and among variables of Windows.
    #[test]
    fn no_two_identities_share_a_name() {
        let subjects = [
            "bob",
            "BOB",
            "Bob",
            "bob/",
            "/bob",
            "bob.",
            ".bob",
            "..",
            ".",
            "b.ob",
            "b_ob",
            "b-ob",
            "b@ob",
            "b ob",
            "bob\n",
            "bob\0",
            "%62ob",
            "@bob",
            "@local",
            "local",
            "token_bob",
            "TOKEN_BOB",
            "TOKEN_LOCAL",
            "_626F62",
            "626F62",
            "626f62",
            "b\u{43e}b",
            "bo\u{301}b",
            "b\u{f3}b",
            "\u{ff42}ob",
            "..%2fbob",
            "client:bob",
            "~bob",
            "con",
            "$bob",
            "b\\ob",
            "b:ob",
        ];
        let people = subjects.iter().map(|subject| ada(subject));
        let tokens = ["bob", "ci", "BOB", "_bob", "626f62"].into_iter().map(Identity::token);
        let all: Vec<Identity> = people.chain(tokens).chain([Identity::local()]).collect();
        let files: BTreeSet<String> =
            all.iter().filter_map(Identity::file_name).map(|name| name.to_lowercase()).collect();
        let variables: BTreeSet<String> =
            all.iter().filter_map(Identity::variable_name).map(|name| name.to_uppercase()).collect();
        assert_eq!((files.len(), variables.len()), (all.len(), all.len()));
        for file in &files {
            assert!(!file.contains(['/', '\\', '\0', ':']) && !file.starts_with('.') && !file.ends_with('.'), "{file}");
        }
    }

    #[test]
    fn a_name_that_no_file_system_takes_is_none() {
        let (most, more) = ("a".repeat(MOST), "a".repeat(MOST + 1));
        assert!(ada(&most).file_name().is_some() && ada(&most).variable_name().is_some());
        assert!(ada(&more).file_name().is_none() && ada(&more).variable_name().is_none());
        assert!(
            ada(&"A".repeat(MOST / 3 + 1)).file_name().is_none()
                && ada(&"A".repeat(MOST / 2)).variable_name().is_none()
        );
        let far = person(&format!("https://{}.example", "i".repeat(MOST)), "ada");
        assert!(far.issuer_file_name().is_none() && far.issuer_variable_name().is_none());
    }
}
