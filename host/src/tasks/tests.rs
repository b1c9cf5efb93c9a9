use std::time::Duration;

use serde_json::value::RawValue;

use super::*;
use crate::identity::{AccessGrant, Claims, Identity};
use crate::store::{Changed, Durability, OwnEntry, Sqlite, Store, lease};

const HOURS: u64 = 2 * 3_600_000;

struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wharf-tasks-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    /// As another process.
    fn ledger(&self) -> Ledger {
        Ledger::new(Sqlite::new(self.0.join("store.db")), "/plugins")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.into()).expect("JSON")
}

fn record(identity: &Identity) -> Record {
    Record {
        id: Record::new_id().expect("random bytes"),
        flow: Flow::Extension,
        requester: identity.into(),
        caller: "local".into(),
        revision: "2026-07-28".into(),
        capabilities: vec![],
        plugin: "films".into(),
        version: "00".into(),
        extras: vec![],
        tool: "render".into(),
        arguments: raw("{}"),
        meta: raw("{}"),
        idempotent: false,
        created: now(),
        updated: now(),
        ttl: 60_000,
        ..Record::at_round(0)
    }
}

fn given(key: &str, answer: &str) -> Given {
    Given { key: key.into(), answer: Ok(raw(answer)) }
}

fn asked(key: &str) -> Asked {
    Asked {
        key: key.into(),
        name: key.into(),
        kind: raw("\"roots\""),
        method: "roots/list".into(),
        params: None,
        answer: None,
        refused: None,
    }
}

#[test]
fn a_task_that_has_ended_stays_so() {
    let mut task = record(&Identity::local());
    assert!(task.say("half"));
    assert!(task.end(Status::Cancelled, None, None));
    assert!(!task.say("more"));
    assert!(!task.ask(vec![asked("a")], None, 1));
    assert!(!task.answer(vec![given("a", "{}")], "n"));
    assert!(!task.end(Status::Completed, None, Some(Outcome::Result(raw("{}")))));
    assert_eq!((task.status, task.outcome.is_some()), (Status::Cancelled, false));
}

#[test]
fn a_task_goes_on_when_all_is_answered() {
    let mut task = record(&Identity::local());
    assert!(task.ask(vec![asked("a"), asked("b")], Some(b"state"), 1));
    assert!(!task.answer(vec![given("a", "1"), given("x", "2")], "n"));
    assert_eq!(task.status, Status::InputRequired);
    // What is answered stays so.
    assert!(!task.answer(vec![given("a", "3")], "n"));
    assert!(task.answer(vec![given("b", "4")], "n"));
    let answers: Vec<_> = task.asked.iter().filter_map(|asked| Some(asked.answer.as_ref()?.get())).collect();
    assert_eq!(
        (answers, task.node.as_deref(), task.plugin_state()),
        (vec!["1", "4"], Some("n"), Some(b"state".to_vec()))
    );
}

#[tokio::test]
async fn a_record_is_found_by_its_owner_alone_and_changed_by_many() {
    let folder = Folder::new("ledger");
    let (one, two) = (folder.ledger(), folder.ledger());
    let mut grant = AccessGrant::of("https://issuer.example", "ann");
    grant.claims = Claims::from_text(r#"{"team":"film"}"#);
    let ann = Identity::subject(grant);
    let task = record(&ann);
    one.add(&task).await.expect("usable");
    let read = two.get(ann.name(), &task.id).await.expect("usable").expect("there").record;
    assert_eq!(Identity::from(&read.requester), ann);
    for (principal, id) in [("bob", &*task.id), (ann.name(), "nobody"), (ann.name(), "../../../../../../../..")] {
        assert!(one.get(principal, id).await.expect("usable").is_none());
    }
    let key = one.key(ann.name(), &task.id).expect("an id");
    let mut changes = two.watch();
    let says = (0..8).map(|number| {
        let (ledger, key) = (if number % 2 == 0 { one.clone() } else { two.clone() }, key.clone());
        tokio::spawn(async move {
            ledger
                .change(&key, Durability::Process, |record| {
                    record.round += 1;
                    Some(())
                })
                .await
        })
    });
    for changed in futures_util::future::join_all(says).await {
        assert!(changed.expect("no panic").expect("usable").is_some());
    }
    assert_eq!(one.read(&key).await.expect("usable").expect("there").record.round, 8);
    assert!(matches!(changes.recv().await, Ok(Changed::Key(changed)) if changed == key));
    assert_eq!(one.usage(Some(ann.name())).await.expect("usable").entries, 1);
    assert_eq!(one.usage(Some("bob")).await.expect("usable").entries, 0);
    assert_eq!(two.list(None, "", 9).await.expect("usable").tasks.len(), 1);
    // Of another folder of plugins.
    let other = Ledger::new(Sqlite::new(folder.0.join("store.db")), "/others");
    assert!(other.get(ann.name(), &task.id).await.expect("usable").is_none());
}

#[tokio::test]
async fn a_task_is_there_until_it_expires() {
    let folder = Folder::new("expiry");
    let ledger = folder.ledger();
    let local = Identity::local();
    let gone = Record { created: now() - 70_000, ..record(&local) };
    let kept = record(&local);
    ledger.add(&gone).await.expect("usable");
    ledger.add(&kept).await.expect("usable");
    assert!(ledger.get(local.name(), &gone.id).await.expect("usable").is_none());
    assert_eq!(ledger.list(Some(local.name()), "", 9).await.expect("usable").tasks.len(), 1);
    // Those that have expired hide no others.
    for _ in 0..3 {
        ledger.add(&Record { created: now() - 70_000, ..record(&local) }).await.expect("usable");
    }
    let (mut found, mut after) = (0, Some(String::new()));
    while let Some(from) = after.take() {
        let page = ledger.list(None, &from, 2).await.expect("usable");
        (found, after) = (found + page.tasks.len(), page.next);
    }
    assert_eq!(found, 1);
    assert_eq!(ledger.remove_expired(3).await, Ok(3));
    assert_eq!(ledger.remove_expired(9).await, Ok(1));
    assert_eq!(ledger.usage(None).await.expect("usable").entries, 1);
}

#[tokio::test]
async fn tasks_of_processes_that_are_gone_are_orphans() {
    let folder = Folder::new("lease");
    let (ledger, store) = (folder.ledger(), Sqlite::new(folder.0.join("store.db")));
    let lease = || Lease::new(folder.ledger()).expect("random bytes");
    let (gone, alive, own) = (lease(), lease(), lease());
    for lease in [&gone, &alive, &own] {
        assert!(!lease.is_fresh());
        lease.renew().await.expect("usable");
        assert!(lease.is_fresh());
        lease.begin("id.0", &format!("task of {}", lease.node()), now() + 60_000).await.expect("usable");
    }
    assert_eq!(own.orphans().await, Ok(vec![]));
    store.delete(&ledger.key_of_node(gone.node())).await.expect("usable");
    // Its own tasks are no orphans, however long it was stopped.
    store.delete(&ledger.key_of_node(own.node())).await.expect("usable");
    let orphans = own.orphans().await.expect("usable");
    assert_eq!(orphans.iter().map(|orphan| &*orphan.key).collect::<Vec<_>>(), [format!("task of {}", gone.node())]);
    own.settle(&orphans[0]).await.expect("usable");
    assert_eq!(own.orphans().await, Ok(vec![]));
}

#[tokio::test]
async fn a_process_lives_that_renews_its_lease_by_whatever_clock() {
    let folder = Folder::new("clocks");
    let (ledger, store) = (folder.ledger(), Sqlite::new(folder.0.join("store.db")));
    let living = async |watched, nodes: &[&str]| {
        let nodes = nodes.iter().map(ToString::to_string).collect();
        ledger.living(&nodes, watched).await.expect("usable").into_iter().collect::<Vec<_>>()
    };
    let says = |node: &str, now| {
        let (own, store) = (OwnEntry::new(ledger.key_of_node(node)), &store);
        async move { own.put(&**store, Vec::new(), Some(lease::expires(now))).await.expect("usable") }
    };
    // Nobody is waited for who need not be.
    says("right", now()).await;
    assert_eq!(living(Duration::MAX, &["nobody", "right"]).await, ["right"]);
    for wrong in [now() - HOURS, now() + HOURS] {
        says("wrong", wrong).await;
        assert_eq!(living(Duration::ZERO, &["right", "wrong"]).await, ["right"]);
        let renewing = async {
            let own = OwnEntry::new(ledger.key_of_node("wrong"));
            loop {
                own.put(&*store, Vec::new(), Some(lease::expires(wrong))).await.expect("usable");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            living = living(Duration::from_secs(1), &["right", "wrong"]) => assert_eq!(living, ["right", "wrong"]),
            () = renewing => unreachable!("it has no end"),
        }
    }
}
