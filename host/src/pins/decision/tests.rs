use std::collections::BTreeSet;
use std::time::SystemTime;

use super::{Reason, Rules, Seen, Trust, decide, is_known};
use crate::pins::Pin;
use crate::plugin::{Access, Digest, Signer};

const TRUSTS: [Trust; 3] = [Trust::Dev, Trust::Default, Trust::Strict];

fn seen() -> Seen {
    Seen {
        content: Digest::of(b"content"),
        signer: Some(Signer::recorded("RWa")),
        grants: BTreeSet::new(),
        surface: Some(Digest::of(b"surface")),
        needs: BTreeSet::new(),
    }
}

fn granted() -> Seen {
    Seen { grants: BTreeSet::from([Access::Elicit]), ..seen() }
}

/// The pin of what is seen, approved by a person.
fn pin() -> Pin {
    Pin { time: SystemTime::UNIX_EPOCH, ..Pin::of(&granted(), true) }
}

/// What the three kinds of trust say.
fn row(pin: Option<&Pin>, revoked: bool, seen: &Seen) -> [Result<(), Reason>; 3] {
    TRUSTS.map(|trust| decide(&Rules { trust, ..Rules::default() }, pin, revoked, seen))
}

#[test]
fn the_table_row_by_row() {
    let (other, needs) = (Digest::of(b"other"), BTreeSet::from([Access::Keyvalue]));
    let more = || Reason::NeedsMore(BTreeSet::from(["keyvalue".to_owned()]));
    let changed = || Reason::SignerChanged { from: "RWa".into(), to: "RWb".into() };
    let unapproved = || Err(Reason::Unapproved);
    let new_content = |seen: Seen| Seen { content: other, ..seen };
    let new_surface = |seen: Seen| Seen { surface: Some(other), ..new_content(seen) };
    let resigned = |signer: Option<&str>| Seen { signer: signer.map(Signer::recorded), ..new_content(seen()) };
    let first = Pin { approved: false, ..pin() };
    let rows = [
        ("a new file", None, seen(), [Ok(()), Ok(()), unapproved()]),
        (
            "a new file that needs something",
            None,
            Seen { needs: needs.clone(), ..seen() },
            [Ok(()), Ok(()), unapproved()],
        ),
        ("a new file with grants", None, granted(), [Ok(()), Ok(()), unapproved()]),
        ("the pinned one", Some(pin()), granted(), [Ok(()), Ok(()), Ok(())]),
        ("the pinned one, not by a person", Some(first), granted(), [Ok(()), Ok(()), unapproved()]),
        ("new content, same surface", Some(pin()), new_content(granted()), [Ok(()), Ok(()), unapproved()]),
        ("new surface, no grants", Some(pin()), new_surface(seen()), [Ok(()), Ok(()), unapproved()]),
        ("new surface, grants", Some(pin()), new_surface(granted()), [Ok(()), Err(Reason::OtherWords), unapproved()]),
        (
            "the pinned content says other things, grants",
            Some(pin()),
            Seen { surface: Some(other), ..granted() },
            [Ok(()), Err(Reason::OtherWords), Err(Reason::OtherWords)],
        ),
        (
            "the pinned content says other things, no grants",
            Some(pin()),
            Seen { surface: Some(other), ..seen() },
            [Ok(()), Ok(()), Err(Reason::UnapprovedWords)],
        ),
        (
            "needs more, no grants",
            Some(pin()),
            Seen { needs: needs.clone(), ..new_content(seen()) },
            [Ok(()), Ok(()), unapproved()],
        ),
        (
            "needs more, grants",
            Some(pin()),
            Seen { needs: needs.clone(), ..new_content(granted()) },
            [Ok(()), Err(more()), unapproved()],
        ),
        (
            "needs what is granted meanwhile",
            Some(pin()),
            Seen { needs: needs.clone(), grants: needs.clone(), ..new_content(granted()) },
            [Ok(()), Ok(()), unapproved()],
        ),
        (
            "needs what it needed",
            Some(Pin { needs: BTreeSet::from(["keyvalue".to_owned()]), ..pin() }),
            Seen { needs: needs.clone(), ..new_content(granted()) },
            [Ok(()), Ok(()), unapproved()],
        ),
        ("signer changed", Some(pin()), resigned(Some("RWb")), [Ok(()), Err(changed()), unapproved()]),
        ("signature lost", Some(pin()), resigned(None), [Ok(()), Err(Reason::SignatureLost), unapproved()]),
        (
            "signature lost, same content",
            Some(pin()),
            Seen { signer: None, ..seen() },
            [Ok(()), Err(Reason::SignatureLost), Err(Reason::SignatureLost)],
        ),
        ("signed for the first time", Some(Pin { signer: None, ..pin() }), granted(), [Ok(()), Ok(()), Ok(())]),
        (
            "not asked yet",
            Some(pin()),
            Seen { surface: None, ..new_content(granted()) },
            [Ok(()), Ok(()), unapproved()],
        ),
    ];
    for (name, pin, seen, wanted) in rows {
        assert_eq!(row(pin.as_ref(), false, &seen), wanted, "{name}");
        let revoked = [(); 3].map(|()| Err(Reason::Revoked));
        assert_eq!(row(pin.as_ref(), true, &seen), revoked, "{name}, revoked");
    }
}

#[test]
fn a_pin_by_hand_decides_alone() {
    for trust in TRUSTS {
        for pin in [None, Some(pin())] {
            let rules = |content| Rules { trust, by_hand: Some(Digest::of(content)), ..Rules::default() };
            assert_eq!(decide(&rules(b"content"), pin.as_ref(), false, &granted()), Ok(()));
            assert_eq!(decide(&rules(b"other"), pin.as_ref(), false, &granted()), Err(Reason::NotTheOnePinned));
            assert_eq!(decide(&rules(b"content"), pin.as_ref(), true, &granted()), Err(Reason::Revoked));
        }
    }
}

#[test]
fn free_words_are_those_of_the_pinned_content() {
    let other = Some(Digest::of(b"other"));
    for trust in [Trust::Default, Trust::Strict] {
        let rules = Rules { trust, free_words: true, ..Rules::default() };
        assert_eq!(decide(&rules, Some(&pin()), false, &Seen { surface: other, ..granted() }), Ok(()));
        let new = Seen { content: Digest::of(b"new"), surface: other, ..granted() };
        assert!(decide(&rules, Some(&pin()), false, &new).is_err());
    }
}

#[test]
fn only_what_is_known_is_asked_with_its_grants() {
    let (content, other) = (Digest::of(b"content"), Digest::of(b"other"));
    let rules = |trust, by_hand| Rules { trust, by_hand, ..Rules::default() };
    for trust in [Trust::Default, Trust::Strict] {
        assert!(is_known(&rules(trust, None), Some(&pin()), content));
        assert!(!is_known(&rules(trust, None), Some(&pin()), other));
        assert!(is_known(&rules(trust, Some(other)), Some(&pin()), other));
    }
    assert!(is_known(&rules(Trust::Dev, None), Some(&pin()), other));
    // There is nothing to hold it against.
    assert!(is_known(&rules(Trust::Default, None), None, other));
}
