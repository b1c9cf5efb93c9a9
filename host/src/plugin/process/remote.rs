//! The dialect of a plugin whose guest runs in another process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::connection::{Connection, START, Source};
use super::setup::Listing;
use crate::plugin::abi::{Completion, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use crate::plugin::dialects::Dialect;
use crate::plugin::error::LoadError;
use crate::plugin::fault::{CallError, Fault, TrapKind};
use crate::plugin::instance::call::PreparedComponent;
use crate::plugin::outcome;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::grants::Grants;
use crate::plugin::provider::Call;
use crate::plugin::schema::Violation;
use crate::plugin::surface::{FrozenTool, Listed, ListingWarning, Surface};
use crate::plugin::tape::kept::Kept;
use crate::plugin::tape::{Called, Completing};
use crate::sync::lock;
use crate::text;

/// Maximum violations of a schema that are passed on.
const MAX_VIOLATIONS: usize = 64;
/// Maximum bytes of a text of an error.
const MAX_TEXT: usize = 16 << 10;

/// A plugin in a process of its own, which is begun anew when it has ended.
pub(in crate::plugin) struct Remote {
    source: Arc<Source>,
    connection: tokio::sync::Mutex<Arc<Connection>>,
    listed: Mutex<Said>,
}

/// What was said with the last listing, besides the lists.
#[derive(Default)]
struct Said {
    warnings: Vec<ListingWarning>,
    spoken: Option<String>,
    long_names: HashMap<String, String>,
}

impl Remote {
    /// Starts the process; also returns the kinds of access that the component requires.
    ///
    /// # Errors
    /// Why the component does not run there.
    pub(in crate::plugin) async fn start(source: Source, grants: &Grants) -> Result<(Self, Vec<Access>), LoadError> {
        let source = Arc::new(source);
        let (connection, needs) = started(&source, Arc::new(grants.clone())).await?;
        let connection = tokio::sync::Mutex::new(connection);
        Ok((Self { source, connection, listed: Mutex::default() }, needs))
    }

    /// The process, started anew if it has ended, or may not do what these settings need.
    async fn connection(&self, prepared: &Arc<PreparedComponent>) -> Result<Arc<Connection>, LoadError> {
        let mut connection = self.connection.lock().await;
        if !connection.serves(prepared) {
            let (fresh, _) = started(&self.source, prepared.granted.base().clone()).await?;
            // A new process knows no tools yet.
            listing(&fresh, prepared).await?;
            *connection = fresh;
        }
        Ok(connection.clone())
    }

    /// Calls something, and checks what comes back: the process may be under a guest's control.
    async fn call<T: Kept + Send + 'static, F>(
        &self,
        prepared: &Arc<PreparedComponent>,
        called: &Called,
        call: Call,
        check: impl FnOnce(Arc<PreparedComponent>, T) -> F + Send,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let what = Value::Object(called.keep());
        let outcome = prepared
            .elsewhere(call, |call, deadline: Instant| async move {
                // Once more, if the process had ended and nothing of the call has reached it.
                for _ in 0..2 {
                    let connecting = timeout_at(deadline, self.connection(prepared)).await;
                    let connection = connecting.map_err(|_| prepared.out_of_time())?.map_err(|error| {
                        tracing::error!(target: "wharf::plugin", plugin = %prepared.id, "failed to {error}");
                        Fault::Trap(TrapKind::ProcessEnded)
                    })?;
                    if let Some(said) = connection.ask(prepared, what.clone(), call.clone(), deadline).await? {
                        let outcome = Result::<T, CallError>::read(&said);
                        let believed = outcome.map(|outcome| outcome.map_err(|error| believed(error, prepared)));
                        return match believed {
                            Some(Ok(outcome)) => Ok(outcome),
                            Some(Err(Some(error))) => Err(error),
                            None | Some(Err(None)) => Err(connection.distrust().into()),
                        };
                    }
                }
                Err(Fault::Trap(TrapKind::ProcessEnded).into())
            })
            .await?;
        let checked = check(prepared.clone(), outcome);
        prepared.compute(async move { checked.await.map_err(CallError::from) }).await
    }
}

/// An error that a worker can know of, with the limits that it has and texts that are bounded; `None`: it is another.
fn believed(error: CallError, prepared: &PreparedComponent) -> Option<CallError> {
    Some(match error {
        CallError::Guest(error) => outcome::guest_error(error),
        CallError::Input(mut violations) => {
            violations.truncate(MAX_VIOLATIONS);
            for Violation { path, reason, expected } in &mut violations {
                [path, reason, expected].into_iter().for_each(bounded);
            }
            CallError::Input(violations)
        }
        CallError::Fault(fault) => CallError::Fault(match fault {
            Fault::Timeout { .. } => prepared.out_of_time(),
            Fault::Cpu { .. } => prepared.out_of_cpu(),
            Fault::Memory { .. } => Fault::Memory { limit: prepared.limits.memory },
            Fault::OutputTooLarge { .. } => Fault::OutputTooLarge { limit: prepared.limits.output },
            Fault::BadOutput(mut why) => {
                bounded(&mut why);
                Fault::BadOutput(why)
            }
            Fault::Denied { mut denial, mut message } => {
                denial.problem.iter_mut().chain(&mut message).for_each(bounded);
                Fault::Denied { denial, message }
            }
            Fault::Trap(kind) => Fault::Trap(kind),
            Fault::SharedMemory => Fault::SharedMemory,
            Fault::Host => Fault::Host,
            // A call that was cancelled may not have stopped there yet.
            Fault::Busy => Fault::Busy,
            Fault::Compiling | Fault::NotLoaded | Fault::Quarantined { .. } => return None,
        }),
    })
}

/// Cuts a text of a worker, and takes out what is not shown.
fn bounded(text: &mut String) {
    text.truncate(text::prefix(text, MAX_TEXT).len());
    text.retain(|character| !character.is_control() || matches!(character, '\n' | '\t'));
}

/// A new process. The pipes belong to the runtime of the guests.
async fn started(source: &Arc<Source>, grants: Arc<Grants>) -> Result<(Arc<Connection>, Vec<Access>), LoadError> {
    let of_task = source.clone();
    let starting = source.sandbox.runtime.guests().spawn(async move { Connection::start(&of_task, grants).await });
    AbortOnDropHandle::new(starting).await.unwrap_or_else(|error| Err(LoadError::Host(error.to_string())))
}

/// What a process lists under these settings.
async fn listing(connection: &Arc<Connection>, prepared: &Arc<PreparedComponent>) -> Result<Listing, LoadError> {
    // The guest's own deadline is shorter; what it lists is checked after it.
    let deadline = Instant::now() + START;
    let said = connection.ask(prepared, json!({"list": true}), Call::new("list"), deadline).await;
    let said = said.and_then(|said| said.ok_or(Fault::Trap(TrapKind::ProcessEnded))).map_err(LoadError::of_fault)?;
    Result::read(&said).unwrap_or_else(|| Err(LoadError::of_fault(connection.distrust())))
}

#[async_trait]
impl Dialect for Remote {
    async fn list(&self, prepared: &Arc<PreparedComponent>) -> Result<Listed, LoadError> {
        let connection = self.connection(prepared).await?;
        let Listing { stored, warnings, spoken, long_names } = listing(&connection, prepared).await?;
        *lock(&self.listed) = Said { warnings, spoken, long_names: long_names.into_iter().collect() };
        Listed::of_stored(&stored).ok_or_else(|| LoadError::of_fault(connection.distrust()))
    }

    fn spoken(&self) -> Option<String> {
        lock(&self.listed).spoken.clone()
    }

    fn freeze(&self, listed: Listed) -> Result<(Surface, Vec<ListingWarning>), LoadError> {
        let (mut surface, mut warnings) = listed.freeze()?;
        let mut said = lock(&self.listed);
        for tool in surface.tools.iter_mut().flatten() {
            tool.long_name = said.long_names.remove(&tool.tool.name);
        }
        warnings.append(&mut said.warnings);
        Ok((surface, warnings))
    }

    async fn call_tool(
        &self,
        prepared: &Arc<PreparedComponent>,
        tool: &FrozenTool,
        arguments: Arc<str>,
        call: Call,
    ) -> Result<ToolOutcome, CallError> {
        let called = Called::Tool(tool.tool.name.clone(), arguments.to_string());
        let output = tool.output.clone();
        let check = |prepared: Arc<PreparedComponent>, outcome| async move {
            outcome::tool(&prepared, outcome, output.as_ref()).await
        };
        self.call(prepared, &called, call, check).await
    }

    async fn read_resource(
        &self,
        prepared: &Arc<PreparedComponent>,
        uri: &str,
        call: Call,
    ) -> Result<ReadOutcome, CallError> {
        let check = |prepared: Arc<PreparedComponent>, outcome| async move {
            outcome::read(outcome, &prepared.forms, prepared.limits.output)
        };
        self.call(prepared, &Called::Resource(uri.to_owned()), call, check).await
    }

    async fn get_prompt(
        &self,
        prepared: &Arc<PreparedComponent>,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let check = |prepared: Arc<PreparedComponent>, outcome| async move {
            outcome::prompt(outcome, &prepared.forms, prepared.limits.output)
        };
        self.call(prepared, &Called::Prompt(name.to_owned(), arguments), call, check).await
    }

    async fn complete(
        &self,
        prepared: &Arc<PreparedComponent>,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let (argument, value) = (name.to_owned(), value.to_owned());
        let called = Called::Completion(Completing { subject, argument, value, given });
        let check = |prepared: Arc<PreparedComponent>, outcome| async move {
            outcome::completion(outcome, prepared.limits.output)
        };
        self.call(prepared, &called, call, check).await
    }

    async fn call_method(
        &self,
        prepared: &Arc<PreparedComponent>,
        name: &str,
        params: &str,
        call: Call,
    ) -> Result<String, CallError> {
        let check =
            |prepared: Arc<PreparedComponent>, outcome| async move { outcome::method(outcome, prepared.limits.output) };
        self.call(prepared, &Called::Method(name.to_owned(), params.to_owned()), call, check).await
    }
}
