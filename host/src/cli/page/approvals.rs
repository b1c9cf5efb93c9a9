//! Calls that wait for an operator, as `wharf approvals` shows them and decides on them: only what the person was shown.

use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::{OperatorDesk, blocking, outdated, refused};
use crate::approvals::{Decision, Request};
use crate::audit::Record;
use crate::cli::approvals::{failed, record_of, to_json};
use crate::transport::page::Answer;

/// What a person decided on, as it was shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decided {
    id: String,
    /// Of [`terms`].
    terms: String,
    allow: bool,
}

/// All that wait, and decisions that hold, the oldest first.
pub(super) async fn list(all: &OperatorDesk) -> Answer {
    let approvals = all.desk.approvals.clone();
    blocking(move || {
        let requests = approvals.list().map_err(|error| refused(failed(&approvals, error.into())))?;
        let calls: Vec<Value> = requests.iter().map(shown).collect();
        Ok(json!({ "calls": calls }).to_string())
    })
    .await
}

/// Allows or denies a call. What cannot be recorded is not decided.
pub(super) async fn decide(all: &OperatorDesk, Decided { id, terms: of_shown, allow }: Decided) -> Answer {
    all.admit()?;
    let approvals = all.desk.approvals.clone();
    let decision = if allow { Decision::Allowed } else { Decision::Denied };
    let request = blocking(move || {
        let decided = approvals.decide_as_shown(&id, decision, |request| terms(request) == of_shown);
        let decided = decided.map_err(|error| refused(failed(&approvals, error)))?;
        decided.ok_or_else(|| outdated("decide on it: since it was shown, it was decided, used, or has expired"))
    })
    .await?;
    let record = Record { via: Some("page"), ..record_of(&request) };
    all.record(&record, &request.id).await?;
    Ok(shown(&request).to_string())
}

fn shown(request: &Request) -> Value {
    let mut shown = to_json(request);
    shown["terms"] = terms(request).into();
    shown
}

/// A digest of all that is shown of a request.
fn terms(request: &Request) -> String {
    blake3::hash(to_json(request).to_string().as_bytes()).to_hex().to_string()
}
