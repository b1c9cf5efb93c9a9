//! Resources: how they and their templates are listed, and what reading one returns.

use super::{Block, Object};
use crate::plugin::FrozenTemplate;
use crate::plugin::abi::{ReadResult, ResourceDescription};
use crate::protocol::Revision;

/// The wire's `Resource`.
pub(in crate::server) fn descriptor(revision: Revision, _: &str, resource: &ResourceDescription) -> String {
    Block(revision).described(Object::default(), resource)
}

/// The wire's `ResourceTemplate`.
pub(in crate::server) fn template(revision: Revision, _: &str, frozen: &FrozenTemplate) -> String {
    let template = &frozen.template;
    let block = Block(revision);
    let object = Object::default()
        .string("uriTemplate", &template.uri_template)
        .string("name", &template.name)
        .optional_string("title", template.title.as_deref().filter(|_| revision.has_title()))
        .optional_string("description", template.description.as_deref())
        .optional_string("mimeType", template.mime_type.as_deref());
    block.finish(block.icons(object, &template.icons), template.annotations.as_ref(), template.meta.as_deref())
}

/// The members of the wire's `ReadResourceResult`, but for `_meta`.
pub(in crate::server) fn result(revision: Revision, result: &ReadResult) -> String {
    let block = Block(revision);
    Object::default()
        .array("contents", result.contents.iter().map(|contents| block.resource_contents(contents)))
        .members()
}
