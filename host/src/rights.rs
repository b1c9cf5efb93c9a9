//! Who may use what: rules, from identities to the plugins, tools, prompts and resources of a server.
//!
//! Pure: it knows neither the configuration's format nor MCP. A rule that denies overrides those that allow.

mod ask;
mod condition;
mod pattern;

use std::fmt;
use std::sync::Arc;

use crate::identity::Identity;

pub use ask::{Approver, Ask, Asking};
pub use condition::{Accepted, Condition, Implications};
use pattern::uri_forms;
pub use pattern::{Pattern, PatternError};

/// What a plugin offers, one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// By its name within the plugin.
    Tool(&'a str),
    Prompt(&'a str),
    /// By its URI.
    Resource(&'a str),
    /// By its text.
    Template(&'a str),
    /// What has no name of its own, such as a method of an extension.
    Rest,
}

/// One rule.
#[derive(Debug, Default)]
pub struct Rule {
    /// For people: what `wharf rights` and the audit log show.
    pub name: Box<str>,
    pub when: Condition,
    /// Whether it denies what it names.
    pub denies: bool,
    /// Whether a person is asked before the tools that it names run.
    pub ask: Option<Ask>,
    pub what: Named,
}

/// What a rule names.
#[derive(Debug, Default)]
pub struct Named {
    /// Plugins with all that they offer.
    pub plugins: Vec<Pattern>,
    /// Plugin and tool.
    pub tools: Vec<(Pattern, Pattern)>,
    /// Plugin and prompt.
    pub prompts: Vec<(Pattern, Pattern)>,
    /// URIs.
    pub resources: Vec<Pattern>,
    /// Plugin and tool or prompt that it does not name nevertheless.
    pub except: Vec<(Pattern, Pattern)>,
}

/// All rules, and what holds where none names something.
#[derive(Debug)]
pub struct Rights {
    /// Whether it is allowed.
    pub otherwise: bool,
    /// Whether clients see what they could use with more scopes.
    pub shows_more: bool,
    pub implied: Implications,
    pub rules: Vec<Rule>,
    pub asking: Asking,
    /// Tells them from others that a server had before.
    pub generation: u64,
}

impl Default for Rights {
    /// Who may come in may use everything.
    fn default() -> Self {
        Self {
            otherwise: true,
            shows_more: false,
            implied: Implications::default(),
            rules: Vec::new(),
            asking: Asking::default(),
            generation: 0,
        }
    }
}

impl Rights {
    /// Whether the rules make no difference between identities.
    pub fn is_open(&self) -> bool {
        self.otherwise && self.rules.is_empty()
    }

    /// What an identity may use.
    pub fn of(self: &Arc<Self>, identity: &Identity) -> Permissions {
        if self.is_open() {
            return Permissions(None);
        }
        let scopes = self.implied.all_of(identity);
        let mut holding = Vec::new();
        let (mut lacking, mut denied_with_more) = (Vec::new(), Vec::new());
        for (at, rule) in self.rules.iter().enumerate() {
            match rule.when.missing(identity, &scopes) {
                Some(missing) if missing.is_empty() => holding.push(at),
                // More scopes can be asked for; nothing else that is missing can.
                Some(_) if rule.denies => denied_with_more.push(at),
                Some(missing) => lacking.push((at, missing)),
                None => {}
            }
        }
        Permissions(Some(Arc::new(Held { rights: self.clone(), holding, lacking, denied_with_more })))
    }
}

/// What one identity may use.
#[derive(Clone, Debug, Default)]
pub struct Permissions(Option<Arc<Held>>);

#[derive(Debug)]
struct Held {
    rights: Arc<Rights>,
    /// Indices of the rules whose conditions hold, ascending.
    holding: Vec<usize>,
    /// Indices of the rules that would hold with more scopes, and these scopes.
    lacking: Vec<(usize, Vec<Box<str>>)>,
    /// Indices of the rules that would deny with more scopes.
    denied_with_more: Vec<usize>,
}

/// Which rules hold, and which would with more scopes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PermissionsKey {
    generation: u64,
    holding: Vec<usize>,
    lacking: Vec<usize>,
}

/// Whether something may be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// By a rule, or by default.
    Allowed(Option<&'a str>),
    /// By a rule, or because none allows it. With these scopes a token would allow it; none: with no scopes.
    Denied { rule: Option<&'a str>, scopes: &'a [Box<str>] },
}

impl<'a> Verdict<'a> {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// The name of the rule that it is by.
    pub fn rule(&self) -> Option<&'a str> {
        let (Self::Allowed(rule) | Self::Denied { rule, .. }) = self;
        *rule
    }
}

impl fmt::Display for Verdict<'_> {
    /// The reason, as a fragment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allowed(Some(rule)) | Self::Denied { rule: Some(rule), .. } => f.write_str(rule),
            Self::Allowed(None) => f.write_str("default"),
            Self::Denied { rule: None, scopes: [] } => f.write_str("no rule allows it"),
            Self::Denied { rule: None, scopes } => write!(f, "needs the scope {}", scopes.join(" ")),
        }
    }
}

impl Permissions {
    /// Everything.
    pub fn open() -> Self {
        Self(None)
    }

    pub fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// Equal keys of one server allow and list the same. `None`: everything.
    pub fn key(&self) -> Option<PermissionsKey> {
        let held = self.0.as_ref()?;
        let denying = held.denied_with_more.iter().copied();
        let lacking = held.lacking.iter().map(|(at, _)| *at).chain(denying).collect();
        Some(PermissionsKey { generation: held.rights.generation, holding: held.holding.clone(), lacking })
    }

    pub fn verdict(&self, plugin: &str, item: Item<'_>) -> Verdict<'_> {
        let Some(held) = &self.0 else { return Verdict::Allowed(None) };
        let rules = &held.rights.rules;
        let item = Sought::new(plugin, item);
        let named = |at: &&usize| item.is_named(&rules[**at]);
        let (mut denying, mut allowing) = (None, None);
        for at in held.holding.iter().filter(named) {
            let first = if rules[*at].denies { &mut denying } else { &mut allowing };
            first.get_or_insert(&*rules[*at].name);
        }
        match (denying, allowing) {
            (Some(rule), _) => Verdict::Denied { rule: Some(rule), scopes: &[] },
            (None, Some(rule)) => Verdict::Allowed(Some(rule)),
            (None, None) if held.rights.otherwise => Verdict::Allowed(None),
            (None, None) => {
                if held.denied_with_more.iter().any(|at| item.is_named(&rules[*at])) {
                    return Verdict::Denied { rule: None, scopes: &[] };
                }
                let could = held.lacking.iter().filter(|(at, _)| item.is_named(&rules[*at]));
                let scopes = could.min_by_key(|(_, scopes)| scopes.len()).map_or(&[][..], |(_, scopes)| scopes);
                Verdict::Denied { rule: None, scopes }
            }
        }
    }

    pub fn allows(&self, plugin: &str, item: Item<'_>) -> bool {
        self.0.is_none() || self.verdict(plugin, item).is_allowed()
    }

    /// Whether what has this verdict is listed: it is allowed, or it is shown that more scopes would allow it.
    pub fn shows(&self, verdict: &Verdict<'_>) -> bool {
        match verdict {
            Verdict::Allowed(_) => true,
            Verdict::Denied { scopes, .. } => {
                !scopes.is_empty() && self.0.as_ref().is_some_and(|held| held.rights.shows_more)
            }
        }
    }
}

/// An item, with all forms of its URI that a rule could name.
struct Sought<'a> {
    plugin: &'a str,
    item: Item<'a>,
    uris: Vec<String>,
}

impl<'a> Sought<'a> {
    fn new(plugin: &'a str, item: Item<'a>) -> Self {
        let uris = match item {
            Item::Resource(uri) => uri_forms(uri),
            _ => Vec::new(),
        };
        Self { plugin, item, uris }
    }

    /// Whether a rule names it. One that denies need name only one form of a URI, one that allows must name all: which
    /// of them its plugin takes for the same is not known.
    fn is_named(&self, rule: &Rule) -> bool {
        let named = &rule.what;
        let pair = |patterns: &[(Pattern, Pattern)], name: &str| {
            patterns.iter().any(|(plugin, pattern)| plugin.matches(self.plugin) && pattern.matches(name))
        };
        if let Item::Tool(name) | Item::Prompt(name) = self.item
            && pair(&named.except, name)
        {
            return false;
        }
        let is_resource = |uri: &str| named.resources.iter().any(|pattern| pattern.matches(uri));
        named.plugins.iter().any(|pattern| pattern.matches(self.plugin))
            || match self.item {
                Item::Tool(name) => pair(&named.tools, name),
                Item::Prompt(name) => pair(&named.prompts, name),
                Item::Template(text) => is_resource(text),
                // What is no URI is named by all rules that deny, and by none that allows.
                Item::Resource(_) if self.uris.is_empty() => rule.denies && !named.resources.is_empty(),
                Item::Resource(_) if rule.denies => self.uris.iter().any(|uri| is_resource(uri)),
                Item::Resource(_) => self.uris.iter().all(|uri| is_resource(uri)),
                Item::Rest => false,
            }
    }
}

#[cfg(test)]
mod tests;
