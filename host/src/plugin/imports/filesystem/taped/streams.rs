//! Streams of files by way of the tape of their call.

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use crate::plugin::imports::filesystem::bindings::{ErrorCode, code_of};
use crate::plugin::tape::Tape;
use crate::plugin::tape::kept::{Kept, bytes, member};

const READ: &str = "file read stream";
/// The most that a replayed stream takes at a time: the host makes as many zeros as a guest wants to write.
const MAX_PERMIT: u64 = 64 << 10;

/// What a stream answers.
enum Told<T> {
    Done(T),
    Closed,
    Failed(Failed),
}

/// An error of a stream, as the guest may look at it: its text, and what it is for `wasi:filesystem`.
#[derive(Debug, Clone)]
pub(in super::super) struct Failed {
    text: String,
    pub(in super::super) code: Option<ErrorCode>,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failed {}

impl<T> Told<T> {
    /// `Err`: the guest is stopped.
    fn of(answer: StreamResult<T>) -> wasmtime::Result<Self> {
        match answer {
            Ok(value) => Ok(Self::Done(value)),
            Err(StreamError::Closed) => Ok(Self::Closed),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = error.downcast_ref::<io::Error>().map(code_of);
                Ok(Self::Failed(Failed { text: error.to_string(), code }))
            }
            Err(StreamError::Trap(error)) => Err(error),
        }
    }

    fn given(told: wasmtime::Result<Self>) -> StreamResult<T> {
        match told.map_err(StreamError::Trap)? {
            Self::Done(value) => Ok(value),
            Self::Closed => Err(StreamError::Closed),
            Self::Failed(failed) => Err(StreamError::LastOperationFailed(failed.into())),
        }
    }
}

impl<T: Kept> Kept for Told<T> {
    fn keep(&self) -> Value {
        match self {
            Self::Done(value) => member("ok", value.keep()),
            Self::Closed => "closed".into(),
            Self::Failed(Failed { text, code }) => member("failed", (text.clone(), *code).keep()),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        if value == "closed" {
            return Some(Self::Closed);
        }
        if let Some(failed) = value.get("failed") {
            let (text, code) = Kept::read(failed)?;
            return Some(Self::Failed(Failed { text, code }));
        }
        T::read(value.get("ok")?).map(Self::Done)
    }
}

/// Without a real one it is of a replay.
pub(in super::super) struct TapedInput {
    tape: Tape,
    name: Arc<str>,
    real: Option<DynInputStream>,
    /// What was answered and not read yet: a replay may read less at a time than was recorded.
    rest: Bytes,
}

impl TapedInput {
    pub(in super::super) fn new(tape: Tape, name: Arc<str>, real: Option<DynInputStream>) -> Self {
        Self { tape, name, real, rest: Bytes::new() }
    }

    /// Not with sizes and places: where a secret was taken out, a replay has them otherwise.
    fn asked(&self) -> Value {
        self.name.as_ref().into()
    }

    fn given(&mut self, told: wasmtime::Result<Told<Vec<u8>>>, size: usize) -> StreamResult<Bytes> {
        self.rest = Told::given(told)?.into();
        Ok(self.take_rest(size))
    }

    fn take_rest(&mut self, size: usize) -> Bytes {
        self.rest.split_to(size.min(self.rest.len()))
    }
}

fn to_vec(read: StreamResult<Bytes>) -> StreamResult<Vec<u8>> {
    read.map(|bytes| bytes.to_vec())
}

#[async_trait]
impl InputStream for TapedInput {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if !self.rest.is_empty() {
            return Ok(self.take_rest(size));
        }
        let (with, real) = (self.asked(), self.real.as_mut());
        let told = self
            .tape
            .through(READ, with, || Told::of(to_vec(real.map_or(Err(StreamError::Closed), |real| real.read(size)))));
        self.given(told, size)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        if !self.rest.is_empty() {
            return Ok(self.take_rest(size));
        }
        let (with, tape, real) = (self.asked(), self.tape.clone(), self.real.as_mut());
        let real = async {
            Told::of(to_vec(match real {
                Some(real) => real.blocking_read(size).await,
                None => Err(StreamError::Closed),
            }))
        };
        let told = tape.try_through_async(READ, with, real).await;
        self.given(told, size)
    }

    async fn cancel(&mut self) {
        if let Some(real) = &mut self.real {
            real.cancel().await;
        }
    }
}

#[async_trait]
impl Pollable for TapedInput {
    async fn ready(&mut self) {
        ready(self.real.as_deref_mut()).await;
    }
}

/// Waits for a real stream; one of a replay is always ready.
async fn ready(real: Option<&mut (impl Pollable + ?Sized)>) {
    match real {
        Some(real) => real.ready().await,
        None => tokio::task::yield_now().await,
    }
}

/// Without a real one it is of a replay.
pub(in super::super) struct TapedOutput {
    pub(in super::super) tape: Tape,
    pub(in super::super) name: Arc<str>,
    pub(in super::super) real: Option<DynOutputStream>,
}

impl TapedOutput {
    fn asked<T: Kept>(
        &mut self,
        what: &'static str,
        with: Value,
        real: impl FnOnce(&mut DynOutputStream) -> StreamResult<T>,
    ) -> StreamResult<T> {
        let own = self.real.as_mut();
        Told::given(self.tape.through(what, with, || Told::of(own.map_or(Err(StreamError::Closed), real))))
    }
}

#[async_trait]
impl OutputStream for TapedOutput {
    fn write(&mut self, written: Bytes) -> StreamResult<()> {
        let with = json!([&*self.name, bytes(&written)]);
        self.asked("file write stream", with, |real| real.write(written))
    }

    fn flush(&mut self) -> StreamResult<()> {
        let with = self.name.as_ref().into();
        self.asked("file flush stream", with, |real| real.flush())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        let with = self.name.as_ref().into();
        let permit = self.asked("file check stream", with, |real| Ok(real.check_write()? as u64))?;
        Ok(permit.min(MAX_PERMIT) as usize)
    }

    async fn cancel(&mut self) {
        if let Some(real) = &mut self.real {
            real.cancel().await;
        }
    }
}

#[async_trait]
impl Pollable for TapedOutput {
    async fn ready(&mut self) {
        ready(self.real.as_deref_mut()).await;
    }
}
