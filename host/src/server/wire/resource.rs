//! Resources and their templates: their listing, and the result of `resources/read`.

use serde::Serialize;

use super::content::{Annotations, Contents, Icon, annotations, icons};
use super::page::PageMeta;
use crate::plugin::abi::{ReadResult, ResourceDescription};
use crate::plugin::{FrozenTemplate, PageReach};
use crate::protocol::Revision;

/// The wire's `Resource`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Resource<'a> {
    uri: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    icons: Vec<Icon<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Box<PageMeta<'a>>>,
}

impl<'a> Resource<'a> {
    pub(in crate::server) fn new(revision: Revision, resource: &'a ResourceDescription, reach: PageReach<'_>) -> Self {
        Self {
            uri: &resource.uri,
            name: &resource.name,
            title: resource.title.as_deref().filter(|_| revision.has_title()),
            description: resource.description.as_deref(),
            mime_type: resource.mime_type.as_deref(),
            size: resource.size,
            icons: icons(revision, &resource.icons),
            annotations: annotations(revision, resource.annotations.as_ref()),
            meta: PageMeta::new(revision, resource.meta.as_deref(), reach),
        }
    }
}

/// The wire's `ResourceTemplate`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Template<'a> {
    uri_template: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    icons: Vec<Icon<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Box<PageMeta<'a>>>,
}

impl<'a> Template<'a> {
    pub(in crate::server) fn new(revision: Revision, frozen: &'a FrozenTemplate, reach: PageReach<'_>) -> Self {
        let template = &frozen.template;
        Self {
            uri_template: &template.uri_template,
            name: &template.name,
            title: template.title.as_deref().filter(|_| revision.has_title()),
            description: template.description.as_deref(),
            mime_type: template.mime_type.as_deref(),
            icons: icons(revision, &template.icons),
            annotations: annotations(revision, template.annotations.as_ref()),
            meta: PageMeta::new(revision, template.meta.as_deref(), reach),
        }
    }
}

/// The wire's `ReadResourceResult`, without `_meta`.
#[derive(Serialize)]
pub(in crate::server) struct ReadResourceResult<'a> {
    contents: Vec<Contents<'a>>,
}

impl<'a> ReadResourceResult<'a> {
    pub(in crate::server) fn new(revision: Revision, result: &'a ReadResult, reach: PageReach<'_>) -> Self {
        Self { contents: result.contents.iter().map(|contents| Contents::new(revision, contents, reach)).collect() }
    }
}
