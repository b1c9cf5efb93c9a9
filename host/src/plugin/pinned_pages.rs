//! The contents of pages, which are part of what is pinned: a user's browser runs them.
//!
//! They are read when the plugin is listed, twice: what is made anew for each read cannot be pinned.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::abi::{GuestError, ReadOutcome, ReadResult, ResourceBody, ResourceContents};
use super::dialects::linked::Linked;
use super::fault::CallError;
use super::id::Digest;
use super::instance::call::{PreparedComponent, internal};
use super::limits::Limits;
use super::surface::{ListingWarning, Surface};
use crate::text::quote;

/// Maximum pages of a plugin that are read.
const MAX_PAGES: usize = 16;

/// The digests of the pages, by URI, and what people should know of the others. All reads share one deadline.
pub(super) async fn read(
    prepared: &Arc<PreparedComponent>,
    linked: &Linked,
    surface: &Surface,
) -> (BTreeMap<String, Digest>, Vec<ListingWarning>) {
    let (mut pinned, mut warnings) = (BTreeMap::new(), Vec::new());
    let call = internal("pages", Limits::LISTING);
    for (at, page) in surface.listed_pages().enumerate() {
        let read = async || match linked.dialect.read_resource(prepared, &page.uri, call.clone()).await {
            Ok(ReadOutcome::Complete(result)) => Ok(digest(&result)),
            Ok(ReadOutcome::InputRequired(_)) => Err("it asks questions before it is read".to_owned()),
            Err(error) => Err(format!("it cannot be read when the plugin is loaded: {}", said(error))),
        };
        let once = if at < MAX_PAGES { read().await } else { Err(format!("only {MAX_PAGES} pages are")) };
        let twice = match once {
            Ok(once) => read().await.map(|again| (once == again).then_some(once)),
            Err(why) => Err(why),
        };
        let why = match twice {
            Ok(Some(digest)) => {
                pinned.insert(page.uri.clone(), digest);
                continue;
            }
            Ok(None) => "it differs each time that it is read".to_owned(),
            Err(why) => why,
        };
        let (name, why) = (quote(&page.uri, 80), format!("its contents are not pinned: {why}"));
        warnings.push(ListingWarning::Page { kind: "page".into(), name, why });
    }
    (pinned, warnings)
}

fn said(error: CallError) -> String {
    match error {
        CallError::Guest(GuestError::Failed(why)) => quote(&why, 200),
        CallError::Guest(_) | CallError::Input(_) => "not found".into(),
        CallError::Fault(fault) => fault.code().into(),
    }
}

/// Of all that a client gets.
pub(super) fn digest(result: &ReadResult) -> Digest {
    let contents = result.contents.iter().map(|ResourceContents { uri, mime_type, body, meta }| {
        let (kind, bytes) = match body {
            ResourceBody::Text(text) => ("text", text.as_bytes()),
            ResourceBody::Blob(bytes) => ("blob", bytes.as_slice()),
        };
        json!([uri, mime_type, kind, Digest::of(bytes).to_string(), meta])
    });
    Digest::of(json!(contents.collect::<Vec<_>>()).to_string().as_bytes())
}
