//! The live page on a listener of its own: the files of the page, and below `/api/` what it shows and does.
//!
//! It carries requests and events. What there is to show and to decide, an [`Operator`] knows.

mod answer;
mod body;
mod calls;
mod connections;
mod events;
mod files;
mod gate;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use http::{Method, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::http::{accept, serve_operator};
use crate::activity::Activity;
use crate::identity::TokenHash;
use crate::server::Server;
pub use answer::{Answer, Refused};
use answer::{Response, refusal};
use connections::{Admitted, Connections};
use gate::Gate;

/// Pages that are open at the same time: each has one stream of events.
const MAX_STREAMS: usize = 8;
/// Requests below `/api/` that run at the same time, without those streams.
const MAX_REQUESTS: usize = 32;

/// Who knows what there is to show, and decides. Paths are those below `/api/`.
#[async_trait]
pub trait Operator: Send + Sync {
    /// Another number whenever what is listed may have changed.
    fn revision(&self) -> u64;

    /// What a path shows, as JSON.
    async fn get(&self, path: &str) -> Answer;

    /// Shows or does what a path names, with the members of a JSON object.
    async fn post(&self, path: &str, body: &str) -> Answer;
}

/// What the page is served with.
pub struct Settings {
    /// What each request below `/api/` has to send.
    pub token: TokenHash,
    pub operator: Arc<dyn Operator>,
    pub activity: Arc<Activity>,
    /// Calls from the page go through it, as those of any client.
    pub server: Arc<Server>,
}

/// The parts of a page that requests share.
struct Page {
    settings: Settings,
    gate: Gate,
    streams: Arc<Semaphore>,
    requests: Semaphore,
}

/// Answers until it is dropped. `bound`: where the listener is.
pub async fn serve(listener: TcpListener, bound: SocketAddr, settings: Settings) -> Infallible {
    let gate = Gate::new(bound, settings.token);
    let (streams, requests) = (Arc::new(Semaphore::new(MAX_STREAMS)), Semaphore::new(MAX_REQUESTS));
    let page = Arc::new(Page { settings, gate, streams, requests });
    let mut open = Connections::default();
    loop {
        let stream = accept(&listener).await;
        let (page, admitted) = (page.clone(), Admitted::default());
        let own = admitted.clone();
        open.add(admitted, tokio::spawn(async move { connection(stream, &page, &own).await }));
    }
}

async fn connection(stream: TcpStream, page: &Arc<Page>, admitted: &Admitted) {
    let service = service_fn(|request: http::Request<Incoming>| async move {
        let response = page.respond(request, admitted).await.unwrap_or_else(|refused| refusal(&refused));
        Ok::<_, Infallible>(answer::secured(response))
    });
    serve_operator(stream, service).await;
}

impl Page {
    async fn respond(
        self: &Arc<Self>,
        request: http::Request<Incoming>,
        admitted: &Admitted,
    ) -> Result<Response, Refused> {
        let (head, body) = request.into_parts();
        self.gate.check_host(&head)?;
        let Some(path) = head.uri.path().strip_prefix("/api/") else {
            return files::respond(&head.method, head.uri.path());
        };
        self.gate.check(&head)?;
        admitted.set();
        match head.method {
            Method::GET if path == "events" => events::respond(self),
            Method::GET => {
                let _running = self.room()?;
                Ok(answer::json(self.settings.operator.get(path).await?))
            }
            Method::POST => {
                body::check_type(&head.headers)?;
                let text = body::read(body).await?;
                let _running = self.room()?;
                if path == "mcp" {
                    return calls::respond(&self.settings.server, &text).await;
                }
                // A decision is carried out and recorded also if nobody waits for the answer any more.
                let (operator, path) = (self.settings.operator.clone(), path.to_owned());
                let done = tokio::spawn(async move { operator.post(&path, &text).await });
                Ok(answer::json(done.await.map_err(|_| Refused::internal())??))
            }
            _ => Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "use GET or POST")),
        }
    }

    /// Room for one more request that is let in.
    fn room(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Refused> {
        let full = |_| Refused::new(StatusCode::SERVICE_UNAVAILABLE, "answer: too many requests of pages run");
        self.requests.try_acquire().map_err(full)
    }
}
