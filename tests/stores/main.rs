//! Stores that need a server, which these tests start: `bash tests/store.sh` installs and runs them.

#[path = "../support/support.rs"]
#[allow(unreachable_pub, dead_code, reason = "what the integration tests share is more than this needs")]
mod support;

mod asked;
mod clocks;
mod cluster;
mod disks;
mod machine;
mod migrate;
mod nats;
mod nodes;
mod postgres;
mod promises;
mod publish;
mod servers;
mod sharing;
