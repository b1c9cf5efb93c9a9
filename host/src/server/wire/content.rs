//! Content blocks. What a revision does not know is turned into what it does: strict
//! clients refuse a whole result for one unknown block.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Object;
use crate::plugin::abi::{
    Annotations, Content, EmbeddedResource, Icon, IconTheme, MediaContent, ResourceBody, ResourceContents,
    ResourceDescription, Role, TextContent,
};
use crate::protocol::{Revision, meta};

/// Writes one kind of thing for one revision.
#[derive(Clone, Copy)]
pub(in crate::server) struct Block(pub(in crate::server) Revision);

impl Block {
    pub(in crate::server) fn content(self, content: &Content) -> String {
        match content {
            Content::Text(text) => self.text_content(text),
            Content::Image(media) => self.image(media),
            Content::Audio(media) => self.audio(media),
            Content::Embedded(resource) => self.embedded(resource),
            Content::Link(link) if self.0.has_resource_link() => self.link(link),
            Content::Link(link) => self.text(&format!("[resource {}: {}]", link.name, link.uri)),
        }
    }

    pub(super) fn text_content(self, text: &TextContent) -> String {
        let object = Object::default().string("type", "text").string("text", &text.text);
        self.finish(object, text.annotations.as_ref(), text.meta.as_deref())
    }

    pub(super) fn image(self, media: &MediaContent) -> String {
        self.media("image", media)
    }

    pub(super) fn audio(self, media: &MediaContent) -> String {
        if self.0.has_audio() {
            return self.media("audio", media);
        }
        self.text(&format!("[audio {}, {} bytes]", media.mime_type, media.data.len()))
    }

    pub(in crate::server) fn text(self, text: &str) -> String {
        Object::default().string("type", "text").string("text", text).finish()
    }

    fn media(self, kind: &str, media: &MediaContent) -> String {
        let object = Object::default()
            .string("type", kind)
            .string("data", &STANDARD.encode(&media.data))
            .string("mimeType", &media.mime_type);
        self.finish(object, media.annotations.as_ref(), media.meta.as_deref())
    }

    fn embedded(self, resource: &EmbeddedResource) -> String {
        let object =
            Object::default().string("type", "resource").raw("resource", &self.resource_contents(&resource.contents));
        self.finish(object, resource.annotations.as_ref(), resource.meta.as_deref())
    }

    /// The wire's `TextResourceContents` or `BlobResourceContents`.
    pub(in crate::server) fn resource_contents(self, contents: &ResourceContents) -> String {
        let object =
            Object::default().string("uri", &contents.uri).optional_string("mimeType", contents.mime_type.as_deref());
        let object = match &contents.body {
            ResourceBody::Text(text) => object.string("text", text),
            ResourceBody::Blob(bytes) => object.string("blob", &STANDARD.encode(bytes)),
        };
        self.meta(object, contents.meta.as_deref()).finish()
    }

    fn link(self, link: &ResourceDescription) -> String {
        self.described(Object::default().string("type", "resource_link"), link)
    }

    /// Adds what is known of a resource, and ends the object.
    pub(super) fn described(self, object: Object, resource: &ResourceDescription) -> String {
        let size = resource.size.map(|size| size.to_string());
        let object = object
            .string("uri", &resource.uri)
            .string("name", &resource.name)
            .optional_string("title", resource.title.as_deref().filter(|_| self.0.has_title()))
            .optional_string("description", resource.description.as_deref())
            .optional_string("mimeType", resource.mime_type.as_deref())
            .optional_raw("size", size.as_deref());
        let object = self.icons(object, &resource.icons);
        self.finish(object, resource.annotations.as_ref(), resource.meta.as_deref())
    }

    /// `icons`, where the revision has them.
    pub(in crate::server) fn icons(self, object: Object, icons: &[Icon]) -> Object {
        if icons.is_empty() || !self.0.has_icons() {
            return object;
        }
        object.array("icons", icons.iter().map(icon))
    }

    /// `_meta`, where the revision has it on such objects.
    pub(in crate::server) fn meta(self, object: Object, meta: Option<&str>) -> Object {
        let own = meta.filter(|_| self.0.has_item_meta()).and_then(|meta| meta::unreserved(self.0, meta).ok());
        object.optional_raw("_meta", own.as_deref().filter(|meta| *meta != "{}"))
    }

    /// Adds `annotations` and `_meta`, and ends the object.
    pub(super) fn finish(self, object: Object, annotations: Option<&Annotations>, meta: Option<&str>) -> String {
        let annotations = annotations.map(|annotations| self.annotations(annotations)).filter(|known| known != "{}");
        self.meta(object.optional_raw("annotations", annotations.as_deref()), meta).finish()
    }

    fn annotations(self, annotations: &Annotations) -> String {
        let mut object = Object::default();
        if !annotations.audience.is_empty() {
            object =
                object.array("audience", annotations.audience.iter().map(|role| format!("\"{}\"", role_name(*role))));
        }
        // Out of range or not a number would make strict clients refuse the whole result.
        let priority =
            annotations.priority.filter(|priority| (0.0..=1.0).contains(priority)).map(|priority| priority.to_string());
        object
            .optional_raw("priority", priority.as_deref())
            .optional_string(
                "lastModified",
                annotations.last_modified.as_deref().filter(|_| self.0.has_last_modified()),
            )
            .finish()
    }
}

pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
    }
}

fn icon(icon: &Icon) -> String {
    let mut object = Object::default().string("src", &icon.src).optional_string("mimeType", icon.mime_type.as_deref());
    if !icon.sizes.is_empty() {
        object = object.array("sizes", icon.sizes.iter().map(|size| crate::json::quote(size)));
    }
    object
        .optional_string(
            "theme",
            icon.theme.map(|theme| match theme {
                IconTheme::Light => "light",
                IconTheme::Dark => "dark",
            }),
        )
        .finish()
}
