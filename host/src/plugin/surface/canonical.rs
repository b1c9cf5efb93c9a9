//! The canonical text of a surface, which does not depend on the order in which entries are listed;
//! and its digest. It has each entry as clients get it.
//!
//! Resources that match one of the plugin's templates are left out: they are data that the plugin
//! stores, and change often. All other entries are in it.

use serde_json::{Value, json};

use super::Surface;
use crate::json;
use crate::plugin::abi::{
    Annotations, Capability, Icon, IconTheme, Offer, Prompt, PromptArgument, ResourceDescription, ResourceTemplate,
    TaskSupport, Tool, ToolAnnotations,
};
use crate::plugin::id::Digest;

impl Surface {
    /// A JSON object; its members are lists of entries, sorted by name.
    pub fn canonical(&self) -> String {
        let mut lists = self.own_lists();
        // As for pages: only if there are any.
        if !self.skills.is_empty() {
            lists["files"] = self.skills.approved_files().into();
        }
        let matches_template = |uri: &str| self.templates.iter().any(|template| template.uri.matches(uri));
        for (name, list) in lists.as_object_mut().into_iter().flatten() {
            let key = match name.as_str() {
                "resources" | "pages" => "uri",
                "templates" => "uriTemplate",
                _ => "name",
            };
            if list.is_null() {
                *list = json!([]);
            }
            if let Value::Array(entries) = list {
                entries.retain(|entry| name != "resources" || !entry["uri"].as_str().is_some_and(matches_template));
                entries.sort_by(|a, b| a[key].as_str().cmp(&b[key].as_str()));
            }
        }
        json::canonical(&lists)
    }

    /// As [`Surface::lists`], without the skills of the file: whether these are served depends on the room that other
    /// plugins leave, and what is pinned and stored must not.
    pub(in crate::plugin) fn own_lists(&self) -> Value {
        let mut lists = self.lists();
        let is_skill = |uri: &Value| self.skills.all().iter().any(|skill| *uri == *skill.uri());
        if let Some(resources) = lists["resources"].as_array_mut() {
            resources.retain(|resource| !is_skill(&resource["uri"]));
        }
        lists
    }

    /// All lists in the order in which clients get them; null without the interface.
    pub fn lists(&self) -> Value {
        let Self { tools, resources, templates, prompts, completions, offer, pages, skills: _ } = self;
        let none = Offer { experimental: Vec::new(), extensions: Vec::new(), methods: Vec::new() };
        let Offer { experimental, extensions, methods } = offer.as_ref().unwrap_or(&none);
        let mut lists = json!({
            "tools": tools.as_ref().map(|list| list.iter().map(|frozen| tool(&frozen.tool)).collect::<Vec<_>>()),
            "prompts": prompts.as_ref().map(|list| list.iter().map(prompt).collect::<Vec<_>>()),
            "resources": resources.as_ref().map(|list| list.iter().map(resource).collect::<Vec<_>>()),
            "templates": templates.iter().map(|frozen| template(&frozen.template)).collect::<Vec<_>>(),
            "completions": completions,
            "experimental": experimental.iter().map(capability).collect::<Vec<_>>(),
            "extensions": extensions.iter().map(capability).collect::<Vec<_>>(),
            "methods": methods.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>(),
        });
        // Only if there are any, so that the others have the digests that they had before there were pages.
        if !pages.is_empty() {
            let page =
                |(uri, content): (&String, &Digest)| json!({ "uri": uri, "content": format!("blake3:{content}") });
            lists["pages"] = pages.iter().map(page).collect();
        }
        lists
    }

    /// The hash of [`Surface::canonical`].
    pub fn digest(&self) -> Digest {
        Digest::of(self.canonical().as_bytes())
    }
}

// Records are destructured in full, so that a new member cannot be forgotten here.

fn tool(tool: &Tool) -> Value {
    let Tool { name, title, description, input_schema, output_schema, annotations, task_support, icons, meta } = tool;
    let annotations = annotations.as_ref().map(|hints| {
        let ToolAnnotations { read_only, destructive, idempotent, open_world } = hints;
        json!({ "readOnly": read_only, "destructive": destructive, "idempotent": idempotent, "openWorld": open_world })
    });
    let tasks = match task_support {
        TaskSupport::Forbidden => "forbidden",
        TaskSupport::Optional => "optional",
        TaskSupport::Required => "required",
    };
    object(json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": parsed(Some(input_schema)),
        "outputSchema": parsed(output_schema.as_ref()),
        "annotations": annotations.map(object),
        "taskSupport": tasks,
        "icons": self::icons(icons),
        "meta": parsed(meta.as_ref()),
    }))
}

fn prompt(prompt: &Prompt) -> Value {
    let Prompt { name, title, description, arguments, icons, meta } = prompt;
    let argument = |argument: &PromptArgument| {
        let PromptArgument { name, title, description, required } = argument;
        object(json!({ "name": name, "title": title, "description": description, "required": required }))
    };
    object(json!({
        "name": name,
        "title": title,
        "description": description,
        "arguments": arguments.iter().map(argument).collect::<Vec<_>>(),
        "icons": self::icons(icons),
        "meta": parsed(meta.as_ref()),
    }))
}

fn resource(resource: &ResourceDescription) -> Value {
    let ResourceDescription { uri, name, title, description, mime_type, size, annotations, icons, meta } = resource;
    object(json!({
        "uri": uri,
        "name": name,
        "title": title,
        "description": description,
        "mimeType": mime_type,
        "size": size,
        "annotations": self::annotations(annotations.as_ref()),
        "icons": self::icons(icons),
        "meta": parsed(meta.as_ref()),
    }))
}

fn template(template: &ResourceTemplate) -> Value {
    let ResourceTemplate { uri_template, name, title, description, mime_type, annotations, icons, meta } = template;
    object(json!({
        "uriTemplate": uri_template,
        "name": name,
        "title": title,
        "description": description,
        "mimeType": mime_type,
        "annotations": self::annotations(annotations.as_ref()),
        "icons": self::icons(icons),
        "meta": parsed(meta.as_ref()),
    }))
}

fn capability(capability: &Capability) -> Value {
    let Capability { name, settings } = capability;
    json!({ "name": name, "settings": parsed(Some(settings)) })
}

fn annotations(annotations: Option<&Annotations>) -> Option<Value> {
    let Annotations { audience, priority, last_modified } = annotations?;
    let audience: Vec<&str> = audience.iter().map(|role| role.name()).collect();
    Some(object(json!({ "audience": audience, "priority": priority, "lastModified": last_modified })))
}

fn icons(icons: &[Icon]) -> Option<Vec<Value>> {
    let icon = |icon: &Icon| {
        let Icon { src, mime_type, sizes, theme } = icon;
        let theme = theme.as_ref().map(|theme| match theme {
            IconTheme::Light => "light",
            IconTheme::Dark => "dark",
        });
        object(json!({ "src": src, "mimeType": mime_type, "sizes": sizes, "theme": theme }))
    };
    (!icons.is_empty()).then(|| icons.iter().map(icon).collect())
}

/// An object without its null members.
fn object(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    value
}

/// Parses JSON that was normalized when the surface was frozen, and is sent like this. Invalid JSON
/// counts as a text.
fn parsed(text: Option<&String>) -> Value {
    let tree = |text: &String| json::tree(text, json::MAX_DEPTH).unwrap_or_else(|_| Value::from(text.as_str()));
    text.map_or(Value::Null, tree)
}

#[cfg(test)]
mod tests;
