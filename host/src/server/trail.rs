//! What the audit log hears of one request to a plugin: one record, however it ends.
//! The log on stderr has a line of it too, at the level `call=debug`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::Server;
use super::fault::Refusal;
use super::handlers::Answer;
use super::scope::Scope;
use crate::audit::{Audit, Commit, Event, Record};
use crate::plugin::text::quote;
use crate::plugin::{CallError, Fault, Provider};
use crate::protocol::{ErrorObject, error};

/// Bytes of a name in the log.
const SHOWN: usize = 120;

/// The record of a request, while it runs. If it is dropped before its end, the request was given up.
pub(in crate::server) struct Trail {
    audit: Audit,
    began: Instant,
    cancelled: CancellationToken,
    /// `None`: nobody keeps it, or it is kept already.
    record: Option<Record>,
}

impl Trail {
    /// `name` is that of a tool or prompt, or a URI.
    ///
    /// # Errors
    /// If nothing may be begun, since it must be recorded and could not be.
    pub(in crate::server) fn begin(
        server: &Server,
        scope: &Scope,
        method: impl Into<Cow<'static, str>>,
        name: &str,
    ) -> Result<Self, ErrorObject> {
        server.settings.audit.admit().map_err(|_| error::not_recorded(false))?;
        let audit = server.settings.audit.clone();
        let wanted = audit.is_on() || tracing::enabled!(target: "call", tracing::Level::DEBUG);
        let record = wanted.then(|| Record {
            principal: Some(scope.principal.clone()),
            method: Some(method.into()),
            tool: Some(Record::capped(name)),
            id: Some(Record::capped(scope.id.as_json())),
            ..Record::new(Event::Call)
        });
        Ok(Self { audit, began: Instant::now(), cancelled: scope.cancelled.clone(), record })
    }

    /// What the plugin is given, as text.
    pub(in crate::server) fn input(&mut self, text: &str) {
        if let Some(record) = &mut self.record {
            record.input = Some(self.audit.body(text));
        }
    }

    /// Who is called, by what name.
    pub(in crate::server) fn leads_to(&mut self, provider: &Arc<dyn Provider>, name: &str) {
        if let Some(record) = &mut self.record {
            record.plugin = Some(provider.id().to_string());
            record.content = Some(*provider.digest().as_bytes());
            record.tool = Some(Record::capped(name));
        }
    }

    /// How it ended, where the answer alone does not tell.
    pub(in crate::server) fn code(&mut self, code: &'static str) {
        if let Some(record) = &mut self.record {
            record.code = Some(code);
        }
    }

    /// Why there is no result.
    pub(in crate::server) fn refused(&mut self, refusal: &Refusal) {
        if let Some(record) = &mut self.record {
            record.code = Some(refusal.code());
            match refusal {
                Refusal::Call(CallError::Fault(fault @ Fault::Denied { .. })) => {
                    record.event = Event::Deny;
                    record.access = fault.access().map(|access| access.name());
                }
                Refusal::Call(CallError::Fault(_)) | Refusal::TooManyRounds => record.event = Event::Fault,
                _ => {}
            }
        }
    }

    /// Keeps the record. Where that is required, it is in the file before the answer goes on.
    pub(in crate::server) async fn end(mut self, answer: Answer) -> Answer {
        if let Some(mut record) = self.record.take() {
            match &answer {
                // What is sent to nobody has not ended well.
                _ if self.cancelled.is_cancelled() => record.code = Some("cancelled"),
                Ok(result) => {
                    record.output = Some(self.audit.body(result));
                    record.code.get_or_insert("ok");
                }
                Err(_) => {
                    record.code.get_or_insert("refused");
                }
            }
            if self.keep(record).await.is_err() {
                return Err(error::not_recorded(true));
            }
        }
        answer
    }

    fn keep(&self, record: Record) -> Commit {
        let took = self.began.elapsed();
        tracing::debug!(
            target: "call",
            plugin = record.plugin,
            method = record.method.as_deref(),
            took = ?took,
            "{}: {}",
            quote(record.tool.as_deref().unwrap_or_default(), SHOWN),
            record.code.unwrap_or_default()
        );
        self.audit.commit(&Record { took: Some(took), ..record })
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            let code = if std::thread::panicking() { "host-error" } else { "cancelled" };
            // Nobody gets an answer that could wait for it.
            drop(self.keep(Record { code: Some(code), ..record }));
        }
    }
}
