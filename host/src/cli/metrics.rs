//! The metrics of a server: their listener, and what is so when they are read.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, OnceLock};

use tokio::net::TcpListener;

use super::bind::bind;
use crate::budgets::{Budgets, Usage};
use crate::catalog::{Catalog, FolderEvent};
use crate::config::Config;
use crate::identity::TokenHash;
use crate::metrics::{BudgetLeft, Metrics, Sample};
use crate::os::usage;
use crate::plugin::Sandbox;
use crate::report::{self, Failure};
use crate::transport;

/// Maximum accounts of budgets that are looked at, and budgets that have labels.
const MAX_ACCOUNTS: usize = 1000;
const MAX_BUDGETS: usize = 100;

/// A listener for metrics, and the metrics.
pub(super) struct Metered {
    pub(super) metrics: Metrics,
    listener: Option<(TcpListener, Option<TokenHash>)>,
}

/// What a server is made of, as far as it is measured.
pub(super) struct Parts {
    pub(super) catalog: Arc<Catalog>,
    pub(super) budgets: Arc<Budgets>,
    /// Set when it was made.
    pub(super) sandbox: Arc<OnceLock<Arc<Sandbox>>>,
}

/// Starts to listen, if that is configured. Says where.
/// `is_exported`: they are counted also without a listener.
pub(super) async fn listen(config: &Config, is_exported: bool) -> Result<Metered, Failure> {
    let counted = || Metrics::on(env!("CARGO_PKG_VERSION"));
    let Some(address) = config.metrics_address() else {
        let metrics = if is_exported { counted() } else { Metrics::default() };
        return Ok(Metered { metrics, listener: None });
    };
    let token = config.metrics_token().map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?;
    let (listener, bound) = bind(address, "metrics", "metrics.address").await?;
    report::announce(&format!("metrics at http://{bound}/metrics"));
    Ok(Metered { metrics: counted(), listener: Some((listener, token.map(|token| TokenHash::of(token.as_bytes())))) })
}

impl Metered {
    /// What scrapers get.
    pub(super) fn text(&self, parts: &Arc<Parts>) -> Box<dyn Fn() -> String + Send + Sync> {
        let (metrics, parts) = (self.metrics.clone(), parts.clone());
        Box::new(move || metrics.text(&parts.sample()))
    }

    /// Answers scrapes.
    pub(super) async fn serve(self, parts: Arc<Parts>) -> Infallible {
        let text = self.text(&parts);
        let Some((listener, token)) = self.listener else { return pending().await };
        transport::metrics::serve(listener, transport::metrics::Settings { token, text }).await
    }
}

impl Parts {
    fn sample(&self) -> Sample {
        let snapshot = self.catalog.snapshot();
        let running = self.sandbox.get().map(|sandbox| sandbox.running());
        let compiled = self.sandbox.get().map(|sandbox| sandbox.compiled()).unwrap_or_default();
        Sample {
            plugins: snapshot.members().iter().filter(|member| !member.provider.is_host()).count() as u64,
            running: running.map_or(0, |running| running.calls),
            waiting: running.map_or(0, |running| running.waiting),
            ready: running.map_or(0, |running| running.ready),
            memory: running.map_or(0, |running| running.memory),
            cached: compiled.cached,
            compiled: compiled.compiled,
            not_compiled: compiled.failed,
            compiling: compiled.took,
            budgets: left(&self.budgets.usage(MAX_ACCOUNTS)),
            process_cpu: usage::cpu(),
            process_memory: usage::memory(),
        }
    }
}

/// What is left of each budget: of the account that has least. Its identity is no label.
fn left(accounts: &[Usage]) -> Vec<BudgetLeft> {
    let mut least: BTreeMap<(&str, &'static str), f64> = BTreeMap::new();
    for account in accounts {
        let kinds = [("calls", account.calls), ("cpu", account.cpu), ("bytes", account.bytes)];
        for (resource, left) in kinds.into_iter().filter_map(|(resource, left)| Some((resource, left?))) {
            let ratio = if left.of > 0.0 { (left.left / left.of).clamp(0.0, 1.0) } else { 0.0 };
            let own = least.entry((&account.budget, resource)).or_insert(1.0);
            *own = own.min(ratio);
        }
    }
    let each = least.into_iter().take(MAX_BUDGETS * 3);
    each.map(|((budget, resource), ratio)| BudgetLeft { budget: budget.to_owned(), resource, ratio }).collect()
}

/// Counts an event of the plugin folder.
pub(super) fn count(metrics: &Metrics, event: &FolderEvent) {
    match event {
        FolderEvent::Loaded { took, .. } => metrics.reload("loaded", Some(*took)),
        FolderEvent::Held(_) => metrics.reload("held", None),
        FolderEvent::Refused(_) => metrics.reload("refused", None),
        FolderEvent::Removed(_) => metrics.reload("removed", None),
        FolderEvent::Reconfigured(_) => metrics.reload("reconfigured", None),
        FolderEvent::Found(_)
        | FolderEvent::Loading(_)
        | FolderEvent::FirstScanDone
        | FolderEvent::Admitted(_)
        | FolderEvent::Unchanged(_)
        | FolderEvent::Warned(_) => {}
    }
}
