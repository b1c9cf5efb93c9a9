//! The surface of a plugin, all that it offers: listed once at load, checked, then frozen.
//!
//! An invalid entry is dropped with a warning and the others are served; a surface that is too large
//! rejects the plugin. Public names and the order across plugins are up to the catalog.

mod canonical;
mod checks;
mod extension;
mod integers;
pub(in crate::plugin) mod normalize;
mod nulls;
pub(in crate::plugin) mod pages;
mod shown;
mod signature;
pub(in crate::plugin) mod stored;
pub(in crate::plugin) mod template;
mod warning;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::abi::{Capability, Offer, Prompt, ResourceDescription, ResourceTemplate, Tool};
use super::error::LoadError;
use super::id::Digest;
use super::schema::allowance::Allowance;
use super::schema::{Mirrored, Schema, Wrapping, mirrored};
use super::skills::Skills;
use crate::json;
use crate::text;
use crate::text::quote;
use integers::Integers;
use nulls::NeverNull;
pub use pages::{ToolUi, own_pages};
pub use shown::SchemaStyle;
pub use signature::{Parameter, parameters, signature};
use template::UriTemplate;
pub use warning::ListingWarning;

use checks::Refused;

/// Maximum entries of one list.
pub(in crate::plugin) const MAX_ENTRIES: usize = 128;
/// Maximum capabilities of a kind, and methods: plugins have few, and every handshake contains them.
const MAX_OFFERED: usize = 32;
/// Maximum bytes of all texts of all lists.
const MAX_SIZE: usize = 256 << 10;

/// All that a plugin offers. `None`: it does not export the interface.
#[derive(Debug, Default)]
pub struct Surface {
    pub tools: Option<Vec<FrozenTool>>,
    pub resources: Option<Vec<ResourceDescription>>,
    pub templates: Vec<FrozenTemplate>,
    pub prompts: Option<Vec<Prompt>>,
    pub completions: bool,
    pub offer: Option<Offer>,
    /// The digests of its pages' contents, by URI: of those that are always the same.
    pub pages: BTreeMap<String, Digest>,
    /// What its file carries; each `SKILL.md` is in the resources too.
    pub skills: Skills,
}

/// A tool with compiled schemas.
#[derive(Debug)]
pub struct FrozenTool {
    pub tool: Tool,
    pub input: Schema,
    pub output: Option<Schema>,
    pub wrapping: Wrapping,
    pub mirrored: Vec<Mirrored>,
    never_null: NeverNull,
    integers: Integers,
    /// Of its page.
    pub ui: ToolUi,
    /// An alternative public name, used instead of the prefixed one: the name with the package
    /// and interface of its function, if any.
    pub long_name: Option<String>,
}

/// A template that can be matched with URIs.
#[derive(Debug)]
pub struct FrozenTemplate {
    pub template: ResourceTemplate,
    pub uri: UriTemplate,
}

impl FrozenTool {
    /// Checks a tool and compiles its schemas.
    ///
    /// # Errors
    /// Why it is invalid: a fragment for people.
    pub fn freeze(tool: Tool) -> Result<Self, String> {
        Self::freeze_within(tool, SchemaStyle::default(), &mut Allowance::new(), &mut text::Leeway::default())
    }

    fn freeze_within(
        mut tool: Tool,
        style: SchemaStyle,
        allowance: &mut Allowance,
        hidden: &mut text::Leeway,
    ) -> Result<Self, String> {
        let mut wrapping = Wrapping::None;
        checks::name(&tool.name)?;
        checks::texts(tool.title.as_deref(), tool.description.as_deref(), hidden)?;
        checks::schema_text(&tool.input_schema, hidden)?;
        let input =
            Schema::compile_within(&tool.input_schema, allowance).map_err(|why| format!("its input schema: {why}"))?;
        checks::object_type(&input)?;
        // Clients get the text that is pinned: one text per schema.
        let shown = style.input(input.source());
        tool.input_schema = json::canonical(&shown);
        // Some agent libraries fail on a tool without a description.
        if tool.description.as_deref().is_none_or(|text| text.trim().is_empty()) {
            tool.description = Some(tool.title.clone().unwrap_or_else(|| signature(&tool.name, &shown)));
        }
        let output = match &tool.output_schema {
            None => None,
            Some(text) => {
                checks::schema_text(text, hidden)?;
                let output =
                    Schema::compile_within(text, allowance).map_err(|why| format!("its output schema: {why}"))?;
                if !output.source().is_object() {
                    return Err("its output schema is not an object".into());
                }
                let text = json::canonical(&style.output(output.source()));
                wrapping = Wrapping::of(&output, &text);
                tool.output_schema = Some(text);
                Some(output)
            }
        };
        checks::icons(&mut tool.icons, hidden);
        tool.meta = checks::meta(tool.meta, hidden)?;
        let mirrored = mirrored(input.source()).map_err(|why| format!("its input schema: {why}"))?;
        let (never_null, integers) = (NeverNull::of(&input), Integers::of(input.source()));
        let ui = ToolUi::of(tool.meta.as_deref());
        Ok(Self { tool, input, output, wrapping, mirrored, never_null, integers, ui, long_name: None })
    }

    /// Arguments as the tool takes them, in place of how clients write them: without null for an optional
    /// parameter, and with integers as digits.
    pub fn taken(&self, arguments: Arc<str>) -> Arc<str> {
        self.integers.as_digits(self.never_null.without_nulls(arguments), self.input.source())
    }
}

impl Surface {
    /// The tools to which the plugin gave neither a description nor a title.
    pub fn undescribed(&self) -> impl Iterator<Item = &str> {
        let is_signature = |tool: &Tool| {
            let schema = json::tree(&tool.input_schema, json::MAX_DEPTH).unwrap_or_default();
            tool.description.as_deref() == Some(signature(&tool.name, &schema).as_str())
        };
        let tools = self.tools.iter().flatten().map(|frozen| &frozen.tool);
        tools.filter(move |tool| is_signature(tool)).map(|tool| tool.name.as_str())
    }

    /// The tool of that name, without the plugin's prefix.
    pub fn tool(&self, name: &str) -> Option<&FrozenTool> {
        self.tools.as_ref()?.iter().find(|tool| tool.tool.name == name)
    }

    /// Whether it offers nothing now.
    pub fn is_empty(&self) -> bool {
        let Self { tools, resources, templates, prompts, completions: _, offer, pages: _, skills: _ } = self;
        let has_own = offer.as_ref().is_some_and(|offer| {
            !(offer.methods.is_empty() && offer.experimental.is_empty() && offer.extensions.is_empty())
        });
        let has = |count: Option<usize>| count.is_some_and(|count| count > 0);
        let lists = [tools.as_ref().map(Vec::len), resources.as_ref().map(Vec::len), prompts.as_ref().map(Vec::len)];
        !has_own && templates.is_empty() && !lists.into_iter().any(has)
    }

    /// Whether it may offer more later, or with grants, than it lists now.
    pub fn has_other_lists(&self) -> bool {
        self.resources.is_some() || self.prompts.is_some()
    }
}

/// The lists as the guest returned them.
#[derive(Default)]
pub(in crate::plugin) struct Listed {
    pub(in crate::plugin) tools: Option<Vec<Tool>>,
    pub(in crate::plugin) resources: Option<Vec<ResourceDescription>>,
    pub(in crate::plugin) templates: Vec<ResourceTemplate>,
    pub(in crate::plugin) prompts: Option<Vec<Prompt>>,
    pub(in crate::plugin) completions: bool,
    pub(in crate::plugin) offer: Option<Offer>,
    /// As [`Surface::pages`].
    pub(in crate::plugin) pages: BTreeMap<String, Digest>,
    /// Their entries are not in `resources` yet.
    pub(in crate::plugin) skills: Skills,
    /// How clients are shown the tools' schemas.
    pub(in crate::plugin) schemas: SchemaStyle,
}

impl Listed {
    /// Checks everything; dropped entries are in the warnings.
    pub(in crate::plugin) fn freeze(self) -> Result<(Surface, Vec<ListingWarning>), LoadError> {
        self.freeze_within(Allowance::new())
    }

    fn freeze_within(mut self, mut allowance: Allowance) -> Result<(Surface, Vec<ListingWarning>), LoadError> {
        // First: the plugin's own resources of these names are left out.
        let carried: Vec<_> = self.skills.resources().collect();
        if !carried.is_empty() {
            self.resources = Some(carried.into_iter().chain(self.resources.unwrap_or_default()).collect());
        }
        let counts = [
            self.tools.as_ref().map_or(0, Vec::len),
            self.resources.as_ref().map_or(0, Vec::len),
            self.templates.len(),
            self.prompts.as_ref().map_or(0, Vec::len),
        ];
        if counts.iter().any(|count| *count > MAX_ENTRIES) {
            return Err(LoadError::ListingTooLarge { what: "entries", limit: MAX_ENTRIES });
        }
        let offered = |offer: &Offer| [offer.experimental.len(), offer.extensions.len(), offer.methods.len()];
        if self.offer.as_ref().is_some_and(|offer| offered(offer).iter().any(|count| *count > MAX_OFFERED)) {
            return Err(LoadError::ListingTooLarge { what: "capabilities or methods", limit: MAX_OFFERED });
        }
        if checks::size(&self) > MAX_SIZE {
            return Err(LoadError::ListingTooLarge { what: "bytes", limit: MAX_SIZE });
        }
        let mut warnings = Vec::new();
        let mut seen = text::Leeway::of_listing();
        let hidden = &mut seen;
        let tool = |tool, hidden: &mut _| FrozenTool::freeze_within(tool, self.schemas, &mut allowance, hidden);
        let tools = self.tools.map(|list| keep(list, "tool", |t| &t.name, tool, hidden, &mut warnings));
        let template = |listed, hidden: &mut _| template(listed, &mut allowance, hidden);
        let mut surface = Surface {
            tools,
            resources: self.resources.map(|list| keep(list, "resource", |r| &r.uri, resource, hidden, &mut warnings)),
            templates: keep(self.templates, "resource template", |t| &t.uri_template, template, hidden, &mut warnings),
            prompts: self.prompts.map(|list| keep(list, "prompt", |p| &p.name, prompt, hidden, &mut warnings)),
            completions: self.completions,
            offer: self.offer.map(|offered| Offer {
                experimental: keep(
                    offered.experimental,
                    "experimental capability",
                    |c| &c.name,
                    |c, hidden| capability(c, extension::experimental_name, hidden),
                    hidden,
                    &mut warnings,
                ),
                extensions: keep(
                    offered.extensions,
                    "extension",
                    |c| &c.name,
                    |c, hidden| capability(c, extension::name, hidden),
                    hidden,
                    &mut warnings,
                ),
                methods: keep(offered.methods, "method", |m| m, |m, _| method(m), hidden, &mut warnings),
            }),
            pages: self.pages,
            skills: self.skills,
        };
        // Which entries were in time is chance: such a list must be neither served nor approved.
        if allowance.was_late() {
            return Err(LoadError::ListingTimeout);
        }
        surface.skills.retain(surface.resources.as_deref().unwrap_or_default());
        Ok((surface, warnings))
    }
}

/// Freezes the entries of a list in order, without duplicate keys. A dropped entry does not count
/// against the leeway.
fn keep<T, F>(
    list: Vec<T>,
    kind: &'static str,
    key: impl Fn(&T) -> &String,
    mut freeze: impl FnMut(T, &mut text::Leeway) -> Result<F, Refused>,
    hidden: &mut text::Leeway,
    warnings: &mut Vec<ListingWarning>,
) -> Vec<F> {
    let mut names = HashSet::new();
    let mut kept = Vec::with_capacity(list.len());
    for entry in list {
        let name = key(&entry).clone();
        let before = hidden.clone();
        hidden.begin_entry();
        let frozen =
            if names.insert(name.clone()) { freeze(entry, hidden) } else { Err("the name is already in use".into()) };
        match frozen {
            Ok(frozen) => kept.push(frozen),
            Err(why) => {
                *hidden = before;
                warnings.push(ListingWarning::Dropped { kind: kind.into(), name: quote(&name, 80), why });
            }
        }
    }
    kept
}

fn resource(mut resource: ResourceDescription, hidden: &mut text::Leeway) -> Result<ResourceDescription, Refused> {
    checks::uri(&resource.uri)?;
    checks::label(&resource.name, hidden)?;
    checks::texts(resource.title.as_deref(), resource.description.as_deref(), hidden)?;
    checks::mime(resource.mime_type.as_deref())?;
    checks::icons(&mut resource.icons, hidden);
    normalize::annotations(&mut resource.annotations);
    resource.meta = checks::meta(resource.meta, hidden)?;
    page_meta(resource.meta.as_deref())?;
    Ok(resource)
}

fn template(
    mut template: ResourceTemplate,
    allowance: &mut Allowance,
    hidden: &mut text::Leeway,
) -> Result<FrozenTemplate, Refused> {
    let uri = UriTemplate::compile_within(&template.uri_template, allowance)?;
    checks::label(&template.name, hidden)?;
    checks::texts(template.title.as_deref(), template.description.as_deref(), hidden)?;
    checks::mime(template.mime_type.as_deref())?;
    checks::icons(&mut template.icons, hidden);
    normalize::annotations(&mut template.annotations);
    template.meta = checks::meta(template.meta, hidden)?;
    page_meta(template.meta.as_deref())?;
    Ok(FrozenTemplate { template, uri })
}

fn page_meta(meta: Option<&str>) -> Result<(), Refused> {
    meta.map_or(Ok(()), pages::check).map_err(|why| format!("its meta {why}"))
}

fn prompt(mut prompt: Prompt, hidden: &mut text::Leeway) -> Result<Prompt, Refused> {
    checks::name(&prompt.name)?;
    checks::texts(prompt.title.as_deref(), prompt.description.as_deref(), hidden)?;
    let mut names = HashSet::new();
    for argument in &prompt.arguments {
        checks::label(&argument.name, hidden)?;
        checks::texts(argument.title.as_deref(), argument.description.as_deref(), hidden)?;
        if !names.insert(&argument.name) {
            return Err(format!("it has the argument '{}' twice", quote(&argument.name, 80)));
        }
    }
    checks::icons(&mut prompt.icons, hidden);
    prompt.meta = checks::meta(prompt.meta, hidden)?;
    Ok(prompt)
}

fn capability(
    mut capability: Capability,
    name: impl Fn(&str) -> Result<(), Refused>,
    hidden: &mut text::Leeway,
) -> Result<Capability, Refused> {
    name(&capability.name)?;
    capability.settings = extension::settings(&capability.settings, hidden)?;
    Ok(capability)
}

fn method(name: String) -> Result<String, Refused> {
    checks::name(&name)?;
    Ok(name)
}

#[cfg(test)]
mod tests;
