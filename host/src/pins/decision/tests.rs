use std::collections::BTreeSet;
use std::time::SystemTime;

use super::{PluginVersion, Reason, Rules, Trust, decide, may_list_with_grants};
use crate::pins::{Pin, Revocation};
use crate::plugin::{Access, Digest, Signer};

const TRUSTS: [Trust; 3] = [Trust::Dev, Trust::Default, Trust::Strict];

fn version() -> PluginVersion {
    PluginVersion {
        content: Digest::of(b"content"),
        signer: Some(Signer::recorded("RWa")),
        grants: BTreeSet::new(),
        granted: BTreeSet::new(),
        surface: Some(Digest::of(b"surface")),
        needs: BTreeSet::new(),
        has_skills: false,
    }
}

fn granted() -> PluginVersion {
    PluginVersion { grants: BTreeSet::from([Access::Elicit]), ..version() }
}

/// The pin of [`granted`], approved by a person.
fn pin() -> Pin {
    Pin { time: SystemTime::UNIX_EPOCH, ..Pin::new(&granted(), true) }
}

/// The decision under each trust level.
fn row(pin: Option<&Pin>, revocation: Revocation, version: &PluginVersion) -> [Result<(), Reason>; 3] {
    TRUSTS.map(|trust| decide(&Rules { trust, ..Rules::default() }, pin, revocation, version))
}

#[test]
fn the_decision_table() {
    let (other, needs) = (Digest::of(b"other"), BTreeSet::from([Access::Keyvalue]));
    let more = || Reason::NeedsMoreAccess(BTreeSet::from(["keyvalue".to_owned()]));
    let changed = || Reason::SignerChanged { from: "RWa".into(), to: "RWb".into() };
    let unapproved = || Err(Reason::Unapproved);
    let new_content = |version: PluginVersion| PluginVersion { content: other, ..version };
    let new_surface = |version: PluginVersion| PluginVersion { surface: Some(other), ..new_content(version) };
    let resigned =
        |signer: Option<&str>| PluginVersion { signer: signer.map(Signer::recorded), ..new_content(version()) };
    let first = Pin { approved: false, ..pin() };
    let rows = [
        ("a new file", None, version(), [Ok(()), Ok(()), unapproved()]),
        (
            "a new file that needs access",
            None,
            PluginVersion { needs: needs.clone(), ..version() },
            [Ok(()), Ok(()), unapproved()],
        ),
        ("a new file with grants", None, granted(), [Ok(()), Ok(()), unapproved()]),
        ("the pinned version", Some(pin()), granted(), [Ok(()), Ok(()), Ok(())]),
        ("the pinned version, auto-approved", Some(first), granted(), [Ok(()), Ok(()), unapproved()]),
        ("new content, same surface", Some(pin()), new_content(granted()), [Ok(()), Ok(()), unapproved()]),
        ("new surface, no grants", Some(pin()), new_surface(version()), [Ok(()), Ok(()), unapproved()]),
        (
            "new surface, grants",
            Some(pin()),
            new_surface(granted()),
            [Ok(()), Err(Reason::SurfaceChanged), unapproved()],
        ),
        (
            "the pinned content with another surface, grants",
            Some(pin()),
            PluginVersion { surface: Some(other), ..granted() },
            [Ok(()), Err(Reason::SurfaceChanged), Err(Reason::SurfaceChanged)],
        ),
        (
            "the pinned content with another surface, no grants",
            Some(pin()),
            PluginVersion { surface: Some(other), ..version() },
            [Ok(()), Ok(()), Err(Reason::SurfaceUnapproved)],
        ),
        (
            "needs more access, no grants",
            Some(pin()),
            PluginVersion { needs: needs.clone(), ..new_content(version()) },
            [Ok(()), Ok(()), unapproved()],
        ),
        (
            "needs more access, grants",
            Some(pin()),
            PluginVersion { needs: needs.clone(), ..new_content(granted()) },
            [Ok(()), Err(more()), unapproved()],
        ),
        (
            "needs access that is granted",
            Some(pin()),
            PluginVersion { needs: needs.clone(), grants: needs.clone(), ..new_content(granted()) },
            [Ok(()), Ok(()), unapproved()],
        ),
        (
            "needs the same access as before",
            Some(Pin { needs: BTreeSet::from(["keyvalue".to_owned()]), ..pin() }),
            PluginVersion { needs: needs.clone(), ..new_content(granted()) },
            [Ok(()), Ok(()), unapproved()],
        ),
        ("signer changed", Some(pin()), resigned(Some("RWb")), [Ok(()), Err(changed()), unapproved()]),
        ("signature lost", Some(pin()), resigned(None), [Ok(()), Err(Reason::SignatureLost), unapproved()]),
        (
            "signature lost, same content",
            Some(pin()),
            PluginVersion { signer: None, ..version() },
            [Ok(()), Err(Reason::SignatureLost), Err(Reason::SignatureLost)],
        ),
        ("signed for the first time", Some(Pin { signer: None, ..pin() }), granted(), [Ok(()), Ok(()), Ok(())]),
        (
            "not listed yet",
            Some(pin()),
            PluginVersion { surface: None, ..new_content(granted()) },
            [Ok(()), Ok(()), unapproved()],
        ),
    ];
    for (name, pin, version, wanted) in rows {
        assert_eq!(row(pin.as_ref(), Revocation::None, &version), wanted, "{name}");
        let revoked = [(); 3].map(|()| Err(Reason::Revoked));
        assert_eq!(row(pin.as_ref(), Revocation::OfContent, &version), revoked, "{name}, revoked");
    }
}

/// A revocation before anything was pinned must not make the next version a first use.
#[test]
fn what_follows_a_revoked_version_is_no_first_use_with_grants() {
    let held = [Ok(()), Err(Reason::FollowsRevoked), Err(Reason::Unapproved)];
    assert_eq!(row(None, Revocation::OfPlugin, &granted()), held);
    assert_eq!(row(None, Revocation::OfPlugin, &version()), [Ok(()), Ok(()), Err(Reason::Unapproved)]);
    // There is a pin to compare it with, or to have been approved.
    assert_eq!(row(Some(&pin()), Revocation::OfPlugin, &granted()), [Ok(()), Ok(()), Ok(())]);
}

#[test]
fn a_configured_pin_overrides_all_but_a_revocation() {
    for trust in TRUSTS {
        for pin in [None, Some(pin())] {
            let rules = |content| Rules { trust, configured_pin: Some(Digest::of(content)), ..Rules::default() };
            assert_eq!(decide(&rules(b"content"), pin.as_ref(), Revocation::None, &granted()), Ok(()));
            assert_eq!(decide(&rules(b"other"), pin.as_ref(), Revocation::None, &granted()), Err(Reason::PinMismatch));
            assert_eq!(
                decide(&rules(b"content"), pin.as_ref(), Revocation::OfContent, &granted()),
                Err(Reason::Revoked)
            );
        }
    }
}

#[test]
fn only_the_pinned_content_may_change_its_surface() {
    let other = Some(Digest::of(b"other"));
    for trust in [Trust::Default, Trust::Strict] {
        let rules = Rules { trust, surface_may_change: true, ..Rules::default() };
        assert_eq!(
            decide(&rules, Some(&pin()), Revocation::None, &PluginVersion { surface: other, ..granted() }),
            Ok(())
        );
        let new = PluginVersion { content: Digest::of(b"new"), surface: other, ..granted() };
        assert!(decide(&rules, Some(&pin()), Revocation::None, &new).is_err());
    }
}

#[test]
fn only_the_pinned_content_is_listed_with_grants() {
    let (content, other) = (Digest::of(b"content"), Digest::of(b"other"));
    let rules = |trust, configured_pin| Rules { trust, configured_pin, ..Rules::default() };
    for trust in [Trust::Default, Trust::Strict] {
        assert!(may_list_with_grants(&rules(trust, None), Some(&pin()), content));
        assert!(!may_list_with_grants(&rules(trust, None), Some(&pin()), other));
        assert!(may_list_with_grants(&rules(trust, Some(other)), Some(&pin()), other));
    }
    assert!(may_list_with_grants(&rules(Trust::Dev, None), Some(&pin()), other));
    // There is no pin to compare it with.
    assert!(may_list_with_grants(&rules(Trust::Default, None), None, other));
}

#[test]
fn a_changed_skill_waits_though_it_holds_no_grants() {
    let rules = |trust| Rules { trust, is_skill: true, ..Rules::default() };
    let decided = |pin: Option<&Pin>, revocation, version: &PluginVersion| {
        TRUSTS.map(|trust| decide(&rules(trust), pin, revocation, version))
    };
    let skill = |text: &[u8]| {
        let content = Digest::of(text);
        PluginVersion { content, surface: Some(content), signer: None, ..version() }
    };
    let (one, two) = (skill(b"one"), skill(b"two"));
    let pin = |approved| Pin { time: SystemTime::UNIX_EPOCH, ..Pin::new(&one, approved) };
    let (unapproved, revoked) = (|| Err(Reason::Unapproved), || Err(Reason::Revoked));
    assert_eq!(decided(None, Revocation::None, &one), [Ok(()), Ok(()), unapproved()]);
    assert_eq!(decided(Some(&pin(false)), Revocation::None, &one), [Ok(()), Ok(()), unapproved()]);
    assert_eq!(decided(Some(&pin(true)), Revocation::None, &one), [Ok(()), Ok(()), Ok(())]);
    assert_eq!(decided(Some(&pin(true)), Revocation::None, &two), [Ok(()), Err(Reason::SkillChanged), unapproved()]);
    assert_eq!(decided(None, Revocation::OfPlugin, &two), [Ok(()), unapproved(), unapproved()]);
    assert_eq!(decided(Some(&pin(true)), Revocation::OfContent, &one), [revoked(), revoked(), revoked()]);
}
