//! `initialize` and `server/discover`: who this is and what it can do.
//!
//! Both are answered at once, whatever is still being compiled: a client that probes for
//! the newer era gives up after a while and silently takes the older one.

use super::Answer;
use crate::protocol::result::Caching;
use crate::protocol::{Revision, discover, initialize};
use crate::server::Server;
use crate::server::scope::Scope;

pub(in crate::server) fn initialize(server: &Server, revision: Revision) -> String {
    let instructions = server.settings.instructions.as_deref();
    initialize::result(revision, &server.implementation, &server.capabilities(), instructions)
}

pub(in crate::server) fn discover(server: &Server, scope: &Scope) -> Answer {
    let instructions = server.settings.instructions.as_deref();
    discover::result(scope.revision, &server.implementation, &server.capabilities(), instructions, Caching::NONE)
}
