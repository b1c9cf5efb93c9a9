//! stub
mod alone;
mod headers;
mod mcp;
mod replay;
mod reply;
mod session;
mod sse;

use std::sync::Arc;
use crate::server::Server;
use http_body_util::BodyExt as _;

pub async fn serve(server: Arc<Server>, listener: tokio::net::TcpListener) {
    let mcp = Arc::new(mcp::Mcp::new(server, session::SessionSettings::default()));
    let sse = Arc::new(sse::Sse::default());
    loop {
        let Ok((tcp, _)) = listener.accept().await else { return };
        let _ = tcp.set_nodelay(true);
        let (mcp, sse) = (mcp.clone(), sse.clone());
        tokio::spawn(async move {
            let svc = hyper::service::service_fn(move |request: http::Request<hyper::body::Incoming>| {
                let (mcp, sse) = (mcp.clone(), sse.clone());
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.map(|b| b.to_bytes()).unwrap_or_default();
                    let path = parts.uri.path().to_owned();
                    Ok::<_, std::convert::Infallible>(match path.as_str() {
                        "/sse" => sse.get(&mcp.server, "local", "/messages"),
                        "/messages" => sse.post("local", parts.uri.query(), &body).await,
                        _ => mcp.handle("local", http::Request::from_parts(parts, body)).await,
                    })
                }
            });
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(hyper_util::rt::TokioIo::new(tcp), svc).await;
        });
    }
}
