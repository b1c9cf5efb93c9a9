//! The process of one plugin, as its server sees it: started with the component, asked for calls, ended with the last
//! owner of the connection.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::asked;
use super::confined::Confined;
use super::frame;
use super::setup::{Setup, Variant};
use crate::budgets::Charge;
use crate::identity::Identity;
use crate::json;
use crate::metrics::{Cost, Spent};
use crate::net::dial::CERTIFICATE_VARIABLES;
use crate::os::process::{clear_environment, was_killed_by_filter};
use crate::plugin::abi::CallContext;
use crate::plugin::component::engine::EngineKind;
use crate::plugin::error::LoadError;
use crate::plugin::events::{Event, Events, LogBody};
use crate::plugin::fault::{Fault, TrapKind};
use crate::plugin::id::{Digest, PluginId};
use crate::plugin::imports::granted::{Granted, Notes};
use crate::plugin::instance::call::PreparedComponent;
use crate::plugin::limits::Limits;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::grants::Grants;
use crate::plugin::provider::Call;
use crate::plugin::sandbox::Sandbox;
use crate::plugin::tape::kept::Kept;
use crate::sync::lock;

/// Time to start a worker and to link the component in it, or to list it there.
pub(super) const START: Duration = Duration::from_secs(30);
/// How long after its deadline a call is waited for: the worker ends it before, unless it hangs.
const GRACE: Duration = Duration::from_secs(2);
/// How long a guest may take to stop that nobody waits for.
const STOPPING: Duration = Duration::from_secs(7);
/// How long a process may take to end when it has closed its pipe.
const END: Duration = Duration::from_secs(1);
/// Maximum bytes of a frame of a worker, besides twice the limit of a result: as JSON, a line break becomes two bytes.
const MAX_FRAME: usize = 12 << 20;
/// Maximum questions of a worker that are not answered.
const MAX_ASKED: usize = 256;
/// Maximum bytes of one event, besides what a call may log.
const MAX_EVENT: usize = 64 << 10;
/// Maximum calls of which the worker has not said that they ended. Those that nobody waits for any more are among them.
const MAX_CALLS: usize = 1024;
/// Maximum messages of a call that are counted as dropped.
const MAX_DROPPED: u64 = 1 << 32;
/// Maximum bytes that wait until the worker reads them, besides the component.
const MAX_UNREAD: usize = 256 << 20;

/// What a process is started with.
pub(in crate::plugin) struct Source {
    pub(in crate::plugin) sandbox: Arc<Sandbox>,
    pub(in crate::plugin) plugin: PluginId,
    pub(in crate::plugin) digest: Digest,
    pub(in crate::plugin) component: Arc<Vec<u8>>,
    /// That of its engine.
    pub(in crate::plugin) kind: EngineKind,
}

/// A process that runs.
pub(super) struct Connection {
    plugin: PluginId,
    /// Of all callers of the plugin.
    grants: Arc<Grants>,
    sandbox: Arc<Sandbox>,
    to: mpsc::UnboundedSender<Outgoing>,
    state: Mutex<State>,
    /// Permits for questions, until their answers are written.
    asked: Arc<Semaphore>,
    /// Bytes that the worker has not read.
    unread: AtomicUsize,
    /// Ends the process.
    kill: CancellationToken,
}

/// A frame that waits to be written.
struct Outgoing {
    frame: Vec<u8>,
    /// Of the call that it begins.
    call: Option<u64>,
    /// Of the question that it answers.
    _permit: Option<OwnedSemaphorePermit>,
}

#[derive(Default)]
struct State {
    has_ended: bool,
    last: u64,
    /// Calls that were sent, and whose end was not said.
    calls: HashMap<u64, Waiting>,
    /// The settings that it knows, by what they are of.
    variants: Vec<(Weak<PreparedComponent>, u64)>,
}

impl State {
    /// The number of these settings, if the process knows them.
    fn number(&self, prepared: &Arc<PreparedComponent>) -> Option<u64> {
        let is_it = |(known, _): &&(Weak<PreparedComponent>, u64)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(prepared));
        self.variants.iter().find(is_it).map(|(_, number)| *number)
    }
}

/// What is to be done when a call has ended.
struct Waiting {
    began: Instant,
    /// What a call may spend.
    limits: Option<Limits>,
    granted: Option<Arc<Granted>>,
    identity: Option<Arc<Identity>>,
    events: Option<Arc<Events>>,
    charge: Option<Arc<Charge>>,
    cost: Option<Arc<Cost>>,
    /// `None`: it did not reach the process. Nobody may wait for it any more: what it costs is charged all the same.
    ended: oneshot::Sender<Option<Value>>,
}

impl Connection {
    /// Starts a process, and links the component in it; also returns the kinds of access that it requires. Must be called
    /// on the guests' threads.
    ///
    /// # Errors
    /// Why it does not run there.
    pub(super) async fn start(source: &Source, grants: Arc<Grants>) -> Result<(Arc<Self>, Vec<Access>), LoadError> {
        let Source { sandbox, plugin, digest, component, kind } = source;
        let program = sandbox.worker.program.as_ref().ok_or_else(|| {
            LoadError::Host("start a process for the plugin: this host does not know its program".into())
        })?;
        let code = sandbox.compilation.bytes(component.clone(), *digest, *kind).await?;
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            LoadError::Host(format!("{what} the process of the plugin: {error}"))
        };
        let mut command = Command::new(&program.program);
        clear_environment(&mut command).args(&program.arguments).arg(plugin.as_ref()).current_dir("/");
        for name in CERTIFICATE_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| failed("start", &error))?;
        tracing::debug!(target: "wharf::plugin", %plugin, pid = child.id(), "its process has started");
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("start", &"it has no pipes"));
        };
        let confined = Confined::to(&grants, sandbox.worker.os_sandbox);
        let (to, frames) = mpsc::unbounded_channel();
        let connection = Arc::new(Self {
            plugin: plugin.clone(),
            grants,
            sandbox: sandbox.clone(),
            to,
            state: Mutex::default(),
            asked: Arc::new(Semaphore::new(MAX_ASKED)),
            unread: AtomicUsize::new(0),
            kill: CancellationToken::new(),
        });
        let guests = sandbox.runtime.guests();
        guests.spawn(write(Arc::downgrade(&connection), frames, stdin));
        guests.spawn(follow(Arc::downgrade(&connection), connection.kill.clone(), child, stdout));
        let protected = &sandbox.runtime.resources.protected;
        let setup = Setup {
            plugin: plugin.to_string(),
            digest: digest.to_string(),
            confined,
            protected: (protected.trees.clone(), protected.tops.clone()),
            workers: u64::from(sandbox.runtime.workers()),
            memory: sandbox.runtime.memory.limit(),
            engine: *kind,
        };
        // The first call is that for what it links.
        let (_, started) = connection.begin(Waiting::for_host());
        for frame in [frame::of(&setup.keep()), frame::of_bytes(component), frame::of_bytes(&code)] {
            connection.queue(frame, None, None);
        }
        match timeout(START, started).await {
            Ok(Ok(said)) => {
                let linked: Option<Result<Vec<Access>, LoadError>> = said.as_ref().and_then(Kept::read);
                Ok((connection, linked.unwrap_or_else(|| Err(failed("start", &UNREADABLE)))?))
            }
            Ok(Err(_)) => Err(failed("start", &"it ended, see the log")),
            Err(_) => Err(failed("start", &format!("it takes more than {} s", START.as_secs()))),
        }
    }

    /// Whether calls of the plugin can run in it: it has not ended, and was started for what callers have now.
    pub(super) fn serves(&self, prepared: &Arc<PreparedComponent>) -> bool {
        let state = lock(&self.state);
        !state.has_ended
            && !self.kill.is_cancelled()
            && (state.number(prepared).is_some() || **prepared.granted.base() == *self.grants)
    }

    /// Asks for something under these settings, and waits for what is said at its end; `None`: the process had ended
    /// before. Dropped, it is cancelled there.
    ///
    /// # Errors
    /// If the process ends before, or hangs.
    pub(super) async fn ask(
        self: &Arc<Self>,
        prepared: &Arc<PreparedComponent>,
        what: Value,
        call: Call,
        deadline: Instant,
    ) -> Result<Option<Value>, Fault> {
        let variant = self.variant(prepared);
        let context = CallContext {
            id: call.id,
            client: call.client,
            time_left_ms: deadline.saturating_duration_since(Instant::now()).as_millis() as u64,
            answers: call.answers,
            state: call.state,
            meta: call.meta,
        };
        let who = call.identity.as_ref().map(|who| match &who.grant {
            None => json!([&**who.name()]),
            Some(grant) => json!([&*grant.issuer, &*grant.subject]),
        });
        let waiting = Waiting {
            began: Instant::now(),
            limits: Some(prepared.limits.clone()),
            granted: Some(prepared.granted.clone()),
            identity: call.identity,
            events: call.events,
            charge: call.charge,
            cost: call.cost,
            ended: oneshot::channel().0,
        };
        let (id, mut ended) = self.begin(waiting);
        let frame = json!({"call": id, "variant": variant, "what": what, "context": context.keep(), "who": who});
        self.send_for(frame::of(&frame), Some(id));
        let mut running = Running { connection: self.clone(), id: Some(id) };
        let wait = async {
            tokio::select! {
                said = &mut ended => return said,
                () = call.cancelled.cancelled() => self.send(frame::of(&json!({"cancelled": id}))),
            }
            ended.await
        };
        match timeout_at(deadline + GRACE, wait).await {
            Ok(said) => {
                running.id = None;
                said.map_err(|_| Fault::Trap(TrapKind::ProcessEnded))
            }
            Err(_) => {
                self.hangs();
                Err(prepared.out_of_time())
            }
        }
    }

    /// Nobody waits for that call any more: nothing is asked or told for it. `None`: it has ended.
    fn forget(&self, id: u64) -> Option<()> {
        let mut state = lock(&self.state);
        let waiting = state.calls.get_mut(&id)?;
        (waiting.identity, waiting.events) = (None, None);
        Some(())
    }

    /// The worker said something that it never says: it is not what was started.
    pub(super) fn distrust(&self) -> Fault {
        self.stop(&format!("its process is ended: {UNREADABLE}"));
        Fault::Trap(TrapKind::ProcessEnded)
    }

    /// The number of these settings, which are sent if it does not know them.
    fn variant(&self, prepared: &Arc<PreparedComponent>) -> u64 {
        let mut state = lock(&self.state);
        if let Some(number) = state.number(prepared) {
            return number;
        }
        let gone = state.variants.extract_if(.., |(known, _)| known.strong_count() == 0);
        let gone: Vec<u64> = gone.map(|(_, number)| number).collect();
        state.last += 1;
        let number = state.last;
        state.variants.push((Arc::downgrade(prepared), number));
        let variant = Variant {
            limits: prepared.limits.clone(),
            grants: prepared.granted.whole(),
            is_of_task: prepared.is_of_task(),
        };
        // Within the lock: before any call with them.
        self.send(frame::of(&json!({"variant": number, "settings": variant.keep(), "gone": gone})));
        number
    }

    fn begin(&self, waiting: Waiting) -> (u64, oneshot::Receiver<Option<Value>>) {
        let (ended, receiver) = oneshot::channel();
        let mut state = lock(&self.state);
        state.last += 1;
        let id = state.last;
        if state.calls.len() >= MAX_CALLS {
            self.hangs();
        }
        if state.has_ended {
            // The receiver is returned below.
            let _ = ended.send(None);
        } else {
            state.calls.insert(id, Waiting { ended, ..waiting });
        }
        (id, receiver)
    }

    fn send(&self, frame: Vec<u8>) {
        self.send_for(frame, None);
    }

    fn send_for(&self, frame: Vec<u8>, call: Option<u64>) {
        if self.unread.load(Ordering::Relaxed).saturating_add(frame.len()) > MAX_UNREAD {
            return self.hangs();
        }
        self.queue(frame, call, None);
    }

    fn queue(&self, frame: Vec<u8>, call: Option<u64>, permit: Option<OwnedSemaphorePermit>) {
        self.unread.fetch_add(frame.len(), Ordering::Relaxed);
        // The process may have ended, which calls are told.
        if self.to.send(Outgoing { frame, call, _permit: permit }).is_err() {
            self.not_delivered(call);
        }
    }

    /// The process has closed its pipe before it could read that.
    fn not_delivered(&self, call: Option<u64>) {
        self.kill.cancel();
        let waiting = call.and_then(|id| lock(&self.state).calls.remove(&id));
        // Nobody may wait for it.
        let _ = waiting.map(|waiting| waiting.ended.send(None));
    }

    /// The process does nothing more.
    fn hangs(&self) {
        self.stop("its process hangs, and is ended");
    }

    /// Ends the process; no more calls begin in it.
    fn stop(&self, why: &str) {
        if !self.kill.is_cancelled() {
            tracing::warn!(target: "wharf::plugin", plugin = %self.plugin, "{why}");
            self.kill.cancel();
        }
    }

    /// Maximum bytes of what the process says at once.
    fn max_frame(&self) -> usize {
        let outputs = lock(&self.state)
            .variants
            .iter()
            .filter_map(|(known, _)| known.upgrade())
            .map(|known| known.limits.output)
            .max();
        MAX_FRAME.saturating_add(usize::try_from(outputs.unwrap_or(0).saturating_mul(2)).unwrap_or(usize::MAX))
    }

    /// Takes what the process says.
    ///
    /// # Errors
    /// If it is nothing that a worker says.
    fn take(self: &Arc<Self>, said: &[u8]) -> Option<()> {
        let mut said = json::tree(str::from_utf8(said).ok()?, json::MAX_DEPTH).ok()?;
        if let Some(id) = said["ended"].as_u64() {
            let waiting = lock(&self.state).calls.remove(&id)?;
            waiting.end(&mut said)
        } else if let Some(id) = said["event"].as_u64() {
            let (events, limit) = {
                let state = lock(&self.state);
                let waiting = state.calls.get(&id)?;
                (waiting.events.clone(), waiting.limits.as_ref().map_or(0, |limits| limits.log))
            };
            let limit = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(MAX_EVENT);
            let event = checked(Event::read(&said["what"])?, limit)?;
            events.into_iter().for_each(|events| events.push(event.clone()));
            Some(())
        } else {
            self.answer(said["ask"].as_u64()?, said["what"].take())
        }
    }

    fn answer(self: &Arc<Self>, number: u64, question: Value) -> Option<()> {
        let permit = self.asked.clone().try_acquire_owned().ok()?;
        let connection = Arc::downgrade(self);
        let (sandbox, plugin, grants) = (self.sandbox.clone(), self.plugin.clone(), self.grants.clone());
        self.sandbox.runtime.guests().spawn(async move {
            let callers = connection.upgrade().map(|connection| {
                let state = lock(&connection.state);
                state.calls.values().filter_map(|waiting| waiting.identity.clone()).collect::<Vec<_>>()
            });
            let callers = callers.unwrap_or_default();
            let answer = asked::answer(&sandbox.runtime.resources, &plugin, &grants, &callers, &question).await;
            if let Some(connection) = connection.upgrade() {
                connection.queue(frame::of(&json!({"answer": number, "what": answer})), None, Some(permit));
            }
        });
        Some(())
    }

    /// The process has ended.
    fn end(&self, why: &str) {
        let calls = {
            let mut state = lock(&self.state);
            state.has_ended = true;
            std::mem::take(&mut state.calls)
        };
        let number = calls.len();
        // They have computed, and nobody knows how much.
        for waiting in calls.into_values() {
            waiting.charge_at_most(Duration::MAX);
        }
        tracing::warn!(target: "wharf::plugin", plugin = %self.plugin, calls = number, "its process ended: {why}");
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill.cancel();
    }
}

/// A call that is cancelled when nobody waits for it.
struct Running {
    connection: Arc<Connection>,
    id: Option<u64>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let Some(()) = self.connection.forget(id) else { return };
        self.connection.send(frame::of(&json!({"dropped": id})));
        // Whoever cancels what they began does not keep it: a guest that is stopped ends at its next tick.
        let connection = Arc::downgrade(&self.connection);
        self.connection.sandbox.runtime.guests().spawn(async move {
            sleep(STOPPING).await;
            if let Some(connection) = connection.upgrade()
                && lock(&connection.state).calls.contains_key(&id)
            {
                connection.hangs();
            }
        });
    }
}

impl Waiting {
    /// For something that is no call of a client.
    fn for_host() -> Self {
        let ended = oneshot::channel().0;
        Self {
            began: Instant::now(),
            limits: None,
            granted: None,
            identity: None,
            events: None,
            charge: None,
            cost: None,
            ended,
        }
    }

    /// Charges computing time: no more than the call may take, or could have since it began.
    fn charge_at_most(&self, cpu: Duration) -> Duration {
        let limit = self.limits.as_ref().map_or(Duration::ZERO, |limits| limits.cpu);
        let cpu = cpu.min(limit).min(self.began.elapsed());
        if let Some(charge) = &self.charge {
            charge.cpu(cpu);
        }
        cpu
    }

    fn end(self, said: &mut Value) -> Option<()> {
        let spent = Spent::read(&said["spent"])?;
        let spent = Spent { cpu: self.charge_at_most(spent.cpu), ..spent };
        if let Some(cost) = &self.cost {
            cost.add(&spent);
        }
        if let Some(events) = &self.events {
            events.add_dropped(said["dropped"].as_u64()?.min(MAX_DROPPED));
        }
        if let Some(granted) = &self.granted {
            granted.add_notes(Notes::read(&said["notes"])?);
        }
        // Nobody may wait for it.
        let _ = self.ended.send(Some(said["what"].take()));
        Some(())
    }
}

/// What a worker never says.
const UNREADABLE: &str = "it said something that is not part of the protocol";

/// An event that can be passed on; `None`: no worker sends it.
fn checked(event: Event, limit: usize) -> Option<Event> {
    let is_short = |text: &String| text.len() <= limit;
    let is_good = match &event {
        Event::Log { logger, data, .. } => {
            logger.iter().all(is_short)
                && match data {
                    LogBody::Text(text) => is_short(text),
                    LogBody::Json(text) => {
                        is_short(text) && !text.contains(['\n', '\r']) && json::check(text, json::MAX_DEPTH).is_ok()
                    }
                }
        }
        Event::Progress { message, .. } => message.iter().all(is_short),
        Event::ResourceUpdated(uri) => is_short(uri),
        Event::ListChanged(_) => true,
    };
    is_good.then_some(event)
}

async fn write(connection: Weak<Connection>, mut frames: mpsc::UnboundedReceiver<Outgoing>, mut to: ChildStdin) {
    let mut is_open = true;
    while let Some(Outgoing { frame, call, _permit }) = frames.recv().await {
        is_open = is_open && to.write_all(&frame).await.is_ok() && to.flush().await.is_ok();
        let Some(connection) = connection.upgrade() else { return };
        connection.unread.fetch_sub(frame.len(), Ordering::Relaxed);
        if !is_open {
            connection.not_delivered(call);
        }
    }
}

/// Takes what a process says until its end.
async fn follow(connection: Weak<Connection>, kill: CancellationToken, mut child: Child, mut from: ChildStdout) {
    let why = loop {
        let limit = || connection.upgrade().map_or(0, |connection| connection.max_frame());
        let said = tokio::select! {
            said = frame::read(&mut from, limit) => said,
            () = kill.cancelled() => break None,
        };
        let Some(connection) = connection.upgrade() else { break None };
        match said {
            Ok(Some(said)) => {
                // A panic would leave calls waiting.
                let taken = std::panic::catch_unwind(AssertUnwindSafe(|| connection.take(&said)));
                if taken.ok().flatten().is_none() {
                    break Some(UNREADABLE.to_owned());
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    // It has closed its pipe, and usually ended.
    let is_ending = why.is_none() && !kill.is_cancelled();
    // No more calls begin in it.
    kill.cancel();
    let status = match timeout(if is_ending { END } else { Duration::ZERO }, child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            // It may have ended already.
            let _ = child.start_kill();
            child.wait().await
        }
    };
    if let Some(connection) = connection.upgrade() {
        connection.end(&why.unwrap_or_else(|| status.map_or_else(|error| error.to_string(), ended)));
    }
}

fn ended(status: ExitStatus) -> String {
    if was_killed_by_filter(status) { "it made a system call that it may not make".into() } else { status.to_string() }
}
