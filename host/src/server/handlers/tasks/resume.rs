//! Goes on with a task that is a record alone: with the answers to its questions, or again after its process died.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::tool_call::ToolCall;
use super::job::{Job, keep};
use super::questions;
use crate::identity::Identity;
use crate::jsonrpc::RequestId;
use crate::protocol::{Ask, ClientCapabilities, ErrorObject, Revision, error, trace};
use crate::rights::Item;
use crate::server::attribute;
use crate::server::bounds::Bounds;
use crate::server::call_record::CallRecord;
use crate::server::client::Client;
use crate::server::cost;
use crate::server::promotion::Promotion;
use crate::server::scope::{Scope, Verbosity};
use crate::server::tasks::{Run, Tasks};
use crate::server::{Server, fault};
use crate::store::Durability;
use crate::tasks::{self, Given, Kept, Record, Status};

/// Takes answers for open questions of a task, and goes on if all are there. Others are ignored.
///
/// # Errors
/// If an answer is none to its question, or the task cannot go on now; nothing is taken then.
pub(in crate::server) async fn answer(
    server: &Arc<Server>,
    scope: &Scope,
    tasks: &Arc<Tasks>,
    key: &str,
    given: Vec<Given>,
) -> Result<(), ErrorObject> {
    let take = take(server.clone(), scope.clone(), tasks.clone(), key.to_owned(), given);
    // Its own task: what has begun ends, also if the request is dropped meanwhile.
    let taken = tokio::spawn(take).await;
    taken.unwrap_or_else(|_| Err(error::host_error()))
}

async fn take(
    server: Arc<Server>,
    scope: Scope,
    tasks: Arc<Tasks>,
    key: String,
    mut given: Vec<Given>,
) -> Result<(), ErrorObject> {
    let _turn = tasks.turn(&key).await;
    let kept = tasks.ledger.read(&key).await.map_err(|error| tasks.unusable(&error))?;
    let Some(Kept { record, .. }) = kept else { return Ok(()) };
    given.retain(|given| record.asked.iter().any(|asked| asked.key == given.key && asked.is_open()));
    if record.status != Status::InputRequired || given.is_empty() {
        return Ok(());
    }
    let bytes = given.iter().filter_map(|given| given.answer.as_ref().ok()).map(|answer| answer.get().len()).sum();
    if !tasks.has_room_for(scope.identity.name(), bytes).await.map_err(|error| tasks.unusable(&error))? {
        return Err(error::too_many_tasks("this caller keeps too many bytes"));
    }
    let mut audited = CallRecord::begin(&server, &scope, "tasks/update", &record.tool)?;
    let cancelled = CancellationToken::new();
    // Before its record says so, and also if some are open still: another process may take those meanwhile.
    let run = match tasks.run(&key, &record, &cancelled).await {
        Ok(run) => run,
        Err(why) => return audited.finish(Err(why.error(&tasks))).await.map(drop),
    };
    let promotion = Arc::new(Promotion::of_task(run));
    let of_task = scope_of(&server, &record, scope.identity.clone(), &promotion, &cancelled);
    let mut call = match prepare(&server, of_task, &record, &mut audited).await {
        Ok(call) => call,
        // It can only end with that.
        Err(error) => {
            let answer = audited.finish(Err(error)).await;
            keep(&tasks, &key, None, scope.identity.name(), answer, false).await;
            return Ok(());
        }
    };
    for asked in &record.asked {
        let answer = given.iter().find(|given| given.key == asked.key);
        let Some(Ok(answer)) = answer.map(|given| &given.answer) else { continue };
        if let Err(refusal) = questions::reply(&call.rounds(), asked, answer).await {
            audited.set_refusal(&refusal);
            let plugin = call.entry.provider.id();
            let wrong = fault::without_result(&scope, plugin, "params", error::unknown_task(&record.id), refusal);
            return audited.finish(Err(wrong)).await.map(drop);
        }
    }
    let is_last = record.asked.iter().all(|asked| !asked.is_open() || given.iter().any(|given| given.key == asked.key));
    // Each round is charged.
    if is_last {
        let tool = Item::Tool(&call.entry.item().tool.name);
        match audited.charge(&server, &call.scope, &*call.entry.provider, tool) {
            Ok(charge) => call.charge = charge,
            Err(error) => return audited.finish(Err(error)).await.map(drop),
        }
    }
    let change = |record: &mut Record| Some(record.answer(given.clone(), tasks.node()));
    match tasks.ledger.change(&key, Durability::Power, change).await {
        Ok(Some((record, true))) => {
            go_on(&tasks, call, promotion, audited, &record).await;
            Ok(())
        }
        // Some are open still, or somebody else was faster.
        Ok(_) => {
            audited.set_code("answered");
            audited.finish(Ok(String::new())).await.map(drop)
        }
        Err(error) => audited.finish(Err(tasks.unusable(&error))).await.map(drop),
    }
}

/// Runs a task again whose process died while it computed; the record says already that this process runs it.
pub(in crate::server) async fn again(
    server: &Arc<Server>,
    tasks: &Arc<Tasks>,
    run: Run,
    record: &Record,
    cancelled: &CancellationToken,
) {
    let key = run.key.clone();
    let promotion = Arc::new(Promotion::of_task(run));
    let identity = Arc::new(Identity::from(&record.requester));
    let scope = scope_of(server, record, identity.clone(), &promotion, cancelled);
    let error = match CallRecord::begin_again(server, &scope, &record.tool) {
        Ok(mut audited) => match prepare(server, scope, record, &mut audited).await {
            Ok(call) => return go_on(tasks, call, promotion, audited, record).await,
            Err(error) => audited.finish(Err(error)).await,
        },
        Err(error) => Err(error),
    };
    keep(tasks, &key, Some(tasks.node()), identity.name(), error, false).await;
}

/// Runs the next round in a task of its own.
async fn go_on(
    tasks: &Arc<Tasks>,
    call: ToolCall,
    promotion: Arc<Promotion>,
    mut audited: CallRecord,
    record: &Record,
) {
    match questions::resume(&call.rounds(), record).await {
        Ok(start) => {
            let left = record.expires().saturating_sub(tasks::now());
            let until = Instant::now() + Duration::from_millis(left);
            let job = Job { tasks: tasks.clone(), call, promotion, record: audited, until };
            tokio::spawn(job.run(start));
        }
        Err(refusal) => {
            let Some(key) = promotion.key() else { return };
            let answer = call.answer(Err(refusal), &mut audited);
            let (answer, principal) = (audited.finish(answer).await, call.scope.identity.name());
            keep(tasks, &key, Some(tasks.node()), principal, answer, false).await;
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
    let capabilities = Ask::ALL
        .into_iter()
        .filter(|ask| record.capabilities.iter().any(|name| name == ask.name()))
        .fold(ClientCapabilities::default(), ClientCapabilities::with);
    let parent = trace::parent_of(record.meta.get());
    let trace = server.settings.traces.begin(&caller, parent.as_ref());
    if let Some(trace) = &trace {
        trace.describe(|| ("tools/call".into(), vec![attribute::method("tools/call")]));
    }
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
        span: trace.as_ref().map(|trace| trace.own().clone()).or(parent),
        cost: cost::begin(server, record.meta.get(), trace),
        cancelled: cancelled.clone(),
    }
}

/// The call of a task's next round, of the same version of the plugin, under the rights that hold now.
///
/// # Errors
/// If there is none any more.
async fn prepare(
    server: &Arc<Server>,
    scope: Scope,
    record: &Record,
    audited: &mut CallRecord,
) -> Result<ToolCall, ErrorObject> {
    audited.set_task(&record.id);
    let gone = || error::task_without_plugin(&record.tool);
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
    audited.permitted(scope.check(&**provider, tool, gone))?;
    let arguments: Arc<str> = record.arguments.get().into();
    let (server, name) = (server.clone(), record.tool.clone());
    Ok(ToolCall { server, scope, entry, name, arguments, charge: None, approved: None })
}
