//! Things that a client can read by URI.

use std::time::Duration;

use serde::Serialize;

use crate::abi::resources as listed;
use crate::abi::types as raw;
use crate::content::{Icon, Role, no_annotations};

pub use crate::abi::resources::CacheScope;

macro_rules! described {
    ($type:ident, $example:literal) => {
        impl $type {
            /// The display name.
            #[doc = concat!("```\n", $example, ".title(\"Shopping list\");\n```")]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.0.title = Some(title.into());
                self
            }

            /// Its description, for the model.
            #[doc = concat!("```\n", $example, ".description(\"What to buy\");\n```")]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.0.description = Some(description.into());
                self
            }

            /// Its media type.
            #[doc = concat!("```\n", $example, ".mime_type(\"text/plain\");\n```")]
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.0.mime_type = Some(mime_type.into());
                self
            }

            /// The intended audience.
            #[doc = concat!("```\n", $example, ".audience([wharf_plugin::Role::User]);\n```")]
            pub fn audience(mut self, audience: impl IntoIterator<Item = Role>) -> Self {
                self.0.annotations.get_or_insert_with(no_annotations).audience = audience.into_iter().collect();
                self
            }

            /// Its importance, from 0 to 1.
            #[doc = concat!("```\n", $example, ".priority(0.8);\n```")]
            pub fn priority(mut self, priority: f64) -> Self {
                self.0.annotations.get_or_insert_with(no_annotations).priority = Some(priority);
                self
            }

            /// An icon; may be set several times.
            #[doc = concat!("```\n", $example, ".icon(wharf_plugin::Icon::new(\"https://example.org/i.png\"));\n```")]
            pub fn icon(mut self, icon: Icon) -> Self {
                self.0.icons.push(icon.0);
                self
            }

            /// `_meta`: a value that serialises to a JSON object. Omitted if it cannot be serialised.
            #[doc = concat!("```\n", $example, ".meta(&wharf_plugin::json!({ \"example.org/shelf\": 3 }));\n```")]
            pub fn meta(mut self, meta: &impl Serialize) -> Self {
                self.0.meta = serde_json::to_string(meta).ok();
                self
            }
        }
    };
}

/// A resource as a list shows it, or a link to it.
///
/// ```
/// let note = wharf_plugin::Resource::new("note://1", "shopping").mime_type("text/plain").size(11);
/// # let _ = note;
/// ```
#[derive(Clone, Debug)]
pub struct Resource(pub(crate) raw::ResourceDescription);

impl Resource {
    /// `uri` as in RFC 3986.
    ///
    /// ```
    /// wharf_plugin::Resource::new("note://1", "shopping");
    /// ```
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self(raw::ResourceDescription {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        })
    }

    /// How large it is, in bytes, before any encoding.
    ///
    /// ```
    /// wharf_plugin::Resource::new("note://1", "shopping").size(11);
    /// ```
    pub fn size(mut self, bytes: u64) -> Self {
        self.0.size = Some(bytes);
        self
    }

    /// When it was last changed, in ISO 8601.
    ///
    /// ```
    /// wharf_plugin::Resource::new("note://1", "shopping").last_modified("2026-11-20T10:00:00Z");
    /// ```
    pub fn last_modified(mut self, moment: impl Into<String>) -> Self {
        self.0.annotations.get_or_insert_with(no_annotations).last_modified = Some(moment.into());
        self
    }
}

described!(Resource, "wharf_plugin::Resource::new(\"note://1\", \"shopping\")");

/// A family of resources.
///
/// ```
/// let notes = wharf_plugin::ResourceTemplate::new("note://{number}", "notes").description("A note by its number");
/// # let _ = notes;
/// ```
#[derive(Clone, Debug)]
pub struct ResourceTemplate(pub(crate) listed::ResourceTemplate);

impl ResourceTemplate {
    /// `uri_template` as in RFC 6570.
    ///
    /// ```
    /// wharf_plugin::ResourceTemplate::new("note://{number}", "notes");
    /// ```
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self(listed::ResourceTemplate {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        })
    }
}

described!(ResourceTemplate, "wharf_plugin::ResourceTemplate::new(\"note://{number}\", \"notes\")");

/// What is in a resource: text or bytes.
///
/// ```
/// use wharf_plugin::ResourceContents;
/// let list = ResourceContents::text("note://1", "milk, bread").mime_type("text/plain");
/// let photo = ResourceContents::bytes("note://1/photo", vec![0xff, 0xd8]).mime_type("image/jpeg");
/// # let _ = (list, photo);
/// ```
#[derive(Clone, Debug)]
pub struct ResourceContents(pub(crate) raw::ResourceContents);

impl ResourceContents {
    /// Text.
    ///
    /// ```
    /// wharf_plugin::ResourceContents::text("note://1", "milk, bread");
    /// ```
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::of(uri.into(), raw::ResourceBody::Text(text.into()))
    }

    /// Bytes as they are; the host encodes them.
    ///
    /// ```
    /// wharf_plugin::ResourceContents::bytes("note://1/photo", vec![0xff, 0xd8]);
    /// ```
    pub fn bytes(uri: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(uri.into(), raw::ResourceBody::Blob(bytes.into()))
    }

    /// Their media type.
    ///
    /// ```
    /// wharf_plugin::ResourceContents::text("note://1", "*milk*").mime_type("text/markdown");
    /// ```
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.0.mime_type = Some(mime_type.into());
        self
    }

    /// `_meta`: a value that serialises to a JSON object. Omitted if it cannot be serialised.
    ///
    /// ```
    /// use wharf_plugin::{ResourceContents, json};
    /// ResourceContents::text("note://1", "milk").meta(&json!({ "example.org/line": 1 }));
    /// ```
    pub fn meta(mut self, meta: &impl Serialize) -> Self {
        self.0.meta = serde_json::to_string(meta).ok();
        self
    }

    fn of(uri: String, body: raw::ResourceBody) -> Self {
        Self(raw::ResourceContents { uri, mime_type: None, body, meta: None })
    }
}

/// The result of a read: usually one `ResourceContents` by `.into()`; several for a folder.
///
/// ```
/// use wharf_plugin::{ReadResult, ResourceContents};
/// let read: ReadResult = ResourceContents::text("note://1", "milk, bread").into();
/// # let _ = read;
/// ```
#[derive(Clone, Debug)]
pub struct ReadResult(pub(crate) listed::ReadResult);

impl ReadResult {
    /// The resource does not change for this long, a day at most, so a client need not read it
    /// again before. `CacheScope::Public` only if it is the same for everybody.
    ///
    /// ```
    /// use std::time::Duration;
    /// use wharf_plugin::{CacheScope, ReadResult, ResourceContents};
    ///
    /// let atlas = ReadResult::from(ResourceContents::text("atlas://alps", "high"));
    /// atlas.cache_for(Duration::from_secs(3600), CacheScope::Public);
    /// ```
    pub fn cache_for(mut self, time: Duration, scope: CacheScope) -> Self {
        let ttl_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.0.caching = Some(listed::Caching { ttl_ms, scope });
        self
    }

    /// `_meta` of the whole result: a value that serialises to a JSON object. Omitted if it cannot be serialised.
    ///
    /// ```
    /// use wharf_plugin::{ReadResult, ResourceContents, json};
    /// ReadResult::from(ResourceContents::text("note://1", "milk")).meta(&json!({ "example.org/cached": true }));
    /// ```
    pub fn meta(mut self, meta: &impl Serialize) -> Self {
        self.0.meta = serde_json::to_string(meta).ok();
        self
    }
}

impl From<ResourceContents> for ReadResult {
    fn from(contents: ResourceContents) -> Self {
        vec![contents].into()
    }
}

impl From<Vec<ResourceContents>> for ReadResult {
    fn from(contents: Vec<ResourceContents>) -> Self {
        let contents = contents.into_iter().map(|one| one.0).collect();
        Self(listed::ReadResult { contents, caching: None, meta: None })
    }
}
