//! From a component's bytes to a plugin that can be called: check, compile, link, list.
//!
//! Reads no file (`file` does) and decides nothing about names in the catalog.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::abi::{Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::component::compile;
use super::component::prescan::prescan;
use super::dialects::Dialect;
use super::dialects::linked::Linked;
use super::error::LoadError;
use super::fault::{CallError, Fault};
use super::id::{Digest, PluginId};
use super::imports::granted::Granted;
use super::instance::call::Program;
use super::limits::Limits;
use super::policy::access::Access;
use super::policy::grants::Grants;
use super::provider::{Call, Provider};
use super::sandbox::Sandbox;
use super::schema::allowance::Allowance;
use super::surface::Surface;

/// A loaded component. Calls in flight keep what they need, so it may be dropped any time.
pub struct Plugin {
    pub(in crate::plugin) program: Arc<Program>,
    pub(in crate::plugin) linked: Arc<Linked>,
    surface: Arc<Surface>,
    warnings: Vec<String>,
}

impl Sandbox {
    /// Makes a plugin of a component's bytes: compiles it (or finds it in the cache), links
    /// it and asks it what it offers. May be called from any runtime.
    ///
    /// # Errors
    /// One clear reason why these bytes are no plugin; nothing is left behind.
    pub async fn load(
        self: &Arc<Self>,
        id: PluginId,
        component: Vec<u8>,
        limits: Limits,
        grants: Grants,
    ) -> Result<Plugin, LoadError> {
        let sandbox = self.clone();
        let loading = self.runtime.guests().spawn(async move {
            let (digest, component) = (Digest::of(&component), Arc::new(component));
            let (bytes, limit) = (component.clone(), limits.clone());
            compile::blocking(move || prescan(&bytes, &limit)).await??;
            let linked = sandbox.in_use.get_or_make(digest, async {
                let code = sandbox.compilation.code(component.clone(), digest).await?;
                Linked::new(&sandbox.linker, code, &component)
            });
            let linked = linked.await?;
            drop(component);
            linked.fits(&limits)?;
            let program = Program::new(sandbox.runtime.clone(), id, digest, limits, grants, linked.pre.clone());
            // The listing's own time is short.
            program.granted.open_folders().await;
            Plugin::listed(program, linked).await
        });
        match loading.await {
            Ok(loaded) => loaded,
            Err(error) => Err(LoadError::Host(error.to_string())),
        }
    }
}

impl Plugin {
    /// What was dropped from its lists, and why; for people.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The kinds of access without which some of its imports are of no use.
    pub fn needs(&self) -> &BTreeSet<Access> {
        &self.linked.needs
    }

    /// The same plugin under other limits and grants, asked again what it offers.
    ///
    /// # Errors
    /// As [`Sandbox::load`].
    pub async fn granted(&self, limits: Limits, grants: Grants) -> Result<Self, LoadError> {
        Self::listed(self.program.with_settings(limits, grants), self.linked.clone()).await
    }

    /// Opens what is granted, as a call would, so that the log says what is wrong with it.
    pub async fn try_grants(&self, grants: Grants) {
        Granted::new(self.program.id.clone(), grants, &self.program.runtime.resources).open_folders().await;
    }

    /// Asks what it offers.
    async fn listed(program: Arc<Program>, linked: Arc<Linked>) -> Result<Self, LoadError> {
        let listed = linked.dialect.list(&program).await?;
        // Where nothing waits for it: to compile what a plugin lists may take long.
        let freezing = program.runtime.freezing.acquire().await;
        let dialect = linked.clone();
        let frozen = program.runtime.guests().spawn_blocking(move || dialect.dialect.freeze(listed)).await;
        drop(freezing);
        let (surface, warnings) = frozen.map_err(|error| LoadError::Host(error.to_string()))??;
        // Most plugins are called much later, or never.
        linked.unmap_code();
        Ok(Self { program, linked, surface: Arc::new(surface), warnings })
    }

    fn dialect(&self) -> &dyn Dialect {
        self.linked.dialect.as_ref()
    }
}

#[async_trait]
impl Provider for Plugin {
    fn id(&self) -> &PluginId {
        &self.program.id
    }

    fn digest(&self) -> &Digest {
        &self.program.digest
    }

    fn surface(&self) -> &Surface {
        &self.surface
    }

    fn may_ask(&self, access: Access) -> bool {
        let granted = &self.program.granted;
        let may = granted.grants.allow(access);
        if !may {
            granted.tell_denied(access, &access.line());
        }
        may
    }

    fn with_settings(&self, limits: Limits, grants: Grants) -> Option<Arc<dyn Provider>> {
        let program = self.program.with_settings(limits, grants);
        let (linked, surface) = (self.linked.clone(), self.surface.clone());
        Some(Arc::new(Self { program, linked, surface, warnings: Vec::new() }))
    }

    async fn list_again(&self) -> Result<Option<Arc<dyn Provider>>, LoadError> {
        let newer = Self::listed(self.program.clone(), self.linked.clone()).await?;
        for warning in &newer.warnings {
            tracing::warn!(plugin = %self.program.id, "{warning}");
        }
        Ok(Some(Arc::new(newer)))
    }

    async fn call_tool(&self, name: &str, arguments: Arc<str>, call: Call) -> Result<ToolOutcome, CallError> {
        let tool = self.surface.tool(name).ok_or(CallError::Guest(GuestError::NotFound))?;
        let caller = call.caller.clone();
        let called = self.dialect().call_tool(&self.program, tool, arguments, call);
        self.program.breaker.around(&caller, called).await
    }

    async fn check_form(&self, schema: &str, content: &str) -> Result<(), CallError> {
        let (program, schema, content) = (self.program.clone(), schema.to_owned(), content.to_owned());
        let checked = async move {
            // The time of a listing is as much as a form's schema may take to compile.
            let schema = program
                .forms
                .compile(&schema, &mut Allowance::new())
                .map_err(|why| Fault::BadOutput(format!("a form with a bad schema: {why}")))?;
            program.runtime.checker.check(&schema, &content).await?.map_err(CallError::Input)
        };
        self.program.compute(checked).await
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        let caller = call.caller.clone();
        let called = self.dialect().read_resource(&self.program, uri, call);
        self.program.breaker.around(&caller, called).await
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let caller = call.caller.clone();
        let called = self.dialect().get_prompt(&self.program, name, arguments, call);
        self.program.breaker.around(&caller, called).await
    }

    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let caller = call.caller.clone();
        let called = self.dialect().complete(&self.program, subject, name, value, given, call);
        self.program.breaker.around(&caller, called).await
    }

    async fn call_method(&self, name: &str, params: &str, call: Call) -> Result<String, CallError> {
        let caller = call.caller.clone();
        let called = self.dialect().call_method(&self.program, name, params, call);
        self.program.breaker.around(&caller, called).await
    }
}
