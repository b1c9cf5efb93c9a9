use std::time::{Duration, SystemTime};

use super::*;
use crate::server::questions::{Question, QuestionKind, Sealed};

const BINDING: Parts<'static> = ("local", "notes", b"v1", "tools/call", "notes_delete", r#"{"id":7,"why":"old"}"#);

type Parts<'a> = (&'a str, &'a str, &'a [u8], &'a str, &'a str, &'a str);

fn with<T>(parts: Parts<'_>, then: impl FnOnce(&Binding<'_>) -> T) -> T {
    let (principal, plugin, component, method, name, arguments) = parts;
    let plugin = PluginId::parse(plugin).unwrap();
    let digest = Digest::of(component);
    then(&Binding { principal, plugin: &plugin, digest: &digest, method, name, arguments, extras: Vec::new() })
}

fn sealed() -> Sealed {
    let kinds = [
        QuestionKind::Form(r#"{"type":"object"}"#.into()),
        QuestionKind::Url,
        QuestionKind::Sample(true),
        QuestionKind::Roots,
    ];
    let asked = kinds.into_iter().enumerate().map(|(at, kind)| Question { key: format!("q{at}"), kind }).collect();
    Sealed { asked, state: Some(vec![0, 255, 7]), round: 3, approved: None }
}

fn closed(seal: &Seal, now: SystemTime) -> String {
    with(BINDING, |binding| seal.close(binding, sealed(), now)).unwrap()
}

#[test]
fn p25_opens_for_its_binding_until_it_expires() {
    let (seal, now) = (Seal::new(&[1; 32]), SystemTime::now());
    let text = closed(&seal, now);
    let open = |parts, at| with(parts, |binding| seal.open::<Sealed>(binding, &text, at));
    assert_eq!(open(BINDING, now + EXPIRY), Ok(sealed()));
    assert_eq!(open(BINDING, now + EXPIRY + Duration::from_secs(1)), Err(SealError::Expired));
    // The same arguments, written by another client library.
    let (principal, plugin, version, method, name, _) = BINDING;
    let again = (principal, plugin, version, method, name, "{ \"why\": \"old\", \"id\": 7 }");
    assert_eq!(open(again, now), Ok(sealed()));
}

#[test]
fn p25_opens_for_no_other_binding() {
    let (seal, now) = (Seal::new(&[1; 32]), SystemTime::now());
    let text = closed(&seal, now);
    let (principal, plugin, version, method, name, arguments) = BINDING;
    let others: [Parts<'_>; 10] = [
        ("other", plugin, version, method, name, arguments),
        (principal, "other", version, method, name, arguments),
        (principal, plugin, b"v2", method, name, arguments),
        (principal, plugin, version, "prompts/get", name, arguments),
        (principal, plugin, version, method, "notes_add", arguments),
        (principal, plugin, version, method, name, r#"{"id":8,"why":"old"}"#),
        (principal, plugin, version, method, name, "{}"),
        // Some parsers use the first of two members.
        (principal, plugin, version, method, name, r#"{"id":8,"id":7,"why":"old"}"#),
        // serde_json would read this as the number 7.
        (principal, plugin, version, method, name, r#"{"id":{"$serde_json::private::Number":"7"},"why":"old"}"#),
        // The same characters, divided differently.
        (principal, plugin, version, "tools/callnotes", "_delete", arguments),
    ];
    for other in others {
        assert_eq!(
            with(other, |binding| seal.open::<Sealed>(binding, &text, now)),
            Err(SealError::Invalid),
            "{other:?}"
        );
    }
    let another = Seal::new(&[2; 32]);
    assert_eq!(with(BINDING, |binding| another.open::<Sealed>(binding, &text, now)), Err(SealError::Invalid));
}

#[test]
fn the_text_reveals_nothing() {
    let (seal, now) = (Seal::new(&[1; 32]), SystemTime::now());
    let bytes = URL_SAFE_NO_PAD.decode(closed(&seal, now)).unwrap();
    assert!(!bytes.windows(5).any(|window| window == b"asked"));
    assert_ne!(closed(&seal, now), closed(&seal, now), "sealing twice gives different texts");
}

/// A million changed texts: characters replaced, dropped, inserted or swapped, and the text truncated.
#[test]
fn p25_no_change_is_accepted() {
    const CHARACTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. ~\n\0";
    let (seal, now) = (Seal::new(&[1; 32]), SystemTime::now());
    let text = closed(&seal, now);
    // xorshift64: the same changes in each run.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % limit as u64).unwrap()
    };
    with(BINDING, |binding| {
        for _ in 0..1_000_000 {
            let mut changed = text.clone().into_bytes();
            for _ in 0..=below(3) {
                let at = below(changed.len());
                match below(5) {
                    0 => changed.truncate(at.max(1)),
                    1 => changed.insert(at, CHARACTERS[below(CHARACTERS.len())]),
                    2 if changed.len() > 1 => _ = changed.remove(at),
                    3 => changed.swap(at, 0),
                    _ => changed[at] = CHARACTERS[below(CHARACTERS.len())],
                }
            }
            let changed = String::from_utf8(changed).unwrap();
            if changed != text {
                assert_eq!(seal.open::<Sealed>(binding, &changed, now), Err(SealError::Invalid), "{changed:?}");
            }
        }
    });
    assert_eq!(with(BINDING, |binding| seal.open::<Sealed>(binding, &text, now)), Ok(sealed()));
}
