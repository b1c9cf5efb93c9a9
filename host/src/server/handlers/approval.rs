//! Asks a person before a tool runs: the user of the client by elicitation, or an operator by a request that waits in
//! a file. A plugin sees nothing of it: the states and the keys of these questions are the host's own.
//!
//! A stateless client carries the question in a sealed state, which is accepted once. The states that the plugin of
//! such a call leaves with the client say that the call was allowed, and are accepted once too: otherwise one answer
//! could run a call many times.
//!
//! Source: MCP, client/elicitation of each revision; 2026-07-28, basic/patterns/mrtr.

mod deed;
mod kept;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::rounds::ResumedInput;
use super::rounds::input_required;
use crate::approvals::{Decider, Deed, Standing, Wanted};
use crate::catalog::Entry;
use crate::json;
use crate::plugin::abi::{Ask as AbiAsk, ElicitAction, Elicited, Form, Reply};
use crate::plugin::{Fault, FrozenTool};
use crate::protocol::{Ask as Needed, error};
use crate::rights::{Approver, Ask, Asking, Item, Permissions};
use crate::server::Server;
use crate::server::call_record::CallRecord;
use crate::server::permissions::verdict;
use crate::server::questions::{Question, QuestionKind, Sealed};
use crate::server::refusal::Refusal;
use crate::server::scope::Scope;
use crate::server::seal::{Binding, EXPIRY, SealError};
use crate::server::unapproved::Unapproved;
use crate::server::wire::answer;
use crate::server::wire::question::{self, Request};
use crate::text::quote;

/// The key of the question in an `InputRequiredResult`.
const KEY: &str = "wharf/approval";
/// No field: whoever accepts has answered.
const FORM: &str = r#"{"type":"object","properties":{}}"#;
/// What a question's state is bound to in place of the method, so that no state of a plugin is taken for one.
const METHOD: &str = "tools/call approval";
/// Maximum bytes of what a client says of an answer that it does not give.
const MAX_REASON: usize = 200;

/// Whether a call may run.
pub(super) enum Admission {
    Runs(Admitted),
    /// An `InputRequiredResult`, encoded.
    Asks(String),
}

/// A call that may run.
pub(super) struct Admitted {
    /// The tool as it is now.
    pub(super) entry: Entry<FrozenTool>,
    pub(super) resumed: ResumedInput,
    /// Who allowed it, if somebody was asked.
    pub(super) approved: Option<Decider>,
}

/// The content of a question's state.
#[derive(Serialize, Deserialize)]
struct SealedQuestion {
    /// Seconds for which the user was asked to allow all calls of the tool; 0: this call alone.
    holds: u64,
}

/// What a retry carries.
enum Carried {
    Nothing,
    Question(SealedQuestion),
    Round(Sealed),
}

/// How it is asked about a call, as the rules are now.
#[derive(PartialEq, Eq)]
struct Terms {
    ask: Ask,
    asking: Asking,
}

impl Terms {
    /// For how long the user is asked to allow all calls of the tool; zero: this call alone.
    fn holds(&self) -> Duration {
        if self.ask == Ask::First { self.asking.expires } else { Duration::ZERO }
    }
}

/// A call of a tool, before it runs.
pub(super) struct Attempt<'a> {
    pub(super) server: &'a Arc<Server>,
    pub(super) scope: &'a Scope,
    pub(super) entry: &'a Entry<FrozenTool>,
    pub(super) arguments: &'a Arc<str>,
}

impl Attempt<'_> {
    /// Asks a person if the rules say so.
    pub(super) async fn admit(&self, resumed: ResumedInput, record: &mut CallRecord) -> Result<Admission, Refusal> {
        let terms = self.terms(self.entry, &self.scope.permissions);
        if terms.ask == Ask::Never {
            return Ok(match self.carried(&resumed) {
                // Nobody needs to answer the question any more.
                Ok(Carried::Question(_)) => self.runs(ResumedInput::default(), None),
                _ => self.runs(resumed, None),
            });
        }
        let carried = self.carried(&resumed)?;
        // Nobody is asked about a call that is refused afterwards. A state is of arguments that were checked.
        if matches!(carried, Carried::Nothing) {
            self.entry.provider.check_arguments(&self.entry.item().tool.name, self.arguments.clone()).await?;
        }
        let of_operator = terms.asking.approver == Approver::Operator;
        let by = match &carried {
            Carried::Round(sealed) => sealed.approved.filter(|by| !of_operator || *by == Decider::Operator),
            _ => None,
        };
        let once = terms.ask == Ask::Always;
        if let Some(by) = by {
            if self.spend(&resumed).await? {
                record.set_decider(by.name());
                return Ok(self.runs(resumed, Some(by)));
            }
            if once {
                return Err(error::used_state().into());
            }
        }
        let (deed, standing) =
            self.standing(Wanted { once, of_operator, holds: terms.asking.expires.as_secs() }).await?;
        match standing {
            Standing::Allowed { by } => {
                record.set_decider(by.name());
                // The question is answered otherwise.
                let resumed = if matches!(carried, Carried::Question(_)) { ResumedInput::default() } else { resumed };
                return Ok(self.runs(resumed, Some(by)));
            }
            Standing::Denied => {
                record.set_decider(Decider::Operator.name());
                return Err(Unapproved::Denied.into());
            }
            Standing::Open if by.is_some() => return Err(error::used_state().into()),
            Standing::Open => {}
        }
        if !self.can_ask_user(&terms) {
            return Err(self.ask_operator(deed, &terms).await);
        }
        if self.scope.client.takes_requests() {
            let answer = self.ask_now(&deed, &terms).await?;
            return self.settle(answer, deed, &terms, terms.holds(), record).await;
        }
        let given = resumed.given()?;
        let given = given.iter().find(|(key, _)| key == KEY).map(|(_, raw)| *raw);
        if let (Carried::Question(asked), Some(raw)) = (carried, given) {
            if !self.spend(&resumed).await? {
                return Err(error::used_state().into());
            }
            // Nobody agreed to more than what they were asked.
            let holds = terms.holds().min(Duration::from_secs(asked.holds));
            return self.settle(read(raw), deed, &terms, holds, record).await;
        }
        let question = Question { key: KEY.into(), kind: QuestionKind::Form(FORM.into()) };
        let questions = [(question, self.request(&deed, &terms)?)];
        let binding = self.binding(METHOD);
        Ok(Admission::Asks(input_required::ask(
            self.server,
            self.scope,
            &binding,
            &questions,
            SealedQuestion { holds: terms.holds().as_secs() },
        )?))
    }

    fn runs(&self, resumed: ResumedInput, approved: Option<Decider>) -> Admission {
        Admission::Runs(Admitted { entry: self.entry.clone(), resumed, approved })
    }

    fn terms(&self, entry: &Entry<FrozenTool>, permissions: &Permissions) -> Terms {
        let (ask, asking) = self.server.asks(permissions, &*entry.provider, entry.item());
        Terms { ask, asking }
    }

    fn binding(&self, method: &'static str) -> Binding<'_> {
        Binding {
            principal: self.scope.identity.name(),
            plugin: self.entry.provider.id(),
            digest: self.entry.provider.digest(),
            method,
            name: self.entry.name.as_str(),
            arguments: self.arguments,
            extras: self.entry.provider.extras(&self.scope.identity),
        }
    }

    fn carried(&self, resumed: &ResumedInput) -> Result<Carried, Refusal> {
        let Some(state) = &resumed.state else { return Ok(Carried::Nothing) };
        match self.server.keys.open(&self.binding(METHOD), state, SystemTime::now()) {
            Ok(question) => Ok(Carried::Question(question)),
            Err(SealError::Expired) => Err(error::expired_state(EXPIRY).into()),
            Err(SealError::Invalid) => {
                Ok(Carried::Round(input_required::open(self.server, &self.binding("tools/call"), state)?))
            }
        }
    }

    fn can_ask_user(&self, terms: &Terms) -> bool {
        let can =
            self.scope.revision.has_elicitation() && self.scope.client.capabilities.allows(Needed::ElicitationForm);
        terms.asking.approver == Approver::User && can
    }

    async fn ask_operator(&self, deed: Deed, terms: &Terms) -> Refusal {
        if !self.server.settings.approvals.are_shared() {
            return Unapproved::NoOperator.into();
        }
        let (once, holds) = (terms.ask == Ask::Always, terms.asking.expires);
        match self.with_approvals(move |approvals| approvals.request(deed, once, holds)).await {
            Ok(request) => {
                let (plugin, tool, by) = (&request.call.plugin, &request.call.name, &request.call.by);
                tracing::info!(%plugin, tool, by, "a call waits for an operator: wharf approvals allow {}", request.id);
                Unapproved::Waits(request.id).into()
            }
            Err(refusal) => refusal,
        }
    }

    fn request(&self, deed: &Deed, terms: &Terms) -> Result<Request, Refusal> {
        let form = AbiAsk::Form(Form { message: deed::question(deed, terms.holds()), schema: FORM.into() });
        question::request(self.scope.revision, &self.scope.client.capabilities, &form, "")
            .map_err(|_| Fault::Host.into())
    }

    /// Asks a client that can be sent requests, and waits for its user.
    async fn ask_now(&self, deed: &Deed, terms: &Terms) -> Result<Answer, Refusal> {
        let request = self.request(deed, terms)?;
        let until = Instant::now() + self.server.settings.ask_timeout;
        let mut pending = match self.scope.client.ask(&request).await {
            Ok(pending) => pending,
            Err(why) => return Ok(unanswered(&why)),
        };
        tokio::select! {
            () = self.scope.cancelled.cancelled() => Err(cancelled()),
            answered = timeout_at(until, pending.answer()) => Ok(match answered {
                Ok(Ok(raw)) => read(&raw),
                Ok(Err(why)) => unanswered(&why),
                Err(_) => unanswered("the client did not answer in time"),
            }),
        }
    }

    /// Follows the user's answer, which holds that long for all calls of the tool; zero: for this call alone.
    async fn settle(
        &self,
        answer: Answer,
        deed: Deed,
        terms: &Terms,
        holds: Duration,
        record: &mut CallRecord,
    ) -> Result<Admission, Refusal> {
        record.set_decider(Decider::User.name());
        record.decided(answer.as_ref().map_or_else(Unapproved::code, |()| "allowed"));
        answer?;
        // This error is not sent.
        if self.scope.cancelled.is_cancelled() {
            return Err(cancelled());
        }
        let entry = self.now(terms)?;
        if !holds.is_zero() {
            match self.with_approvals(move |approvals| approvals.remember(deed, holds)).await {
                // It is asked again the next time.
                Ok(()) | Err(Refusal::Unapproved(Unapproved::TooMany)) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(Admission::Runs(Admitted { entry, resumed: ResumedInput::default(), approved: Some(Decider::User) }))
    }

    /// The tool after a person was asked, which may have taken long.
    fn now(&self, terms: &Terms) -> Result<Entry<FrozenTool>, Unapproved> {
        let version = |entry: &Entry<FrozenTool>| {
            (entry.provider.id().clone(), *entry.provider.digest(), entry.item().tool.name.clone())
        };
        let snapshot = self.server.catalog.snapshot();
        let now = snapshot.tools.get(self.entry.name.as_str()).filter(|now| version(now) == version(self.entry));
        let now = now.ok_or(Unapproved::Changed)?;
        let permissions = self.server.permissions_of(&self.scope.identity);
        if !verdict(&permissions, &*now.provider, Item::Tool(&now.item().tool.name)).is_allowed() {
            return Err(Unapproved::Forbidden);
        }
        if self.terms(now, &permissions) != *terms {
            return Err(Unapproved::Changed);
        }
        Ok(now.clone())
    }
}

/// Whether the user allows it.
type Answer = Result<(), Unapproved>;

/// Reads a client's answer. Only one that accepts a form without fields allows anything.
fn read(raw: &RawValue) -> Answer {
    match answer::reply(&QuestionKind::Form(FORM.into()), raw, "result") {
        Ok(Reply::Elicited(Elicited { action: ElicitAction::Accept, content })) => {
            let is_empty = json::entries(content.as_deref().unwrap_or("{}")).is_ok_and(|members| members.is_empty());
            if is_empty { Ok(()) } else { unanswered("it has content for which there is no field") }
        }
        Ok(Reply::Elicited(_)) => Err(Unapproved::Declined),
        Ok(_) => unanswered("it is of another kind"),
        Err(error) => unanswered(&error.message),
    }
}

fn unanswered(why: &str) -> Answer {
    Err(Unapproved::Unanswered(quote(why, MAX_REASON)))
}

fn cancelled() -> Refusal {
    error::internal("cancelled", "the request was cancelled").into()
}

#[cfg(test)]
mod tests;
