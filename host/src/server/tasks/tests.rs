use super::*;
use crate::identity::Identity;
use crate::store::Sqlite;

#[tokio::test]
async fn a_task_is_stopped_once_its_record_has_ended_and_not_while_there_is_none() {
    let folder = std::env::temp_dir().join(format!("wharf-stopped-task-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let ledger = Ledger::new(Sqlite::new(folder.join("tasks.db")), "/plugins");
    let settings = TaskSettings { ledger: Some(ledger), ..TaskSettings::default() };
    let tasks = Arc::new(Tasks::new(&settings, Metrics::default()).expect("a ledger"));
    let record = Record {
        id: Record::new_id().expect("random bytes"),
        requester: (&Identity::local()).into(),
        created: crate::tasks::now(),
        ttl: 60_000,
        ..Record::at_round(0)
    };
    let key = tasks.ledger.key(record.requester.name(), &record.id).expect("an id");
    let cancelled = CancellationToken::new();
    let run = tasks.run(&key, &record, &cancelled).await.ok().expect("room");

    // As a store says when it is connected.
    tasks.stop_ended(Ok(Changed::All)).await;
    assert!(!cancelled.is_cancelled(), "its record is written next");
    tasks.write(&record).await.expect("usable");
    tasks.stop_ended(Ok(Changed::Key(key.clone()))).await;
    assert!(!cancelled.is_cancelled(), "it runs");
    let end = |kept: &mut Record| kept.end(Status::Cancelled, None, None).then_some(());
    tasks.ledger.change(&key, Durability::Process, end).await.expect("usable").expect("it ran");
    tasks.stop_ended(Ok(Changed::All)).await;
    assert!(cancelled.is_cancelled());
    drop(run);
    let _ = std::fs::remove_dir_all(&folder);
}
