//! What a worker says of calls and listings, as JSON, and back.

use serde_json::{Value, json};

use crate::metrics::Spent;
use crate::plugin::error::LoadError;
use crate::plugin::events::{Event, LogBody};
use crate::plugin::fault::{CallError, Fault, TrapKind};
use crate::plugin::imports::granted::Notes;
use crate::plugin::policy::denial::Denial;
use crate::plugin::schema::Violation;
use crate::plugin::surface::ListingWarning;
use crate::plugin::tape::kept::{Kept, member, records, variants};

impl Kept for i32 {
    fn keep(&self) -> Value {
        (*self).into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_i64()?.try_into().ok()
    }
}

impl Kept for usize {
    fn keep(&self) -> Value {
        (*self as u64).into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_u64()?.try_into().ok()
    }
}

records! {
    Violation { path, reason, expected }
    Denial { access, problem }
    Spent { cpu, queued, memory, upstream_requests, upstream }
    Notes { missing, unusable, lacked_folder }
}

variants! {
    CallError { Guest = "guest", Input = "input", Fault = "fault" }
    LogBody { Text = "text", Json = "json" }
    TrapKind {
        Exit = "exit";
        Unreachable = "unreachable", StackExhausted = "stack", MemoryOutOfBounds = "memory", Misaligned = "misaligned",
        TableOutOfBounds = "table", NullFunction = "null_function", WrongFunction = "wrong_function",
        IntegerOverflow = "overflow", DivisionByZero = "division", BadConversion = "conversion", Deadlock = "deadlock", Blocked = "blocked",
        ProcessEnded = "process_ended", HostFunction = "host_function", Other = "other"
    }
}

impl Kept for Fault {
    fn keep(&self) -> Value {
        match self {
            Self::Timeout { limit, of_task } => member("timeout", (*limit, *of_task).keep()),
            Self::Cpu { limit, of_task } => member("cpu", (*limit, *of_task).keep()),
            Self::Memory { limit } => member("memory", limit.keep()),
            Self::Trap(kind) => member("trap", kind.keep()),
            Self::OutputTooLarge { limit } => member("output", limit.keep()),
            Self::BadOutput(why) => member("bad", why.keep()),
            Self::Denied { denial, message } => member("denied", json!([denial.keep(), message])),
            Self::Quarantined { left } => member("quarantined", left.keep()),
            Self::Busy => "busy".into(),
            Self::SharedMemory => "shared_memory".into(),
            Self::Compiling => "compiling".into(),
            Self::NotLoaded => "not_loaded".into(),
            Self::Host => "host".into(),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        if let Some(name) = value.as_str() {
            return Some(match name {
                "busy" => Self::Busy,
                "shared_memory" => Self::SharedMemory,
                "compiling" => Self::Compiling,
                "not_loaded" => Self::NotLoaded,
                "host" => Self::Host,
                _ => return None,
            });
        }
        let (name, value) = value.as_object()?.iter().next()?;
        Some(match name.as_str() {
            "timeout" => {
                let (limit, of_task) = Kept::read(value)?;
                Self::Timeout { limit, of_task }
            }
            "cpu" => {
                let (limit, of_task) = Kept::read(value)?;
                Self::Cpu { limit, of_task }
            }
            "memory" => Self::Memory { limit: Kept::read(value)? },
            "trap" => Self::Trap(Kept::read(value)?),
            "output" => Self::OutputTooLarge { limit: Kept::read(value)? },
            "bad" => Self::BadOutput(Kept::read(value)?),
            "denied" => {
                let (denial, message) = Kept::read(value)?;
                Self::Denied { denial, message }
            }
            "quarantined" => Self::Quarantined { left: Kept::read(value)? },
            _ => return None,
        })
    }
}

impl Kept for Event {
    fn keep(&self) -> Value {
        match self {
            Self::Log { level, logger, data } => member("log", json!([level.keep(), logger, data.keep()])),
            Self::Progress { progress, total, message } => member("progress", json!([progress, total, message])),
            Self::ListChanged(listing) => member("list", listing.keep()),
            Self::ResourceUpdated(uri) => member("resource", uri.keep()),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        let (name, value) = value.as_object()?.iter().next()?;
        Some(match (name.as_str(), value.as_array().map(Vec::as_slice)) {
            ("log", Some([level, logger, data])) => {
                Self::Log { level: Kept::read(level)?, logger: Kept::read(logger)?, data: Kept::read(data)? }
            }
            ("progress", Some([progress, total, message])) => Self::Progress {
                progress: Kept::read(progress)?,
                total: Kept::read(total)?,
                message: Kept::read(message)?,
            },
            ("list", None) => Self::ListChanged(Kept::read(value)?),
            ("resource", None) => Self::ResourceUpdated(Kept::read(value)?),
            _ => return None,
        })
    }
}

/// As people read it.
impl Kept for LoadError {
    fn keep(&self) -> Value {
        json!([self.to_string(), self.hint(), self.is_of_listing()])
    }

    fn read(value: &Value) -> Option<Self> {
        let [why, hint, is_of_listing] = value.as_array()?.as_slice() else { return None };
        let (why, hint) = (String::read(why)?, Kept::read(hint)?);
        Some(Self::InProcess { why, hint, is_of_listing: is_of_listing.as_bool()? })
    }
}

impl Kept for ListingWarning {
    fn keep(&self) -> Value {
        match self {
            Self::Dropped { kind, name, why } => member("dropped", json!([kind, name, why])),
            Self::NoTool { function, interface, why } => member("no_tool", json!([function, interface, why])),
            Self::NotAsync { function, interface } => member("not_async", json!([function, interface])),
            Self::NotExamined { more, examined } => member("not_examined", (*more, *examined).keep()),
            Self::Page { kind, name, why } => member("page", json!([kind, name, why])),
            Self::Skills(why) => member("skills", why.keep()),
            Self::Untrue => "untrue".into(),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        if value == "untrue" {
            return Some(Self::Untrue);
        }
        let (what, value) = value.as_object()?.iter().next()?;
        Some(match (what.as_str(), value.as_array().map(Vec::as_slice)) {
            ("dropped", Some([kind, name, why])) => {
                Self::Dropped { kind: String::read(kind)?.into(), name: Kept::read(name)?, why: Kept::read(why)? }
            }
            ("page", Some([kind, name, why])) => {
                Self::Page { kind: String::read(kind)?.into(), name: Kept::read(name)?, why: Kept::read(why)? }
            }
            ("no_tool", Some([function, interface, why])) => Self::NoTool {
                function: Kept::read(function)?,
                interface: Kept::read(interface)?,
                why: Kept::read(why)?,
            },
            ("not_async", Some([function, interface])) => {
                Self::NotAsync { function: Kept::read(function)?, interface: Kept::read(interface)? }
            }
            ("not_examined", _) => {
                let (more, examined) = Kept::read(value)?;
                Self::NotExamined { more, examined }
            }
            ("skills", None) => Self::Skills(Kept::read(value)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::time::Duration;

    use super::*;
    use crate::plugin::abi::{Listing, LogLevel};
    use crate::plugin::policy::access::Access;

    fn each_is_read_as_it_was_kept<T: Kept + PartialEq + Debug>(all: Vec<T>) {
        for one in all {
            assert_eq!(T::read(&one.keep()), Some(one));
        }
    }

    #[test]
    fn what_is_said_is_read_as_it_was() {
        let (limit, of_task) = (Duration::from_millis(1500), true);
        let denial = Denial { access: Access::Http, problem: Some("no".into()) };
        each_is_read_as_it_was_kept(vec![
            Fault::Timeout { limit, of_task },
            Fault::Cpu { limit, of_task: false },
            Fault::Memory { limit: 3 },
            Fault::Trap(TrapKind::Exit(-1)),
            Fault::Trap(TrapKind::StackExhausted),
            Fault::OutputTooLarge { limit: 4 },
            Fault::BadOutput("bad".into()),
            Fault::Denied { denial, message: None },
            Fault::Busy,
            Fault::SharedMemory,
            Fault::Compiling,
            Fault::NotLoaded,
            Fault::Quarantined { left: limit },
            Fault::Host,
        ]);
        each_is_read_as_it_was_kept(vec![
            Event::Log { level: LogLevel::Info, logger: None, data: LogBody::Json("{}".into()) },
            Event::Progress { progress: 0.5, total: Some(1.0), message: Some("half".into()) },
            Event::ListChanged(Listing::Prompts),
            Event::ResourceUpdated("a:b".into()),
        ]);
        each_is_read_as_it_was_kept(vec![
            ListingWarning::Dropped { kind: "tool".into(), name: "a".into(), why: "b".into() },
            ListingWarning::Page { kind: "page".into(), name: "a".into(), why: "b".into() },
            ListingWarning::NoTool { function: "a".into(), interface: None, why: "b".into() },
            ListingWarning::NotAsync { function: "a".into(), interface: Some("b".into()) },
            ListingWarning::NotExamined { more: 1, examined: 2 },
            ListingWarning::Skills("c".into()),
            ListingWarning::Untrue,
        ]);
        let error = LoadError::read(&LoadError::ListingTimeout.keep()).expect("an error");
        assert_eq!(error.to_string(), LoadError::ListingTimeout.to_string());
        assert!(error.is_of_listing());
    }
}
