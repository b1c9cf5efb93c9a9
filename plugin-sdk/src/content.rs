//! Pieces of results and prompts. The host converts them for older clients.

use serde::Serialize;

use crate::abi::types as raw;
use crate::resource::{Resource, ResourceContents};

pub use crate::abi::types::{IconTheme, Role};

/// One piece of a tool's result or of a prompt: text, an image, audio, a resource or a
/// link to one.
///
/// ```
/// use wharf_plugin::{Content, Role};
///
/// let picture = Content::image(vec![0x89, b'P', b'N', b'G'], "image/png").audience([Role::User]).priority(0.5);
/// let note = Content::text("the chart of this week");
/// # let _ = (picture, note);
/// ```
#[derive(Clone, Debug)]
pub struct Content(pub(crate) raw::Content);

impl Content {
    /// Text.
    ///
    /// ```
    /// let hello = wharf_plugin::Content::text("hello");
    /// assert_eq!(hello.as_text(), Some("hello"));
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self(raw::Content::Text(raw::TextContent { text: text.into(), annotations: None, meta: None }))
    }

    /// An image: its bytes, unencoded, and their media type.
    ///
    /// ```
    /// wharf_plugin::Content::image(vec![0xff, 0xd8], "image/jpeg");
    /// ```
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self(raw::Content::Image(media(data.into(), mime_type.into())))
    }

    /// Audio: its bytes, unencoded, and their media type.
    ///
    /// ```
    /// wharf_plugin::Content::audio(*b"RIFF", "audio/wav");
    /// ```
    pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self(raw::Content::Audio(media(data.into(), mime_type.into())))
    }

    /// A resource with its contents.
    ///
    /// ```
    /// use wharf_plugin::{Content, ResourceContents};
    /// Content::embedded(ResourceContents::text("note://1", "milk, bread"));
    /// ```
    pub fn embedded(contents: ResourceContents) -> Self {
        Self(raw::Content::Embedded(raw::EmbeddedResource { contents: contents.0, annotations: None, meta: None }))
    }

    /// A link to a resource, which the client may read.
    ///
    /// ```
    /// use wharf_plugin::{Content, Resource};
    /// Content::link(Resource::new("note://1", "shopping"));
    /// ```
    pub fn link(resource: Resource) -> Self {
        Self(raw::Content::Link(resource.0))
    }

    /// The intended audience.
    ///
    /// ```
    /// use wharf_plugin::{Content, Role};
    /// Content::text("for the model only").audience([Role::Assistant]);
    /// ```
    pub fn audience(mut self, audience: impl IntoIterator<Item = Role>) -> Self {
        self.annotations().audience = audience.into_iter().collect();
        self
    }

    /// Its importance, from 0 to 1.
    ///
    /// ```
    /// wharf_plugin::Content::text("by the way").priority(0.1);
    /// ```
    pub fn priority(mut self, priority: f64) -> Self {
        self.annotations().priority = Some(priority);
        self
    }

    /// The time of the last change, in ISO 8601.
    ///
    /// ```
    /// wharf_plugin::Content::text("news").last_modified("2026-11-20T10:00:00Z");
    /// ```
    pub fn last_modified(mut self, moment: impl Into<String>) -> Self {
        self.annotations().last_modified = Some(moment.into());
        self
    }

    /// `_meta` of this piece: a value that serialises to a JSON object. Omitted if it cannot be serialised.
    ///
    /// ```
    /// use wharf_plugin::{Content, json};
    /// Content::text("x").meta(&json!({ "example.org/source": "cache" }));
    /// ```
    pub fn meta(mut self, meta: &impl Serialize) -> Self {
        let meta = serde_json::to_string(meta).ok();
        match &mut self.0 {
            raw::Content::Text(text) => text.meta = meta,
            raw::Content::Image(media) | raw::Content::Audio(media) => media.meta = meta,
            raw::Content::Embedded(embedded) => embedded.meta = meta,
            raw::Content::Link(link) => link.meta = meta,
        }
        self
    }

    /// The text, if this is text.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::Content::image([], "image/png").as_text(), None);
    /// ```
    pub fn as_text(&self) -> Option<&str> {
        match &self.0 {
            raw::Content::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    fn annotations(&mut self) -> &mut raw::Annotations {
        let annotations = match &mut self.0 {
            raw::Content::Text(text) => &mut text.annotations,
            raw::Content::Image(media) | raw::Content::Audio(media) => &mut media.annotations,
            raw::Content::Embedded(embedded) => &mut embedded.annotations,
            raw::Content::Link(link) => &mut link.annotations,
        };
        annotations.get_or_insert_with(no_annotations)
    }
}

impl<T: Into<String>> From<T> for Content {
    fn from(text: T) -> Self {
        Self::text(text)
    }
}

fn media(data: Vec<u8>, mime_type: String) -> raw::MediaContent {
    raw::MediaContent { data, mime_type, annotations: None, meta: None }
}

pub(crate) fn no_annotations() -> raw::Annotations {
    raw::Annotations { audience: Vec::new(), priority: None, last_modified: None }
}

/// An icon for a list entry.
///
/// ```
/// use wharf_plugin::{Icon, IconTheme};
/// let icon = Icon::new("https://example.org/clock.svg").mime_type("image/svg+xml").size("any").theme(IconTheme::Dark);
/// # let _ = icon;
/// ```
#[derive(Clone, Debug)]
pub struct Icon(pub(crate) raw::Icon);

impl Icon {
    /// `src`: an `https:` or `data:` URI; the host drops anything else.
    ///
    /// ```
    /// wharf_plugin::Icon::new("data:image/png;base64,iVBORw0KGgo=");
    /// ```
    pub fn new(src: impl Into<String>) -> Self {
        Self(raw::Icon { src: src.into(), mime_type: None, sizes: Vec::new(), theme: None })
    }

    /// Its media type.
    ///
    /// ```
    /// wharf_plugin::Icon::new("https://example.org/i.png").mime_type("image/png");
    /// ```
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.0.mime_type = Some(mime_type.into());
        self
    }

    /// A size that it suits, `WxH` in pixels or `any`; may be set several times.
    ///
    /// ```
    /// wharf_plugin::Icon::new("https://example.org/i.png").size("48x48").size("96x96");
    /// ```
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.0.sizes.push(size.into());
        self
    }

    /// The background that it is designed for.
    ///
    /// ```
    /// use wharf_plugin::{Icon, IconTheme};
    /// Icon::new("https://example.org/i.png").theme(IconTheme::Light);
    /// ```
    pub fn theme(mut self, theme: IconTheme) -> Self {
        self.0.theme = Some(theme);
        self
    }
}
