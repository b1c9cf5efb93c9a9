use super::*;
use crate::server;
use crate::transport::http::Principal;
use crate::transport::http::caller::Peer;

/// P26: what nobody uses is gone from memory, without another client who makes the server look.
#[tokio::test]
async fn p26_idle_sessions_take_no_memory() {
    let server = Server::new(Arc::default(), server::Settings::default());
    let idle = Duration::from_millis(20);
    let sessions = Arc::new(Sessions::new(SessionSettings { idle, ..SessionSettings::default() }));
    let open = || {
        let session =
            sessions.open(&server, &Peer::new(None).caller(Principal::local(), false)).expect("there is room");
        sessions.put(&session);
        session
    };
    let left: Vec<_> = (0..8).map(|_| Arc::downgrade(&open())).collect();
    let in_use = open();
    let looking = sessions.clone();
    let looking = tokio::spawn(async move { looking.keep_ending_idle().await });
    let deadline = Instant::now() + Duration::from_secs(10);
    while left.iter().any(|session| session.strong_count() > 0) {
        assert!(Instant::now() < deadline, "idle sessions are still there");
        tokio::time::sleep(OFTEN).await;
    }
    assert!(sessions.get(&in_use.id, "local").is_some(), "somebody holds it");
    looking.abort();
}
