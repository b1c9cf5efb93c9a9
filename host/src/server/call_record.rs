//! The audit record of one request to a plugin: exactly one, however the request ends. With it, the budgets that the
//! request is charged to.
//! It is also logged to stderr at the level `call=debug`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::Server;
use super::call_metrics::CallMetrics;
use super::call_trace::CallTrace;
use super::permissions::Checked;
use super::refusal::Refusal;
use super::response::Response;
use super::scope::Scope;
use crate::audit::{Audit, Commit, Event, Record};
use crate::budgets::Charge;
use crate::metrics::{Cost, Spent};
use crate::plugin::{CallError, Fault, Provider};
use crate::protocol::{ErrorObject, error};
use crate::rights::Item;
use crate::tasks::Record as Task;
use crate::text::quote;
use crate::traces::TraceParent;

/// Maximum bytes of a name in the log.
const MAX_NAME: usize = 120;

/// Whose call it is, and of which trace.
fn of(scope: &Scope) -> Record {
    let grant = scope.identity.grant.as_ref();
    Record {
        principal: Some(Record::capped_name(scope.identity.name())),
        issuer: grant.map(|grant| Record::capped_name(&grant.issuer)),
        subject: grant.map(|grant| Record::capped_name(&grant.subject)),
        client: grant.and_then(|grant| grant.client.as_ref().map(Record::capped_name)),
        scopes: grant.and_then(|grant| Record::capped_names(&grant.scopes)),
        via: scope.identity.via,
        trace: scope.span.as_ref().map(TraceParent::trace_id),
        ..Record::new(Event::Call)
    }
}

/// Records that something happened to a task of the sender: it was made, asks, was answered, cancelled or fetched.
///
/// # Errors
/// If the audit log is required and cannot be written.
pub(in crate::server) fn of_task(
    server: &Server,
    scope: &Scope,
    task: &Task,
    what: &'static str,
) -> Result<(), ErrorObject> {
    let audit = &server.settings.audit;
    audit.admit().map_err(|_| error::not_recorded(false))?;
    if audit.is_on() {
        audit.record(&Record {
            event: Event::Task,
            plugin: Some(task.plugin.clone()),
            tool: Some(Record::capped(&task.tool)),
            task: Some(Record::capped(&task.id)),
            code: Some(what),
            ..of(scope)
        });
    }
    Ok(())
}

/// The record of a running request. Dropped before `finish`, it is recorded as cancelled.
pub(in crate::server) struct CallRecord {
    audit: Audit,
    began: Instant,
    cancelled: CancellationToken,
    /// `None`: no log is enabled, or it is committed already.
    record: Option<Record>,
    charge: Option<Arc<Charge>>,
    cost: Option<Arc<Cost>>,
    /// `None`: metrics are off, or it is counted already.
    metrics: Option<CallMetrics>,
    trace: Option<CallTrace>,
}

impl CallRecord {
    /// `name` is that of a tool or prompt, or a URI.
    ///
    /// # Errors
    /// If the audit log is required and cannot be written: the request must not start.
    pub(in crate::server) fn begin(
        server: &Server,
        scope: &Scope,
        method: impl Into<Cow<'static, str>>,
        name: &str,
    ) -> Result<Self, ErrorObject> {
        server.settings.audit.admit().map_err(|_| error::not_recorded(false))?;
        let audit = server.settings.audit.clone();
        let wanted = audit.is_on() || tracing::enabled!(target: "call", tracing::Level::DEBUG);
        let method = method.into();
        let metrics = CallMetrics::begin(server, scope, &method);
        let trace = CallTrace::begin(scope, &method);
        let record = wanted.then(|| Record {
            method: Some(method),
            tool: Some(Record::capped(name)),
            id: Some(Record::capped(scope.id.as_json())),
            ..of(scope)
        });
        let (cancelled, cost) = (scope.cancelled.clone(), scope.cost.clone());
        Ok(Self { audit, began: Instant::now(), cancelled, record, charge: None, cost, metrics, trace })
    }

    /// The record of a call that runs again, without a request.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub(in crate::server) fn begin_again(server: &Server, scope: &Scope, name: &str) -> Result<Self, ErrorObject> {
        let mut again = Self::begin(server, scope, "tools/call", name)?;
        if let Some(record) = &mut again.record {
            record.id = None;
            record.reason = Some(Record::capped("runs again: the process that ran it has ended"));
        }
        Ok(again)
    }

    /// The input for the plugin, as text.
    pub(in crate::server) fn set_input(&mut self, text: &str) {
        if let Some(record) = &mut self.record {
            record.input = Some(self.audit.body(text));
        }
    }

    /// The plugin that is called, and the tool, prompt or resource.
    pub(in crate::server) fn set_target(&mut self, scope: &Scope, provider: &dyn Provider, name: &str) {
        if let Some(metrics) = &mut self.metrics {
            metrics.set_target(provider.id().as_ref(), name);
        }
        if let Some(trace) = &self.trace {
            trace.set_target(provider.id().as_ref(), name);
        }
        if let Some(record) = &mut self.record {
            record.plugin = Some(provider.id().to_string());
            record.content = Some(*provider.digest().as_bytes());
            record.tool = Some(Record::capped(name));
            let extras = provider.extras(&scope.identity).join(", ");
            record.extra = (!extras.is_empty()).then(|| Record::capped(&extras));
        }
    }

    /// Whether the sender may use what it names.
    ///
    /// # Errors
    /// The given one.
    pub(in crate::server) fn permitted(&mut self, checked: Checked<'_>) -> Result<(), ErrorObject> {
        if let Some(record) = &mut self.record {
            record.rule = checked.rule.map(Record::capped);
        }
        if checked.result.is_err() {
            self.set_code("forbidden");
        }
        checked.result
    }

    /// The task that the call has become.
    pub(in crate::server) fn set_task(&mut self, id: &str) {
        if let Some(record) = &mut self.record {
            record.task = Some(Record::capped(id));
        }
    }

    /// Who allowed it, or did not.
    pub(in crate::server) fn set_decider(&mut self, who: &'static str) {
        if let Some(record) = &mut self.record {
            record.by = Some(who);
        }
    }

    /// A person was asked about it, and decided. The call has a record of its own at its end.
    pub(in crate::server) fn decided(&self, decision: &'static str) {
        if let Some(record) = &self.record {
            self.audit.record(&record.decision(decision));
        }
    }

    /// Charges the budgets of its sender, with the bytes of its params. The computing time is charged through what is
    /// returned, which is `None` without a budget for it.
    ///
    /// # Errors
    /// If one is used up.
    pub(in crate::server) fn charge(
        &mut self,
        server: &Server,
        scope: &Scope,
        provider: &dyn Provider,
        item: Item<'_>,
    ) -> Result<Option<Arc<Charge>>, ErrorObject> {
        let budgets = &server.settings.budgets;
        let begun = budgets.begin(&scope.identity, provider.id().as_ref(), item, scope.bytes, Instant::now());
        self.charge = begun.map_err(|exhausted| {
            self.set_result("over-budget", false);
            if let Some(record) = &mut self.record {
                record.code = Some("over-budget");
                record.reason = Some(Record::capped(&format!("the budget '{}'", exhausted.budget)));
            }
            error::over_budget(&exhausted.to_string(), exhausted.seconds())
        })?;
        Ok(self.charge.clone())
    }

    /// The outcome, where the response alone does not show it.
    pub(in crate::server) fn set_code(&mut self, code: &'static str) {
        self.set_result(code, false);
        if let Some(record) = &mut self.record {
            record.code = Some(code);
        }
    }

    /// Why there is no result.
    pub(in crate::server) fn set_refusal(&mut self, refusal: &Refusal) {
        let is_denied = matches!(refusal, Refusal::Call(CallError::Fault(Fault::Denied { .. })));
        let is_fault = matches!(refusal, Refusal::Call(CallError::Fault(_)) | Refusal::TooManyRounds);
        self.set_result(refusal.code(), is_fault && !is_denied);
        if let Some(record) = &mut self.record {
            record.code = Some(refusal.code());
            match refusal {
                Refusal::Call(CallError::Fault(fault @ Fault::Denied { .. })) => {
                    record.event = Event::Deny;
                    record.access = fault.access().map(|access| access.name());
                }
                Refusal::Call(CallError::Fault(_)) | Refusal::TooManyRounds => record.event = Event::Fault,
                Refusal::Unapproved(why) => record.reason = why.request().map(Record::capped),
                _ => {}
            }
        }
    }

    /// The outcome, for metrics and traces.
    fn set_result(&mut self, result: &'static str, is_fault: bool) {
        if let Some(metrics) = &mut self.metrics {
            metrics.set_result(result, is_fault);
        }
        if let Some(trace) = &self.trace {
            trace.set_result(result);
        }
    }

    /// Commits the record; where required, it is in the file before the response is sent.
    pub(in crate::server) async fn finish(mut self, answer: Response) -> Response {
        if let (Some(charge), Ok(result)) = (self.charge.take(), &answer) {
            charge.output(result.len());
        }
        if let Some(mut metrics) = self.metrics.take() {
            if self.cancelled.is_cancelled() {
                metrics.set_result("cancelled", false);
            }
            let (result, sent) = answer.as_ref().map_or(("refused", 0), |result| ("ok", result.len()));
            metrics.end(result, sent, self.began.elapsed());
        }
        if let Some(trace) = self.trace.take() {
            trace.end();
        }
        if let Some(mut record) = self.record.take() {
            match &answer {
                // A response that is not sent does not count as ok.
                _ if self.cancelled.is_cancelled() => record.code = Some("cancelled"),
                Ok(result) => {
                    record.output = Some(self.audit.body(result));
                    record.code.get_or_insert("ok");
                }
                Err(_) => {
                    record.code.get_or_insert("refused");
                }
            }
            if self.commit(record).await.is_err() {
                return Err(error::not_recorded(true));
            }
        }
        answer
    }

    fn commit(&self, record: Record) -> Commit {
        let took = self.began.elapsed();
        tracing::debug!(
            target: "call",
            plugin = record.plugin,
            method = record.method.as_deref(),
            took = ?took,
            trace = record.trace,
            "{}: {}",
            quote(record.tool.as_deref().unwrap_or_default(), MAX_NAME),
            record.code.unwrap_or_default()
        );
        // One that did not run has cost nothing.
        let spent = self.cost.as_ref().map(|cost| cost.spent()).filter(|spent| *spent != Spent::default());
        self.audit.commit(&Record { took: Some(took), spent, ..record })
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        let code = if std::thread::panicking() { "host-error" } else { "cancelled" };
        if let Some(mut metrics) = self.metrics.take() {
            metrics.set_result(code, false);
            metrics.end(code, 0, self.began.elapsed());
        }
        if let Some(trace) = self.trace.take() {
            trace.set_result(code);
            trace.end();
        }
        if let Some(record) = self.record.take() {
            // There is no response that could wait for the commit.
            drop(self.commit(Record { code: Some(code), ..record }));
        }
    }
}
