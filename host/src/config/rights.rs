//! `[rights]`: who may use what.
//!
//! Checks the syntax and builds the rules; `rights` decides by them.

mod asking;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::asking::{ApproverConfig, AskConfig};
use super::oauth::is_scope;
use super::{Config, WrongValue};
use crate::identity::Identity;
use crate::rights::{Accepted, Condition, Implications, Named, Pattern, Rights, Rule};

/// Maximum rules, and entries of each of their lists.
const MAX_RULES: usize = 256;
const MAX_ENTRIES: usize = 256;
/// Maximum bytes of a rule's name, of a scope, and of the path to a claim.
const MAX_NAME: usize = 100;
/// Maximum warnings about those that nobody can meet.
const MAX_FOR_NOBODY: usize = 16;

/// `[rights]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RightsConfig {
    /// What holds for what no rule names; needed if there are rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<DefaultConfig>,
    /// What clients see of what needs more scopes.
    pub denied: DeniedConfig,
    /// For tools that may destroy something, where no rule says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_destructive: Option<AskConfig>,
    /// Who is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approver: Option<ApproverConfig>,
    /// How long a decision holds, and a request waits for an operator.
    #[serde(skip_serializing_if = "Option::is_none", with = "super::duration")]
    pub ask_expires: Option<Duration>,
    /// Scopes that include others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scopes: BTreeMap<String, Vec<String>>,
    pub rules: Vec<RuleConfig>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultConfig {
    #[default]
    Everything,
    Nothing,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum DeniedConfig {
    /// It is not there.
    #[default]
    Hide,
    /// It is listed, and its use is answered with the scopes that it needs.
    Challenge,
}

/// One entry of `rights.rules`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RuleConfig {
    /// For people; unset: its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For whom it holds; unset: for all.
    pub when: WhenConfig,
    /// Whether it denies what it names, whatever other rules allow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub deny: bool,
    /// Whether a person is asked before the tools that it names run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskConfig>,
    /// Plugins, with all that they offer.
    pub plugins: Vec<String>,
    /// `PLUGIN/TOOL`.
    pub tools: Vec<String>,
    /// `PLUGIN/PROMPT`.
    pub prompts: Vec<String>,
    /// URIs.
    pub resources: Vec<String>,
    /// `PLUGIN/NAME` of tools and prompts that it is not about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

/// All that is set must hold; of several values of one key, one is enough.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WhenConfig {
    /// Scopes of the access token. Those that are needed together are written as one text, with blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Texts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Texts>,
    /// Names in `server.http.tokens`; `local` is who needs no token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<Texts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Texts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<Texts>,
    /// The program that the token was issued to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Texts>,
    /// Other claims, by name; dots lead into objects.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, ClaimConfig>,
}

/// One text or several.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Texts {
    One(String),
    Many(Vec<String>),
}

/// The value of a claim, or several of which one is enough.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged)]
pub enum ClaimConfig {
    One(ScalarConfig),
    Many(Vec<ScalarConfig>),
}

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged)]
pub enum ScalarConfig {
    Text(String),
    Number(i64),
    Flag(bool),
}

impl Texts {
    pub(super) fn all(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

impl Config {
    /// Who may use what.
    pub fn rights(&self) -> Rights {
        let Some(rights) = &self.rights else { return Rights::default() };
        let mut built = match rights.build() {
            Ok(built) => built,
            // Not of a file that was read: it was checked.
            Err(_) => return Rights { otherwise: false, ..Rights::default() },
        };
        // A client that asks for a rule's scopes alone would be refused everything.
        let required = self.server.http.oauth.iter().flat_map(|oauth| &oauth.scopes);
        let required: Vec<Box<str>> = required.map(|scope| scope.as_str().into()).collect();
        for needed in built.rules.iter_mut().flat_map(|rule| &mut rule.when.scopes) {
            let own = std::mem::take(needed);
            let others = own.into_iter().filter(|scope| !required.contains(scope)).collect::<Vec<_>>();
            *needed = required.iter().cloned().chain(others).collect();
        }
        built
    }

    /// # Errors
    /// If a rule is malformed, or names an issuer that is not configured.
    pub(super) fn check_rights(&self) -> Result<(), WrongValue> {
        let Some(rights) = &self.rights else { return Ok(()) };
        rights.build()?;
        let mut rules = rights.rules.iter().enumerate();
        rules.try_for_each(|(at, rule)| {
            self.check_when(&rule.when).map_err(|wrong| wrong.below(&["rules", &at.to_string(), "when"]))
        })
    }

    /// Rules, budgets and extras: what each is called for people, for whom it is, and which plugins it names without a
    /// pattern.
    fn conditions(&self) -> impl Iterator<Item = (String, &WhenConfig, BTreeSet<&str>)> {
        let rules = self.rights.iter().flat_map(|rights| rights.rules.iter().enumerate());
        let rules = rules.map(|(at, rule)| {
            let names = exact([&rule.plugins, &rule.tools, &rule.prompts, &rule.except]);
            (format!("the rule '{}' of [rights]", rule.shown_name(at)), &rule.when, names)
        });
        let budgets = self.budgets.iter().flatten().enumerate();
        let budgets = budgets.map(|(at, budget)| {
            let names = exact([&budget.plugins, &budget.tools]);
            (format!("the budget '{}'", budget.shown_name(at)), &budget.when, names)
        });
        let extras = self.plugins.iter().flat_map(|(plugin, own)| {
            let all = own.extra.iter().enumerate();
            all.map(move |(at, extra)| {
                let place = format!("'{}' of [[plugins.{plugin}.extra]]", extra.shown_name(at));
                (place, &extra.when, BTreeSet::new())
            })
        });
        rules.chain(budgets).chain(extras)
    }

    /// The plugins that rules and budgets name without a pattern, each with what names it, for people. The same name of
    /// one rule is there once.
    pub fn named_plugins(&self) -> impl Iterator<Item = (&str, String)> {
        let all = self.conditions();
        all.flat_map(|(place, _, names)| names.into_iter().map(move |name| (name, place.clone())))
    }

    /// Warnings about rules, budgets and extras that no caller can meet, not too many.
    pub fn conditions_for_nobody(&self) -> impl Iterator<Item = String> {
        let all = self.conditions().filter_map(|(place, when, _)| {
            let of_access_tokens = when.of_access_tokens().filter(|_| self.server.http.oauth.is_none());
            let why = of_access_tokens.map(|key| {
                format!(
                    "only access tokens have a {key}, and there is no server.http.oauth; a static token is named by when = \
                     {{ token = \"NAME\" }}"
                )
            });
            let why = why.or_else(|| self.lacks_tokens(when))?;
            Some(format!("{place} is for nobody: {why}"))
        });
        all.take(MAX_FOR_NOBODY)
    }

    /// Why no token is one of those that a condition names. One that was removed is no error: its owner is to lose access
    /// with the next reload, whatever names it still.
    fn lacks_tokens(&self, when: &WhenConfig) -> Option<String> {
        let named = when.token.as_ref()?.all();
        let mut known: Vec<&str> = self.server.http.tokens.iter().map(|token| token.name.as_str()).collect();
        known.push(Identity::LOCAL);
        let is_known =
            |text: &String| Pattern::new(text).is_ok_and(|pattern| known.iter().any(|token| pattern.matches(token)));
        let missing: Vec<String> =
            named.iter().filter(|text| !is_known(text)).map(|text| format!("{text:?}")).collect();
        let all = missing.len() == named.len();
        all.then(|| format!("there is no token {}; configured are: {}", missing.join(", "), known.join(", ")))
    }

    /// # Errors
    /// If it names an issuer that is not configured.
    pub(super) fn check_when(&self, when: &WhenConfig) -> Result<(), WrongValue> {
        let issuers = self.issuers();
        for text in when.issuer.iter().flat_map(Texts::all).filter(|text| !text.contains('*')) {
            if !issuers.contains(&text.as_str()) {
                let hint = match issuers.as_slice() {
                    [] => "server.http.oauth has no issuers".to_owned(),
                    known => format!("configured are: {}", known.join(", ")),
                };
                let why = format!("there is no such issuer: {text:?}");
                return Err(WrongValue::at(&["issuer"], why).hint(hint));
            }
        }
        Ok(())
    }
}

impl RightsConfig {
    /// # Errors
    /// If a pattern is malformed, or there are too many rules.
    pub(super) fn build(&self) -> Result<Rights, WrongValue> {
        let too_many = |key: &str, limit: usize| {
            WrongValue::at(&[key], format!("must have at most {limit} entries"))
                .hint("patterns with * and conditions with several values need fewer")
        };
        if self.rules.len() > MAX_RULES {
            return Err(too_many("rules", MAX_RULES));
        }
        if self.scopes.len() > MAX_ENTRIES || self.scopes.values().any(|scopes| scopes.len() > MAX_ENTRIES) {
            return Err(too_many("scopes", MAX_ENTRIES));
        }
        if self.default.is_none() && !self.rules.is_empty() {
            let allows = self.rules.iter().any(|rule| !rule.deny && rule.ask.is_none());
            let hint = match allows {
                true => {
                    "write default = \"nothing\" if the rules say all that may be used, or default = \"everything\""
                }
                false => {
                    "write default = \"everything\", or default = \"nothing\" if the rules say all that may be used"
                }
            };
            return Err(WrongValue::at(&[], "needs a default, which holds for what no rule names").hint(hint));
        }
        let implied = self.scopes.iter().map(|(scope, others)| {
            for text in std::iter::once(scope).chain(others) {
                single_scope(text).map_err(|wrong| wrong.below(&["scopes", scope]))?;
            }
            Ok((scope.as_str().into(), others.iter().map(|scope| scope.as_str().into()).collect()))
        });
        let rules = self
            .rules
            .iter()
            .enumerate()
            .map(|(at, rule)| rule.build(at).map_err(|wrong| wrong.below(&["rules", &at.to_string()])));
        Ok(Rights {
            otherwise: self.default != Some(DefaultConfig::Nothing),
            shows_more: self.denied == DeniedConfig::Challenge,
            implied: Implications(implied.collect::<Result<_, _>>()?),
            rules: rules.collect::<Result<_, _>>()?,
            asking: self.asking()?,
            generation: 0,
        })
    }
}

/// The plugins in such texts as `notes` and `notes/add`, without those that are patterns.
fn exact<const N: usize>(lists: [&Vec<String>; N]) -> BTreeSet<&str> {
    let texts = lists.into_iter().flatten();
    let plugins = texts.map(|text| text.split_once('/').map_or(text.as_str(), |(plugin, _)| plugin));
    plugins.filter(|plugin| !plugin.contains('*')).collect()
}

/// The name of a rule, a budget or an extra.
pub(super) fn checked_name(name: String) -> Result<String, WrongValue> {
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        let why = format!("must be 1 to {MAX_NAME} bytes in one line");
        return Err(WrongValue::at(&["name"], why).hint("shorten it, or omit it"));
    }
    Ok(name)
}

impl RuleConfig {
    fn shown_name(&self, at: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("rule {}", at + 1))
    }

    fn build(&self, at: usize) -> Result<Rule, WrongValue> {
        let name = checked_name(self.shown_name(at))?;
        let what = Named {
            plugins: plugins(&self.plugins)?,
            tools: pairs("tools", &self.tools)?,
            prompts: pairs("prompts", &self.prompts)?,
            resources: patterns("resources", &self.resources)?,
            except: pairs("except", &self.except)?,
        };
        if self.plugins.is_empty() && self.tools.is_empty() && self.prompts.is_empty() && self.resources.is_empty() {
            return Err(WrongValue::at(&[], "names nothing")
                .hint("write what it is for: plugins = [\"*\"], tools = [\"notes/*\"], prompts or resources"));
        }
        let when = self.when.build().map_err(|wrong| wrong.below(&["when"]))?;
        Ok(Rule { name: name.into(), when, denies: self.deny, ask: self.asks()?, what })
    }
}

impl WhenConfig {
    /// The first key that only access tokens meet.
    fn of_access_tokens(&self) -> Option<&'static str> {
        let keys =
            [("scope", &self.scope), ("group", &self.group), ("subject", &self.subject), ("client", &self.client)];
        let claim = (!self.claims.is_empty()).then_some("claim");
        keys.into_iter().find_map(|(key, texts)| texts.as_ref().map(|_| key)).or(claim)
    }

    pub(super) fn build(&self) -> Result<Condition, WrongValue> {
        let texts = |key: &str, texts: &Option<Texts>| match texts {
            None => Ok(Vec::new()),
            Some(texts) if texts.all().is_empty() => {
                Err(WrongValue::at(&[key], "must not be empty").hint("omit it if it does not matter"))
            }
            Some(texts) => patterns(key, texts.all()),
        };
        let scopes = self.scope.iter().flat_map(Texts::all).map(|text| scopes(text)).collect::<Result<Vec<_>, _>>()?;
        if self.scope.is_some() && scopes.is_empty() {
            return Err(WrongValue::at(&["scope"], "must not be empty").hint("omit it if it does not matter"));
        }
        let claims = self
            .claims
            .iter()
            .map(|(path, values)| claim(path, values).map_err(|wrong| wrong.below(&["claims", path])));
        // A user as the audit log and `wharf rights` name them.
        let (names, subjects): (Vec<Pattern>, _) = texts("subject", &self.subject)?.into_iter().partition(|text| {
            let text = text.to_string();
            text.contains("://") && text.contains('#')
        });
        Ok(Condition {
            scopes,
            names,
            groups: texts("group", &self.group)?,
            tokens: texts("token", &self.token)?,
            subjects,
            issuers: texts("issuer", &self.issuer)?,
            clients: texts("client", &self.client)?,
            claims: claims.collect::<Result<_, _>>()?,
        })
    }
}

/// Scopes that are needed together.
fn scopes(text: &str) -> Result<Vec<Box<str>>, WrongValue> {
    let all: Vec<Box<str>> = text.split(' ').filter(|scope| !scope.is_empty()).map(Into::into).collect();
    if all.is_empty() {
        return Err(WrongValue::at(&["scope"], "must not be empty").hint("omit it if it does not matter"));
    }
    all.iter().try_for_each(|scope| single_scope(scope).map_err(|wrong| wrong.below(&["scope"])))?;
    Ok(all)
}

fn single_scope(text: &str) -> Result<(), WrongValue> {
    if !is_scope(text) || text.len() > MAX_NAME || text.contains('*') {
        return Err(WrongValue::at(&[], format!("not a scope: {text:?}"))
            .hint("write it as the authorization server does, without *, blanks and quotes: \"notes:write\""));
    }
    Ok(())
}

fn claim(path: &str, values: &ClaimConfig) -> Result<(Box<str>, Vec<Accepted>), WrongValue> {
    if path.is_empty() || path.len() > MAX_NAME {
        return Err(WrongValue::at(&[], "not a path to a claim").hint("write it like this: \"org.id\""));
    }
    let values = match values {
        ClaimConfig::One(value) => std::slice::from_ref(value),
        ClaimConfig::Many(values) => values,
    };
    if values.is_empty() || values.len() > MAX_ENTRIES {
        return Err(
            WrongValue::at(&[], format!("must have 1 to {MAX_ENTRIES} values")).hint("\"*\" stands for any text")
        );
    }
    let accepted = values.iter().map(|value| match value {
        ScalarConfig::Text(text) => Ok(Accepted::Text(pattern(&[], text)?)),
        ScalarConfig::Number(number) => Ok(Accepted::Scalar(Value::from(*number))),
        ScalarConfig::Flag(flag) => Ok(Accepted::Scalar(Value::from(*flag))),
    });
    Ok((path.into(), accepted.collect::<Result<_, WrongValue>>()?))
}

fn pattern(keys: &[&str], text: &str) -> Result<Pattern, WrongValue> {
    Pattern::new(text).map_err(|error| WrongValue::at(keys, error.to_string()).hint("* stands for any characters"))
}

/// A pattern of names that plugins can have.
fn plugin_pattern(keys: &[&str], text: &str) -> Result<Pattern, WrongValue> {
    let is_valid = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '*');
    if !text.chars().all(is_valid) {
        let plain = text.strip_suffix(".wasm").unwrap_or(text).to_lowercase().replace('_', "-");
        let hint = match plain.chars().all(is_valid) {
            false if text.contains('/') => format!("a tool is named in tools: tools = [{text:?}]"),
            true => format!("plugins have names of lower-case letters, digits and hyphens: \"{plain}\""),
            false => "plugins have names of lower-case letters, digits and hyphens".to_owned(),
        };
        return Err(WrongValue::at(keys, format!("no plugin has such a name: {text:?}")).hint(hint));
    }
    pattern(keys, text)
}

pub(super) fn plugins(texts: &[String]) -> Result<Vec<Pattern>, WrongValue> {
    bounded("plugins", texts)?;
    texts.iter().enumerate().map(|(at, text)| plugin_pattern(&["plugins", &at.to_string()], text)).collect()
}

fn patterns(key: &str, texts: &[String]) -> Result<Vec<Pattern>, WrongValue> {
    bounded(key, texts)?;
    texts.iter().enumerate().map(|(at, text)| pattern(&[key, &at.to_string()], text)).collect()
}

/// Patterns of a plugin and of what it offers.
pub(super) fn pairs(key: &str, texts: &[String]) -> Result<Vec<(Pattern, Pattern)>, WrongValue> {
    bounded(key, texts)?;
    let pair = |(at, text): (usize, &String)| {
        let keys = [key, &at.to_string()];
        let Some((plugin, name)) = text.split_once('/') else {
            // The name that clients know, or a plugin.
            let hint = match text.split_once(['_', '.', ':']) {
                Some((plugin, name)) => format!("write the plugin and its own name of it: \"{plugin}/{name}\""),
                None => format!("write \"{text}/*\" for all of the plugin {text}, or the plugin before the name"),
            };
            return Err(WrongValue::at(&keys, format!("has no plugin: {text:?}")).hint(hint));
        };
        Ok((plugin_pattern(&keys, plugin)?, pattern(&keys, name)?))
    };
    texts.iter().enumerate().map(pair).collect()
}

fn bounded(key: &str, texts: &[String]) -> Result<(), WrongValue> {
    match texts.len() > MAX_ENTRIES {
        true => Err(WrongValue::at(&[key], format!("must have at most {MAX_ENTRIES} entries"))
            .hint("patterns with * need fewer")),
        false => Ok(()),
    }
}
