//! What the page asks, and who answers it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use http::StatusCode;
use serde::de::DeserializeOwned;

use super::board::Board;
use super::{decide, detail, overview, review};
use crate::activity::Activity;
use crate::audit::Audit;
use crate::catalog::Catalog;
use crate::config::Live;
use crate::json;
use crate::plugin::{PluginId, Sandbox};
use crate::report::Failure;
use crate::transport::page::{Answer, Operator, Refused};

/// What a server is made of, as far as it is shown.
pub(in crate::cli) struct Desk {
    pub(in crate::cli) config: Live,
    pub(in crate::cli) catalog: Arc<Catalog>,
    pub(in crate::cli) dir: PathBuf,
    /// Set when it was made.
    pub(in crate::cli) sandbox: Arc<OnceLock<Arc<Sandbox>>>,
    pub(in crate::cli) audit: Audit,
}

/// Answers the page.
pub(super) struct OperatorDesk {
    pub(super) desk: Desk,
    pub(super) board: Arc<Board>,
    pub(super) activity: Arc<Activity>,
}

#[async_trait]
impl Operator for OperatorDesk {
    fn revision(&self) -> u64 {
        let listings = self.desk.catalog.snapshot().listings();
        // None of them becomes smaller.
        self.board.revision() + listings.tools + listings.prompts + listings.resources
    }

    async fn get(&self, path: &str) -> Answer {
        match path {
            "overview" => {
                let board = self.board.clone();
                blocking(move || {
                    board.forget_gone();
                    Ok(())
                })
                .await?;
                Ok(overview::to_json(self).to_string())
            }
            "hour" => Ok(self.activity.hour().to_string()),
            _ => Err(unknown()),
        }
    }

    async fn post(&self, path: &str, body: &str) -> Answer {
        match path {
            "plugin" => detail::of_plugin(self, read(body)?).await,
            "tool" => detail::of_tool(self, &read(body)?),
            "review" => review::show(self, read(body)?).await,
            "approve" => decide::approve(self, read(body)?).await,
            "revoke" => decide::revoke(self, read(body)?).await,
            _ => Err(unknown()),
        }
    }
}

fn unknown() -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "find that below /api/")
}

fn read<T: DeserializeOwned>(body: &str) -> Result<T, Refused> {
    json::read(body).map_err(|error| Refused::new(StatusCode::BAD_REQUEST, format!("read the body: {error}")))
}

/// The plugin of that name.
pub(super) fn id(name: &str) -> Result<PluginId, Refused> {
    let id = PluginId::parse_skill(name).map_or_else(|| PluginId::parse(name), Ok);
    id.map_err(|error| Refused::new(StatusCode::BAD_REQUEST, format!("read the name of the plugin: {error}")))
}

/// What a command would say.
pub(super) fn refused(failure: Failure) -> Refused {
    let (error, hint) = failure.into_parts();
    Refused { hint, ..Refused::new(StatusCode::UNPROCESSABLE_ENTITY, error) }
}

/// Of what was shown and is not so any more.
pub(super) fn outdated(error: impl Into<String>) -> Refused {
    Refused::new(StatusCode::CONFLICT, error)
}

/// Runs work that reads files or compares long texts where no client waits for it.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        Err(Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "answer: the log of the server says why"))
    })
}
