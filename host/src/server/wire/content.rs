//! Content blocks. Kinds that a revision does not have become text: strict clients reject a whole
//! result for one unknown block.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Number;

use super::page::PageMeta;
use super::resource::Resource;
use crate::json::{self, Object, Raw, Text};
use crate::plugin::{PageReach, abi};
use crate::protocol::{Revision, meta};

/// The wire's `ContentBlock`, and the blocks that only sampling has.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::server) enum Block<'a> {
    Text(TextContent<'a>),
    Image(Media<'a>),
    Audio(Media<'a>),
    Resource(Embedded<'a>),
    ResourceLink(Resource<'a>),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolAnswer<'a>),
}

#[derive(Serialize)]
pub(in crate::server) struct TextContent<'a> {
    text: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Object<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Media<'a> {
    data: Text<'a>,
    mime_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Object<'a>>,
}

#[derive(Serialize)]
pub(in crate::server) struct Embedded<'a> {
    resource: Contents<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Object<'a>>,
}

/// The wire's `TextResourceContents` or `BlobResourceContents`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contents<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<Text<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Box<PageMeta<'a>>>,
}

#[derive(Serialize)]
pub(in crate::server) struct ToolUse<'a> {
    id: &'a str,
    name: &'a str,
    input: Raw<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct ToolAnswer<'a> {
    tool_use_id: &'a str,
    content: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Annotations<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    audience: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Icon<'a> {
    src: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    sizes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    theme: Option<&'static str>,
}

impl<'a> Block<'a> {
    pub(super) fn new(revision: Revision, content: &'a abi::Content) -> Self {
        match content {
            abi::Content::Text(text) => Self::of_text(revision, text),
            abi::Content::Image(media) => Self::Image(Media::new(revision, media)),
            abi::Content::Audio(media) => Self::audio(revision, media),
            abi::Content::Embedded(resource) => Self::Resource(Embedded {
                // Clients show no page that is a part of something else.
                resource: Contents::new(revision, &resource.contents, PageReach::None),
                annotations: annotations(revision, resource.annotations.as_ref()),
                meta: meta(revision, resource.meta.as_deref()),
            }),
            abi::Content::Link(link) if revision.has_resource_link() => {
                Self::ResourceLink(Resource::new(revision, link, PageReach::None))
            }
            abi::Content::Link(link) => Self::text(format!("[resource {}: {}]", link.name, link.uri)),
        }
    }

    pub(super) fn of_sampling(revision: Revision, content: &'a abi::SamplingContent) -> Self {
        match content {
            abi::SamplingContent::Text(text) => Self::of_text(revision, text),
            abi::SamplingContent::Image(media) => Self::Image(Media::new(revision, media)),
            abi::SamplingContent::Audio(media) => Self::audio(revision, media),
            abi::SamplingContent::ToolUse(used) => {
                Self::ToolUse(ToolUse { id: &used.id, name: &used.name, input: Raw(&used.input) })
            }
            abi::SamplingContent::ToolResult(answer) => Self::ToolResult(ToolAnswer {
                tool_use_id: &answer.tool_use_id,
                content: answer.content.iter().map(|content| Self::new(revision, content)).collect(),
                structured_content: answer.structured.as_deref().map(Raw),
                is_error: answer.is_error.then_some(true),
            }),
        }
    }

    pub(in crate::server) fn text(text: impl Into<Text<'a>>) -> Self {
        Self::Text(TextContent { text: text.into(), annotations: None, meta: None })
    }

    fn of_text(revision: Revision, text: &'a abi::TextContent) -> Self {
        Self::Text(TextContent {
            text: text.text.as_str().into(),
            annotations: annotations(revision, text.annotations.as_ref()),
            meta: meta(revision, text.meta.as_deref()),
        })
    }

    fn audio(revision: Revision, media: &'a abi::MediaContent) -> Self {
        if revision.has_audio() {
            return Self::Audio(Media::new(revision, media));
        }
        Self::text(format!("[audio {}, {} bytes]", media.mime_type, media.data.len()))
    }
}

impl<'a> Media<'a> {
    fn new(revision: Revision, media: &'a abi::MediaContent) -> Self {
        Self {
            data: STANDARD.encode(&media.data).into(),
            mime_type: &media.mime_type,
            annotations: annotations(revision, media.annotations.as_ref()),
            meta: meta(revision, media.meta.as_deref()),
        }
    }
}

impl<'a> Contents<'a> {
    pub(super) fn new(revision: Revision, contents: &'a abi::ResourceContents, reach: PageReach<'_>) -> Self {
        let (text, blob) = match &contents.body {
            abi::ResourceBody::Text(text) => (Some(text.as_str().into()), None),
            abi::ResourceBody::Blob(bytes) => (None, Some(STANDARD.encode(bytes).into())),
        };
        let (uri, mime_type) = (&contents.uri, contents.mime_type.as_deref());
        Self { uri, mime_type, text, blob, meta: PageMeta::new(revision, contents.meta.as_deref(), reach) }
    }
}

/// `icons`, where the revision has them.
pub(super) fn icons<'a>(revision: Revision, icons: &'a [abi::Icon]) -> Vec<Icon<'a>> {
    let icon = |icon: &'a abi::Icon| Icon {
        src: &icon.src,
        mime_type: icon.mime_type.as_deref(),
        sizes: &icon.sizes,
        theme: icon.theme.map(|theme| match theme {
            abi::IconTheme::Light => "light",
            abi::IconTheme::Dark => "dark",
        }),
    };
    if revision.has_icons() { icons.iter().map(icon).collect() } else { Vec::new() }
}

/// `_meta`, where the revision has it on such objects.
pub(super) fn meta(revision: Revision, meta: Option<&str>) -> Option<Object<'_>> {
    let own = meta.filter(|_| revision.has_item_meta())?;
    meta::unreserved(revision, own).ok().filter(|own| !own.is_empty())
}

/// `annotations`, as far as the revision has them.
pub(super) fn annotations(revision: Revision, annotations: Option<&abi::Annotations>) -> Option<Annotations<'_>> {
    let own = annotations?;
    let audience = own.audience.iter().map(|role| role.name()).collect();
    // Strict clients reject the whole result for a value that is out of range or not a number.
    let priority = own.priority.filter(|priority| (0.0..=1.0).contains(priority)).and_then(json::number);
    let last_modified = own.last_modified.as_deref().filter(|_| revision.has_last_modified());
    let known = Annotations { audience, priority, last_modified };
    let is_empty = known.audience.is_empty() && known.priority.is_none() && known.last_modified.is_none();
    (!is_empty).then_some(known)
}
