//! Files by way of the tape of their call, in which each has the path that the guest knows. A replay has no files: it
//! answers what was recorded.

mod kept;
mod streams;

use std::sync::Arc;

use serde_json::{Value, json};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{FsError, FsResult};

use super::bindings::ErrorCode;
use crate::plugin::events::Events;
use crate::plugin::imports::state::GuestState;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::Denial;
use crate::plugin::tape::Tape;
use crate::plugin::tape::kept::Kept;
pub(super) use streams::{Failed, TapedInput, TapedOutput};

/// A question about a file, of a call that has a tape.
pub(super) struct Question {
    tape: Tape,
    what: &'static str,
    with: Value,
    events: Option<Arc<Events>>,
    /// Whether the folder may only be read, so that a change of it is denied; not known in a replay.
    is_read_only: bool,
}

/// Why something was not done with a file.
struct Refused {
    code: ErrorCode,
    /// The grant is missing.
    denied: bool,
}

/// What stands for a file or a listing in a replay.
struct Played;

impl Question {
    /// The answer; `real` is not polled in a replay. Without a tape it is just that.
    pub(super) async fn answered<T: Kept>(
        question: Option<Self>,
        real: impl Future<Output = FsResult<T>>,
    ) -> FsResult<T> {
        let Some(mut question) = question else { return real.await };
        let (what, with) = (question.what, question.with.take());
        let kept = async { question.kept(real.await) };
        let answer = question.tape.try_through_async(what, with, kept).await;
        question.given(answer)
    }

    /// The same for an answer that is there at once.
    pub(super) fn answered_now<T: Kept>(question: Option<Self>, real: impl FnOnce() -> FsResult<T>) -> FsResult<T> {
        let Some(mut question) = question else { return real() };
        let (what, with) = (question.what, question.with.take());
        let answer = question.tape.through(what, with, || question.kept(real()));
        question.given(answer)
    }

    /// `Err`: the guest is stopped.
    fn kept<T>(&self, answer: FsResult<T>) -> wasmtime::Result<Result<T, Refused>> {
        match answer {
            Ok(value) => Ok(Ok(value)),
            Err(error) => {
                let code = error.downcast()?;
                Ok(Err(Refused { code, denied: self.is_read_only && code == ErrorCode::NotPermitted }))
            }
        }
    }

    fn given<T>(&self, answer: wasmtime::Result<Result<T, Refused>>) -> FsResult<T> {
        let refused = match answer.map_err(FsError::trap)? {
            Ok(value) => return Ok(value),
            Err(refused) => refused,
        };
        if let Some(events) = self.events.as_deref().filter(|_| refused.denied && self.tape.replays()) {
            events.deny(Denial::without_grant(Access::Fs));
        }
        Err(refused.code.into())
    }
}

/// Folders with their handles, and why the plugin has no others.
pub(super) type GivenFolders<D> = (Vec<(Resource<D>, String)>, Vec<String>);

impl GuestState {
    /// A question about what that handle is. `None`: the call has no tape.
    pub(super) fn question(&self, what: &'static str, handle: u32, more: impl FnOnce() -> Value) -> Option<Question> {
        let tape = self.tape.clone()?;
        let is_read_only = self.held.folders.get(&handle).is_some_and(|folder| !folder.is_writable());
        let name = self.file_name(handle);
        let with = match more() {
            Value::Null => (*name).into(),
            more => json!([&*name, more]),
        };
        Some(Question { tape, what, with, events: self.events.clone(), is_read_only })
    }

    /// The folders of a call whose tape has them; `real` gives them with their handles, and says why there are no others.
    pub(super) fn taped_folders<D: 'static>(
        &mut self,
        tape: &Tape,
        real: impl FnOnce(&mut Self) -> wasmtime::Result<GivenFolders<D>>,
    ) -> wasmtime::Result<Vec<(Resource<D>, String)>> {
        let mut given = None;
        let (names, problems): (Vec<String>, Vec<String>) = tape.through("folders", Value::Null, || {
            let (folders, problems) = real(self)?;
            let names = folders.iter().map(|(_, name)| name.clone()).collect();
            given = Some(folders);
            Ok((names, problems))
        })?;
        let folders = match given {
            Some(folders) => folders,
            None => {
                for problem in problems {
                    let denial = Denial { access: Access::Fs, problem: Some(problem) };
                    self.events.iter().for_each(|events| events.deny(denial.clone()));
                }
                let played = |name: String| Ok((self.played()?, name));
                names.into_iter().map(played).collect::<wasmtime::Result<_>>()?
            }
        };
        for (handle, name) in &folders {
            self.name_file(handle.rep(), name.clone());
        }
        Ok(folders)
    }

    /// A handle of a replay.
    pub(super) fn played<T: 'static>(&mut self) -> wasmtime::Result<Resource<T>> {
        Ok(Resource::new_own(self.table().push(Played)?.rep()))
    }

    /// Whether it was one, which is dropped.
    pub(super) fn drop_played(&mut self, handle: u32) -> bool {
        self.held.names.remove(&handle);
        self.replays() && self.table().delete(Resource::<Played>::new_own(handle)).is_ok()
    }

    /// What a handle is called in the tape.
    pub(super) fn name_file(&mut self, handle: u32, name: impl Into<Arc<str>>) {
        if self.tape.is_some() {
            self.held.names.insert(handle, name.into());
        }
    }

    pub(super) fn file_name(&self, handle: u32) -> Arc<str> {
        self.held.names.get(&handle).cloned().unwrap_or_default()
    }
}
