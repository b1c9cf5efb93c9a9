//! `wharf serve --page`: the live page of a server, on a listener of its own.

mod approvals;
mod board;
mod decide;
mod desk;
mod detail;
mod overview;
mod review;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use tokio::net::TcpListener;

use self::board::Board;
pub(super) use self::desk::Desk;
use super::bind::bind;
use crate::activity::Activity;
use crate::audit::Audit;
use crate::catalog::FolderEvent;
use crate::config::Config;
use crate::identity::TokenHash;
use crate::random_id::random_id;
use crate::report::{self, Failure};
use crate::server::Server;
use crate::transport;

/// Without an address: any free port of this machine.
const ANY_PORT: &str = "127.0.0.1:0";

#[derive(Args)]
pub(super) struct PageOptions {
    /// Show what runs and what it costs on a live page for a browser, on a listener of its own: IP:PORT or
    /// localhost:PORT (port 0 picks a free one) [default: page.address, or a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    page: Option<String>,
}

/// The page of a server that is being started.
pub(super) struct Page {
    listener: TcpListener,
    bound: SocketAddr,
    token: TokenHash,
    activity: Arc<Activity>,
    board: Arc<Board>,
}

/// Starts to listen, if that is wanted, and prints the address with what opens it.
pub(super) async fn listen(options: &PageOptions, config: &Config, dir: &Path) -> Result<Option<Page>, Failure> {
    let address = match options.page.as_deref() {
        Some("") => config.page.address.as_deref().unwrap_or(ANY_PORT),
        Some(address) => address,
        None => match config.page.address.as_deref() {
            Some(address) => address,
            None => return Ok(None),
        },
    };
    let address = config
        .page
        .checked(address)
        .map_err(|(why, hint)| Failure::usage(format!("read the address of the page: {why}")).hint(hint))?;
    let configured = config.page_token().map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?;
    let (listener, bound) = bind(address, "the page", "--page or page.address").await?;
    let token = match configured {
        Some(token) => {
            report::announce(&format!("page at http://{bound}/"));
            TokenHash::of(token.as_bytes())
        }
        None => {
            let token = random_id::<32>().map_err(|error| Failure::new(format!("draw a random number: {error}")))?;
            // What is after # is not sent, and so is in no log of a proxy.
            report::announce(&format!("page at http://{bound}/#{token}"));
            TokenHash::of(token.as_bytes())
        }
    };
    Ok(Some(Page { listener, bound, token, activity: Activity::begin(), board: Arc::new(Board::of(dir)) }))
}

impl Page {
    /// The log, of whose records the page is told.
    pub(super) fn observing(&self, audit: Audit) -> Audit {
        audit.observed(self.activity.clone())
    }

    /// What is to be told of events of the plugin folder.
    pub(super) fn watcher(&self) -> Box<dyn Fn(&FolderEvent) + Send + Sync> {
        let board = self.board.clone();
        Box::new(move |event| board.follow(event))
    }

    /// Answers pages.
    pub(super) async fn serve(self, desk: Desk, server: Arc<Server>) -> Infallible {
        let Self { listener, bound, token, activity, board } = self;
        let operator = Arc::new(desk::OperatorDesk { desk, board, activity: activity.clone(), server: server.clone() });
        transport::page::serve(listener, bound, transport::page::Settings { token, operator, activity, server }).await
    }
}
