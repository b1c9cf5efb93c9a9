//! What the operator is told of errors of NATS.

use super::settings::NatsSettings;
use crate::store::StoreError;

pub(super) const IS_IT_THERE: &str = "see that it runs there and that this machine can reach it";
/// A server hangs whose disk was full while it wrote: 2.9 does.
const NO_ANSWER: &str =
    "see that it runs there and that this machine can reach it; if its disk is full, make room and restart it";
const SET_PASSWORD: &str = "set the user in store.url, and store.password or store.credentials, as the server has them";
const GRANT: &str = "grant the user the subjects of docs/store.md";
const ENABLE: &str = "enable JetStream there, and for the account of the user";

/// Why a request had no answer that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// The connection is gone; why.
    Closed(String),
    /// The user may not do that; what the server says.
    Denied(String),
    /// Nobody has subscribed to that subject.
    Nobody,
    /// The answer is not as documented; why.
    Malformed(String),
}

/// What JetStream says of a request that failed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub(super) struct ApiError {
    pub(super) err_code: u32,
    #[serde(default)]
    description: String,
}

impl ApiError {
    pub(super) const NO_STREAM: u32 = 10059;
    pub(super) const NO_MESSAGE: u32 = 10037;
    /// Another configuration; also if another node has just created it so.
    pub(super) const EXISTS: u32 = 10058;
    /// Another stream has its subjects; so too one of the same name that is being created.
    pub(super) const OVERLAPS: u32 = 10065;
    /// Another write of the subject is being agreed on: nothing was done. From 2.12 on.
    pub(super) const NOT_READY: u32 = 10163;
    /// There is no message of that number; and the same in clusters.
    pub(super) const NO_SEQUENCE: [u32; 2] = [10043, 10057];

    /// Whether the last message of the subject is another one. The second is without its number.
    pub(super) fn is_wrong_sequence(&self) -> bool {
        matches!(self.err_code, 10071 | 10164)
    }

    /// Whether there is no room for a message.
    pub(super) fn is_full(&self) -> bool {
        // Resources, and limits of the account or of the stream.
        matches!(self.err_code, 10002 | 10023 | 10028 | 10047 | 10077)
    }

    /// Whether it may be otherwise for a stream that is made anew, or on another server.
    pub(super) fn is_of_the_connection(&self) -> bool {
        matches!(self.err_code, Self::NO_STREAM | 10008 | 10039 | 10076)
    }

    fn advice(&self) -> &'static str {
        match self.err_code {
            _ if self.is_full() => {
                "make room: raise the limits of JetStream, of the account or of the stream, or its disk"
            }
            10054 => "raise max_msg_size of the stream, or let wharf create it",
            10026 | 10027 => "raise the limits of the account: two streams, and one consumer for each node",
            10039 | 10076 => ENABLE,
            10005 | 10074 => "lower replicas in store.url: there are not as many servers",
            10113 | 10148 => "set max_bytes: create the streams before, as docs/store.md has them",
            _ => IS_IT_THERE,
        }
    }
}

/// The error of a request.
pub(super) fn of(failed: &Failed, settings: &NatsSettings) -> StoreError {
    match failed {
        Failed::Closed(why) => closed(why, settings),
        Failed::Denied(why) => with_advice(why, settings, GRANT),
        Failed::Nobody => with_advice("JetStream does not answer", settings, ENABLE),
        Failed::Malformed(why) => with_advice(&format!("read its answer: {why}"), settings, IS_IT_THERE),
    }
}

/// The connection is gone, or could not be made.
pub(super) fn closed(why: &str, settings: &NatsSettings) -> StoreError {
    let said = why.to_ascii_lowercase();
    let advice = match &*said {
        said if said.contains("authorization") || said.contains("authentication") => SET_PASSWORD,
        said if said.contains("tls required") => "write tls:// in store.url",
        said if said.contains("no tls") => "configure TLS there; tls=off in store.url is for a network of your own",
        said if said.contains("permissions violation") => GRANT,
        said if said.contains("maximum connections") => "raise max_connections there, or the limit of the account",
        _ => IS_IT_THERE,
    };
    with_advice(why, settings, advice)
}

pub(super) fn of_api(error: &ApiError, settings: &NatsSettings) -> StoreError {
    with_advice(&format!("{} ({})", error.description, error.err_code), settings, error.advice())
}

/// Nothing came in time.
pub(super) fn timeout(settings: &NatsSettings, what: &str, after: std::time::Duration) -> StoreError {
    with_advice(&format!("{what} within {}", humantime::format_duration(after)), settings, NO_ANSWER)
}

pub(super) fn with_advice(why: &str, settings: &NatsSettings, advice: &str) -> StoreError {
    StoreError(format!("{why}: {settings} ({advice})"))
}
