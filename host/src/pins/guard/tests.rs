use std::fs;
use std::sync::Arc;
use std::time::Duration;

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
    let may_retry = |seen: &Seen| guard.may_retry(&guard.known(), &id, seen, &Reason::OtherWords);
    assert!(!may_retry(&held) && !may_retry(&silent));
    // A person has approved it with other words, which it says with its grants.
    lock.approve(&id, &version(b"2", "three")).expect("it is written");
    assert!(may_retry(&held) && may_retry(&silent));
    lock.update(|pins| pins.revoke(&id, held.content)).expect("it is written");
    assert!(!may_retry(&held));
}

/// A folder where the next file is written keeps it from being written, whoever tries.
#[tokio::test]
async fn what_cannot_be_pinned_does_not_begin_to_hold_grants() {
    let home = tempfile::tempdir().expect("a folder");
    let guard = Arc::new(guard(home.path()));
    let id = |name: &str| PluginId::parse(name).expect("an id");
    let free = |content: &[u8]| Version {
        seen: Seen { grants: [].into(), ..version(content, "one").seen },
        words: "one".into(),
    };
    assert_eq!(admit(&guard, &id("p"), version(b"1", "one")).await, Ok(Outcome::First));
    let in_the_way = home.path().join("lock.toml.next");
    fs::create_dir(&in_the_way).expect("a folder");
    tokio::time::sleep(super::FRESH).await;

    // Neither what was never seen nor the next version, whatever it says; not even to be asked.
    for (name, content, words) in [("new", b"7", "one"), ("p", b"2", "one")] {
        let next = version(content, words);
        assert_eq!(guard.may_ask(&id(name), &next.seen).await, Err(Reason::NotKept), "{name}");
        assert_eq!(guard.may_serve(&id(name), &next.seen), Err(Reason::NotKept), "{name}");
        assert_eq!(admit(&guard, &id(name), next.clone()).await, Err(Reason::NotKept), "{name}");
        assert!(!guard.may_retry(&guard.known(), &id(name), &next.seen, &Reason::NotKept), "{name}");
    }
    // What is pinned goes on, and so does what holds nothing.
    assert_eq!(guard.may_ask(&id("p"), &version(b"1", "one").seen).await, Ok(true));
    assert_eq!(admit(&guard, &id("p"), version(b"1", "one")).await, Ok(Outcome::Same));
    assert_eq!(admit(&guard, &id("free"), free(b"9")).await, Ok(Outcome::First));
    assert!(guard.may_stay(&guard.known(), &id("p"), &version(b"1", "one").seen).is_ok());

    let mut watch = guard.watch();
    fs::remove_dir(in_the_way).expect("it goes");
    tokio::time::timeout(Duration::from_secs(60), watch.changed()).await.expect("it is retried automatically");
    assert!(guard.may_retry(&guard.known(), &id("p"), &version(b"2", "one").seen, &Reason::NotKept));
    assert_eq!(admit(&guard, &id("p"), version(b"2", "one")).await, Ok(Outcome::Followed { other_words: false }));
}

#[tokio::test]
async fn without_a_place_for_pins_nothing_holds_grants_but_what_is_pinned_by_hand() {
    let by_hand = Digest::of(b"1");
    let rules = move |id: &PluginId| {
        let by_hand = (id.as_ref() == "hand").then_some(by_hand);
        Rules { by_hand, ..Rules::default() }
    };
    let guard = Arc::new(Guard::new(None, rules, Signatures::default));
    let id = |name: &str| PluginId::parse(name).expect("an id");
    assert_eq!(admit(&guard, &id("p"), version(b"1", "one")).await, Err(Reason::NotKept));
    assert_eq!(guard.may_ask(&id("p"), &version(b"1", "one").seen).await, Err(Reason::NotKept));
    assert_eq!(guard.may_ask(&id("hand"), &version(b"1", "one").seen).await, Ok(true));
    assert_eq!(admit(&guard, &id("hand"), version(b"1", "one")).await, Ok(Outcome::First));
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
