//! One plugin: what it offers, what of that a local client may use, what it may do, and which version it is; and one tool
//! with its schema.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wharf_report::shell_word;

use super::desk::{OperatorDesk, blocking, id, refused};
use super::overview::{entries_of, is_served};
use crate::catalog::{Item, Names, Snapshot};
use crate::cli::extra::ShownExtra;
use crate::cli::summary::CHANGE_LISTS;
use crate::cli::wiring::{lock, lock_failure};
use crate::identity::Identity;
use crate::pins::Pins;
use crate::plugin::{Digest, PluginId, Provider};
use crate::rights::{Permissions, Verdict};
use crate::server::{Allowed, may_destroy, verdict};
use crate::transport::page::{Answer, Refused};

/// Entries of one kind that are shown of a plugin.
const MAX_ENTRIES: usize = 500;
/// Bytes of a description in a list.
const MAX_DESCRIPTION: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) plugin: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    tool: String,
}

pub(super) async fn of_plugin(all: &OperatorDesk, Named { plugin }: Named) -> Answer {
    let unserved = all.board.get(&plugin);
    // A file without a name that a plugin can have is refused, and there is no more to say.
    let Ok(id) = id(&plugin) else {
        let unserved = unserved.ok_or_else(not_found)?;
        return Ok(json!({ "name": plugin, "unserved": unserved }).to_string());
    };
    let snapshot = all.desk.catalog.snapshot();
    if unserved.is_none() && !is_served(&snapshot, &id) {
        return Err(not_found());
    }
    let config = all.desk.config.get();
    let member = snapshot.members().iter().find(|member| *member.provider.id() == id);
    let (of_pins, own) = (config.clone(), id.clone());
    let served = member.filter(|member| id.is_skill() || !member.provider.is_host());
    let served = served.map(|member| *member.provider.digest());
    let held = unserved.as_ref().and_then(|unserved| Digest::parse(unserved.content.as_deref()?));
    let pin = blocking(move || {
        let pins = lock(&of_pins).map_err(refused)?.read().map_err(|error| refused(lock_failure(error)))?;
        let revocable = revocable(&pins, &own, served, held).map(|content| content.to_string());
        let pin = pins.get(&own).map(|pin| {
            json!({
                "content": pin.content.to_string(),
                "signer": pin.signer,
                "approved": pin.approved,
                "needs": pin.needs,
                "time": humantime::format_rfc3339_seconds(pin.time).to_string(),
                "revoked": pins.is_revoked(pin.content),
            })
        });
        Ok((pin, revocable))
    })
    .await;
    // Without a home, or while the store is away, the rest can be shown.
    let (pin, revocable, pin_error) = match pin {
        Ok((pin, revocable)) => (pin, revocable, None),
        Err(refused) => (None, None, Some(refused.error)),
    };
    let grants = config.grants(&id);
    let word =
        |command: &str, word: &str| format!("{} {command} {id} {} {word}", config.program(), shell_word(&all.desk.dir));
    let missing = member.map(|member| member.provider.missing_grants()).unwrap_or_default();
    let missing: Vec<Value> = missing
        .iter()
        .map(|grant| json!({ "grant": grant, "command": word("grant", &shell_word_of(grant)) }))
        .collect();
    let mut granted = grants.own_texts();
    granted.extend(config.may_change_lists(&id).then(|| CHANGE_LISTS.to_owned()));
    Ok(json!({
        "name": id.as_ref(),
        "unserved": unserved,
        "content": member.map(|member| member.provider.digest().to_string()),
        "pin": pin,
        "pin_error": pin_error,
        "revocable": revocable,
        "granted": granted,
        "extra": ShownExtra::all(&grants).map(|extra| extra.to_json()).collect::<Vec<_>>(),
        "missing": missing,
        "unusable": member.map(|member| member.provider.unusable_grants()).unwrap_or_default(),
        "change": { "grant": word("grant", "GRANT"), "ungrant": word("ungrant", "GRANT") },
        "offers": member.map(|member| Offered::of(all, &snapshot, &*member.provider).to_json()),
    })
    .to_string())
}

pub(super) fn of_tool(all: &OperatorDesk, Tool { tool }: &Tool) -> Answer {
    let snapshot = all.desk.catalog.snapshot();
    let entry = snapshot.tools.get(tool).ok_or_else(not_found)?;
    let own = &entry.item().tool;
    let permissions = all.server.permissions_of(&Identity::local());
    let shown = ShownTool {
        name: entry.name.as_str(),
        plugin: entry.provider.id().as_ref(),
        title: own.title.as_deref(),
        description: own.description.as_deref(),
        // It was checked when it was listed.
        schema: RawValue::from_string(own.input_schema.clone()).ok(),
        destructive: may_destroy(entry.item()),
        declared: own.annotations.as_ref().is_some_and(|hints| hints.destructive.is_some()),
        denied: denied(&verdict(&permissions, &*entry.provider, entry.item().item())),
    };
    serde_json::to_string(&shown).map_err(|_| Refused::internal())
}

/// A tool. It is written member by member: a tree of JSON would round the numbers of its schema.
#[derive(Serialize)]
struct ShownTool<'a> {
    name: &'a str,
    plugin: &'a str,
    title: Option<&'a str>,
    description: Option<&'a str>,
    schema: Option<Box<RawValue>>,
    /// It may destroy something, by what its author says or leaves out.
    destructive: bool,
    /// Its author says whether it does.
    declared: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    denied: Option<String>,
}

/// The version that a revocation is about, if one would have an effect: the pinned one, or else one that is not pinned.
fn revocable(pins: &Pins, id: &PluginId, served: Option<Digest>, held: Option<Digest>) -> Option<Digest> {
    let pinned = pins.get(id).map(|pin| pin.content);
    let other = served.or(held.filter(|_| pinned.is_none()));
    [pinned, other].into_iter().flatten().find(|content| !pins.is_revoked(*content))
}

/// Why a local client may not use it, if that is so.
fn denied(verdict: &Verdict<'_>) -> Option<String> {
    match verdict {
        Verdict::Allowed(_) => None,
        Verdict::Denied { rule: Some(rule), .. } => Some(format!("by the rule {rule}")),
        Verdict::Denied { rule: None, .. } => Some(verdict.to_string()),
    }
}

fn not_found() -> Refused {
    Refused::new(http::StatusCode::NOT_FOUND, "find it: nothing of that name is served, held or refused any more")
}

fn shell_word_of(word: &str) -> String {
    shell_word(std::path::Path::new(word)).to_string()
}

/// What a plugin in service offers, and what of that a local client may use.
struct Offered<'a> {
    snapshot: &'a Snapshot,
    provider: &'a dyn Provider,
    permissions: Permissions,
}

impl<'a> Offered<'a> {
    fn of(all: &OperatorDesk, snapshot: &'a Snapshot, provider: &'a dyn Provider) -> Self {
        Self { snapshot, provider, permissions: all.server.permissions_of(&Identity::local()) }
    }

    fn to_json(&self) -> Value {
        let tools = self.list(&self.snapshot.tools, |name, frozen| {
            let tool = &frozen.tool;
            json!({ "name": name, "title": tool.title, "description": cut(tool.description.as_deref()) })
        });
        let prompts = self.list(&self.snapshot.prompts, |name, prompt| {
            let arguments = prompt.arguments.iter().map(|argument| {
                json!({
                    "name": argument.name,
                    "title": argument.title,
                    "description": cut(argument.description.as_deref()),
                    "required": argument.required,
                })
            });
            json!({
                "name": name,
                "title": prompt.title,
                "description": cut(prompt.description.as_deref()),
                "arguments": arguments.collect::<Vec<_>>(),
            })
        });
        let resources = self.list(
            &self.snapshot.resources,
            |uri, resource| json!({ "uri": uri, "title": resource.name, "description": cut(resource.description.as_deref()) }),
        );
        let templates = self.list(&self.snapshot.templates, |uri, frozen| {
            json!({
                "uri": uri,
                "title": frozen.template.name,
                "description": cut(frozen.template.description.as_deref()),
                "template": true,
            })
        });
        json!({ "tools": tools, "prompts": prompts, "resources": resources, "templates": templates })
    }

    /// The first entries of one kind, and how many more there are.
    fn list<T: Item + Allowed>(&self, names: &Names<T>, show: impl Fn(&str, &T) -> Value) -> Value {
        let mut own = entries_of(names, self.provider.id());
        let shown = own.by_ref().take(MAX_ENTRIES).map(|(name, item)| {
            let mut shown = show(name, item);
            if let Some(why) = denied(&verdict(&self.permissions, self.provider, item.item())) {
                shown["denied"] = why.into();
            }
            shown
        });
        let shown: Vec<Value> = shown.collect();
        json!({ "entries": shown, "more": own.count() })
    }
}

/// The beginning of a description.
fn cut(text: Option<&str>) -> Option<String> {
    let text = text?;
    if text.len() <= MAX_DESCRIPTION {
        return Some(text.to_owned());
    }
    Some(format!("{}\u{2026}", &text[..text.floor_char_boundary(MAX_DESCRIPTION)]))
}
