use std::fs;
use std::sync::Arc;

use super::{Guard, Version};
use crate::pins::{Lock, Outcome, Reason, Rules, Seen};
use crate::plugin::{Access, Digest, PluginId, Signatures};

fn version(content: &[u8], words: &str) -> Version {
    let seen = Seen {
        content: Digest::of(content),
        signer: None,
        grants: [Access::Elicit].into(),
        surface: Some(Digest::of(words.as_bytes())),
        needs: [].into(),
    };
    Version { seen, words: words.to_owned() }
}

/// Has one version admitted.
async fn admit(guard: &Arc<Guard>, id: &PluginId, version: Version) -> Result<Outcome, Reason> {
    guard.admit(vec![(id.clone(), version)]).await.remove(0)
}

fn guard(folder: &std::path::Path) -> Guard {
    let rules = |_: &PluginId| Rules::default();
    Guard::new(Some(Lock::new(folder.to_owned())), rules, Signatures::default)
}

#[tokio::test]
async fn what_runs_is_pinned_with_its_words_and_what_is_held_is_not() {
    let home = tempfile::tempdir().expect("a folder");
    let (guard, lock) = (Arc::new(guard(home.path())), Lock::new(home.path().to_owned()));
    let id = PluginId::parse("p").expect("an id");
    let words = |text: &str| lock.surface(Digest::of(text.as_bytes()));
    assert_eq!(admit(&guard, &id, version(b"1", "one")).await, Ok(Outcome::First));
    assert_eq!(admit(&guard, &id, version(b"1", "one")).await, Ok(Outcome::Same));
    assert_eq!(admit(&guard, &id, version(b"2", "one")).await, Ok(Outcome::Followed { other_words: false }));
    assert_eq!(admit(&guard, &id, version(b"3", "two")).await, Err(Reason::OtherWords));
    assert_eq!(lock.read().expect("pins").of(&id).expect("a pin").content, Digest::of(b"2"));
    assert_eq!((words("one"), words("two")), (Some("one".into()), None));

    lock.approve(&id, &version(b"3", "two")).expect("it is written");
    assert_eq!(admit(&guard, &id, version(b"3", "two")).await, Ok(Outcome::Same));
    // Words of no pin are dropped, and those that are not what they were are none.
    assert_eq!((words("one"), words("two")), (None, Some("two".into())));
    for file in fs::read_dir(home.path().join("surfaces")).expect("a folder") {
        fs::write(file.expect("an entry").path(), "three").expect("a file");
    }
    assert_eq!(words("two"), None);
}

#[tokio::test]
async fn a_version_that_was_held_is_tried_again_when_that_may_help() {
    let home = tempfile::tempdir().expect("a folder");
    let (guard, lock) = (Arc::new(guard(home.path())), Lock::new(home.path().to_owned()));
    let id = PluginId::parse("p").expect("an id");
    admit(&guard, &id, version(b"1", "one")).await.expect("the first");
    let held = version(b"2", "two").seen;
    let silent = Seen { surface: None, ..held.clone() };
    assert!(!guard.may_retry(&id, &held) && !guard.may_retry(&id, &silent));
    // A person has approved it with other words, which it says with its grants.
    lock.approve(&id, &version(b"2", "three")).expect("it is written");
    assert!(guard.may_retry(&id, &held) && guard.may_retry(&id, &silent));
    lock.update(|pins| pins.revoke(&id, held.content)).expect("it is written");
    assert!(!guard.may_retry(&id, &held));
}

#[tokio::test]
async fn versions_that_come_together_are_judged_one_by_one_and_pinned_together() {
    let home = tempfile::tempdir().expect("a folder");
    let (guard, lock) = (Arc::new(guard(home.path())), Lock::new(home.path().to_owned()));
    let id = |name: &str| PluginId::parse(name).expect("an id");
    lock.update(|pins| pins.revoke(&id("q"), Digest::of(b"revoked"))).expect("it is written");
    let versions = vec![
        (id("p"), version(b"1", "one")),
        (id("q"), version(b"revoked", "two")),
        (id("r"), version(b"3", "three")),
        // In its turn it is not the first any more.
        (id("p"), version(b"4", "four")),
    ];
    let outcomes = guard.admit(versions).await;
    assert_eq!(outcomes, [Ok(Outcome::First), Err(Reason::Revoked), Ok(Outcome::First), Err(Reason::OtherWords)]);
    let pins = lock.read().expect("pins");
    let pinned: Vec<(&str, Digest)> = pins.all().map(|(name, pin)| (name, pin.content)).collect();
    assert_eq!(pinned, [("p", Digest::of(b"1")), ("r", Digest::of(b"3"))]);
    let kept = ["one", "two", "three", "four"].map(|words| lock.surface(Digest::of(words.as_bytes())).is_some());
    assert_eq!(kept, [true, false, true, false]);
}
