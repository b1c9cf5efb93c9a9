use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, watch};

use super::known::FRESH;
use super::*;
use crate::store::{Changed, Entry, Keys, Page, Put, Sqlite, Usage};

const HOURS: u64 = 2 * 3_600_000;

/// A store, and nodes on it, each with its listener.
async fn node(store: &Arc<dyn Store>) -> (Arc<Nodes>, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (Arc::new(Nodes::new(store.clone(), address).expect("a key")), listener)
}

fn store(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    Sqlite::new(folder.path().join("store.db"))
}

#[tokio::test]
async fn nodes_that_live_reach_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    let ((one, _one), (other, listener)) = (node(&store).await, node(&store).await);
    assert!(matches!(one.connect(other.own()).await, Err(Unreachable::Gone)), "it has said nothing");
    one.say().await.expect("a store");
    other.say().await.expect("a store");
    tokio::time::sleep(FRESH).await;
    let accepting = other.clone();
    let accepted = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut stream = accepting.accept(stream).await.expect("a node");
        let mut read = [0; 5];
        stream.read_exact(&mut read).await.expect("bytes");
        (read, listener)
    });
    let mut stream = one.connect(other.own()).await.expect("a connection");
    stream.write_all(b"hello").await.expect("sent");
    stream.flush().await.expect("sent");
    let (read, listener) = accepted.await.expect("no panic");
    assert_eq!(&read, b"hello");
    // Where nobody listens any more, no node is.
    drop(listener);
    assert!(matches!(one.connect(other.own()).await, Err(Unreachable::Gone)));
}

#[tokio::test]
async fn whoever_is_no_node_gets_no_connection_and_is_taken_for_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let (shared, elsewhere) = (store(&folder), store(&tempfile::tempdir().expect("a folder")));
    let (own, listener) = node(&shared).await;
    own.say().await.expect("a store");
    let address = listener.local_addr().expect("an address");
    // A stranger has a key, and is in no store of this server.
    let (stranger, _) = node(&elsewhere).await;
    let accepting = own.clone();
    let refused = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        (accepting.accept(stream).await.expect_err("a stranger").kind(), listener)
    });
    let stream = TcpStream::connect(address).await.expect("a connection");
    let handshake = stranger.own.connect(own.own(), stream).await;
    let (kind, listener) = refused.await.expect("no panic");
    assert_eq!(kind, io::ErrorKind::PermissionDenied);
    drop(handshake);
    // Whoever listens in place of a node has another key, and sees nothing.
    let (impostor, trap) = node(&shared).await;
    let stranger = Arc::new(stranger);
    let trapped = tokio::spawn(async move {
        let (stream, _) = trap.accept().await.expect("a connection");
        stranger.own.accept(stream).await.is_err()
    });
    impostor.say().await.expect("a store");
    tokio::time::sleep(FRESH).await;
    assert!(matches!(own.connect(impostor.own()).await, Err(Unreachable::Io(_))));
    assert!(trapped.await.expect("no panic"));
    // What is no TLS at all.
    let mut stream = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("sent");
    let (plain, _) = listener.accept().await.expect("a connection");
    assert!(own.accept(plain).await.is_err());
}

#[tokio::test]
async fn a_node_that_leaves_is_gone_at_once_for_who_asks_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    let ((one, _one), (other, _other)) = (node(&store).await, node(&store).await);
    other.say().await.expect("a store");
    assert_eq!(one.known.find(other.own()).await, Ok(Some(Found { address: other.address.clone(), is_late: false })));
    other.leave().await.expect("a store");
    one.gone(other.own()).await;
}

/// A process that was killed does not say that it has ended, and the next one at its address is another node.
#[tokio::test]
async fn a_node_whose_address_another_one_has_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    let ((one, _one), (killed, listener)) = (node(&store).await, node(&store).await);
    killed.say().await.expect("a store");
    let restarted = |address: &str| Arc::new(Nodes::new(store.clone(), address.to_owned()).expect("a key"));
    let (next, elsewhere) = (restarted(&killed.address), restarted("127.0.0.1:1"));
    elsewhere.say().await.expect("a store");
    let unreachable = async |listens: &Arc<Nodes>| {
        let accepting = async { listens.accept(listener.accept().await.expect("a connection").0).await.is_err() };
        let (connected, refused) = tokio::join!(one.connect(killed.own()), accepting);
        assert!(refused, "it is not the node that was meant");
        connected.expect_err("not the node that was meant")
    };
    // Whoever is no node, or is one elsewhere, says nothing about it.
    assert!(matches!(unreachable(&next).await, Unreachable::Io(_)));
    assert!(matches!(unreachable(&elsewhere).await, Unreachable::Io(_)));
    next.say().await.expect("a store");
    tokio::time::sleep(FRESH).await;
    assert!(matches!(unreachable(&next).await, Unreachable::Gone));
}

/// One that is cut off from the store lives as long as it answers, and is gone when nobody does.
#[tokio::test]
async fn a_node_that_is_late_lives_as_long_as_it_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    let ((one, own), (late, listener)) = (node(&store).await, node(&store).await);
    one.say().await.expect("a store");
    let said = serde_json::to_vec(&Said { address: late.address.clone() }).expect("JSON");
    let ended = lease::expires(now() - lease::LEASE);
    late.said.put(&*store, said, Some(ended)).await.expect("a store");
    let accepting = async {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            late.accept(stream).await.expect("a node");
        }
    };
    let asked = async { tokio::join!(one.is_gone(late.own()), one.is_gone(late.own()), one.connect(late.own())) };
    let (first, second, connected) = tokio::select! {
        answers = asked => answers,
        () = accepting => unreachable!("it has no end"),
    };
    assert!(!first && !second && connected.is_ok());
    // It may connect to others too.
    let accepting = async { one.accept(own.accept().await.expect("a connection").0).await.is_ok() };
    let (connected, is_accepted) = tokio::join!(late.connect(one.own()), accepting);
    assert!(connected.is_ok() && is_accepted);
    drop(listener);
    tokio::time::sleep(FRESH).await;
    one.gone(late.own()).await;
    assert_eq!(one.known.find(late.own()).await, Ok(None));
}

/// As one whose clock is wrong looks, or one that was killed.
#[tokio::test]
async fn a_node_with_another_clock_lives_as_long_as_it_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    let (one, _one) = node(&store).await;
    for wrong in [now() - HOURS, now() + HOURS] {
        let (other, listener) = node(&store).await;
        one.say().await.expect("a store");
        let said = serde_json::to_vec(&Said { address: other.address.clone() }).expect("JSON");
        other.said.put(&*store, said, Some(lease::expires(wrong))).await.expect("a store");
        let accepting = async { other.accept(listener.accept().await.expect("a connection").0).await.is_ok() };
        let (is_gone, is_accepted) = tokio::join!(one.is_gone(other.own()), accepting);
        assert!(!is_gone && is_accepted);
        drop(listener);
        tokio::time::sleep(FRESH).await;
        one.gone(other.own()).await;
    }
}

/// What a store does when it is asked.
#[derive(Clone, Copy)]
enum Mood {
    Answers,
    Fails,
    Hangs,
}

/// A store that does not always answer.
struct Moody(Arc<dyn Store>, watch::Sender<Mood>);

#[async_trait]
impl Store for Moody {
    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        let mut mood = self.1.subscribe();
        // Whoever is asked meanwhile answers when it does so again.
        let mood = *mood.wait_for(|mood| !matches!(mood, Mood::Hangs)).await.expect("a sender");
        match mood {
            Mood::Fails => Err(StoreError("it is away".into())),
            _ => self.0.get(key).await,
        }
    }
    async fn put(&self, put: Put) -> Result<Option<u64>, StoreError> {
        self.0.put(put).await
    }
    async fn delete(&self, key: &str) -> Result<bool, StoreError> {
        self.0.delete(key).await
    }
    async fn list(&self, prefix: &str, after: &str, limit: usize, bytes: usize) -> Result<Page, StoreError> {
        self.0.list(prefix, after, limit, bytes).await
    }
    async fn keys(&self, prefix: &str, after: &str, limit: usize) -> Result<Keys, StoreError> {
        self.0.keys(prefix, after, limit).await
    }
    async fn usage(&self, prefix: &str) -> Result<Usage, StoreError> {
        self.0.usage(prefix).await
    }
    async fn remove_expired(&self, now: u64, limit: usize) -> Result<usize, StoreError> {
        self.0.remove_expired(now, limit).await
    }
    fn watch(&self) -> broadcast::Receiver<Changed> {
        self.0.watch()
    }
}

#[tokio::test]
async fn a_node_that_was_known_is_known_while_the_store_does_not_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let moody = Arc::new(Moody(store(&folder), watch::Sender::new(Mood::Answers)));
    let store: Arc<dyn Store> = moody.clone();
    let ((one, _one), (other, listener), (new, _new)) = (node(&store).await, node(&store).await, node(&store).await);
    for node in [&one, &other, &new] {
        node.say().await.expect("a store");
    }
    let known = Ok(Some(Found { address: other.address.clone(), is_late: false }));
    assert_eq!(one.known.find(other.own()).await, known);
    for mood in [Mood::Hangs, Mood::Fails] {
        tokio::time::sleep(FRESH).await;
        moody.1.send_replace(mood);
        assert_eq!(one.known.find(other.own()).await, known);
        assert!(!one.is_gone(other.own()).await);
        // It was asked just now.
        let again = timeout(Duration::from_millis(100), one.known.find(other.own())).await;
        assert_eq!(again.expect("at once"), known);
    }
    assert!(one.known.find(new.own()).await.is_err());
    // It listens no more: whatever was known, it is gone.
    drop(listener);
    assert!(matches!(one.connect(other.own()).await, Err(Unreachable::Gone)));
    // What the store says when nobody waits for it any more counts too.
    moody.1.send_replace(Mood::Hangs);
    tokio::time::sleep(FRESH).await;
    assert_eq!(one.known.find(other.own()).await, known);
    other.leave().await.expect("a store");
    moody.1.send_replace(Mood::Answers);
    let deadline = tokio::time::Instant::now() + FRESH / 2;
    while one.known.find(other.own()).await != Ok(None) {
        assert!(tokio::time::Instant::now() < deadline, "it was asked before");
        tokio::task::yield_now().await;
    }
}
