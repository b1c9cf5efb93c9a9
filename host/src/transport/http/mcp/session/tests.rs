use super::*;
use crate::identity::Identity;
use crate::server;
use crate::transport::http::caller::Peer;

/// P26: unused sessions are removed from memory, even without further requests.
#[tokio::test]
async fn p26_idle_sessions_are_freed() {
    let server = Server::new(Arc::default(), server::Settings::default());
    let idle = Duration::from_millis(20);
    let sessions = Arc::new(Sessions::new(SessionSettings { idle, ..SessionSettings::default() }));
    let open = || {
        let session =
            sessions.open(&server, &Peer::new(None).caller(Identity::local().into(), false)).expect("there is room");
        sessions.activate(&session);
        session
    };
    let idle: Vec<_> = (0..8).map(|_| Arc::downgrade(&open())).collect();
    let in_use = open();
    let swept = sessions.clone();
    let sweeper = tokio::spawn(async move { swept.sweep_idle().await });
    let deadline = Instant::now() + Duration::from_secs(10);
    while idle.iter().any(|session| session.strong_count() > 0) {
        assert!(Instant::now() < deadline, "idle sessions still exist");
        tokio::time::sleep(MIN_SWEEP_INTERVAL).await;
    }
    assert!(sessions.get(&in_use.id, "local").is_some(), "it is in use");
    sweeper.abort();
}

fn caller(name: &str) -> Caller {
    Peer::new(None).caller(Identity::token(name).into(), true)
}

async fn post(session: &Session, message: &str) {
    let frame = crate::jsonrpc::decode(message.as_bytes()).expect("a message");
    let (outbox, _messages) = Session::channel();
    let posted = server::Posted { frame, size: message.len(), headers: &Arc::default(), is_stateless: false };
    session.connection.receive_post(&caller("local").identity, posted, &outbox, true).await;
}

/// P26: one owner may have all sessions, until another needs one.
#[tokio::test]
async fn p26_the_caller_with_the_most_sessions_loses_one() {
    let server = Server::new(Arc::default(), server::Settings::default());
    let sessions = Sessions::new(SessionSettings { max_sessions: 8, ..SessionSettings::default() });
    let open = |name: &str| {
        let session = sessions.open(&server, &caller(name))?;
        sessions.activate(&session).then_some(session)
    };
    let mut alices: Vec<_> = (0..8).map(|_| open("alice").expect("there is room").id.clone()).collect();
    assert!(open("alice").is_none(), "the limit is reached");
    // In use, and so evicted last.
    let in_use = sessions.get(&alices.remove(0), "alice").expect("it exists");
    let bobs: Vec<_> = (0..3).map(|_| open("bob").expect("alice has more").id.clone()).collect();
    assert!(open("alice").is_none(), "alice still has the most");
    assert!(open("bob").is_some() && open("bob").is_none(), "four and four");
    assert!(bobs.iter().all(|id| sessions.get(id, "bob").is_some()));
    assert!(alices[..4].iter().all(|id| sessions.get(id, "alice").is_none()), "the least recently used");
    assert!(alices[4..].iter().all(|id| sessions.get(id, "alice").is_some()));
    assert!(sessions.get(&in_use.id, "alice").is_some());
    assert_eq!(sessions.lock().len(), 8);
}

/// P26: a session whose handshake is never completed ends, whatever else is sent.
#[tokio::test]
async fn p26_an_incomplete_handshake_ends_the_session() {
    let catalog: Arc<crate::catalog::Catalog> = Arc::default();
    catalog.set_files_known();
    let server = Server::new(catalog, server::Settings::default());
    let handshake = Duration::from_secs(1);
    let sessions = Sessions::new(SessionSettings { handshake, ..SessionSettings::default() });
    let open = async || {
        let session = sessions.open(&server, &caller("local")).expect("there is room");
        post(
            &session,
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#,
        )
        .await;
        sessions.activate(&session);
        session
    };
    let complete = open().await;
    post(&complete, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let incomplete = open().await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while sessions.get(&incomplete.id, "local").is_some() {
        assert!(Instant::now() < deadline, "it still exists");
        post(&incomplete, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
        tokio::time::sleep(MIN_SWEEP_INTERVAL).await;
        sessions.end_idle();
    }
    assert!(sessions.get(&complete.id, "local").is_some());
    assert_eq!(SessionSettings::default().handshake, Duration::from_secs(30));
}
