//! The params of each method, member by member.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{CallTool, ClientRequest, Complete, Custom, Filter, Initialize, Reference, Retry, TaskParams, is_custom};
use crate::json::{self, Kind};
use crate::protocol::capability::ClientCapabilities;
use crate::protocol::error::{self, ErrorObject};
use crate::protocol::implementation::Implementation;
use crate::protocol::initialize::negotiate;
use crate::protocol::meta;
use crate::protocol::methods::methods;
use crate::protocol::params::{self, Params};
use crate::protocol::revision::Revision;

impl<'a> ClientRequest<'a> {
    /// Positional params are refused before the method is checked, so that
    /// the rule is the same for known and unknown methods.
    pub fn parse(revision: Revision, method: &str, params: &Params<'a>) -> Result<Self, ErrorObject> {
        params.require_named()?;
        if !methods(revision).contains(&method) && !is_custom(method) {
            return Err(error::method_not_found(revision, method));
        }
        // A malformed `_meta` is refused for every method, also those that need none.
        let [meta] = params.members(["_meta"])?;
        params::object(meta, "params._meta")?;
        match method {
            "initialize" => Ok(Self::Initialize(initialize(params)?)),
            "ping" => Ok(Self::Ping),
            "server/discover" => Ok(Self::Discover),
            "tools/list" => Ok(Self::ListTools { cursor: cursor(params)? }),
            "tools/call" => Ok(Self::CallTool(call_tool(revision, params)?)),
            "resources/list" => Ok(Self::ListResources { cursor: cursor(params)? }),
            "resources/templates/list" => Ok(Self::ListResourceTemplates { cursor: cursor(params)? }),
            "resources/read" => Ok(Self::ReadResource { uri: uri(params)?, retry: retry(revision, params)? }),
            "resources/subscribe" => Ok(Self::Subscribe { uri: uri(params)? }),
            "resources/unsubscribe" => Ok(Self::Unsubscribe { uri: uri(params)? }),
            "prompts/list" => Ok(Self::ListPrompts { cursor: cursor(params)? }),
            "prompts/get" => get_prompt(revision, params),
            "completion/complete" => Ok(Self::Complete(complete(revision, params)?)),
            "logging/setLevel" => set_level(params),
            "subscriptions/listen" => Ok(Self::Listen(listen(params)?)),
            "skills/list" => Ok(Self::ListSkills { cursor: cursor(params)? }),
            "skills/get" => Ok(Self::GetSkill { uri: uri(params)? }),
            "resources/directory/read" => Ok(Self::ReadDirectory { uri: uri(params)?, cursor: cursor(params)? }),
            "tasks/get" => Ok(Self::GetTask { id: task_id(params)? }),
            "tasks/update" => {
                let [answers] = params.members(["inputResponses"])?;
                let answers = params::object(answers, "params.inputResponses")?;
                Ok(Self::UpdateTask { id: task_id(params)?, answers })
            }
            "tasks/cancel" => Ok(Self::CancelTask { id: task_id(params)? }),
            "tasks/list" => Ok(Self::ListTasks { cursor: cursor(params)? }),
            "tasks/result" => Ok(Self::TaskResult { id: task_id(params)? }),
            _ => Ok(Self::Custom(custom(method, params)?)),
        }
    }
}

fn initialize(params: &Params<'_>) -> Result<Initialize, ErrorObject> {
    let names = ["protocolVersion", "capabilities", "clientInfo"];
    let [version, capabilities, client] = params.members(names)?;
    let version = params::string(version, "params.protocolVersion")?;
    let requested = params::required(version, "params.protocolVersion")?.into_owned();
    let revision = negotiate(&requested);
    // The schema requires both; a client that leaves them out can do nothing special
    // and has no name, which is no reason to reject it.
    let capabilities = params::object(capabilities, "params.capabilities")?
        .map(|raw| ClientCapabilities::parse(revision, raw, "params.capabilities"))
        .transpose()?
        .unwrap_or_default();
    let client = params::object(client, "params.clientInfo")?
        .map(|raw| Implementation::parse(raw, "params.clientInfo"))
        .transpose()?;
    Ok(Initialize { requested, revision, capabilities, client })
}

/// The empty string is a cursor too (2026-07-28 server/utilities/pagination).
fn cursor<'a>(params: &Params<'a>) -> Result<Option<Cow<'a, str>>, ErrorObject> {
    let [cursor] = params.members(["cursor"])?;
    params::string(cursor, "params.cursor")
}

fn uri<'a>(params: &Params<'a>) -> Result<Cow<'a, str>, ErrorObject> {
    let [uri] = params.members(["uri"])?;
    params::required(params::string(uri, "params.uri")?, "params.uri")
}

fn task_id<'a>(params: &Params<'a>) -> Result<Cow<'a, str>, ErrorObject> {
    let [id] = params.members(["taskId"])?;
    params::required(params::string(id, "params.taskId")?, "params.taskId")
}

fn name<'a>(params: &Params<'a>) -> Result<Cow<'a, str>, ErrorObject> {
    let [name] = params.members(["name"])?;
    params::required(params::string(name, "params.name")?, "params.name")
}

fn retry<'a>(revision: Revision, params: &Params<'a>) -> Result<Retry<'a>, ErrorObject> {
    if !revision.is_modern() {
        return Ok(Retry::default());
    }
    let [responses, state] = params.members(["inputResponses", "requestState"])?;
    Ok(Retry {
        input_responses: params::object(responses, "params.inputResponses")?,
        request_state: params::string(state, "params.requestState")?,
    })
}

fn call_tool<'a>(revision: Revision, params: &Params<'a>) -> Result<CallTool<'a>, ErrorObject> {
    let [arguments] = params.members(["arguments"])?;
    Ok(CallTool {
        name: name(params)?,
        arguments: params::object(arguments, "params.arguments")?,
        retry: retry(revision, params)?,
        task: task(revision, params)?,
    })
}

fn task(revision: Revision, params: &Params<'_>) -> Result<Option<TaskParams>, ErrorObject> {
    if !revision.has_core_tasks() {
        return Ok(None);
    }
    let [task] = params.members(["task"])?;
    let Some(task) = params::object(task, "params.task")? else { return Ok(None) };
    let [ttl] = params::members(Some(task), ["ttl"], "params.task")?;
    let ttl = ttl.filter(|ttl| Kind::of(ttl) != Kind::Null);
    // Any number: the server decides on the time.
    let ttl = params::of_kind(ttl, Kind::Number, "params.task.ttl")?.and_then(|ttl| ttl.get().parse::<f64>().ok());
    Ok(Some(TaskParams { ttl: ttl.map(|ttl| ttl.max(0.0) as u64) }))
}

fn get_prompt<'a>(revision: Revision, params: &Params<'a>) -> Result<ClientRequest<'a>, ErrorObject> {
    let [arguments] = params.members(["arguments"])?;
    Ok(ClientRequest::GetPrompt {
        name: name(params)?,
        arguments: params::strings(arguments, "params.arguments")?,
        retry: retry(revision, params)?,
    })
}

fn complete<'a>(revision: Revision, params: &Params<'a>) -> Result<Complete<'a>, ErrorObject> {
    let [reference, argument, context] = params.members(["ref", "argument", "context"])?;
    let argument = params::required(params::object(argument, "params.argument")?, "params.argument")?;
    let [name, value] = params::members(Some(argument), ["name", "value"], "params.argument")?;
    let name = params::string(name, "params.argument.name")?;
    let value = params::string(value, "params.argument.value")?;
    let settled = match params::object(context, "params.context")? {
        Some(context) if revision.has_completion_context() => {
            let [settled] = params::members(Some(context), ["arguments"], "params.context")?;
            params::strings(settled, "params.context.arguments")?
        }
        _ => Vec::new(),
    };
    Ok(Complete {
        reference: self::reference(params::object(reference, "params.ref")?)?,
        argument: params::required(name, "params.argument.name")?,
        value: params::required(value, "params.argument.value")?,
        context: settled,
    })
}

fn reference(raw: Option<&RawValue>) -> Result<Reference<'_>, ErrorObject> {
    let raw = params::required(raw, "params.ref")?;
    let [kind, name, uri] = params::members(Some(raw), ["type", "name", "uri"], "params.ref")?;
    let kind = params::required(params::string(kind, "params.ref.type")?, "params.ref.type")?;
    match &*kind {
        "ref/prompt" => {
            let name = params::string(name, "params.ref.name")?;
            Ok(Reference::Prompt { name: params::required(name, "params.ref.name")? })
        }
        "ref/resource" => {
            let uri = params::string(uri, "params.ref.uri")?;
            Ok(Reference::Resource { uri: params::required(uri, "params.ref.uri")? })
        }
        _ => Err(error::invalid_params("params.ref.type", "must be ref/prompt or ref/resource")),
    }
}

fn set_level<'a>(params: &Params<'a>) -> Result<ClientRequest<'a>, ErrorObject> {
    let [level] = params.members(["level"])?;
    let level = params::required(level, "params.level")?;
    Ok(ClientRequest::SetLevel { level: meta::parse_level(level, "params.level")? })
}

fn listen(params: &Params<'_>) -> Result<Filter, ErrorObject> {
    const PATH: &str = "params.notifications";
    let [filter] = params.members(["notifications"])?;
    let filter = params::required(params::object(filter, PATH)?, PATH)?;
    let names = ["toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions", "taskIds"];
    let [tools, prompts, resources, uris, tasks] = params::members(Some(filter), names, PATH)?;
    let flag = |raw, name: &str| params::boolean(raw, format!("{PATH}.{name}"));
    Ok(Filter {
        tools_list_changed: flag(tools, names[0])?,
        prompts_list_changed: flag(prompts, names[1])?,
        resources_list_changed: flag(resources, names[2])?,
        resources: strings(uris, &format!("{PATH}.{}", names[3]))?,
        tasks: strings(tasks, &format!("{PATH}.{}", names[4]))?,
    })
}

fn strings(raw: Option<&RawValue>, path: &str) -> Result<Vec<String>, ErrorObject> {
    let Some(raw) = params::of_kind(raw, Kind::Array, path)? else {
        return Ok(Vec::new());
    };
    let Some(items) = json::items(raw.get(), usize::MAX) else {
        return Err(error::invalid_params(path, "cannot be read"));
    };
    let text = |(at, item): (usize, &RawValue)| match json::string(item) {
        Some(text) => Ok(text.into_owned()),
        None => Err(error::invalid_params(format!("{path}[{at}]"), "must be a string")),
    };
    items.first.into_iter().enumerate().map(text).collect()
}

fn custom(method: &str, params: &Params<'_>) -> Result<Custom, ErrorObject> {
    let own = params.object()?.filtered(|name| name != "_meta");
    let params = json::to_text(&own).map_err(|fault| error::unwritable(&fault))?;
    Ok(Custom { method: method.to_owned(), params })
}
