use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use super::*;
use crate::store::Sqlite;

const START: u64 = 1_000_000_000_000;

fn key(number: u8) -> StateKey {
    [number; 32]
}

fn ring(keys: &[(u8, u64)]) -> Ring {
    let dated = |(number, from): &(u8, u64)| Dated { key: URL_SAFE_NO_PAD.encode(key(*number)), from: *from };
    Ring { keys: keys.iter().map(dated).collect() }
}

#[test]
fn a_new_key_is_known_before_it_is_used() {
    let first = Ring::default().renewed(START, &key(1)).expect("the first one");
    assert_eq!(first, ring(&[(1, START)]));
    assert_eq!(first.renewed(START + ROTATION - 1, &key(2)), None);
    let due = START + ROTATION;
    let second = first.renewed(due, &key(2)).expect("due");
    assert_eq!((second.in_use(due), second.rests(due)), (vec![key(1), key(2)], CHECK));
    assert_eq!(second.rests(due + AHEAD - 5), Duration::from_millis(5));
    assert_eq!(second.in_use(due + AHEAD), [key(2), key(1)]);
    assert_eq!(second.renewed(due + AHEAD, &key(3)), None);
}

#[test]
fn old_keys_are_dropped_and_those_that_others_use_are_not() {
    let mut ring = Ring::default();
    for day in 0..10 {
        ring = ring.renewed(START + day * (ROTATION + AHEAD), &key(day as u8)).expect("due");
        assert!(ring.keys.len() <= KEPT);
    }
    let now = START + 9 * (ROTATION + AHEAD) + AHEAD;
    assert_eq!(ring.in_use(now), [key(9), key(7), key(8)]);
    // A node whose clock is a year ahead takes nothing from the others, however often it looks.
    let ahead = now + 365 * ROTATION;
    let wrong = ring.renewed(ahead, &key(77)).expect("due");
    assert_eq!(wrong.in_use(now)[0], key(9));
    assert_eq!(wrong.renewed(ahead, &key(78)), None);
}

#[test]
fn what_is_damaged_is_no_ring() {
    let good = serde_json::to_vec(&ring(&[(1, 5)])).expect("JSON");
    assert_eq!(Ring::parse(&good), Some(ring(&[(1, 5)])));
    for wrong in ["", "{}", r#"{"keys":[]}"#, r#"{"keys":[{"key":"c2hvcnQ","from":1}]}"#] {
        assert_eq!(Ring::parse(wrong.as_bytes()), None, "{wrong}");
    }
    let many = serde_json::to_vec(&ring(&[(1, 5), (2, 6), (3, 7), (4, 8)])).expect("JSON");
    assert_eq!(Ring::parse(&many), None);
}

/// Two nodes on one store, whose clock is `clock`.
#[tokio::test]
async fn nodes_have_the_same_keys_at_all_times() {
    let folder = std::env::temp_dir().join(format!("wharf-state-keys-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    crate::os::private::create_folder(&folder).expect("a folder");
    let clock = Arc::new(AtomicU64::new(START));
    let (mut nodes, mut running) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (store, clock): (Arc<dyn Store>, _) = (Sqlite::new(folder.join("store.db")), clock.clone());
        let changed = move |keys: &[StateKey]| drop(sender.send(keys.to_vec()));
        running.push(tokio::spawn(share(store, move || clock.load(Ordering::SeqCst), changed)));
        nodes.push(tokio::sync::Mutex::new(receiver));
    }
    let next = async |node: usize| nodes[node].lock().await.recv().await.expect("it runs");
    let (one, other) = (next(0).await, next(1).await);
    assert_eq!((one.len(), &one), (1, &other));
    // A day later one of them makes the next key, which no node uses yet; the other hears of it.
    let store: Arc<dyn Store> = Sqlite::new(folder.join("store.db"));
    let due_at = START + ROTATION;
    let next_ring = due(&*store, due_at).await.expect("a store");
    assert_eq!(next_ring.keys.len(), 2);
    let (one, other) = (next(0).await, next(1).await);
    assert_eq!((one.len(), &one), (2, &other));
    assert_eq!(one, next_ring.in_use(due_at));
    // And then all use it.
    clock.store(due_at + AHEAD, Ordering::SeqCst);
    let touched = Put {
        key: KEY.into(),
        value: serde_json::to_vec(&next_ring).expect("JSON"),
        expected: Expected::Anything,
        durability: Durability::Process,
        expires: None,
    };
    store.put(touched).await.expect("written");
    let (used, by_other) = (next(0).await, next(1).await);
    assert_eq!((&used, &used[0]), (&by_other, &one[1]));
    running.into_iter().for_each(|task| task.abort());
    let _ = std::fs::remove_dir_all(&folder);
}
