//! The text in which a surface is stored, and the lists that are read from it.

use serde_json::Value;

use super::shown::SchemaStyle;
use super::{Listed, Surface};
use crate::json;
use crate::plugin::abi::{
    Annotations, Capability, Icon, IconTheme, Offer, Prompt, PromptArgument, ResourceDescription, ResourceTemplate,
    Role, TaskSupport, Tool, ToolAnnotations,
};
use crate::plugin::id::Digest;
use crate::plugin::skills::Skills;

/// The custom section of a component that has its listing: the text of [`Surface::stored`].
pub(in crate::plugin) const SECTION: &str = "wharf:listing";

impl Surface {
    /// The name and content of the custom section for the component that lists this without grants, with schemas in
    /// the default style.
    pub fn section(&self) -> (&'static str, String) {
        (SECTION, self.stored())
    }

    /// A JSON object, which [`Listed::of_stored`] reads. Schemas are in it as clients are shown them.
    pub(in crate::plugin) fn stored(&self) -> String {
        self.own_lists().to_string()
    }
}

impl Listed {
    /// The lists of a stored surface; `None`: the text is not one.
    pub(in crate::plugin) fn of_stored(stored: &str) -> Option<Self> {
        let stored = json::tree(stored, json::MAX_DEPTH).ok()?;
        let offer = Offer {
            experimental: list(&stored["experimental"], capability)?,
            extensions: list(&stored["extensions"], capability)?,
            methods: list(&stored["methods"], |method| text(&method["name"]))?,
        };
        let is_empty = offer.experimental.is_empty() && offer.extensions.is_empty() && offer.methods.is_empty();
        Some(Self {
            tools: optional(&stored["tools"], |tools| list(tools, tool))?,
            resources: optional(&stored["resources"], |resources| list(resources, resource))?,
            templates: list(&stored["templates"], template)?,
            prompts: optional(&stored["prompts"], |prompts| list(prompts, prompt))?,
            completions: stored["completions"].as_bool()?,
            offer: (!is_empty).then_some(offer),
            pages: optional(&stored["pages"], |pages| list(pages, page))?.unwrap_or_default().into_iter().collect(),
            skills: Skills::default(),
            // They were written in the style already.
            schemas: SchemaStyle::Verbatim,
        })
    }
}

fn tool(tool: &Value) -> Option<Tool> {
    Some(Tool {
        name: text(&tool["name"])?,
        title: text(&tool["title"]),
        description: text(&tool["description"]),
        input_schema: json_text(&tool["inputSchema"])?,
        output_schema: json_text(&tool["outputSchema"]),
        annotations: optional(&tool["annotations"], |hints| {
            Some(ToolAnnotations {
                read_only: hints["readOnly"].as_bool(),
                destructive: hints["destructive"].as_bool(),
                idempotent: hints["idempotent"].as_bool(),
                open_world: hints["openWorld"].as_bool(),
            })
        })?,
        task_support: match tool["taskSupport"].as_str()? {
            "forbidden" => TaskSupport::Forbidden,
            "optional" => TaskSupport::Optional,
            "required" => TaskSupport::Required,
            _ => return None,
        },
        icons: icons(&tool["icons"])?,
        meta: json_text(&tool["meta"]),
    })
}

fn prompt(prompt: &Value) -> Option<Prompt> {
    let argument = |argument: &Value| {
        Some(PromptArgument {
            name: text(&argument["name"])?,
            title: text(&argument["title"]),
            description: text(&argument["description"]),
            required: argument["required"].as_bool()?,
        })
    };
    Some(Prompt {
        name: text(&prompt["name"])?,
        title: text(&prompt["title"]),
        description: text(&prompt["description"]),
        arguments: list(&prompt["arguments"], argument)?,
        icons: icons(&prompt["icons"])?,
        meta: json_text(&prompt["meta"]),
    })
}

fn resource(resource: &Value) -> Option<ResourceDescription> {
    Some(ResourceDescription {
        uri: text(&resource["uri"])?,
        name: text(&resource["name"])?,
        title: text(&resource["title"]),
        description: text(&resource["description"]),
        mime_type: text(&resource["mimeType"]),
        size: resource["size"].as_u64(),
        annotations: optional(&resource["annotations"], annotations)?,
        icons: icons(&resource["icons"])?,
        meta: json_text(&resource["meta"]),
    })
}

fn template(template: &Value) -> Option<ResourceTemplate> {
    Some(ResourceTemplate {
        uri_template: text(&template["uriTemplate"])?,
        name: text(&template["name"])?,
        title: text(&template["title"]),
        description: text(&template["description"]),
        mime_type: text(&template["mimeType"]),
        annotations: optional(&template["annotations"], annotations)?,
        icons: icons(&template["icons"])?,
        meta: json_text(&template["meta"]),
    })
}

fn page(page: &Value) -> Option<(String, Digest)> {
    Some((text(&page["uri"])?, Digest::parse(page["content"].as_str()?)?))
}

fn capability(capability: &Value) -> Option<Capability> {
    Some(Capability { name: text(&capability["name"])?, settings: json_text(&capability["settings"])? })
}

fn annotations(annotations: &Value) -> Option<Annotations> {
    let role = |role: &Value| match role.as_str()? {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    };
    Some(Annotations {
        audience: list(&annotations["audience"], role)?,
        priority: annotations["priority"].as_f64(),
        last_modified: text(&annotations["lastModified"]),
    })
}

fn icons(icons: &Value) -> Option<Vec<Icon>> {
    let theme = |theme: &Value| match theme.as_str()? {
        "light" => Some(IconTheme::Light),
        "dark" => Some(IconTheme::Dark),
        _ => None,
    };
    let icon = |icon: &Value| {
        Some(Icon {
            src: text(&icon["src"])?,
            mime_type: text(&icon["mimeType"]),
            sizes: list(&icon["sizes"], text)?,
            theme: optional(&icon["theme"], theme)?,
        })
    };
    optional(icons, |icons| list(icons, icon)).map(Option::unwrap_or_default)
}

/// A member that may be missing; `None`: it is there and not valid.
fn optional<T>(member: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    if member.is_null() { Some(None) } else { read(member).map(Some) }
}

fn list<T>(entries: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    entries.as_array()?.iter().map(read).collect()
}

fn text(member: &Value) -> Option<String> {
    member.as_str().map(str::to_owned)
}

/// The text of JSON that is a member; `None` if there is none.
fn json_text(member: &Value) -> Option<String> {
    (!member.is_null()).then(|| json::canonical(member))
}

#[cfg(test)]
mod tests;
