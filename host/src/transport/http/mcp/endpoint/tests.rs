use super::*;
use crate::catalog::Catalog;
use crate::identity::Identity;
use crate::server;
use crate::transport::http::caller::Peer;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

/// Sessions of revoked tokens are ended when tokens are replaced, which may be just before a session is stored.
#[tokio::test]
async fn a_token_revoked_during_the_handshake_leaves_no_session() {
    let catalog: Arc<Catalog> = Arc::default();
    catalog.set_files_known();
    let mcp = Mcp::new(Server::new(catalog, server::Settings::default()), SessionSettings::default(), 8);
    let revoked = CancellationToken::new();
    let alice =
        Caller { revoked: Some(revoked.clone()), ..Peer::new(None).caller(Identity::token("alice").into(), true) };
    let initialize = async || {
        let request = http::Request::post(PATH).header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        mcp.handle(&Reuse::default(), &alice, request.body(INITIALIZE.into()).expect("a request")).await
    };
    let response = initialize().await;
    let id = response.headers()[SESSION].to_str().expect("text");
    assert!(response.status() == StatusCode::OK && mcp.sessions.get(id, "alice").is_some());
    revoked.cancel();
    mcp.end_of(|_| true);
    let response = initialize().await;
    assert_eq!((response.status(), response.headers().get(SESSION)), (StatusCode::UNAUTHORIZED, None));
    assert_eq!(mcp.sessions.count(), 0);
}
