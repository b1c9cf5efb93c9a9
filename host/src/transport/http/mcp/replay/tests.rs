use std::sync::Barrier;
use std::thread;

use super::*;
use crate::transport::http::mcp::retention::Retention;

const KIB: usize = 1 << 10;

fn id(number: u64) -> Option<RequestId> {
    Some(RequestId::new_number(number))
}

fn said(text: &str) -> Outgoing {
    Outgoing::new(text.to_owned(), MessageKind::ServerInitiated)
}

fn answer(bytes: usize) -> Outgoing {
    Outgoing::new("x".repeat(bytes), MessageKind::Result)
}

/// A stream with these messages that has ended.
async fn stream(retention: &Arc<CallerRetention>, request: Option<RequestId>, messages: Vec<Outgoing>) -> Arc<Replay> {
    let (sender, receiver) = mpsc::channel(64);
    let replay = Replay::of(1, retention.clone(), request, receiver);
    for message in messages {
        sender.send(message).await.expect("it is kept");
    }
    drop(sender);
    while !replay.has_ended() {
        tokio::task::yield_now().await;
    }
    replay
}

/// What a client gets that resumes from the beginning.
async fn all(replay: &Arc<Replay>) -> Vec<String> {
    let mut reader = replay.reader(Some(0));
    let mut all = Vec::new();
    while let Some((_, message)) = reader.next().await {
        all.push(message.text);
    }
    all
}

fn is_dropped(said: &[String]) -> bool {
    matches!(said, [last] if last.contains("answer_dropped"))
}

#[tokio::test]
async fn what_is_kept_of_all_streams_is_bounded_and_the_oldest_goes_first() {
    let all_retention = Retention::new(64 * KIB, 64 * KIB);
    let retention = all_retention.of(&"local".into());
    let mut streams = Vec::new();
    for number in 0..100 {
        streams.push(stream(&retention, id(number), vec![answer(10 * KIB)]).await);
        assert!(all_retention.taken() <= 64 * KIB + 100 * 512, "{}", all_retention.taken());
    }
    let mut kept = Vec::new();
    for (number, replay) in streams.iter().enumerate() {
        let said = all(replay).await;
        if is_dropped(&said) {
            assert!(said[0].contains(&format!("\"id\":{number},")), "{said:?}");
        } else {
            assert_eq!(said, ["x".repeat(10 * KIB)]);
            kept.push(number);
        }
    }
    assert!(kept.len() >= 3 && kept.iter().copied().eq(100 - kept.len()..100), "{kept:?}");
    // A second time it gets the same.
    assert!(is_dropped(&all(&streams[0]).await));
    drop(streams);
    assert_eq!(all_retention.taken(), 0, "all of it comes back");
}

#[tokio::test]
async fn one_who_fills_all_takes_it_from_himself() {
    let all_retention = Retention::new(64 * KIB, 40 * KIB);
    let (alice, bob) = (all_retention.of(&"alice".into()), all_retention.of(&"bob".into()));
    let early = stream(&bob, id(1), vec![answer(20 * KIB)]).await;
    let mut hers = Vec::new();
    for number in 0..20 {
        hers.push(stream(&alice, id(number), vec![answer(10 * KIB)]).await);
    }
    // Not more than a part is hers, and where all is full, what she has is the most.
    let late = stream(&bob, id(2), vec![answer(15 * KIB)]).await;
    assert_eq!(all(&early).await, ["x".repeat(20 * KIB)]);
    assert_eq!(all(&late).await, ["x".repeat(15 * KIB)]);
    assert!(is_dropped(&all(&hers[0]).await));
    assert_eq!(all(hers.last().expect("twenty")).await, ["x".repeat(10 * KIB)]);
}

#[tokio::test]
async fn what_was_read_goes_before_what_was_not() {
    let all_retention = Retention::new(32 * KIB, 32 * KIB);
    let retention = all_retention.of(&"local".into());
    let unread = stream(&retention, id(1), vec![answer(10 * KIB)]).await;
    let read = stream(&retention, id(2), vec![answer(10 * KIB)]).await;
    let first = all(&read).await;
    assert_eq!(all(&read).await, first, "it can be had again while there is room");
    let last = stream(&retention, id(3), vec![answer(15 * KIB)]).await;
    assert!(is_dropped(&all(&read).await));
    assert!(!is_dropped(&all(&unread).await) && !is_dropped(&all(&last).await));
}

/// Running streams are evicted too, if no stream has ended.
#[tokio::test]
async fn streams_that_go_on_are_bounded_too() {
    let all_retention = Retention::new(32 * KIB, 32 * KIB);
    let retention = all_retention.of(&"local".into());
    let mut open = Vec::new();
    for number in 0..10 {
        let (sender, receiver) = mpsc::channel(64);
        let replay = Replay::of(number, retention.clone(), id(number), receiver);
        for _ in 0..8 {
            sender.send(said(&"s".repeat(KIB))).await.expect("it is kept");
        }
        while sender.capacity() < 64 {
            tokio::task::yield_now().await;
        }
        open.push((replay, sender));
        assert!(all_retention.taken() <= 32 * KIB, "{}", all_retention.taken());
    }
    let (replay, sender) = open.pop().expect("ten");
    drop(sender);
    assert!(!all(&replay).await.is_empty(), "the newest is there");
}

/// More than the limit: a waiting reader gets it, and no other.
#[tokio::test]
async fn what_can_never_be_kept_is_for_those_who_wait() {
    let all_retention = Retention::new(32 * KIB, 32 * KIB);
    let retention = all_retention.of(&"local".into());
    assert!(is_dropped(&all(&stream(&retention, id(1), vec![answer(100 * KIB)]).await).await));

    let (sender, receiver) = mpsc::channel(1);
    let replay = Replay::of(1, retention.clone(), id(2), receiver);
    let mut reader = replay.reader(Some(0));
    let reading = tokio::spawn(async move { reader.next().await.map(|(_, message)| message.text.len()) });
    while !replay.lock().caught_up {
        tokio::task::yield_now().await;
    }
    sender.send(answer(100 * KIB)).await.expect("it is kept");
    drop(sender);
    assert_eq!(reading.await.expect("no panic"), Some(100 * KIB));
    while !replay.has_ended() {
        tokio::task::yield_now().await;
    }
    stream(&retention, id(3), vec![answer(KIB)]).await;
    assert!(all_retention.taken() < 32 * KIB, "{}", all_retention.taken());
    assert!(is_dropped(&all(&replay).await));
}

/// An id of megabytes is not kept for an error that may never be wanted.
#[tokio::test]
async fn who_has_a_long_id_finds_nothing() {
    let all_retention = Retention::new(32 * KIB, 32 * KIB);
    let retention = all_retention.of(&"local".into());
    let long = format!("\"{}\"", "i".repeat(MAX_ID));
    let long = RequestId::parse(&serde_json::value::RawValue::from_string(long).expect("JSON")).expect("an id");
    let replay = stream(&retention, Some(long), vec![answer(10 * KIB)]).await;
    assert!(!replay.is_dropped());
    stream(&retention, id(1), vec![answer(30 * KIB)]).await;
    assert!(replay.is_dropped());
}

/// Many who come at the same moment: each message is for one of them (MCP 2025-11-25,
/// basic/transports: never the same message on several streams).
#[test]
fn two_who_come_at_the_same_moment_are_not_both_readers() {
    const READERS: usize = 4;
    let all_retention = Retention::new(64 * KIB, 64 * KIB);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for _ in 0..500 {
        let (sender, receiver) = mpsc::channel(1);
        let replay = runtime.block_on(async { Replay::of(0, all_retention.of(&"local".into()), None, receiver) });
        for number in 0..16 {
            replay.keep(said(&number.to_string()));
        }
        let start = Barrier::new(READERS);
        let mut read: Vec<String> = thread::scope(|scope| {
            let readers: Vec<_> = (0..READERS)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let mut reader = replay.reader(None);
                        let mut read = Vec::new();
                        while let Next::Message(_, message) = reader.take() {
                            read.push(message.text);
                        }
                        read
                    })
                })
                .collect();
            readers.into_iter().flat_map(|reader| reader.join().expect("no panic")).collect()
        });
        read.sort_by_key(|text| text.parse::<u32>().expect("a number"));
        let once: Vec<String> = (0..16).map(|number| number.to_string()).collect();
        assert_eq!(read, once);
        drop(sender);
    }
}
