//! The baseline: an MCP server on the official Rust SDK with the tools of the guest `echo`.
//! It loads nothing and isolates nothing.
//!
//!     native              on stdin and stdout
//!     native --http       on a free port, printed on stderr; JSON responses, no sessions
//!     native --bare       the same without the SDK: only HTTP and JSON, the same for any method
//!     native --tools N    with N more tools, copies of `echo` under other names

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context as _;
use hyper::body::{Body, Incoming};
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::Tool;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Json, ServerHandler, ServiceExt as _, schemars, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    /// The text to return.
    message: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    /// The sum of both numbers.
    sum: i64,
}

struct Native {
    // Stored, since the handler would otherwise build it for each request.
    tools: Arc<ToolRouter<Self>>,
}

#[tool_router]
impl Native {
    #[tool(description = "Says back what it is told.", annotations(read_only_hint = true))]
    fn echo(&self, Parameters(Echo { message }): Parameters<Echo>) -> String {
        message
    }

    #[tool(description = "Adds two integers.", annotations(read_only_hint = true))]
    fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> Result<Json<Sum>, String> {
        let sum = a.checked_add(b).ok_or("the sum does not fit in 64 bits")?;
        Ok(Json(Sum { sum }))
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Native {}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let more = arguments.iter().position(|argument| argument == "--tools").and_then(|at| arguments.get(at + 1));
    let tools = Arc::new(tools(more.map_or(Ok(0), |more| more.parse())?)?);
    if arguments.iter().any(|argument| argument == "--bare") {
        return serve_http(|request| async { Ok::<_, Infallible>(bare(request).await) }).await;
    }
    if arguments.iter().any(|argument| argument == "--http") {
        let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
        let service = StreamableHttpService::new(
            move || Ok(Native { tools: tools.clone() }),
            NeverSessionManager::default().into(),
            config,
        );
        return serve_http(move |request| {
            let service = service.clone();
            async move { Ok::<_, Infallible>(service.handle(request).await) }
        })
        .await;
    }
    let server = Native { tools }.serve(rmcp::transport::stdio()).await?;
    server.waiting().await?;
    Ok(())
}

/// The two tools, and `more` others.
fn tools(more: usize) -> anyhow::Result<ToolRouter<Native>> {
    let mut tools = Native::tool_router();
    let echo = tools.map.get("echo").context("find the tool echo")?.clone();
    let schema = serde_json::from_str(r#"{"type":"object"}"#)?;
    let schema: Arc<serde_json::Map<_, _>> = Arc::new(schema);
    for n in 0..more {
        let mut route = echo.clone();
        route.attr = Tool::new(format!("tool{n}"), "Does something.", schema.clone());
        tools.add_route(route);
    }
    Ok(tools)
}

/// Listens on a free port, and serves each connection in a task of its own.
async fn serve_http<A, F, B>(answer: A) -> anyhow::Result<()>
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stderr(), "listening on http://{}/mcp", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service_fn(answer.clone());
        // An error ends only that connection.
        tokio::spawn(http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service));
    }
}

/// Returns the argument `message` as a tool's result, and accepts any handshake.
async fn bare(mut request: Request<Incoming>) -> Response<String> {
    let mut text = Vec::new();
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(request.body_mut()).poll_frame(context)).await {
        text.extend(frame.into_data().unwrap_or_default());
    }
    let request: Value = serde_json::from_slice(&text).unwrap_or_default();
    let result = json!({
        "protocolVersion": request["params"]["protocolVersion"],
        "content": [{ "type": "text", "text": request["params"]["arguments"]["message"] }],
    });
    let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
    let mut response = Response::new(answer.to_string());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    response
}
