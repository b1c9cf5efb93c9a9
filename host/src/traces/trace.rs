//! The trace of one request: its own span, and those of what it did.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::Collecting;
use super::context::TraceParent;
use crate::sync::lock;

/// Spans of one request, besides its own. Further ones are counted.
pub const MAX_SPANS: usize = 64;

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(Cow<'static, str>),
    Integer(i64),
    Number(f64),
}

/// The id of a span.
pub type SpanId = [u8; 8];

/// A name and its value.
pub type Attribute = (&'static str, Value);

/// The running trace of a request. It is handed over when the last that knows it is dropped: a call that has become a
/// task goes on after its request.
pub struct Trace {
    own: TraceParent,
    parent: Option<SpanId>,
    caller: Arc<str>,
    began: (SystemTime, Instant),
    collecting: Arc<Collecting>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    name: Cow<'static, str>,
    attributes: Vec<Attribute>,
    error: Option<Cow<'static, str>>,
    took: Option<Duration>,
    spans: Vec<Span>,
    /// That have begun, which is when the limit counts: what begins early ends late.
    begun: usize,
}

/// The trace of a request that has ended.
pub struct Ended {
    /// The request's own span.
    pub own: TraceParent,
    pub parent: Option<SpanId>,
    pub name: Cow<'static, str>,
    pub began: SystemTime,
    pub took: Duration,
    pub attributes: Vec<Attribute>,
    pub error: Option<Cow<'static, str>>,
    pub spans: Vec<Span>,
    /// Spans beyond [`MAX_SPANS`].
    pub dropped: u32,
}

/// Something that the request did.
#[derive(Debug, PartialEq)]
pub struct Span {
    pub id: SpanId,
    /// The span that it is a part of; `None`: the request's.
    pub within: Option<SpanId>,
    pub name: Cow<'static, str>,
    /// It was done by another service.
    pub is_remote: bool,
    /// After the beginning of the request.
    pub began: Duration,
    pub took: Duration,
    pub attributes: Vec<Attribute>,
    pub error: Option<Cow<'static, str>>,
}

impl Trace {
    pub(super) fn new(own: TraceParent, parent: Option<SpanId>, caller: Arc<str>, collecting: Arc<Collecting>) -> Self {
        Self { own, parent, caller, began: (SystemTime::now(), Instant::now()), collecting, state: Mutex::default() }
    }

    /// The request's span.
    pub fn own(&self) -> &TraceParent {
        &self.own
    }

    /// What the request is called, and more about it. Not called for one that is not collected.
    pub fn describe(&self, what: impl FnOnce() -> (Cow<'static, str>, Vec<Attribute>)) {
        if self.own.is_sampled {
            let (name, attributes) = what();
            let mut state = lock(&self.state);
            state.name = name;
            state.attributes.extend(attributes);
        }
    }

    /// More about the request.
    pub fn add(&self, attributes: impl IntoIterator<Item = Attribute>) {
        if self.own.is_sampled {
            lock(&self.state).attributes.extend(attributes);
        }
    }

    /// Why the request failed: the first reason holds.
    pub fn set_error(&self, kind: impl Into<Cow<'static, str>>) {
        if self.own.is_sampled {
            lock(&self.state).error.get_or_insert_with(|| kind.into());
        }
    }

    /// The request was answered.
    pub fn end(&self) {
        if self.own.is_sampled {
            lock(&self.state).took.get_or_insert_with(|| self.began.1.elapsed());
        }
    }

    /// Begins a span, which ends when it is dropped. `within`: the span that it is a part of; `None`: the request's.
    pub fn span(self: &Arc<Self>, within: Option<SpanId>, name: impl Into<Cow<'static, str>>) -> OpenSpan {
        let is_kept = self.own.is_sampled && {
            let mut state = lock(&self.state);
            state.begun += 1;
            state.begun <= MAX_SPANS
        };
        OpenSpan {
            is_kept,
            id: self.collecting.ids.span(),
            within,
            name: name.into(),
            is_remote: false,
            began: Instant::now(),
            attributes: Vec::new(),
            error: None,
            trace: self.clone(),
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.own)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if !self.own.is_sampled {
            return;
        }
        let State { name, attributes, error, took, spans, begun } = std::mem::take(&mut *lock(&self.state));
        let ended = Ended {
            own: self.own.clone(),
            parent: self.parent,
            name,
            began: self.began.0,
            took: took.unwrap_or_else(|| self.began.1.elapsed()),
            attributes,
            error,
            spans,
            dropped: u32::try_from(begun.saturating_sub(MAX_SPANS)).unwrap_or(u32::MAX),
        };
        self.collecting.queue.push(&self.caller, ended);
    }
}

/// A span until it is dropped.
pub struct OpenSpan {
    trace: Arc<Trace>,
    id: SpanId,
    within: Option<SpanId>,
    name: Cow<'static, str>,
    is_kept: bool,
    is_remote: bool,
    began: Instant,
    attributes: Vec<Attribute>,
    error: Option<Cow<'static, str>>,
}

impl OpenSpan {
    /// Done by another service, which is told of [`Self::context`].
    pub fn remote(mut self) -> Self {
        self.is_remote = true;
        self
    }

    pub fn id(&self) -> SpanId {
        self.id
    }

    pub fn context(&self) -> TraceParent {
        TraceParent { span: self.id, ..self.trace.own.clone() }
    }

    pub fn add(&mut self, attributes: impl IntoIterator<Item = Attribute>) {
        if self.is_kept {
            self.attributes.extend(attributes);
        }
    }

    pub fn set_error(&mut self, kind: impl Into<Cow<'static, str>>) {
        self.error = Some(kind.into());
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        let Self { trace, id, within, name, is_kept, is_remote, began, attributes, error } = self;
        if !*is_kept {
            return;
        }
        lock(&trace.state).spans.push(Span {
            id: *id,
            within: *within,
            name: std::mem::take(name),
            is_remote: *is_remote,
            began: began.saturating_duration_since(trace.began.1),
            took: began.elapsed(),
            attributes: std::mem::take(attributes),
            error: error.take(),
        });
    }
}
