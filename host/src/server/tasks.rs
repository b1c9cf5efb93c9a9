//! What a server keeps for tasks: their records, which of them it runs, and its limits.
//!
//! Other processes may serve the same tasks. What one of them decides is in the record; the one that runs the task
//! hears of it and stops.

mod reading;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::to_raw_value;
use tokio::runtime::Handle;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Server;
use crate::metrics::{Counted, Metrics, OpenKind};
use crate::protocol::{ErrorObject, error};
use crate::seldom::Seldom;
use crate::store::{Changed, Durability, StoreError, Usage};
use crate::sync::lock;
use crate::tasks::{Lease, Ledger, Outcome, Record, Status};
use reading::Reading;

/// Tasks that one process runs for one caller, also those that wait for their turn.
const RUNNING_OF_ONE: usize = 32;
/// The same for all callers.
const RUNNING: usize = 256;

/// How often it is looked at shutdown whether tasks have ended.
const STOPPING: Duration = Duration::from_millis(20);
/// What a store may take at shutdown to end all that runs: one that is away answers each request late.
const ENDING: Duration = Duration::from_secs(5);
/// Bytes of an answer or an outcome that are kept whatever the limits.
const ALWAYS_KEPT: usize = 16 << 10;
/// Callers of which it is remembered that they have too many.
const FULL: usize = 1024;
/// How often all tasks are counted.
const COUNTING: Duration = Duration::from_secs(5);

/// Where tasks are kept, and how many.
#[derive(Clone)]
pub struct TaskSettings {
    /// `None`: this server has no tasks.
    pub ledger: Option<Ledger>,
    /// Whether clients can list their tasks: not if they cannot be told apart.
    pub lists: bool,
    /// Whether there may be tasks of other processes.
    pub is_used: bool,
    /// Tasks that are kept for one principal, and for all.
    pub kept_of_one: u64,
    pub kept: u64,
    /// Bytes of them.
    pub bytes_of_one: u64,
    pub bytes: u64,
}

impl Default for TaskSettings {
    /// None.
    fn default() -> Self {
        Self {
            ledger: None,
            lists: true,
            is_used: false,
            kept_of_one: 1000,
            kept: 100_000,
            bytes_of_one: 256 << 20,
            bytes: 4 << 30,
        }
    }
}

/// Why there is no task.
pub(in crate::server) enum NoTask {
    /// Which limit is reached.
    Full(&'static str),
    Failed(StoreError),
}

impl From<StoreError> for NoTask {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl NoTask {
    pub(in crate::server) fn error(self, tasks: &Tasks) -> ErrorObject {
        match self {
            Self::Full(limit) => error::too_many_tasks(limit),
            Self::Failed(why) => tasks.unusable(&why),
        }
    }
}

pub(in crate::server) struct Tasks {
    pub(in crate::server) ledger: Ledger,
    pub(in crate::server) settings: TaskSettings,
    pub(in crate::server) lease: Lease,
    metrics: Metrics,
    running: Mutex<Running>,
    /// Callers that had too many, and until when that is taken for granted.
    full: Mutex<HashMap<String, Instant>>,
    /// What is kept of all, and when that was counted.
    all_kept: Mutex<Option<(Instant, Usage)>>,
    /// By key of the task that is answered.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    pub(in crate::server) reading: Reading,
    failures: Seldom,
    /// Whether this process has looked at the tasks.
    used: watch::Sender<bool>,
}

#[derive(Default)]
struct Running {
    /// By number.
    runs: HashMap<u64, Registered>,
    next: u64,
    /// Whether something looks after them.
    attended: bool,
}

struct Registered {
    key: String,
    caller: String,
    cancelled: CancellationToken,
}

/// A task that this process runs, until this is dropped: to be made before its record says so, and dropped after.
pub(in crate::server) struct Run {
    tasks: Arc<Tasks>,
    pub(in crate::server) key: String,
    number: u64,
    /// Its name in the lease.
    name: String,
    #[expect(dead_code, reason = "counts until it is dropped")]
    counted: Counted,
}

impl Drop for Run {
    fn drop(&mut self) {
        lock(&self.tasks.running).runs.remove(&self.number);
        // Without a runtime the process ends, and others find what it has left.
        let Ok(runtime) = Handle::try_current() else { return };
        let (tasks, name) = (self.tasks.clone(), std::mem::take(&mut self.name));
        runtime.spawn(async move {
            if let Err(error) = tasks.lease.end(&name).await {
                tracing::debug!(%error, "failed to end the lease of a task");
            }
        });
    }
}

impl Tasks {
    /// `None`: the settings have no place for them, or there is no randomness for their ids.
    pub(super) fn new(settings: &TaskSettings, metrics: Metrics) -> Option<Self> {
        let ledger = settings.ledger.clone()?;
        let lease = match Lease::new(ledger.clone()) {
            Ok(lease) => lease,
            Err(error) => {
                tracing::warn!(%error, "no tasks: the system's random number generator failed");
                return None;
            }
        };
        Some(Self {
            ledger,
            settings: settings.clone(),
            lease,
            metrics,
            running: Mutex::default(),
            full: Mutex::default(),
            all_kept: Mutex::default(),
            turns: Mutex::default(),
            reading: Reading::new(),
            failures: Seldom::default(),
            used: watch::Sender::new(settings.is_used),
        })
    }

    /// The store cannot be used; the reason is for the operator alone.
    pub(in crate::server) fn unusable(&self, why: &StoreError) -> ErrorObject {
        self.report("use the tasks", why);
        error::internal("host_error", "tasks cannot be used now")
    }

    /// Says why the store has failed, and not for each call that it fails for.
    pub(in crate::server) fn report(&self, what: &str, why: &StoreError) {
        if let Some(left_out) = self.failures.due() {
            tracing::error!("failed to {what}: {why}{left_out}");
        }
    }

    /// This process.
    pub(in crate::server) fn node(&self) -> &str {
        self.lease.node()
    }

    /// Whether one more task of a principal may be kept.
    ///
    /// # Errors
    /// If not, or if the store cannot be used.
    pub(in crate::server) async fn admit(&self, record: &Record) -> Result<(), NoTask> {
        self.mark_used();
        let of_one = self.ledger.usage(Some(record.requester.name())).await?;
        if of_one.entries >= self.settings.kept_of_one || of_one.bytes >= self.settings.bytes_of_one {
            return Err(self.reject(&record.caller, "this caller has too many tasks that have not expired"));
        }
        let all = self.all_kept().await?;
        if all.entries >= self.settings.kept || all.bytes >= self.settings.bytes {
            return Err(self.reject(&record.caller, "the server has too many tasks that have not expired"));
        }
        Ok(())
    }

    /// Whether that many more bytes may be kept of a task.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub(in crate::server) async fn has_room_for(&self, principal: &str, bytes: usize) -> Result<bool, StoreError> {
        if bytes <= ALWAYS_KEPT {
            return Ok(true);
        }
        let bytes = bytes as u64;
        let (of_one, all) = (self.ledger.usage(Some(principal)).await?, self.all_kept().await?);
        Ok(of_one.bytes + bytes <= self.settings.bytes_of_one && all.bytes + bytes <= self.settings.bytes)
    }

    /// Adds the record of a call that runs already, and can be stopped by `cancelled`.
    ///
    /// # Errors
    /// If there are too many, or the store cannot be used.
    pub(in crate::server) async fn add(
        self: &Arc<Self>,
        record: &Record,
        cancelled: &CancellationToken,
    ) -> Result<Run, NoTask> {
        self.admit(record).await?;
        self.count(1, 0);
        let key = self.ledger.key(record.requester.name(), &record.id).ok_or(NoTask::Full("id"))?;
        let run = self.run(&key, record, cancelled).await?;
        self.write(record).await?;
        Ok(run)
    }

    /// Adds the record of a call that has ended.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(in crate::server) async fn add_ended(&self, record: &Record) -> Result<(), NoTask> {
        self.admit(record).await?;
        self.count(1, 0);
        Ok(self.write(record).await?)
    }

    /// Waits for the turn to answer a task: of several answers at once, each sees what the one before has left.
    pub(in crate::server) async fn turn(&self, key: &str) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = lock(&self.turns);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            turns.entry(key.to_owned()).or_default().clone()
        };
        turn.lock_owned().await
    }

    /// Adds a record to what is kept.
    async fn write(&self, record: &Record) -> Result<(), StoreError> {
        let bytes = self.ledger.add(record).await?;
        self.count(0, bytes);
        Ok(())
    }

    /// Adds to what is kept of all, until that is counted again.
    fn count(&self, entries: u64, bytes: u64) {
        if let Some((_, kept)) = &mut *lock(&self.all_kept) {
            kept.entries += entries;
            kept.bytes += bytes;
        }
    }

    /// What is kept of all, as it was a moment ago: counting takes milliseconds.
    async fn all_kept(&self) -> Result<Usage, StoreError> {
        let known = *lock(&self.all_kept);
        if let Some((_, usage)) = known.filter(|(at, _)| at.elapsed() < COUNTING) {
            return Ok(usage);
        }
        let usage = self.ledger.usage(None).await?;
        *lock(&self.all_kept) = Some((Instant::now(), usage));
        Ok(usage)
    }

    /// Whether a call of that caller could become a task now, as far as this process knows.
    pub(in crate::server) fn has_room(&self, caller: &str) -> bool {
        let is_full = |full: &HashMap<String, Instant>| full.get(caller).is_some_and(|until| *until > Instant::now());
        lock(&self.running).admits(caller) && !is_full(&lock(&self.full))
    }

    /// Remembers for a moment that a caller can have no task.
    fn reject(&self, caller: &str, limit: &'static str) -> NoTask {
        let (mut full, now) = (lock(&self.full), Instant::now());
        full.retain(|_, until| *until > now);
        if full.len() < FULL {
            full.insert(caller.to_owned(), now + COUNTING);
        }
        NoTask::Full(limit)
    }

    /// This process runs a task from now on.
    ///
    /// # Errors
    /// If too many run, or the store cannot be used.
    pub(in crate::server) async fn run(
        self: &Arc<Self>,
        key: &str,
        record: &Record,
        cancelled: &CancellationToken,
    ) -> Result<Run, NoTask> {
        let run = {
            let mut running = lock(&self.running);
            if !running.admits(&record.caller) {
                return Err(NoTask::Full("too many are running"));
            }
            running.next += 1;
            let number = running.next;
            let (key, caller, cancelled) = (key.to_owned(), record.caller.clone(), cancelled.clone());
            running.runs.insert(number, Registered { key: key.clone(), caller, cancelled });
            let counted = self.metrics.opened(OpenKind::Task);
            Run { tasks: self.clone(), key, number, name: format!("{}.{number}", record.id), counted }
        };
        // Usually so while anything runs, but not if the store was away.
        if !self.lease.is_fresh() {
            self.lease.renew().await?;
        }
        self.lease.begin(&run.name, key, record.expires()).await?;
        if !std::mem::replace(&mut lock(&self.running).attended, true) {
            let this = self.clone();
            tokio::spawn(async move { this.attend().await });
        }
        Ok(run)
    }

    fn mark_used(&self) {
        self.used.send_if_modified(|used| !std::mem::replace(used, true));
    }

    /// Waits until this process has looked at the tasks: before that, there are none to look after.
    pub(in crate::server) async fn used(&self) {
        // Never an error: this has the sender.
        drop(self.used.subscribe().wait_for(|used| *used).await);
    }

    /// Ends a task that others may run.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub(in crate::server) async fn cancel(&self, key: &str) -> Result<Option<Record>, StoreError> {
        let cancelled = self
            .ledger
            .change(key, Durability::Power, |record| record.end(Status::Cancelled, None, None).then_some(()))
            .await?;
        self.kill(key);
        Ok(cancelled.map(|(record, ())| record))
    }

    fn kill(&self, key: &str) {
        lock(&self.running).runs.values().filter(|run| run.key == key).for_each(|run| run.cancelled.cancel());
    }

    /// Ends what runs, after `grace`: what may be repeated is left to the next process, the rest has failed. Returns how
    /// many were ended.
    async fn stop(&self, grace: Duration) -> usize {
        let end = Instant::now() + grace;
        while !lock(&self.running).runs.is_empty() && Instant::now() < end {
            sleep(STOPPING).await;
        }
        let left = self.running_keys();
        if !left.is_empty() && timeout(ENDING, self.end_all(&left)).await.is_err() {
            tracing::warn!("the store of the tasks does not answer: another process ends those that are left");
        }
        left.len()
    }

    async fn end_all(&self, left: &[String]) {
        for key in left {
            let (status, message, outcome) = interrupted();
            let fail = |record: &mut Record| {
                (!record.idempotent && record.end(status, message.clone(), outcome.clone())).then_some(())
            };
            if let Err(error) = self.ledger.change(key, Durability::Power, fail).await {
                self.report("end a task", &error);
            }
        }
        // Nobody needs to wait until it counts as gone.
        if let Err(error) = self.lease.leave().await {
            tracing::debug!(%error, "failed to give up the lease of tasks");
        }
    }

    /// While anything runs: says so, and stops what others have ended.
    async fn attend(&self) {
        let mut changes = self.ledger.watch();
        let mut is_away = false;
        while self.is_needed() {
            let renewed = self.lease.renew().await;
            if let Err(error) = &renewed
                && !is_away
            {
                tracing::warn!(%error, "failed to renew the lease of tasks");
            }
            is_away = renewed.is_err();
            let renewal = sleep(if is_away { Lease::RETRY } else { Lease::RENEWAL });
            tokio::pin!(renewal);
            loop {
                tokio::select! {
                    () = &mut renewal => break,
                    changed = changes.recv() => self.stop_ended(changed).await,
                }
            }
        }
    }

    fn running_keys(&self) -> Vec<String> {
        lock(&self.running).runs.values().map(|run| run.key.clone()).collect()
    }

    /// Whether anything runs; otherwise nothing looks after it any more.
    fn is_needed(&self) -> bool {
        let mut running = lock(&self.running);
        running.attended = !running.runs.is_empty();
        running.attended
    }

    async fn stop_ended(&self, changed: Result<Changed, RecvError>) {
        let keys = match changed {
            Ok(Changed::Key(key)) if self.running_keys().contains(&key) => vec![key],
            Ok(Changed::Key(_)) => return,
            Ok(Changed::All) | Err(RecvError::Lagged(_)) => self.running_keys(),
            // Not while the ledger is there.
            Err(RecvError::Closed) => return,
        };
        for key in keys {
            match self.ledger.read(&key).await {
                Ok(Some(kept)) if kept.record.status.is_final() => self.kill(&key),
                // It is registered before its record is written. One that has expired ends by itself.
                Ok(_) => {}
                Err(error) => self.report("read a task", &error),
            }
        }
    }
}

impl Running {
    /// Whether one more of that caller may run.
    fn admits(&self, caller: &str) -> bool {
        let of_one = self.runs.values().filter(|run| run.caller == caller).count();
        self.runs.len() < RUNNING && of_one < RUNNING_OF_ONE
    }
}

/// How a task ends whose process has ended.
pub(in crate::server) fn interrupted() -> (Status, Option<String>, Option<Outcome>) {
    let error = error::task_interrupted();
    // An object of texts and numbers always serializes.
    let outcome = to_raw_value(&error).ok().map(Outcome::Error);
    (Status::Failed, Some(error.message), outcome)
}

impl Server {
    /// Gives tasks `grace` to end at shutdown, and ends the rest.
    pub async fn stop_tasks(&self, grace: Duration) {
        let Some(tasks) = &self.tasks else { return };
        let tasks = tasks.stop(grace).await;
        if tasks > 0 {
            tracing::warn!(tasks, "cut off tasks that were still running at shutdown");
        }
    }

    /// The tasks of this server.
    ///
    /// # Errors
    /// If it has none.
    pub(in crate::server) fn tasks(&self, method: &str) -> Result<&Arc<Tasks>, ErrorObject> {
        let tasks = self.tasks.as_ref().ok_or_else(|| error::not_offered(method, "tasks"))?;
        tasks.mark_used();
        Ok(tasks)
    }
}
