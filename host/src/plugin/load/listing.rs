//! What a component offers: asked of it under one deadline, or known from its types.

use std::sync::Arc;

use crate::plugin::abi::GuestError;
use crate::plugin::dialects::Dialect;
use crate::plugin::dialects::wasmcp;
use crate::plugin::dialects::wharf::Exports;
use crate::plugin::error::LoadError;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::instance::call::{Program, internal};
use crate::plugin::limits::Limits;
use crate::plugin::policy::redact::Said;
use crate::plugin::provider::Call;
use crate::plugin::surface::{Listed, MAX_ENTRIES, Surface};

/// What it offers, and what was dropped of that.
pub(super) async fn list(program: &Arc<Program>) -> Result<(Surface, Vec<String>), LoadError> {
    match &program.linked.dialect {
        Dialect::Wharf(exports) => ask_for_lists(program, exports).await,
        Dialect::Wasmcp(exports) => list_wasmcp(program, exports).await,
        Dialect::Plain(_) => {
            let linked = program.linked.clone();
            aside(program, move || match &linked.dialect {
                Dialect::Plain(functions) => functions.surface(),
                _ => Listed::default().freeze(),
            })
            .await
        }
    }
}

/// The same of a component of wasmcp, which gives its lists in pages.
async fn list_wasmcp(program: &Arc<Program>, exports: &wasmcp::Exports) -> Result<(Surface, Vec<String>), LoadError> {
    let call = internal("list", Limits::LISTING);
    let mut listed = Listed { completions: exports.completions.is_some(), ..Listed::default() };
    if let Some([list, _]) = &exports.tools {
        listed.tools = Some(pages(program, &call, |cursor| list.tools(cursor)).await?);
    }
    if let Some([list, templates, _]) = &exports.resources {
        listed.resources = Some(pages(program, &call, |cursor| list.resources(cursor)).await?);
        listed.templates = pages(program, &call, |cursor| templates.templates(cursor)).await?;
    }
    if let Some([list, _]) = &exports.prompts {
        listed.prompts = Some(pages(program, &call, |cursor| list.prompts(cursor)).await?);
    }
    aside(program, move || listed.freeze()).await
}

/// Makes a surface where nothing waits for it: compiling what a plugin lists may take long. So
/// do few at the same time.
async fn aside(
    program: &Arc<Program>,
    freeze: impl FnOnce() -> Result<(Surface, Vec<String>), LoadError> + Send + 'static,
) -> Result<(Surface, Vec<String>), LoadError> {
    let sandbox = &program.sandbox;
    let _place = sandbox.freezing.acquire().await.map_err(|closed| LoadError::Host(closed.to_string()))?;
    let frozen = sandbox.guests().spawn_blocking(freeze).await;
    frozen.map_err(|error| LoadError::Host(error.to_string()))?
}

/// All pages of a list; whoever has more than any list may have is asked no further.
async fn pages<T: Said + Send + 'static>(
    program: &Arc<Program>,
    call: &Call,
    request: impl Fn(Option<String>) -> wasmcp::Request<wasmcp::Page<T>>,
) -> Result<Vec<T>, LoadError> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..=MAX_ENTRIES {
        let asked = program.perform(request(cursor), call.clone()).await;
        let page = answer(match asked {
            Ok(Ok(page)) => Ok(Ok(page)),
            Ok(Err(CallError::Fault(fault))) | Err(fault) => Err(fault),
            Ok(Err(CallError::Guest(error))) => Ok(Err(said(error))),
            Ok(Err(CallError::Input(_))) => Err(Fault::Host),
        })?;
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() || all.len() > MAX_ENTRIES {
            return Ok(all);
        }
    }
    Err(LoadError::ListingTooLarge { what: "pages", limit: MAX_ENTRIES })
}

fn said(error: GuestError) -> String {
    match error {
        GuestError::NotFound => "not found".into(),
        GuestError::Failed(reason) => reason,
        GuestError::InvalidInput(input) => input.reason,
    }
}

/// Asks for all lists, under one deadline.
async fn ask_for_lists(program: &Arc<Program>, exports: &Exports) -> Result<(Surface, Vec<String>), LoadError> {
    let call = internal("list", Limits::LISTING);
    let mut listed = Listed::default();
    if let Some(tools) = &exports.tools {
        let asked = program.invoke(&tools.list, call.clone(), |_| ());
        listed.tools = Some(answer(asked.await)?);
    }
    if let Some(resources) = &exports.resources {
        let asked = program.invoke(&resources.list, call.clone(), |_| ());
        listed.resources = Some(answer(asked.await)?);
        let asked = program.invoke(&resources.templates, call.clone(), |_| ());
        listed.templates = answer(asked.await)?;
    }
    if let Some(prompts) = &exports.prompts {
        let asked = program.invoke(&prompts.list, call.clone(), |_| ());
        listed.prompts = Some(answer(asked.await)?);
    }
    if let Some(extensions) = &exports.extensions {
        let asked = program.invoke(&extensions.describe, call, |_| ());
        listed.offer = Some(answer(asked.await)?);
    }
    listed.completions = exports.completions.is_some();
    aside(program, move || listed.freeze()).await
}

fn answer<T>(asked: Result<Result<T, String>, Fault>) -> Result<T, LoadError> {
    match asked {
        Ok(Ok(list)) => Ok(list),
        Ok(Err(why)) => Err(LoadError::listing_refused(&why)),
        Err(Fault::Timeout { .. } | Fault::Cpu { .. }) => Err(LoadError::ListingTimeout),
        Err(Fault::Trap) => Err(LoadError::ListingTrap),
        Err(fault) => Err(LoadError::ListingFault(fault)),
    }
}
