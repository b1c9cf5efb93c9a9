//! The rules for each part of a list entry.
//!
//! Each check returns a fragment why the entry is rejected; an invalid icon alone is dropped.

use serde_json::Value;

use super::Listed;
use crate::json;
use crate::plugin::abi::Icon;
use crate::plugin::json::tree;
use crate::plugin::schema::Schema;
use crate::text::{Leeway, deceptive_in, deceptive_in_line, hidden_in_json};

/// Why an entry is dropped.
pub(super) type Refused = String;

const MAX_NAME: usize = 64;
const MAX_LABEL: usize = 256;
const MAX_DESCRIPTION: usize = 2 << 10;
const MAX_ICON: usize = 64 << 10;
const MAX_URI: usize = 2 << 10;

/// `[A-Za-z0-9_-]{1,64}`: what every client and every model accepts.
pub(super) fn name(name: &str) -> Result<(), Refused> {
    let charset = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(charset) {
        return Err("a name must be 1 to 64 of A-Z, a-z, 0-9, _ and -".into());
    }
    Ok(())
}

/// A name for people, of one line.
pub(super) fn label(label: &str, hidden: &mut Leeway) -> Result<(), Refused> {
    if label.is_empty() || label.len() > MAX_LABEL {
        return Err(format!("a name must have 1 to {MAX_LABEL} bytes"));
    }
    deceptive(deceptive_in_line(label, hidden), "a name")
}

pub(super) fn texts(title: Option<&str>, description: Option<&str>, hidden: &mut Leeway) -> Result<(), Refused> {
    if let Some(title) = title {
        if title.len() > MAX_LABEL {
            return Err(format!("its title has more than {MAX_LABEL} bytes"));
        }
        deceptive(deceptive_in_line(title, hidden), "its title")?;
    }
    if let Some(description) = description {
        if description.len() > MAX_DESCRIPTION {
            return Err(format!("its description has more than {MAX_DESCRIPTION} bytes"));
        }
        deceptive(deceptive_in(description, hidden), "its description")?;
    }
    Ok(())
}

/// A schema's texts reach the model as a description does.
pub(super) fn schema_text(schema: &str, hidden: &mut Leeway) -> Result<(), Refused> {
    deceptive(hidden_in_json(schema, hidden), "its schema")
}

fn deceptive(found: Option<char>, place: &str) -> Result<(), Refused> {
    match found {
        None => Ok(()),
        Some(c) if c.is_whitespace() && !c.is_control() => {
            Err(format!("{place} has too many invisible or unusual spaces: U+{:04X}", u32::from(c)))
        }
        Some(c) => Err(format!("{place} has an invisible or deceptive character: U+{:04X}", u32::from(c))),
    }
}

/// MCP requires `"type": "object"`: arguments are always an object.
pub(super) fn object_type(input: &Schema) -> Result<(), Refused> {
    let source = input.source();
    match source.get("type") {
        Some(Value::String(kind)) if kind == "object" => Ok(()),
        _ => Err("its input schema does not have \"type\": \"object\"".into()),
    }
}

/// Checks `_meta`; returns the form in which it is sent and pinned.
pub(super) fn meta(meta: Option<String>, hidden: &mut Leeway) -> Result<Option<String>, Refused> {
    meta.map(|meta| object(&meta, "its meta", "is", hidden).map(|tree| json::canonical(&tree))).transpose()
}

/// Parses a JSON object in an entry. Its texts reach the model, too.
pub(super) fn object(text: &str, place: &str, verb: &str, hidden: &mut Leeway) -> Result<Value, Refused> {
    let tree = tree(text).map_err(|why| format!("{place} {verb} {why}"))?;
    if !tree.is_object() {
        return Err(format!("{place} {verb} not a JSON object"));
    }
    deceptive(hidden_in_json(text, hidden), place)?;
    Ok(tree)
}

/// Drops icons that a client must not fetch.
pub(super) fn icons(icons: &mut Vec<Icon>, hidden: &mut Leeway) {
    icons.retain(|icon| {
        let good = icon.src.starts_with("https:") || icon.src.starts_with("data:");
        let mut texts = icon.mime_type.iter().chain(&icon.sizes);
        good && icon.src.len() <= MAX_ICON
            && deceptive_in_line(&icon.src, hidden).is_none()
            && texts.all(|text| text.len() <= 128 && deceptive_in_line(text, hidden).is_none())
    });
}

pub(super) fn mime(mime: Option<&str>) -> Result<(), Refused> {
    match mime {
        Some(mime) if mime.len() > 128 || !mime.bytes().all(|b| b.is_ascii_graphic() || b == b' ') => {
            Err("its media type is invalid".into())
        }
        _ => Ok(()),
    }
}

pub(super) fn uri(uri: &str) -> Result<(), Refused> {
    if uri.len() > MAX_URI {
        return Err(format!("its URI has more than {MAX_URI} bytes"));
    }
    match fluent_uri::Uri::parse(uri) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("its URI is invalid: {error}")),
    }
}

/// Bytes of all texts.
pub(super) fn size(listed: &Listed) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let icons = |icons: &[Icon]| -> usize {
        let icon =
            |icon: &Icon| icon.src.len() + text(&icon.mime_type) + icon.sizes.iter().map(String::len).sum::<usize>();
        icons.iter().map(icon).sum()
    };
    let tools = listed.tools.iter().flatten().map(|t| {
        t.name.len()
            + text(&t.title)
            + text(&t.description)
            + t.input_schema.len()
            + text(&t.output_schema)
            + icons(&t.icons)
            + text(&t.meta)
    });
    let resources = listed.resources.iter().flatten().map(|r| {
        r.uri.len()
            + r.name.len()
            + text(&r.title)
            + text(&r.description)
            + text(&r.mime_type)
            + icons(&r.icons)
            + text(&r.meta)
    });
    let templates = listed.templates.iter().map(|t| {
        t.uri_template.len()
            + t.name.len()
            + text(&t.title)
            + text(&t.description)
            + text(&t.mime_type)
            + icons(&t.icons)
            + text(&t.meta)
    });
    let prompts = listed.prompts.iter().flatten().map(|p| {
        let arguments = p.arguments.iter().map(|a| a.name.len() + text(&a.title) + text(&a.description));
        p.name.len()
            + text(&p.title)
            + text(&p.description)
            + icons(&p.icons)
            + text(&p.meta)
            + arguments.sum::<usize>()
    });
    let offered = listed.offer.iter().flat_map(|offer| {
        let capabilities = offer.experimental.iter().chain(&offer.extensions);
        let capabilities = capabilities.map(|capability| capability.name.len() + capability.settings.len());
        capabilities.chain(offer.methods.iter().map(String::len))
    });
    tools.chain(resources).chain(templates).chain(prompts).chain(offered).sum()
}
