use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::{Guard, ListedVersion};
use crate::pins::{AdmittedAs, Decision, PinFile, PluginVersion, Reason, Rules, Trust};
use crate::plugin::{Access, Digest, PluginId, Signatures};

fn version(content: &[u8], surface_text: &str) -> ListedVersion {
    let version = PluginVersion {
        content: Digest::of(content),
        signer: None,
        grants: [Access::Elicit].into(),
        granted: BTreeSet::new(),
        surface: Some(Digest::of(surface_text.as_bytes())),
        needs: [].into(),
        has_skills: false,
    };
    ListedVersion { version, surface_text: surface_text.to_owned(), path: "a.wasm".into() }
}

fn without_grants(content: &[u8]) -> ListedVersion {
    let listed = version(content, "one");
    ListedVersion { version: PluginVersion { grants: [].into(), ..listed.version }, ..listed }
}

/// Admits one version.
async fn admit(guard: &Arc<Guard>, id: &PluginId, version: ListedVersion) -> Result<AdmittedAs, Reason> {
    guard.admit(vec![(id.clone(), version)]).await.remove(0)
}

fn approve(lock: &PinFile, id: &PluginId, version: &ListedVersion) {
    let approved = lock.approve(id, version, &lock.read().expect("pins"));
    assert_eq!(approved.expect("it is written"), Ok(()));
}

fn guard(folder: &std::path::Path) -> Guard {
    let rules = |_: &PluginId| Rules::default();
    Guard::new(Some(PinFile::new(folder.to_owned())), rules, Signatures::default)
}

#[tokio::test]
async fn admitted_versions_are_pinned_with_their_surface_and_held_ones_are_not() {
    let home = tempfile::tempdir().expect("a folder");
    let (guard, lock) = (Arc::new(guard(home.path())), PinFile::new(home.path().to_owned()));
    let id = PluginId::parse("p").expect("an id");
    let stored = |text: &str| lock.surface(Digest::of(text.as_bytes()));
    assert_eq!(admit(&guard, &id, version(b"1", "one")).await, Ok(AdmittedAs::FirstUse));
    assert_eq!(admit(&guard, &id, version(b"1", "one")).await, Ok(AdmittedAs::Unchanged));
    assert_eq!(admit(&guard, &id, version(b"2", "one")).await, Ok(AdmittedAs::Updated { surface_changed: false }));
    assert_eq!(admit(&guard, &id, version(b"3", "two")).await, Err(Reason::SurfaceChanged));
    assert_eq!(lock.read().expect("pins").get(&id).expect("a pin").content, Digest::of(b"2"));
    assert_eq!((stored("one"), stored("two")), (Some("one".into()), None));

    approve(&lock, &id, &version(b"3", "two"));
    assert_eq!(admit(&guard, &id, version(b"3", "two")).await, Ok(AdmittedAs::Unchanged));
    // Surfaces without a pin are deleted, and damaged ones are not returned.
    assert_eq!((stored("one"), stored("two")), (None, Some("two".into())));
    for file in fs::read_dir(home.path().join("surfaces")).expect("a folder") {
        fs::write(file.expect("an entry").path(), "three").expect("a file");
    }
    assert_eq!(stored("two"), None);
}

/// A server elsewhere may have pinned another version under the same name.
#[tokio::test]
async fn where_nothing_is_pinned_a_version_is_compared_with_the_one_in_service() {
    let home = tempfile::tempdir().expect("a folder");
    let id = PluginId::parse("p").expect("an id");
    admit(&Arc::new(guard(home.path())), &id, version(b"1", "one")).await.expect("it is pinned");
    let trusting = Arc::new(guard(home.path()).trusting(id.clone()));
    let second = version(b"2", "two");
    assert_eq!(admit(&trusting, &id, second.clone()).await, Ok(AdmittedAs::FirstUse));
    for (content, surface, outcome) in [
        (b"2", "two", AdmittedAs::FirstUse),
        (b"3", "two", AdmittedAs::Updated { surface_changed: false }),
        (b"3", "one", AdmittedAs::Updated { surface_changed: true }),
    ] {
        let next = version(content, surface);
        let decision = Decision::new(id.clone(), &next.version, admit(&trusting, &id, next.clone()).await);
        assert_eq!(decision.replacing(&second.version).outcome, Ok(outcome), "{surface}");
    }
    let held = Decision::new(id, &version(b"3", "one").version, Err(Reason::Revoked));
    assert_eq!(held.replacing(&second.version).outcome, Err(Reason::Revoked));
}

/// A plugin that may change its surface at any time keeps the approved one as that which other versions are compared with.
#[tokio::test]
async fn versions_are_compared_with_the_approved_surface_and_not_with_a_later_one() {
    let home = tempfile::tempdir().expect("a folder");
    let (lock, id) = (PinFile::new(home.path().to_owned()), PluginId::parse("p").expect("an id"));
    for trust in [Trust::Default, Trust::Strict] {
        let rules = move |_: &PluginId| Rules { trust, surface_may_change: true, ..Rules::default() };
        let guard = Arc::new(Guard::new(Some(PinFile::new(home.path().to_owned())), rules, Signatures::default));
        approve(&lock, &id, &version(b"1", "one"));
        // It has changed its lists, and the server was started again.
        assert_eq!(admit(&guard, &id, version(b"1", "changed")).await, Ok(AdmittedAs::Unchanged));
        let pin = lock.read().expect("pins").get(&id).expect("a pin").clone();
        assert_eq!((pin.surface, pin.approved), (Digest::of(b"one"), true));
        let early = guard.may_serve_unpinned(&id, &version(b"1", "changed").version, false).await;
        assert!(early, "its code has listed it");
        assert!(!guard.may_serve_unpinned(&id, &version(b"1", "changed").version, true).await, "its file says so");
        if trust == Trust::Default {
            assert_eq!(admit(&guard, &id, version(b"2", "changed")).await, Err(Reason::SurfaceChanged));
            let approved = Ok(AdmittedAs::Updated { surface_changed: false });
            assert_eq!(admit(&guard, &id, version(b"2", "one")).await, approved);
        }
    }
}

/// Another version in service has other descriptions than the one that a person approved.
#[tokio::test]
async fn an_approved_version_is_not_compared_with_the_one_in_service() {
    let home = tempfile::tempdir().expect("a folder");
    let (guard, lock) = (Arc::new(guard(home.path())), PinFile::new(home.path().to_owned()));
    let (id, next) = (PluginId::parse("p").expect("an id"), version(b"2", "two"));
    admit(&guard, &id, version(b"1", "one")).await.expect("the first");
    approve(&lock, &id, &next);
    let decision = Decision::new(id.clone(), &next.version, admit(&guard, &id, next.clone()).await);
    assert_eq!(decision.replacing(&version(b"1", "one").version).outcome, Ok(AdmittedAs::Unchanged));
}

#[tokio::test]
async fn a_held_version_is_retried_only_if_it_might_be_admitted() {
    let home = tempfile::tempdir().expect("a folder");
    let (guard, lock) = (Arc::new(guard(home.path())), PinFile::new(home.path().to_owned()));
    let id = PluginId::parse("p").expect("an id");
    admit(&guard, &id, version(b"1", "one")).await.expect("the first");
    let held = version(b"2", "two").version;
    let unlisted = PluginVersion { surface: None, ..held.clone() };
    let may_retry = |info: &PluginVersion| guard.may_retry(&guard.read_pins(), &id, info, &Reason::SurfaceChanged);
    assert!(!may_retry(&held) && !may_retry(&unlisted));
    // It was approved with the surface that it has when listed with its grants.
    approve(&lock, &id, &version(b"2", "three"));
    assert!(may_retry(&held) && may_retry(&unlisted));
    lock.update(|pins| pins.revoke(&id, held.content)).expect("it is written");
    assert!(!may_retry(&held));
}

#[tokio::test]
async fn a_pinned_version_is_served_early_only_with_its_pinned_surface() {
    let home = tempfile::tempdir().expect("a folder");
    let guard = Arc::new(guard(home.path()));
    let id = PluginId::parse("p").expect("an id");
    let early = async |surface: &str, content: &[u8]| {
        let surface = Some(Digest::of(surface.as_bytes()));
        guard.may_serve_unpinned(&id, &PluginVersion { surface, ..without_grants(content).version }, true).await
    };
    assert!(early("two", b"1").await, "nothing is pinned");
    assert_eq!(admit(&guard, &id, without_grants(b"1")).await, Ok(AdmittedAs::FirstUse));
    assert!(early("one", b"1").await);
    assert!(!early("two", b"1").await);
    assert!(early("two", b"2").await, "another version needs no pin");
    let with_grants = version(b"2", "two").version;
    assert!(!guard.may_serve_unpinned(&id, &with_grants, false).await, "it must be pinned first");
}

#[tokio::test]
async fn what_a_file_says_of_itself_is_not_served_under_a_configured_pin() {
    let home = tempfile::tempdir().expect("a folder");
    let version = version(b"1", "one").version;
    let content = version.content;
    let rules = move |_: &PluginId| Rules { trust: Trust::Strict, configured_pin: Some(content), ..Rules::default() };
    let guard = Arc::new(Guard::new(Some(PinFile::new(home.path().to_owned())), rules, Signatures::default));
    let id = PluginId::parse("p").expect("an id");
    assert!(!guard.may_serve_unpinned(&id, &version, true).await);
    assert!(guard.may_serve_unpinned(&id, &version, false).await, "its code has listed it before");
}

/// A directory at the path of the new pin file makes every write fail, even for root.
#[tokio::test]
async fn versions_that_cannot_be_pinned_get_no_grants() {
    let home = tempfile::tempdir().expect("a folder");
    let guard = Arc::new(guard(home.path()));
    let id = |name: &str| PluginId::parse(name).expect("an id");
    assert_eq!(admit(&guard, &id("p"), version(b"1", "one")).await, Ok(AdmittedAs::FirstUse));
    let blocker = home.path().join("lock.toml.next");
    fs::create_dir(&blocker).expect("a folder");
    tokio::time::sleep(super::WRITE_CHECK_TTL).await;

    // Neither a new plugin nor an update, even with the same surface; they are not even listed.
    for (name, content, surface_text) in [("new", b"7", "one"), ("p", b"2", "one")] {
        let next = version(content, surface_text);
        assert_eq!(guard.may_list(&id(name), &next.version).await, Err(Reason::PinsUnwritable), "{name}");
        assert_eq!(guard.may_serve(&id(name), &next.version), Err(Reason::PinsUnwritable), "{name}");
        assert_eq!(admit(&guard, &id(name), next.clone()).await, Err(Reason::PinsUnwritable), "{name}");
        assert!(!guard.may_retry(&guard.read_pins(), &id(name), &next.version, &Reason::PinsUnwritable), "{name}");
    }
    // The pinned version keeps running, and so do plugins without grants.
    assert_eq!(guard.may_list(&id("p"), &version(b"1", "one").version).await, Ok(true));
    assert_eq!(admit(&guard, &id("p"), version(b"1", "one")).await, Ok(AdmittedAs::Unchanged));
    assert_eq!(admit(&guard, &id("free"), without_grants(b"9")).await, Ok(AdmittedAs::FirstUse));
    assert!(guard.may_stay(&guard.read_pins(), &id("p"), &version(b"1", "one").version).is_ok());

    let mut watch = guard.watch();
    fs::remove_dir(blocker).expect("it goes");
    tokio::time::timeout(Duration::from_secs(60), watch.changed()).await.expect("it is retried automatically");
    assert!(guard.may_retry(&guard.read_pins(), &id("p"), &version(b"2", "one").version, &Reason::PinsUnwritable));
    assert_eq!(admit(&guard, &id("p"), version(b"2", "one")).await, Ok(AdmittedAs::Updated { surface_changed: false }));
}

/// Otherwise each version that is loaded would be followed by "the pin file is writable again".
#[tokio::test]
async fn a_damaged_pin_file_does_not_count_as_unwritable() {
    let home = tempfile::tempdir().expect("a folder");
    let guard = Arc::new(guard(home.path()));
    let id = PluginId::parse("p").expect("an id");
    assert_eq!(admit(&guard, &id, without_grants(b"1")).await, Ok(AdmittedAs::FirstUse));
    fs::write(home.path().join("lock.toml"), "?").expect("damaged");
    assert_eq!(admit(&guard, &id, without_grants(b"2")).await, Ok(AdmittedAs::FirstUse));
    assert!(guard.was_writable());
}

#[tokio::test]
async fn without_a_pin_file_only_a_configured_pin_gets_grants() {
    let configured_pin = Digest::of(b"1");
    let rules = move |id: &PluginId| {
        let configured_pin = (id.as_ref() == "hand").then_some(configured_pin);
        Rules { configured_pin, ..Rules::default() }
    };
    let guard = Arc::new(Guard::new(None, rules, Signatures::default));
    let id = |name: &str| PluginId::parse(name).expect("an id");
    assert_eq!(admit(&guard, &id("p"), version(b"1", "one")).await, Err(Reason::PinsUnwritable));
    assert_eq!(guard.may_list(&id("p"), &version(b"1", "one").version).await, Err(Reason::PinsUnwritable));
    assert_eq!(guard.may_list(&id("hand"), &version(b"1", "one").version).await, Ok(true));
    assert_eq!(admit(&guard, &id("hand"), version(b"1", "one")).await, Ok(AdmittedAs::FirstUse));
}

#[tokio::test]
async fn a_batch_is_decided_one_by_one_and_pinned_in_one_write() {
    let home = tempfile::tempdir().expect("a folder");
    let (guard, lock) = (Arc::new(guard(home.path())), PinFile::new(home.path().to_owned()));
    let id = |name: &str| PluginId::parse(name).expect("an id");
    lock.update(|pins| pins.revoke(&id("q"), Digest::of(b"revoked"))).expect("it is written");
    let versions = vec![
        (id("p"), version(b"1", "one")),
        (id("q"), version(b"revoked", "two")),
        (id("r"), version(b"3", "three")),
        // By then it is no longer the first version of its plugin.
        (id("p"), version(b"4", "four")),
    ];
    let outcomes = guard.admit(versions).await;
    assert_eq!(
        outcomes,
        [Ok(AdmittedAs::FirstUse), Err(Reason::Revoked), Ok(AdmittedAs::FirstUse), Err(Reason::SurfaceChanged)]
    );
    let pins = lock.read().expect("pins");
    let pinned: Vec<(&str, Digest)> = pins.all().map(|(name, pin)| (name, pin.content)).collect();
    assert_eq!(pinned, [("p", Digest::of(b"1")), ("r", Digest::of(b"3"))]);
    let stored = |text: &str| lock.surface(Digest::of(text.as_bytes())).is_some();
    let kept = ["one", "two", "three", "four"].map(stored);
    assert_eq!(kept, [true, false, true, false]);
}
