//! Goes on with a task that is a record alone: with the answers to its questions, or again after its process died.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::tool_call::ToolCall;
use super::job::{Job, keep};
use super::{ASKS, questions};
use crate::identity::Identity;
use crate::jsonrpc::RequestId;
use crate::protocol::{ClientCapabilities, ErrorObject, Revision, error};
use crate::rights::Item;
use crate::server::bounds::Bounds;
use crate::server::call_record::CallRecord;
use crate::server::client::Client;
use crate::server::promotion::Promotion;
use crate::server::scope::{Scope, Verbosity};
use crate::server::tasks::{Tasks, unusable};
use crate::server::{Server, fault};
use crate::store::Durability;
use crate::tasks::{self, Given, Record};

/// What an audit record says of a round that is no request.
const METHOD: &str = "tasks/update";

/// Takes answers for open questions of a task, and goes on if all are there.
///
/// # Errors
/// If an answer is none to its question, or the task cannot go on now; nothing is taken then.
pub(in crate::server) async fn answer(
    server: &Arc<Server>,
    scope: &Scope,
    tasks: &Arc<Tasks>,
    key: &str,
    record: Record,
    given: Vec<Given>,
) -> Result<(), ErrorObject> {
    let cancelled = CancellationToken::new();
    let mut audited = CallRecord::begin(server, scope, METHOD, &record.tool)?;
    let promotion = Arc::new(Promotion::of_task(key.to_owned()));
    let of_task = scope_of(server, &record, scope.identity.clone(), &promotion, &cancelled);
    let call = match prepare(server, of_task, &record, &mut audited).await {
        Ok(call) => call,
        // It can only end with that.
        Err(Unprepared::Gone(error)) => {
            let answer = audited.finish(Err(error)).await;
            keep(tasks, key, answer, false).await;
            return Ok(());
        }
        Err(Unprepared::Refused(error)) => return audited.finish(Err(error)).await.map(drop),
    };
    for asked in &record.asked {
        let answer = given.iter().find(|given| given.key == asked.key);
        let Some(Ok(answer)) = answer.map(|given| &given.answer) else { continue };
        if let Err(refusal) = questions::reply(&call.rounds(), asked, answer).await {
            audited.set_refusal(&refusal);
            let plugin = call.entry.provider.id();
            let wrong = fault::without_result(scope, plugin, "params", error::unknown_task(&record.id), refusal);
            return audited.finish(Err(wrong)).await.map(drop);
        }
    }
    let is_last = record.asked.iter().all(|asked| !asked.is_open() || given.iter().any(|given| given.key == asked.key));
    if is_last && let Err(why) = tasks.run(key, &record, &cancelled).await {
        return audited.finish(Err(why.error())).await.map(drop);
    }
    let change = |record: &mut Record| Some(record.answer(given.clone(), tasks.node()));
    match tasks.ledger.change(key, Durability::Power, change).await {
        Ok(Some((record, true))) => {
            go_on(tasks, call, promotion, audited, &record).await;
            Ok(())
        }
        // Some are open still, or somebody else was faster.
        Ok(_) => {
            tasks.stopped(key).await;
            audited.set_code("answered");
            audited.finish(Ok(String::new())).await.map(drop)
        }
        Err(error) => {
            tasks.stopped(key).await;
            audited.finish(Err(unusable(&error))).await.map(drop)
        }
    }
}

/// Runs a task again whose process died while it computed; this process runs it already.
pub(in crate::server) async fn again(
    server: &Arc<Server>,
    tasks: &Arc<Tasks>,
    key: &str,
    record: &Record,
    cancelled: &CancellationToken,
) {
    let promotion = Arc::new(Promotion::of_task(key.to_owned()));
    let identity = Arc::new(Identity::from(&record.requester));
    let scope = scope_of(server, record, identity, &promotion, cancelled);
    let error = match CallRecord::begin(server, &scope, METHOD, &record.tool) {
        Ok(mut audited) => match prepare(server, scope, record, &mut audited).await {
            Ok(call) => return go_on(tasks, call, promotion, audited, record).await,
            Err(Unprepared::Gone(error) | Unprepared::Refused(error)) => audited.finish(Err(error)).await,
        },
        Err(error) => Err(error),
    };
    keep(tasks, key, error, false).await;
    tasks.stopped(key).await;
}

/// Runs the next round in a task of its own.
async fn go_on(
    tasks: &Arc<Tasks>,
    call: ToolCall,
    promotion: Arc<Promotion>,
    mut audited: CallRecord,
    record: &Record,
) {
    let start = questions::resume(&call.rounds(), record).await;
    match start {
        Ok(start) => {
            let left = record.expires().saturating_sub(tasks::now());
            let until = Instant::now() + Duration::from_millis(left);
            let job = Job { tasks: tasks.clone(), call, promotion, record: audited, until };
            tokio::spawn(job.run(start));
        }
        Err(refusal) => {
            let Some(key) = promotion.key() else { return };
            let answer = call.answer(Err(refusal), &mut audited);
            keep(tasks, &key, audited.finish(answer).await, false).await;
            tasks.stopped(&key).await;
        }
    }
}

/// The scope of a task's next round, which has no request that waits for it.
fn scope_of(
    server: &Arc<Server>,
    record: &Record,
    identity: Arc<Identity>,
    promotion: &Arc<Promotion>,
    cancelled: &CancellationToken,
) -> Scope {
    let caller: Arc<str> = record.caller.as_str().into();
    let settings = &server.settings;
    let unread = server.unread.of(&caller, settings.unread);
    let bounds = Arc::new(Bounds::new(unread, settings.in_flight, settings.patience));
    let capabilities = ASKS
        .into_iter()
        .filter(|ask| record.capabilities.iter().any(|name| name == ask.name()))
        .fold(ClientCapabilities::default(), ClientCapabilities::with);
    // Nothing is sent: all that it says is in its record.
    let (outbox, _) = mpsc::channel(1);
    Scope {
        id: RequestId::new_number(0),
        call: server.next_call_id(),
        revision: Revision::parse(&record.revision).unwrap_or(Revision::MODERN[0]),
        bytes: 0,
        meta: record.meta.get().to_owned(),
        permissions: server.permissions_of(&identity),
        identity,
        caller,
        client: Client::new(Arc::new(capabilities), outbox, bounds, None),
        followers: Arc::default(),
        progress: None,
        verbosity: Verbosity::Request(None),
        headers: None,
        task: Some(promotion.clone()),
        cancelled: cancelled.clone(),
    }
}

/// Why a task's next round cannot begin.
enum Unprepared {
    /// It never can.
    Gone(ErrorObject),
    /// It cannot now.
    Refused(ErrorObject),
}

/// The call of a task's next round, of the same version of the plugin, under the rights that hold now.
async fn prepare(
    server: &Arc<Server>,
    scope: Scope,
    record: &Record,
    audited: &mut CallRecord,
) -> Result<ToolCall, Unprepared> {
    audited.set_task(&record.id);
    let gone = || Unprepared::Gone(error::task_without_plugin(&record.tool));
    let snapshot = server.snapshot_with(|snapshot| snapshot.tools.get(&record.tool).is_some()).await;
    let entry = snapshot.tools.get(&record.tool).ok_or_else(gone)?.clone();
    audited.set_target(&scope, &*entry.provider, &record.tool);
    let provider = &entry.provider;
    let is_same = provider.id().as_ref() == record.plugin
        && provider.digest().to_string() == record.version
        && provider.extras(&scope.identity) == record.extras;
    if !is_same {
        return Err(gone());
    }
    let tool = Item::Tool(&entry.item().tool.name);
    let forbidden = || error::task_without_plugin(&record.tool);
    audited.permitted(scope.check(&**provider, tool, forbidden)).map_err(Unprepared::Gone)?;
    let charge = audited.charge(server, &scope, &**provider, tool).map_err(Unprepared::Refused)?;
    let arguments: Arc<str> = record.arguments.get().into();
    let (server, name) = (server.clone(), record.tool.clone());
    Ok(ToolCall { server, scope, entry, name, arguments, charge, approved: None })
}
