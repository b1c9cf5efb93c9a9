use std::sync::Barrier;
use std::thread;

use super::*;
use crate::transport::http::mcp::retention::Retention;

const KIB: usize = 1 << 10;

fn id(number: u64) -> Option<RequestId> {
    Some(RequestId::new_number(number))
}

fn notification(text: &str) -> Outgoing {
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
        sender.send(message).await.expect("it is retained");
    }
    drop(sender);
    while !replay.has_ended() {
        tokio::task::yield_now().await;
    }
    replay
}

/// What a client receives if it resumes from the beginning.
async fn all(replay: &Arc<Replay>) -> Vec<String> {
    let mut reader = replay.reader(Some(0));
    let mut all = Vec::new();
    while let Some((_, message)) = reader.next().await {
        all.push(message.text);
    }
    all
}

fn is_dropped(messages: &[String]) -> bool {
    matches!(messages, [last] if last.contains("answer_dropped"))
}

#[tokio::test]
async fn retained_bytes_are_bounded_and_the_oldest_stream_is_evicted_first() {
    let all_retention = Retention::new(64 * KIB, 64 * KIB);
    let retention = all_retention.of(&"local".into());
    let mut streams = Vec::new();
    for number in 0..100 {
        streams.push(stream(&retention, id(number), vec![answer(10 * KIB)]).await);
        assert!(all_retention.taken() <= 64 * KIB + 100 * 512, "{}", all_retention.taken());
    }
    let mut retained = Vec::new();
    for (number, replay) in streams.iter().enumerate() {
        let messages = all(replay).await;
        if is_dropped(&messages) {
            assert!(messages[0].contains(&format!("\"id\":{number},")), "{messages:?}");
        } else {
            assert_eq!(messages, ["x".repeat(10 * KIB)]);
            retained.push(number);
        }
    }
    assert!(retained.len() >= 3 && retained.iter().copied().eq(100 - retained.len()..100), "{retained:?}");
    // A second reader gets the same.
    assert!(is_dropped(&all(&streams[0]).await));
    drop(streams);
    assert_eq!(all_retention.taken(), 0, "all bytes are released");
}

#[tokio::test]
async fn a_caller_at_the_limit_evicts_its_own_streams() {
    let all_retention = Retention::new(64 * KIB, 40 * KIB);
    let (alice, bob) = (all_retention.of(&"alice".into()), all_retention.of(&"bob".into()));
    let early = stream(&bob, id(1), vec![answer(20 * KIB)]).await;
    let mut alices = Vec::new();
    for number in 0..20 {
        alices.push(stream(&alice, id(number), vec![answer(10 * KIB)]).await);
    }
    // Alice is limited to her share, and at the total limit she retains most.
    let late = stream(&bob, id(2), vec![answer(15 * KIB)]).await;
    assert_eq!(all(&early).await, ["x".repeat(20 * KIB)]);
    assert_eq!(all(&late).await, ["x".repeat(15 * KIB)]);
    assert!(is_dropped(&all(&alices[0]).await));
    assert_eq!(all(alices.last().expect("twenty")).await, ["x".repeat(10 * KIB)]);
}

#[tokio::test]
async fn delivered_streams_are_evicted_before_undelivered_ones() {
    let all_retention = Retention::new(32 * KIB, 32 * KIB);
    let retention = all_retention.of(&"local".into());
    let unread = stream(&retention, id(1), vec![answer(10 * KIB)]).await;
    let read = stream(&retention, id(2), vec![answer(10 * KIB)]).await;
    let first = all(&read).await;
    assert_eq!(all(&read).await, first, "it can be read again while it is retained");
    let last = stream(&retention, id(3), vec![answer(15 * KIB)]).await;
    assert!(is_dropped(&all(&read).await));
    assert!(!is_dropped(&all(&unread).await) && !is_dropped(&all(&last).await));
}

/// Running streams are evicted too, if no stream has ended.
#[tokio::test]
async fn running_streams_are_bounded_too() {
    let all_retention = Retention::new(32 * KIB, 32 * KIB);
    let retention = all_retention.of(&"local".into());
    let mut open = Vec::new();
    for number in 0..10 {
        let (sender, receiver) = mpsc::channel(64);
        let replay = Replay::of(number, retention.clone(), id(number), receiver);
        for _ in 0..8 {
            sender.send(notification(&"s".repeat(KIB))).await.expect("it is retained");
        }
        while sender.capacity() < 64 {
            tokio::task::yield_now().await;
        }
        open.push((replay, sender));
        assert!(all_retention.taken() <= 32 * KIB, "{}", all_retention.taken());
    }
    let (replay, sender) = open.pop().expect("ten");
    drop(sender);
    assert!(!all(&replay).await.is_empty(), "the newest is retained");
}

/// Only a waiting reader gets a message that is larger than the limit.
#[tokio::test]
async fn a_message_over_the_limit_is_delivered_to_a_waiting_reader_only() {
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
    sender.send(answer(100 * KIB)).await.expect("it is retained");
    drop(sender);
    assert_eq!(reading.await.expect("no panic"), Some(100 * KIB));
    while !replay.has_ended() {
        tokio::task::yield_now().await;
    }
    stream(&retention, id(3), vec![answer(KIB)]).await;
    assert!(all_retention.taken() < 32 * KIB, "{}", all_retention.taken());
    assert!(is_dropped(&all(&replay).await));
}

/// An id of megabytes is not retained for an error that may never be read.
#[tokio::test]
async fn a_dropped_response_with_a_long_id_leaves_no_error() {
    let all_retention = Retention::new(32 * KIB, 32 * KIB);
    let retention = all_retention.of(&"local".into());
    let long = format!("\"{}\"", "i".repeat(MAX_ID));
    let long = RequestId::parse(&serde_json::value::RawValue::from_string(long).expect("JSON")).expect("an id");
    let replay = stream(&retention, Some(long), vec![answer(10 * KIB)]).await;
    assert!(!replay.is_dropped());
    stream(&retention, id(1), vec![answer(30 * KIB)]).await;
    assert!(replay.is_dropped());
}

/// Each message is delivered to one of several concurrent readers (MCP 2025-11-25, basic/transports:
/// never the same message on several streams).
#[test]
fn concurrent_readers_never_get_the_same_message() {
    const READERS: usize = 4;
    let all_retention = Retention::new(64 * KIB, 64 * KIB);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for _ in 0..500 {
        let (sender, receiver) = mpsc::channel(1);
        let replay = runtime.block_on(async { Replay::of(0, all_retention.of(&"local".into()), None, receiver) });
        for number in 0..16 {
            replay.retain(notification(&number.to_string()));
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
