//! From a request to its handler: the only branch on the era, and the request's scope.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Connection;
use super::arrival::{Arrival, Era};
use crate::jsonrpc::Request;
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool};
use crate::protocol::era::{self, Verdict};
use crate::protocol::params::Params;
use crate::protocol::{ClientRequest, Revision, error, meta, trace};
use crate::server::client::Client;
use crate::server::connection::session::Session;
use crate::server::cost;
use crate::server::handlers::page::list;
use crate::server::handlers::{
    completions, custom, lifecycle, prompts, resources, skills, subscriptions, tasks, tools,
};
use crate::server::measured::Measured;
use crate::server::response::Dispatched;
use crate::server::scope::{Scope, Verbosity};
use crate::skills::Skill;

impl Connection {
    /// The only branch on the era.
    pub(super) fn dispatch(
        self: &Arc<Self>,
        arrival: &Arrival<'_>,
        request: &Request<'_>,
        cancelled: &CancellationToken,
        measured: &mut Measured,
    ) -> Dispatched {
        self.own.set_sender(arrival.identity);
        let session = self.session().clone();
        let legacy = session.as_ref().map(|session| session.revision);
        let params = Params::read(request.params);
        let (verdict, headers) = match arrival.era {
            Era::Either => (era::request(&request.method, &params, &mut self.last_meta(), legacy), None),
            Era::Handshake => (era::handshake(&request.method, legacy), None),
            Era::Stateless(headers) => {
                let version = headers.version.as_deref();
                (era::stateless(&request.method, &params, &mut self.last_meta(), version), Some(headers))
            }
        };
        let bounds = self.own.bounds.clone();
        let (revision, meta, progress, client, verbosity) = match (verdict, &session) {
            (Verdict::Error(error), _) => return Dispatched::Refused(error),
            (Verdict::Ping, _) => return Dispatched::Now(Ok("{}".to_owned())),
            (Verdict::Modern(revision, meta), _) => {
                if let Some(headers) = headers
                    && let Err(error) = headers.check(&request.method, &params)
                {
                    return Dispatched::Refused(error);
                }
                let client = Client::new(meta.client_capabilities.clone(), arrival.stream.clone(), bounds, None);
                let progress = meta.progress_token.clone();
                (revision, meta.rest.clone(), progress, client, Verbosity::Request(meta.log_level))
            }
            (Verdict::Legacy(revision), Some(session)) => match meta::parse_legacy(revision, &params) {
                Ok((progress, meta)) => {
                    let pending = Some(self.pending.clone());
                    let capabilities =
                        if arrival.accepts_stream { session.capabilities.clone() } else { Arc::default() };
                    let client = Client::new(capabilities, arrival.stream.clone(), bounds, pending);
                    (revision, meta, progress, client, Verbosity::Session(session.level.clone()))
                }
                Err(error) => return Dispatched::Now(Err(error)),
            },
            (Verdict::Initialize | Verdict::Legacy(_), _) => {
                measured.begin_trace(&self.own.server, (&self.caller, request), arrival.parent);
                return self.initialize(arrival, &request.method, &params);
            }
        };
        measured.set_revision(revision);
        let parent = trace::parent_of(&meta).or_else(|| arrival.parent.cloned());
        let trace = measured.begin_trace(&self.own.server, (&self.caller, request), parent.as_ref());
        if let Err(error) = tasks::declared(revision, &request.method, &client.capabilities) {
            return Dispatched::Now(Err(error));
        }
        let typed = match ClientRequest::parse(revision, &request.method, &params) {
            Ok(typed) => typed,
            Err(error) => return Dispatched::Now(Err(error)),
        };
        let span = trace.as_ref().map(|trace| trace.own().clone()).or(parent);
        let cost = typed.calls_a_plugin().then(|| cost::begin(&self.own.server, &meta, trace)).flatten();
        let scope = Scope {
            id: request.id.clone(),
            call: self.own.server.next_call_id(),
            revision,
            bytes: request.params.map_or(0, |params| params.get().len()),
            meta,
            identity: arrival.identity.clone(),
            permissions: self.own.server.permissions_of(arrival.identity),
            caller: self.caller.clone(),
            client,
            followers: self.own.followers.clone(),
            progress,
            verbosity,
            headers: headers.cloned(),
            task: None,
            cost,
            span,
            cancelled: cancelled.clone(),
        };
        let server = &self.own.server;
        match (typed, session) {
            (ClientRequest::Ping, _) => Dispatched::Now(Ok("{}".to_owned())),
            (ClientRequest::Discover, _) => Dispatched::Now(lifecycle::discover(server, &scope)),
            (ClientRequest::ListTools { cursor }, _) => list::<FrozenTool>(server, scope, cursor.as_deref()),
            (ClientRequest::CallTool(call), _) => tools::call(server, scope, call),
            (ClientRequest::Listen(filter), _) => subscriptions::listen(&self.own, scope, &filter),
            (ClientRequest::ListResources { cursor }, _) => {
                list::<ResourceDescription>(server, scope, cursor.as_deref())
            }
            (ClientRequest::ListResourceTemplates { cursor }, _) => {
                list::<FrozenTemplate>(server, scope, cursor.as_deref())
            }
            (ClientRequest::ReadResource { uri, retry }, _) => resources::read(server, scope, &uri, retry.into()),
            (ClientRequest::ListPrompts { cursor }, _) => list::<Prompt>(server, scope, cursor.as_deref()),
            (ClientRequest::GetPrompt { name, arguments, retry }, _) => {
                prompts::get(server, scope, &name, arguments, retry.into())
            }
            (ClientRequest::Complete(request), _) => completions::complete(server, scope, request),
            (ClientRequest::Subscribe { uri }, Some(session)) => {
                subscriptions::subscribe(server, scope, session.uris, &uri)
            }
            (ClientRequest::Unsubscribe { uri }, Some(session)) => {
                session.uris.remove(&uri);
                Dispatched::Now(Ok("{}".to_owned()))
            }
            (ClientRequest::SetLevel { level }, Some(session)) => {
                session.level.set(level);
                Dispatched::Now(Ok("{}".to_owned()))
            }
            (ClientRequest::ListSkills { cursor }, _) => list::<Skill>(server, scope, cursor.as_deref()),
            (ClientRequest::GetSkill { uri }, _) => skills::get(server, scope, &uri),
            (ClientRequest::ReadDirectory { uri, cursor }, _) => {
                skills::read_directory(server, scope, &uri, cursor.as_deref())
            }
            (ClientRequest::GetTask { id }, _) => tasks::get(server, scope, &id),
            (ClientRequest::UpdateTask { id, answers }, _) => tasks::update(server, scope, &id, answers),
            (ClientRequest::CancelTask { id }, _) => tasks::cancel(server, scope, &id),
            (ClientRequest::ListTasks { cursor }, _) => tasks::core::list(server, scope, cursor.as_deref()),
            (ClientRequest::TaskResult { id }, _) => tasks::core::result(server, scope, &id),
            (ClientRequest::Custom(request), _) => custom::call(server, scope, request),
            // Methods of handshake revisions, without a handshake.
            _ => Dispatched::Now(Err(error::method_not_found(revision, &request.method))),
        }
    }

    fn initialize(&self, arrival: &Arrival<'_>, method: &str, params: &Params<'_>) -> Dispatched {
        let hello = match ClientRequest::parse(Revision::LATEST_LEGACY, method, params) {
            Ok(ClientRequest::Initialize(hello)) => hello,
            Ok(_) => return Dispatched::Now(Err(error::method_not_found(Revision::LATEST_LEGACY, method))),
            Err(error) => return Dispatched::Now(Err(error)),
        };
        let revision = hello.revision;
        if let Some(client) = &hello.client {
            tracing::debug!(client = client.name, version = client.version, %revision, "handshake");
        }
        let mut session = self.session();
        *session = Some(Session::new(hello, session.as_ref()));
        let permissions = self.own.server.permissions_of(arrival.identity);
        Dispatched::Now(Ok(lifecycle::initialize(&self.own.server, revision, &permissions)))
    }
}
