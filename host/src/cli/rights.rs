//! `wharf rights`: what somebody may use, and by which rule.

mod extra;
mod own;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};
use wharf_report::{DIM, ShowPath as _, column, warning};

use super::folder::plugin_folder;
use super::json_text::indented;
use super::local::Local;
use super::oauth::claims_of;
use super::options::Options;
use super::wrapped;
use crate::catalog::{self, Names, Snapshot};
use crate::config::Config;
use crate::identity::Identity;
use crate::json as text;
use crate::oauth::{self, IssuerSettings};
use crate::os::private;
use crate::report::{self, Failure, NAME, Screen};
use crate::rights::{Ask, Pattern, Permissions, Rights, Verdict};
use crate::server::{Allowed, asks, verdict};
use crate::text::{escape_hidden_in_json, printable};

/// Maximum bytes of claims.
const MAX_CLAIMS: u64 = 64 << 10;

#[derive(Args)]
pub(super) struct RightsOptions {
    /// The name of a static token, `local` for who needs none, or claims of an access token: a JSON object, a file
    /// with one, or - for stdin
    who: String,
    /// Folder of plugins [default: as for serve]
    dir: Option<PathBuf>,
    /// Print the decisions as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: &Options, how: RightsOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let identity = identity(&config, &how.who)?;
    let dir = plugin_folder(options, how.dir)?;
    let local = Local::load(options, &dir, screen).await?;
    local.report();
    let rights = Arc::new(config.rights());
    let permissions = rights.of(&identity);
    let mut decisions = decisions(&local.snapshot(), &permissions);
    add_asks(&mut decisions, &local.snapshot(), &rights, &permissions);
    let lacking = lacking(&config, &identity);
    if !lacking.is_empty() {
        warning(&format!(
            "a server refuses such a token, whatever the rules say: it lacks the scope {}",
            lacking.join(" ")
        ));
    }
    let (own, extra) = (own::all(&config, &identity), extra::all(&config, &identity, &local.snapshot()));
    if how.json {
        let all: Vec<Value> = decisions.iter().map(Decision::to_json).collect();
        let mut shown = json!({ "identity": &**identity.name(), "decisions": all });
        if !own.is_empty() {
            shown["own"] = own.iter().map(own::Own::to_json).collect();
        }
        if !extra.is_empty() {
            shown["extra"] = extra.iter().map(extra::Given::to_json).collect();
        }
        report::print(&indented(&escape_hidden_in_json(&shown.to_string())))?;
    } else {
        let mut shown = who(&identity);
        if !decisions.is_empty() {
            shown += &format!("\n\n{}", by_plugin(&decisions));
        }
        if !own.is_empty() {
            shown += &format!("\n\n{NAME}of its own{NAME:#}\n{}", own::shown(&own));
        }
        if !extra.is_empty() {
            shown += &format!(
                "\n\n{DIM}grants and limits, where some callers have more:{DIM:#}\n\n{}",
                extra::shown(&extra)
            );
        }
        report::print(&wrapped::for_stdout(&shown))?;
        if decisions.is_empty() {
            report::message(&format!("no plugin in {} offers anything", dir.shown()));
        }
        for name in unmatched(&rights, &local.snapshot()) {
            warning(&format!("nothing in {} is named by {name}", dir.shown()));
        }
        if rights.is_open() && !rights.asks() {
            report::message("there are no rights in the configuration: who may come in may use everything");
        }
    }
    Ok(if local.serves_all() && lacking.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The scopes that every request needs and a token does not have.
fn lacking<'a>(config: &'a Config, identity: &Identity) -> Vec<&'a str> {
    let required = config.server.http.oauth.iter().flat_map(|oauth| &oauth.scopes).map(String::as_str);
    required.filter(|scope| identity.grant.is_some() && !identity.has_scope(scope)).collect()
}

/// What rules name that no plugin has, such as a name with a typing error. URIs may be there later.
fn unmatched(rights: &Rights, snapshot: &Snapshot) -> Vec<String> {
    let plugins: Vec<&str> = snapshot.members().iter().map(|member| member.provider.id().as_ref()).collect();
    let tools = snapshot.tools.entries().iter();
    let tools: Vec<_> = tools.map(|tool| (tool.provider.id().as_ref(), catalog::Item::own_name(tool.item()))).collect();
    let prompts = snapshot.prompts.entries().iter();
    let prompts: Vec<_> = prompts.map(|prompt| (prompt.provider.id().as_ref(), prompt.item().name.as_str())).collect();
    let mut all = Vec::new();
    for rule in &rights.rules {
        let mut add = |key: &str, what: String| all.push(format!("{key} = {what:?} of {:?}", rule.name));
        for pattern in rule.what.plugins.iter().filter(|pattern| !plugins.iter().any(|id| pattern.matches(id))) {
            add("plugins", pattern.to_string());
        }
        for (key, pairs, there) in [("tools", &rule.what.tools, &tools), ("prompts", &rule.what.prompts, &prompts)] {
            let is_there = |(plugin, name): &&(Pattern, Pattern)| {
                there.iter().any(|(id, own)| plugin.matches(id) && name.matches(own))
            };
            for (plugin, name) in pairs.iter().filter(|pair| !is_there(pair)) {
                add(key, format!("{plugin}/{name}"));
            }
        }
    }
    all
}

/// One thing that a plugin offers, and whether it may be used.
struct Decision {
    plugin: String,
    kind: &'static str,
    /// The public name or the URI.
    name: String,
    allowed: bool,
    /// Whether a person is asked before it runs.
    ask: Ask,
    /// The rule, or why there is none.
    why: String,
    /// With which scopes it would be allowed.
    scopes: Vec<String>,
}

impl Decision {
    fn to_json(&self) -> Value {
        let Self { plugin, kind, name, allowed, ask, why, scopes } = self;
        let mut shown = json!({ "plugin": plugin, "kind": kind, "name": name, "allowed": allowed, "reason": why });
        if let Some(ask) = often(*ask) {
            shown["asks"] = json!(ask);
        }
        if !scopes.is_empty() {
            shown["scopes"] = json!(scopes);
        }
        shown
    }
}

fn decisions(snapshot: &Snapshot, permissions: &Permissions) -> Vec<Decision> {
    let mut all = Vec::new();
    add(&mut all, permissions, "tool", &snapshot.tools);
    add(&mut all, permissions, "resource", &snapshot.resources);
    add(&mut all, permissions, "template", &snapshot.templates);
    add(&mut all, permissions, "prompt", &snapshot.prompts);
    all
}

fn add<T: catalog::Item + Allowed>(
    all: &mut Vec<Decision>,
    permissions: &Permissions,
    kind: &'static str,
    names: &Names<T>,
) {
    for entry in names.entries() {
        let verdict = verdict(permissions, &*entry.provider, entry.item().item());
        let scopes = match &verdict {
            Verdict::Denied { scopes, .. } => scopes.iter().map(ToString::to_string).collect(),
            Verdict::Allowed(_) => Vec::new(),
        };
        all.push(Decision {
            plugin: entry.provider.id().to_string(),
            kind,
            name: entry.name.as_str().to_owned(),
            allowed: verdict.is_allowed(),
            ask: Ask::Never,
            why: verdict.to_string(),
            scopes,
        });
    }
}

/// Finds out of the tools that may be used whether a person is asked before they run.
fn add_asks(decisions: &mut [Decision], snapshot: &Snapshot, rights: &Rights, permissions: &Permissions) {
    for decision in decisions.iter_mut().filter(|decision| decision.allowed && decision.kind == "tool") {
        if let Some(entry) = snapshot.tools.get(&decision.name) {
            decision.ask = asks(rights, permissions, &*entry.provider, entry.item());
        }
    }
}

/// How often a person is asked; `None`: never.
fn often(ask: Ask) -> Option<&'static str> {
    match ask {
        Ask::Never => None,
        Ask::First => Some("first"),
        Ask::Always => Some("always"),
    }
}

fn by_plugin(decisions: &[Decision]) -> String {
    let width = column(decisions.iter().map(|decision| decision.name.as_str()));
    let mut plugins: Vec<&str> = decisions.iter().map(|decision| decision.plugin.as_str()).collect();
    plugins.sort_unstable();
    plugins.dedup();
    let one = |plugin: &&str| {
        let own: Vec<&Decision> = decisions.iter().filter(|decision| decision.plugin == **plugin).collect();
        let allowed = own.iter().filter(|decision| decision.allowed).count();
        let lines = own.iter().map(|decision| {
            let word = match (decision.allowed, decision.ask) {
                (false, _) => "denied ",
                (true, Ask::Never) => "allowed",
                (true, _) => "asks   ",
            };
            let name = printable(&decision.name);
            let asks = often(decision.ask).map(|often| format!(", asks: {often}")).unwrap_or_default();
            format!("  {word}  {:<8}  {name:<width$}  {DIM}{}{asks}{DIM:#}", decision.kind, printable(&decision.why))
        });
        let heading = format!("{NAME}{plugin}{NAME:#} {DIM}{allowed} of {} allowed", own.len());
        // Nearly always so with many plugins.
        let like_first = |decision: &&Decision| {
            decision.allowed == own[0].allowed && decision.why == own[0].why && decision.ask == Ask::Never
        };
        match own.iter().all(like_first) {
            true => format!("{heading}: {}{DIM:#}", printable(&own[0].why)),
            false => format!("{heading}{DIM:#}\n{}", lines.collect::<Vec<_>>().join("\n")),
        }
    };
    plugins.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

/// The identity, with what rules look at.
fn who(identity: &Identity) -> String {
    let name = printable(identity.name());
    let Some(grant) = &identity.grant else { return format!("{NAME}{name}{NAME:#}") };
    let list = |words: &[Box<str>]| match words {
        [] => "none".to_owned(),
        words => printable(&words.join(" ")),
    };
    let client = grant.client.as_deref().map(|client| format!("; client: {}", printable(client)));
    let (scopes, groups) = (list(&grant.scopes), list(&grant.groups));
    format!("{NAME}{name}{NAME:#} {DIM}scopes: {scopes}; groups: {groups}{}{DIM:#}", client.unwrap_or_default())
}

fn identity(config: &Config, who: &str) -> Result<Identity, Failure> {
    let claims = match who {
        "-" => {
            let mut read = String::new();
            let read_all = std::io::stdin().take(MAX_CLAIMS + 1).read_to_string(&mut read);
            read_all.map_err(|error| Failure::new(format!("read the claims from stdin: {error}")))?;
            read
        }
        text if text.trim_start().starts_with('{') => text.to_owned(),
        file if file.contains(['/', '\\']) || Path::new(file).extension().is_some_and(|end| end == "json") => {
            let path = Path::new(file);
            private::read_text(path, MAX_CLAIMS)
                .map_err(|error| Failure::usage(format!("read the claims: {error}: {}", path.shown())))?
        }
        token if token.matches('.').count() == 2 && token.starts_with("ey") => {
            return Err(Failure::usage("read the claims: this is a token, which should not be on a command line")
                .hint(Some("write its claims, the JSON object in its middle part".to_owned())));
        }
        name => {
            let tokens = &config.server.http.tokens;
            if name == "local" || tokens.iter().any(|token| token.name == name) {
                return Ok(if name == "local" { Identity::local() } else { Identity::token(name) });
            }
            let names: Vec<&str> = tokens.iter().map(|token| token.name.as_str()).chain(["local"]).collect();
            let hint = format!(
                "the tokens are: {}; for a person write claims: '{{\"sub\":\"ada\",\"scope\":\"notes:read\"}}'",
                names.join(", ")
            );
            return Err(Failure::usage(format!("find a token of that name in server.http.tokens: {name:?}")).hint(hint));
        }
    };
    if claims.len() as u64 > MAX_CLAIMS {
        return Err(Failure::usage(format!("read the claims: they have more than {MAX_CLAIMS} bytes")));
    }
    of_claims(config, &claims)
}

fn of_claims(config: &Config, claims: &str) -> Result<Identity, Failure> {
    let wrong = |why: String| Failure::usage(format!("read the claims: {why}"));
    let form = |why: String| {
        let hint = "write a JSON object, as in the middle part of a token: '{\"sub\":\"ada\",\"groups\":[\"staff\"]}'";
        wrong(why).hint(Some(hint.to_owned()))
    };
    let claims = text::tree(claims, text::MAX_DEPTH).map_err(|error| form(error.to_string()))?;
    let Value::Object(claims) = claims else { return Err(form("they are no JSON object".into())) };
    let settings = issuer(config, &claims).map_err(wrong)?;
    let issuer = settings.issuer.as_str().into();
    let grant = oauth::grant(claims, &issuer, &settings, 0.0).map_err(|refusal| wrong(refusal.to_string()))?;
    Ok(Identity::subject(grant))
}

/// The issuer that claims name, or the only one.
fn issuer(config: &Config, claims: &Map<String, Value>) -> Result<IssuerSettings, String> {
    let issuers = config.server.http.oauth.as_ref().map_or(&[][..], |oauth| &oauth.issuers);
    match (claims.get("iss").and_then(Value::as_str), issuers) {
        (Some(name), issuers) => match issuers.iter().find(|issuer| issuer.issuer == name) {
            Some(issuer) => Ok(claims_of(issuer)),
            None => Err(format!("their iss is no issuer in server.http.oauth: {name}")),
        },
        (None, [only]) => Ok(claims_of(only)),
        (None, []) => Ok(IssuerSettings::new("https://issuer.example")),
        (None, _) => Err("server.http.oauth has several issuers, and they have no iss".into()),
    }
}
