//! The process of one plugin, as its server sees it: started with the component, asked for calls, ended with the last
//! owner of the connection.

use std::collections::HashMap;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};
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
use crate::plugin::error::LoadError;
use crate::plugin::events::{Event, Events, LogBody};
use crate::plugin::fault::{Fault, TrapKind};
use crate::plugin::id::{Digest, PluginId};
use crate::plugin::imports::granted::{Granted, Notes};
use crate::plugin::instance::call::PreparedComponent;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::grants::Grants;
use crate::plugin::provider::Call;
use crate::plugin::sandbox::Sandbox;
use crate::plugin::tape::kept::Kept;
use crate::sync::lock;

/// Time to start a worker and to link the component in it.
const START: Duration = Duration::from_secs(30);
/// How long after its deadline a call is waited for: the worker ends it before, unless it hangs.
const GRACE: Duration = Duration::from_secs(2);
/// How long a process may take to end when it has closed its pipe.
const END: Duration = Duration::from_secs(1);
/// Maximum bytes of a frame of a worker, besides six times the limit of a result: as JSON, a byte may become six.
const MAX_FRAME: usize = 32 << 20;
/// Maximum questions of a worker that are not answered.
const MAX_ASKED: usize = 256;

/// What a process is started with.
pub(super) struct Source {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) plugin: PluginId,
    pub(super) digest: Digest,
    pub(super) component: Arc<Vec<u8>>,
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
    /// Ends the process.
    kill: CancellationToken,
}

/// A frame, with the permit of the question that it answers.
type Outgoing = (Vec<u8>, Option<OwnedSemaphorePermit>);

#[derive(Default)]
struct State {
    has_ended: bool,
    last: u64,
    /// Calls that were sent, and whose end was not said.
    calls: HashMap<u64, Waiting>,
    /// The settings that it knows, by what they are of.
    variants: Vec<(Weak<PreparedComponent>, u64)>,
}

/// What is to be done when a call has ended.
struct Waiting {
    granted: Option<Arc<Granted>>,
    identity: Option<Arc<Identity>>,
    events: Option<Arc<Events>>,
    charge: Option<Arc<Charge>>,
    cost: Option<Arc<Cost>>,
    /// Nobody may wait for it any more: what it costs is charged all the same.
    ended: oneshot::Sender<Value>,
}

impl Connection {
    /// Starts a process, and links the component in it; also returns the kinds of access that it requires. Must be called
    /// on the guests' threads.
    ///
    /// # Errors
    /// Why it does not run there.
    pub(super) async fn start(source: &Source, grants: Arc<Grants>) -> Result<(Arc<Self>, Vec<Access>), LoadError> {
        let Source { sandbox, plugin, digest, component } = source;
        let program = sandbox.worker.program.as_ref().ok_or_else(|| {
            LoadError::Host("start a process for the plugin: this host does not know its program".into())
        })?;
        let code = sandbox.compilation.bytes(component.clone(), *digest).await?;
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            LoadError::Host(format!("{what} the process of the plugin: {error}"))
        };
        let mut command = Command::new(&program.program);
        clear_environment(&mut command).args(&program.arguments).current_dir("/");
        for name in CERTIFICATE_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| failed("start", &error))?;
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
            kill: CancellationToken::new(),
        });
        let guests = sandbox.runtime.guests();
        guests.spawn(write(frames, stdin));
        guests.spawn(follow(Arc::downgrade(&connection), connection.kill.clone(), child, stdout));
        let protected = &sandbox.runtime.resources.protected;
        let setup = Setup {
            plugin: plugin.to_string(),
            digest: digest.to_string(),
            confined,
            protected: (protected.trees.clone(), protected.tops.clone()),
            workers: u64::from(sandbox.runtime.workers()),
            memory: sandbox.runtime.memory.limit(),
        };
        // The first call is that for what it links.
        let (_, started) = connection.begin(Waiting::for_host());
        for frame in [frame::of(&setup.keep()), frame::of_bytes(component), frame::of_bytes(&code)] {
            connection.send(frame);
        }
        match timeout(START, started).await {
            Ok(Ok(said)) => {
                let linked: Option<Result<Vec<Access>, LoadError>> = Kept::read(&said);
                Ok((connection, linked.unwrap_or_else(|| Err(failed("start", &UNREADABLE)))?))
            }
            Ok(Err(_)) => Err(failed("start", &"it ended, see the log")),
            Err(_) => Err(failed("start", &format!("it takes more than {} s", START.as_secs()))),
        }
    }

    /// Whether calls of the plugin can run in it: it has not ended, and was started for what callers have now.
    pub(super) fn serves(&self, granted: &Granted) -> bool {
        let base = granted.base();
        !lock(&self.state).has_ended && (Arc::ptr_eq(base, &self.grants) || **base == *self.grants)
    }

    /// Asks for something under these settings, and waits for what is said at its end. Dropped, it is cancelled there.
    ///
    /// # Errors
    /// If the process ends before, or hangs.
    pub(super) async fn ask(
        &self,
        prepared: &Arc<PreparedComponent>,
        what: Value,
        call: Call,
        deadline: Instant,
    ) -> Result<Value, Fault> {
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
            granted: Some(prepared.granted.clone()),
            identity: call.identity,
            events: call.events,
            charge: call.charge,
            cost: call.cost,
            ended: oneshot::channel().0,
        };
        let (id, mut ended) = self.begin(waiting);
        self.send(frame::of(&json!({
            "call": id, "variant": variant, "what": what, "context": context.keep(), "who": who,
        })));
        let mut running = Running { connection: self, id: Some(id) };
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
                tracing::warn!(target: "wharf::plugin", plugin = %self.plugin, "its process hangs, and is ended");
                self.kill.cancel();
                Err(prepared.out_of_time())
            }
        }
    }

    /// The worker said something that it never says: it is not what was started.
    pub(super) fn distrust(&self) -> Fault {
        tracing::error!(target: "wharf::plugin", plugin = %self.plugin, "its process is ended: {UNREADABLE}");
        self.kill.cancel();
        Fault::Trap(TrapKind::ProcessEnded)
    }

    /// The number of these settings, which are sent if it does not know them.
    fn variant(&self, prepared: &Arc<PreparedComponent>) -> u64 {
        let mut state = lock(&self.state);
        let known = state.variants.iter().find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(prepared)));
        if let Some((_, number)) = known {
            return *number;
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

    fn begin(&self, waiting: Waiting) -> (u64, oneshot::Receiver<Value>) {
        let (ended, receiver) = oneshot::channel();
        let mut state = lock(&self.state);
        state.last += 1;
        let id = state.last;
        if !state.has_ended {
            state.calls.insert(id, Waiting { ended, ..waiting });
        }
        (id, receiver)
    }

    fn send(&self, frame: Vec<u8>) {
        // The process may have ended, which calls are told.
        let _ = self.to.send((frame, None));
    }

    /// Maximum bytes of what the process says at once.
    fn max_frame(&self) -> usize {
        let outputs = lock(&self.state)
            .variants
            .iter()
            .filter_map(|(known, _)| known.upgrade())
            .map(|known| known.limits.output)
            .max();
        MAX_FRAME.saturating_add(usize::try_from(outputs.unwrap_or(0).saturating_mul(6)).unwrap_or(usize::MAX))
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
            let events = lock(&self.state).calls.get(&id)?.events.clone();
            let event = checked(Event::read(&said["what"])?)?;
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
            let caller = |name: &str| {
                let connection = connection.upgrade()?;
                let state = lock(&connection.state);
                let mut callers = state.calls.values().filter_map(|waiting| waiting.identity.as_ref());
                callers.find(|identity| **identity.name() == *name).cloned()
            };
            let answer = asked::answer(&sandbox.runtime.resources, &plugin, &grants, caller, &question).await;
            if let Some(connection) = connection.upgrade() {
                let answer = frame::of(&json!({"answer": number, "what": answer}));
                // As [`Self::send`].
                let _ = connection.to.send((answer, Some(permit)));
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
        let calls = calls.len();
        tracing::warn!(target: "wharf::plugin", plugin = %self.plugin, calls, "its process ended: {why}");
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill.cancel();
    }
}

/// A call that is cancelled when nobody waits for it.
struct Running<'a> {
    connection: &'a Connection,
    id: Option<u64>,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.connection.send(frame::of(&json!({"dropped": id})));
        }
    }
}

impl Waiting {
    /// For something that is no call of a client.
    fn for_host() -> Self {
        let ended = oneshot::channel().0;
        Self { granted: None, identity: None, events: None, charge: None, cost: None, ended }
    }

    fn end(self, said: &mut Value) -> Option<()> {
        let spent = Spent::read(&said["spent"])?;
        if let Some(charge) = &self.charge {
            charge.cpu(spent.cpu);
        }
        if let Some(cost) = &self.cost {
            cost.add(&spent);
        }
        if let Some(events) = &self.events {
            events.add_dropped(said["dropped"].as_u64()?);
        }
        if let Some(granted) = &self.granted {
            granted.add_notes(Notes::read(&said["notes"])?);
        }
        // Nobody may wait for it.
        let _ = self.ended.send(said["what"].take());
        Some(())
    }
}

/// What a worker never says.
const UNREADABLE: &str = "it said something that is not part of the protocol";

/// An event that can be passed on; `None`: no worker sends it.
fn checked(event: Event) -> Option<Event> {
    let is_good = match &event {
        Event::Log { data: LogBody::Json(text), .. } => {
            !text.contains(['\n', '\r']) && json::check(text, json::MAX_DEPTH).is_ok()
        }
        _ => true,
    };
    is_good.then_some(event)
}

async fn write(mut frames: mpsc::UnboundedReceiver<Outgoing>, mut to: ChildStdin) {
    while let Some((frame, _permit)) = frames.recv().await {
        if to.write_all(&frame).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// Takes what a process says until its end.
async fn follow(connection: Weak<Connection>, kill: CancellationToken, mut child: Child, mut from: ChildStdout) {
    let why = loop {
        let Some(limit) = connection.upgrade().map(|connection| connection.max_frame()) else { break None };
        let said = tokio::select! {
            said = frame::read(&mut from, limit) => said,
            () = kill.cancelled() => break None,
        };
        let Some(connection) = connection.upgrade() else { break None };
        match said {
            Ok(Some(said)) => {
                if connection.take(&said).is_none() {
                    break Some(UNREADABLE.to_owned());
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    let status = match timeout(END, child.wait()).await {
        Ok(status) if why.is_none() && !kill.is_cancelled() => status,
        _ => {
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
