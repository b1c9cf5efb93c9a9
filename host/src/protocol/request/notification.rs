//! Client notifications. An invalid one is logged and never answered, so the error here is text
//! and not an error object.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::json::{self, Kind};
use crate::jsonrpc::RequestId;
use crate::protocol::meta::ProgressToken;
use crate::protocol::params;
use crate::protocol::revision::Revision;

#[derive(Debug)]
pub enum ClientNotification<'a> {
    Initialized,
    Cancelled {
        request_id: RequestId,
        reason: Option<Cow<'a, str>>,
    },
    /// About a request of the server.
    Progress {
        token: ProgressToken,
        progress: f64,
        total: Option<f64>,
        message: Option<Cow<'a, str>>,
    },
    RootsListChanged,
    /// Unknown, or of another revision: to be ignored.
    Other,
}

impl<'a> ClientNotification<'a> {
    /// `Err` is the reason for the log why it is ignored.
    pub fn parse(revision: Revision, method: &str, raw: Option<&'a RawValue>) -> Result<Self, String> {
        let legacy = !revision.is_modern();
        match method {
            "notifications/cancelled" => cancelled(raw),
            "notifications/initialized" if legacy => Ok(Self::Initialized),
            "notifications/roots/list_changed" if legacy => Ok(Self::RootsListChanged),
            "notifications/progress" if legacy => progress(raw),
            _ => Ok(Self::Other),
        }
    }
}

fn cancelled(raw: Option<&RawValue>) -> Result<ClientNotification<'_>, String> {
    let raw = params::object(raw, "params").map_err(|error| error.message)?;
    let [id, reason] = params::members(raw, ["requestId", "reason"], "params").map_err(|error| error.message)?;
    let id = id.ok_or("params.requestId is missing")?;
    let request_id = RequestId::parse(id).map_err(|fault| format!("params.requestId {fault}"))?;
    // A reason is only for the log, so a malformed one does not keep the request running.
    Ok(ClientNotification::Cancelled { request_id, reason: reason.and_then(json::string) })
}

fn progress(raw: Option<&RawValue>) -> Result<ClientNotification<'_>, String> {
    let raw = params::object(raw, "params").map_err(|error| error.message)?;
    let names = ["progressToken", "progress", "total", "message"];
    let [token, progress, total, message] = params::members(raw, names, "params").map_err(|error| error.message)?;
    let token = token.ok_or("params.progressToken is missing")?;
    let token = ProgressToken::parse(token, "params.progressToken").map_err(|error| error.message)?;
    let progress = progress.and_then(number).ok_or("params.progress must be a number")?;
    let (total, message) = (total.and_then(number), message.and_then(json::string));
    Ok(ClientNotification::Progress { token, progress, total, message })
}

fn number(raw: &RawValue) -> Option<f64> {
    let number: f64 = raw.get().parse().ok()?;
    (Kind::of(raw) == Kind::Number && number.is_finite()).then_some(number)
}
