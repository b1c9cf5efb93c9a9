use super::*;
use crate::server;
use crate::transport::http::Principal;
use crate::transport::http::caller::Peer;

/// P26: unused sessions are removed from memory, even without further requests.
#[tokio::test]
async fn p26_idle_sessions_take_no_memory() {
    let server = Server::new(Arc::default(), server::Settings::default());
    let idle = Duration::from_millis(20);
    let sessions = Arc::new(Sessions::new(SessionSettings { idle, ..SessionSettings::default() }));
    let open = || {
        let session =
            sessions.open(&server, &Peer::new(None).caller(Principal::local(), false)).expect("there is room");
        sessions.activate(&session);
        session
    };
    let left: Vec<_> = (0..8).map(|_| Arc::downgrade(&open())).collect();
    let in_use = open();
    let looking = sessions.clone();
    let looking = tokio::spawn(async move { looking.sweep_idle().await });
    let deadline = Instant::now() + Duration::from_secs(10);
    while left.iter().any(|session| session.strong_count() > 0) {
        assert!(Instant::now() < deadline, "idle sessions are still there");
        tokio::time::sleep(MIN_SWEEP_INTERVAL).await;
    }
    assert!(sessions.get(&in_use.id, "local").is_some(), "somebody holds it");
    looking.abort();
}

fn caller(name: &str) -> Caller {
    Peer::new(None).caller(Principal::new(name), true)
}

async fn says(session: &Session, message: &str) {
    let frame = crate::jsonrpc::decode(message.as_bytes()).expect("a message");
    let (outbox, _messages) = Session::channel();
    session.connection.receive_post(frame, message.len(), None, &outbox, true).await;
}

/// P26: one principal may have all of them, until another wants one.
#[tokio::test]
async fn p26_who_has_most_sessions_gives_way() {
    let server = Server::new(Arc::default(), server::Settings::default());
    let sessions = Sessions::new(SessionSettings { most: 8, ..SessionSettings::default() });
    let open = |name: &str| {
        let session = sessions.open(&server, &caller(name))?;
        sessions.activate(&session).then_some(session)
    };
    let mut hers: Vec<_> = (0..8).map(|_| open("alice").expect("there is room").id.clone()).collect();
    assert!(open("alice").is_none(), "there are as many as may be");
    // In use, and so the last to go.
    let in_use = sessions.get(&hers.remove(0), "alice").expect("it is there");
    let his: Vec<_> = (0..3).map(|_| open("bob").expect("she has more").id.clone()).collect();
    assert!(open("alice").is_none(), "she has most still");
    assert!(open("bob").is_some() && open("bob").is_none(), "four and four");
    assert!(his.iter().all(|id| sessions.get(id, "bob").is_some()));
    assert!(hers[..4].iter().all(|id| sessions.get(id, "alice").is_none()), "those that were used least lately");
    assert!(hers[4..].iter().all(|id| sessions.get(id, "alice").is_some()));
    assert!(sessions.get(&in_use.id, "alice").is_some());
    assert_eq!(sessions.lock().len(), 8);
}

/// P26: a session whose handshake is never completed ends, whatever else is sent.
#[tokio::test]
async fn p26_a_handshake_has_its_time() {
    let catalog: Arc<crate::catalog::Catalog> = Arc::default();
    catalog.set_files_known();
    let server = Server::new(catalog, server::Settings::default());
    let handshake = Duration::from_secs(1);
    let sessions = Sessions::new(SessionSettings { handshake, ..SessionSettings::default() });
    let open = async || {
        let session = sessions.open(&server, &caller("local")).expect("there is room");
        says(
            &session,
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#,
        )
        .await;
        sessions.activate(&session);
        session
    };
    let begun = open().await;
    says(&begun, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let left = open().await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while sessions.get(&left.id, "local").is_some() {
        assert!(Instant::now() < deadline, "it is still there");
        says(&left, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
        tokio::time::sleep(MIN_SWEEP_INTERVAL).await;
        sessions.end_idle();
    }
    assert!(sessions.get(&begun.id, "local").is_some());
    assert_eq!(SessionSettings::default().handshake, Duration::from_secs(30));
}
