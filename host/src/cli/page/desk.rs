//! What the page asks, and who answers it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use http::StatusCode;
use serde::de::DeserializeOwned;

use super::board::Board;
use super::{approvals, decide, detail, overview, review};
use crate::activity::Activity;
use crate::approvals::Approvals;
use crate::audit::{Audit, Record};
use crate::catalog::Catalog;
use crate::config::Live;
use crate::json;
use crate::plugin::{PluginId, Sandbox};
use crate::report::Failure;
use crate::server::Server;
use crate::transport::page::{Answer, Operator, Refused};

/// What a server is made of, as far as it is shown.
pub(in crate::cli) struct Desk {
    pub(in crate::cli) config: Live,
    pub(in crate::cli) catalog: Arc<Catalog>,
    pub(in crate::cli) dir: PathBuf,
    /// Set when it was made.
    pub(in crate::cli) sandbox: Arc<OnceLock<Arc<Sandbox>>>,
    pub(in crate::cli) audit: Audit,
    pub(in crate::cli) approvals: Approvals,
}

/// Answers the page.
pub(super) struct OperatorDesk {
    pub(super) desk: Desk,
    pub(super) board: Arc<Board>,
    pub(super) activity: Arc<Activity>,
    pub(super) server: Arc<Server>,
}

#[async_trait]
impl Operator for OperatorDesk {
    fn revision(&self) -> u64 {
        let listings = self.desk.catalog.snapshot().listings();
        let rights = self.server.rights_generation();
        // None of them becomes smaller.
        self.board.revision() + listings.tools + listings.prompts + listings.resources + rights
    }

    async fn get(&self, path: &str) -> Answer {
        match path {
            "overview" => {
                let (board, dir) = (self.board.clone(), self.desk.dir.clone());
                let has_folder = blocking(move || {
                    board.forget_gone();
                    Ok(dir.is_dir())
                })
                .await?;
                Ok(overview::to_json(self, has_folder).to_string())
            }
            "approvals" => approvals::list(self).await,
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
            "decide" => approvals::decide(self, read(body)?).await,
            _ => Err(unknown()),
        }
    }
}

impl OperatorDesk {
    /// Whether a decision may be made.
    ///
    /// # Errors
    /// If it must be recorded, and cannot be.
    pub(super) fn admit(&self) -> Result<(), Refused> {
        let hint = "nothing is decided while the audit log is required and cannot be written";
        self.desk.audit.admit().map_err(|_| refused(Failure::new("write to the audit log").hint(hint.to_owned())))
    }

    /// Records a decision of the operator on what is named so.
    ///
    /// # Errors
    /// If it is not recorded although it must be.
    pub(super) async fn record(&self, record: &Record, name: &str) -> Result<(), Refused> {
        let hint = format!("the decision is in effect, but the log has no '{}' record of it", record.event.name());
        let written = self.desk.audit.commit(record).await;
        written.map_err(|_| refused(Failure::new(format!("write to the audit log: {name}")).hint(hint)))
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
