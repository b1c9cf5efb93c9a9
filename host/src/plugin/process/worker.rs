//! The process of one plugin: the component on stdin, then its calls; what becomes of them on stdout.
//!
//! It ends with its pipe. What a guest gets here is what it would get in the server: the same sandbox, with the values
//! and the callers' secrets of the server, which is asked for them.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::asked;
use super::frame;
use super::setup::{Listing, Setup, Variant};
use crate::identity::{AccessGrant, Identity, SecretText};
use crate::json;
use crate::metrics::{Cost, Spent};
use crate::os::signals::Signals;
use crate::plugin::abi::CallContext;
use crate::plugin::component::cache::Artifact;
use crate::plugin::component::compile::Compiler;
use crate::plugin::component::engine;
use crate::plugin::component::file::MAX_SIZE;
use crate::plugin::dialects::linked::Linked;
use crate::plugin::error::LoadError;
use crate::plugin::events::Events;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::id::{Digest, PluginId};
use crate::plugin::imports::filesystem::ProtectedFolders;
use crate::plugin::imports::granted::Notes;
use crate::plugin::imports::keyvalue::{AskServer, KeyvaluePlace};
use crate::plugin::instance::call::PreparedComponent;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::personal::PersonalSecrets;
use crate::plugin::policy::secret::Missing;
use crate::plugin::provider::Call;
use crate::plugin::sandbox::{Sandbox, SandboxSettings};
use crate::plugin::surface::{FrozenTool, Listed, SchemaStyle, Surface};
use crate::plugin::tape::kept::Kept;
use crate::plugin::tape::{Called, Completing};
use crate::sync::lock;

/// The hidden argument that makes this program such a process.
pub const WORKER: &str = "sandbox-worker";

/// Maximum bytes of native code.
const MAX_CODE: usize = 256 << 20;
/// Maximum bytes of a frame of the server.
const MAX_FRAME: usize = 256 << 20;
/// Frames that wait to be written.
const WAITING: usize = 64;

/// How long a guest that is stopped may run on: to the next tick of the epoch, or the end of a system call.
const STOPPING: Duration = Duration::from_secs(5);
/// Between two looks whether it still does.
const PAUSE: Duration = Duration::from_millis(1);

/// Serves one plugin until stdin ends. `main` calls it before it does anything else, so that there is one thread to
/// confine; `confined` is called then.
///
/// # Errors
/// Why it cannot begin. What is wrong with the component is told to the server.
pub fn run(confined: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let mut from = io::stdin().lock();
    let mut next = |limit| {
        let frame =
            frame::read_blocking(&mut from, limit).map_err(|error| format!("read what the server says: {error}"))?;
        frame.ok_or_else(|| format!("{WORKER} is started by the sandbox, which says what to run"))
    };
    let setup = tree(&next(MAX_FRAME)?).as_ref().and_then(Setup::read).ok_or("read what the server says: no setup")?;
    let component = next(usize::try_from(MAX_SIZE).unwrap_or(usize::MAX))?;
    let code = next(MAX_CODE)?;
    setup.confined.enter()?;
    confined()?;
    let (to, frames) = mpsc::channel(WAITING);
    let written = std::thread::Builder::new().name("wharf-written".into()).spawn(move || write(frames));
    written.map_err(|error| format!("start a thread: {error}"))?;
    let server = Arc::new(Server { to, last: AtomicU64::new(0), asked: Mutex::default() });
    let sandbox = Sandbox::new(SandboxSettings {
        compiler: Compiler::InProcess,
        engine: setup.engine,
        keyvalue: KeyvaluePlace::Server(server.clone()),
        protected: ProtectedFolders { trees: setup.protected.0.clone(), tops: setup.protected.1.clone() },
        memory_budget: setup.memory,
        workers: usize::try_from(setup.workers).unwrap_or(1),
        schemas: SchemaStyle::Verbatim,
        personal: server.clone(),
        ..SandboxSettings::default()
    });
    let sandbox = sandbox.map_err(|error| format!("start the sandbox: {error:#}"))?;
    // They are for the server, which ends this process when its calls have ended.
    let ignored = {
        let _entered = sandbox.runtime.guests().enter();
        Signals::listen()
    };
    drop(ignored.map_err(|error| format!("ignore signals: {error}"))?);
    let linked = linked(&sandbox, &setup, &component, code);
    drop(component);
    let needs = |linked: &Arc<Linked>| linked.needs.iter().copied().collect::<Vec<Access>>();
    let told = linked.as_ref().map(needs).map_err(LoadError::clone);
    let ended = Ended { id: FIRST, what: told.keep(), ..Ended::default() };
    server.say_now(&ended.said());
    let Ok(linked) = linked else {
        // The server, which is being told, ends a process without a plugin.
        while let Ok(Some(_)) = frame::read_blocking(&mut from, MAX_FRAME) {}
        return Ok(());
    };
    let worker = Arc::new(Worker {
        id: PluginId::parse(&setup.plugin).map_err(|error| error.to_string())?,
        digest: Digest::parse(&setup.digest).ok_or("read what the server says: no digest")?,
        sandbox,
        server,
        linked,
        surface: Mutex::default(),
        variants: Mutex::default(),
        calls: Mutex::default(),
    });
    loop {
        let frame = frame::read_blocking(&mut from, MAX_FRAME);
        let Ok(Some(frame)) = frame else { break };
        worker.take(&frame).ok_or("read what the server says: it is no frame of this version")?;
    }
    Ok(())
}

/// The number of the first call, which is that for the linked component.
const FIRST: u64 = 1;

fn linked(sandbox: &Arc<Sandbox>, setup: &Setup, component: &[u8], code: Vec<u8>) -> Result<Arc<Linked>, LoadError> {
    let host = |why: &str| LoadError::Host(why.to_owned());
    let digest = Digest::parse(&setup.digest).ok_or_else(|| host("no digest"))?;
    let code = Artifact::of_compiler(code).load(&sandbox.runtime.engine, digest);
    let code = code.map_err(|error| engine::exceeded(&error).unwrap_or_else(|| host(&format!("{error:#}"))))?;
    Linked::new(&sandbox.linker, code, component).map(Arc::new)
}

/// Whose call it is: the name of a token, or issuer and subject. `None`: it is neither.
fn identity(who: &Value) -> Option<Option<Identity>> {
    Some(match Option::<Vec<String>>::read(who)?.as_deref() {
        None => None,
        Some([name]) => Some(Identity::token(name)),
        Some([issuer, subject]) => Some(Identity::subject(AccessGrant::of(issuer, subject))),
        Some(_) => return None,
    })
}

fn tree(frame: &[u8]) -> Option<Value> {
    json::tree(str::from_utf8(frame).ok()?, json::MAX_DEPTH).ok()
}

fn write(mut frames: mpsc::Receiver<Vec<u8>>) {
    let mut to = io::stdout().lock();
    while let Some(frame) = frames.blocking_recv() {
        if frame::write_blocking(&mut to, &frame).is_err() {
            // The server is gone, and stdin ends too.
            return;
        }
    }
}

/// The server, which is told and asked.
struct Server {
    to: mpsc::Sender<Vec<u8>>,
    last: AtomicU64,
    /// Questions without an answer.
    asked: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
}

impl Server {
    async fn say(&self, said: &Value) {
        // Without a server the process ends.
        let _ = self.to.send(frame::of(said)).await;
    }

    fn say_now(&self, said: &Value) {
        let _ = self.to.blocking_send(frame::of(said));
    }
}

#[async_trait]
impl AskServer for Server {
    async fn ask(&self, question: Value) -> Option<Value> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let (answered, answer) = oneshot::channel();
        lock(&self.asked).insert(number, answered);
        self.say(&json!({"ask": number, "what": question})).await;
        answer.await.ok()
    }
}

#[async_trait]
impl PersonalSecrets for Server {
    async fn value(&self, name: &str, exchanged: bool, of: &Arc<Identity>) -> Result<SecretText, Missing> {
        let answer = self.ask(asked::secret_question(name, exchanged, of.name())).await;
        asked::secret(answer.as_ref()).map(SecretText::new)
    }
}

struct Worker {
    id: PluginId,
    digest: Digest,
    sandbox: Arc<Sandbox>,
    server: Arc<Server>,
    linked: Arc<Linked>,
    /// What it listed last.
    surface: Mutex<Arc<Surface>>,
    variants: Mutex<HashMap<u64, Arc<PreparedComponent>>>,
    calls: Mutex<HashMap<u64, Calling>>,
}

/// A call that runs.
struct Calling {
    /// Tells the guest.
    cancelled: CancellationToken,
    /// Stops it.
    dropped: CancellationToken,
}

/// How a call ended.
#[derive(Default)]
struct Ended {
    id: u64,
    what: Value,
    spent: Spent,
    dropped: u64,
    notes: Notes,
}

impl Ended {
    fn said(self) -> Value {
        let Self { id, what, spent, dropped, notes } = self;
        json!({"ended": id, "what": what, "spent": spent.keep(), "dropped": dropped, "notes": notes.keep()})
    }
}

impl Worker {
    /// Does what the server says. `None`: it says something else.
    fn take(self: &Arc<Self>, said: &[u8]) -> Option<()> {
        let mut said = tree(said)?;
        if let Some(id) = said["call"].as_u64() {
            self.begin(id, said)
        } else if let Some(number) = said["variant"].as_u64() {
            let Variant { limits, grants, is_of_task } = Variant::read(&said["settings"])?;
            let (runtime, pre) = (self.sandbox.runtime.clone(), self.linked.pre().cloned());
            let prepared = PreparedComponent::new(runtime, self.id.clone(), self.digest, limits, grants, pre);
            let prepared = if is_of_task { prepared.as_task().clone() } else { prepared };
            let mut variants = lock(&self.variants);
            for gone in said["gone"].as_array()? {
                variants.remove(&gone.as_u64()?);
            }
            variants.insert(number, prepared);
            Some(())
        } else if let Some(number) = said["answer"].as_u64() {
            let asked = lock(&self.server.asked).remove(&number)?;
            // The guest may have been stopped.
            let _ = asked.send(said["what"].take());
            Some(())
        } else if let Some(id) = said["cancelled"].as_u64() {
            // It may have ended.
            if let Some(calling) = lock(&self.calls).get(&id) {
                calling.cancelled.cancel();
            }
            Some(())
        } else {
            let id = said["dropped"].as_u64()?;
            // As above.
            if let Some(calling) = lock(&self.calls).get(&id) {
                calling.dropped.cancel();
            }
            Some(())
        }
    }

    fn begin(self: &Arc<Self>, id: u64, said: Value) -> Option<()> {
        let prepared = lock(&self.variants).get(&said["variant"].as_u64()?)?.clone();
        let CallContext { id: name, client, time_left_ms, answers, state, meta } = Kept::read(&said["context"])?;
        let who = identity(&said["who"])?.map(Arc::new);
        let what = match said["what"].get("list") {
            Some(_) => None,
            None => Some(Called::read(&said["what"])?),
        };
        let (cancelled, dropped) = (CancellationToken::new(), CancellationToken::new());
        let (events, cost) = (Arc::new(Events::default()), Arc::new(Cost::default()));
        let call = Call {
            identity: who,
            cost: Some(cost.clone()),
            client,
            answers,
            state,
            meta,
            deadline: Some(Instant::now() + Duration::from_millis(time_left_ms)),
            events: Some(events.clone()),
            cancelled: cancelled.clone(),
            ..Call::new(name)
        };
        lock(&self.calls).insert(id, Calling { cancelled, dropped: dropped.clone() });
        let worker = self.clone();
        self.sandbox.runtime.guests().spawn(async move {
            let what = tokio::select! {
                what = worker.run(id, &prepared, what, call, &events) => what,
                () = dropped.cancelled() => Value::Null,
            };
            // What it costs is known when nothing of the call is left that adds to it.
            let since = Instant::now();
            while Arc::strong_count(&cost) > 1 && since.elapsed() < STOPPING {
                tokio::time::sleep(PAUSE).await;
            }
            let ended =
                Ended { id, what, spent: cost.spent(), dropped: events.dropped(), notes: prepared.granted.notes() };
            worker.server.say(&ended.said()).await;
            lock(&worker.calls).remove(&id);
            worker.sandbox.on_idle();
        });
        Some(())
    }

    /// Runs a call, and passes its events on.
    async fn run(
        &self,
        id: u64,
        prepared: &Arc<PreparedComponent>,
        what: Option<Called>,
        call: Call,
        events: &Events,
    ) -> Value {
        let running = async {
            match what {
                Some(called) => self.call(prepared, called, call).await,
                None => self.list(prepared).await.keep(),
            }
        };
        tokio::pin!(running);
        let ended = loop {
            tokio::select! {
                ended = &mut running => break ended,
                event = events.next() => self.server.say(&json!({"event": id, "what": event.keep()})).await,
            }
        };
        while let Some(event) = events.take() {
            self.server.say(&json!({"event": id, "what": event.keep()})).await;
        }
        ended
    }

    async fn list(&self, prepared: &Arc<PreparedComponent>) -> Result<Listing, LoadError> {
        self.linked.fits(&prepared.limits)?;
        prepared.granted.open_folders().await;
        let dialect = &self.linked.dialect;
        let listed = Listed { schemas: SchemaStyle::Verbatim, ..dialect.list(prepared).await? };
        let linked = self.linked.clone();
        let frozen = self.sandbox.runtime.guests().spawn_blocking(move || linked.dialect.freeze(listed)).await;
        let (surface, warnings) = frozen.map_err(|error| LoadError::Host(error.to_string()))??;
        let long_name = |tool: &FrozenTool| Some((tool.tool.name.clone(), tool.long_name.clone()?));
        let long_names = surface.tools.iter().flatten().filter_map(long_name).collect();
        let listing = Listing { stored: surface.stored(), warnings, spoken: dialect.spoken(), long_names };
        *lock(&self.surface) = Arc::new(surface);
        self.linked.unmap_code();
        Ok(listing)
    }

    async fn call(&self, prepared: &Arc<PreparedComponent>, called: Called, call: Call) -> Value {
        let dialect = &self.linked.dialect;
        match called {
            Called::Tool(name, arguments) => {
                let surface = lock(&self.surface).clone();
                match surface.tool(&name) {
                    Some(tool) => dialect.call_tool(prepared, tool, arguments.into(), call).await.keep(),
                    None => Err::<(), _>(CallError::Fault(Fault::Host)).keep(),
                }
            }
            Called::Resource(uri) => dialect.read_resource(prepared, &uri, call).await.keep(),
            Called::Prompt(name, arguments) => dialect.get_prompt(prepared, &name, arguments, call).await.keep(),
            Called::Completion(Completing { subject, argument, value, given }) => {
                dialect.complete(prepared, subject, &argument, &value, given, call).await.keep()
            }
            Called::Method(name, params) => dialect.call_method(prepared, &name, &params, call).await.keep(),
        }
    }
}
