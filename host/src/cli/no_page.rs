//! In place of the page, in builds without it.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::Args;

use crate::approvals::Approvals;
use crate::audit::Audit;
use crate::catalog::{Catalog, FolderEvent};
use crate::config::{Config, Live};
use crate::plugin::Sandbox;
use crate::report::Failure;
use crate::server::Server;

#[derive(Args)]
pub(super) struct PageOptions {}

/// There is none.
pub(super) enum Page {}

#[expect(dead_code, reason = "no page shows it")]
pub(super) struct Desk {
    pub(super) config: Live,
    pub(super) catalog: Arc<Catalog>,
    pub(super) dir: PathBuf,
    pub(super) sandbox: Arc<OnceLock<Arc<Sandbox>>>,
    pub(super) audit: Audit,
    pub(super) approvals: Approvals,
}

pub(super) async fn listen(_: &PageOptions, _: &Config, _: &Path) -> Result<Option<Page>, Failure> {
    Ok(None)
}

impl Page {
    pub(super) fn observing(&self, _: Audit) -> Audit {
        match *self {}
    }

    pub(super) fn watcher(&self) -> Box<dyn Fn(&FolderEvent) + Send + Sync> {
        match *self {}
    }

    pub(super) async fn serve(self, _: Desk, _: Arc<Server>) -> Infallible {
        match self {}
    }
}
