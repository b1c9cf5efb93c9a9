use std::collections::BTreeSet;

use super::ConcurrentChange;
use crate::pins::{ListedVersion, PinFile, PluginVersion};
use crate::plugin::{Access, Digest, PluginId};

fn version(content: &[u8]) -> ListedVersion {
    let version = PluginVersion {
        content: Digest::of(content),
        signer: None,
        grants: [Access::Elicit].into(),
        granted: ["elicit".to_owned()].into(),
        surface: Some(Digest::of(b"one")),
        needs: BTreeSet::new(),
        has_skills: false,
    };
    ListedVersion { version, surface_text: "one".to_owned(), path: "a.wasm".into() }
}

#[test]
fn a_decision_takes_effect_only_on_what_was_shown() {
    let home = tempfile::tempdir().expect("a folder");
    let (lock, id) = (PinFile::new(home.path().to_owned()), PluginId::parse("p").expect("an id"));
    let (first, second) = (version(b"1"), version(b"2"));
    let read = || lock.read().expect("pins");
    let revoke = |version: &ListedVersion| {
        lock.update(|pins| pins.revoke(&id, version.version.content)).expect("it is written");
    };
    let before = read();
    revoke(&first);
    let revoked = read();
    assert_eq!(lock.approve(&id, &first, &before), Ok(Err(ConcurrentChange::Revoked)));
    assert_eq!(read(), revoked, "nothing is written");
    // A person who was shown the revocation takes it back.
    assert_eq!(lock.approve(&id, &first, &revoked), Ok(Ok(())));
    assert!(!read().is_revoked(first.version.content));

    // Another version was approved while the question waited, and not the same one.
    let pinned = read();
    assert_eq!(lock.approve(&id, &second, &before), Ok(Err(ConcurrentChange::Pinned(first.version.content))));
    assert_eq!(lock.approve(&id, &first, &before), Ok(Ok(())));
    assert_eq!(lock.approve(&id, &second, &pinned), Ok(Ok(())));

    let (content, more) = (second.version.content, ["roots".to_owned()].into());
    assert_eq!(lock.extend_approval(&id, content, &more, &pinned), Ok(Ok(())));
    let extended = read();
    let approved = |pins: &crate::pins::Pins| pins.get(&id).and_then(|pin| pin.approved_grants.clone());
    assert_eq!(approved(&extended), Some(["elicit".to_owned(), "roots".to_owned()].into()));
    revoke(&second);
    let others = ["sample".to_owned()].into();
    assert_eq!(lock.extend_approval(&id, content, &others, &extended), Ok(Err(ConcurrentChange::Revoked)));
    assert_eq!(approved(&read()), approved(&extended));
}
