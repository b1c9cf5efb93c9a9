//! `wharf check`: validates files without serving them.

mod skill;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use wharf_report::{ShowPath as _, warning};

use super::absent;
use super::examine::Examination;
use super::extra::ShownExtra;
use super::load_file::{id_of, load_file, refused};
use super::options::Options;
use super::summary::{OFFERS_NOTHING, carried, is_whole, remarks};
use super::survey::{choice_in, report_left, report_left_out};
use super::wiring::{is_component, plugin_settings};
use crate::audit::Audit;
use crate::catalog::{Choice, PluginSettings, method_name};
use crate::config::Config;
use crate::plugin::{
    Access, Embedded, FileSummary, FolderGrant, FolderMode, Grants, Import, Inspection, Isolation, ListingWarning,
    Pages, Provider as _, Sandbox, inspect, read_component, summarize,
};
use crate::report::{self, Failure, NAME, Screen};
use crate::skills::SKILL_FILE;
use crate::text::escape_hidden_in_json;
use skill::Skills;

pub(super) async fn run(
    options: &Options,
    paths: &[PathBuf],
    json: bool,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let places = paths.iter().map(|path| Place::of(&config, path)).collect::<Result<Vec<_>, _>>()?;
    let sandbox = options.sandbox(&config, paths, Audit::default()).await?;
    let mut all_pass = true;
    for Place { path, choice, .. } in &places {
        let Some(choice) = choice else { continue };
        all_pass &= report_left_out(path, &choice.left_out) == 0;
        absent::warnings(&config, path, choice.names()).iter().for_each(|absent| warning(&absent.text));
    }
    let examination = Examination::begin(screen, "checking");
    for place in &places {
        all_pass &= place.skills.print(json)?;
        let files = place.files().into_iter().map(|file| (file.shown().to_string(), file)).collect();
        let one = async |file: &Path| {
            let findings = check(&config, &sandbox, file).await;
            let text = if json { escape_hidden_in_json(&findings.to_json().to_string()) } else { findings.to_text() };
            (file.to_owned(), findings.passes(), text)
        };
        let (mut found, left) = examination.of(files, one, |(_, passes, _)| *passes).await;
        found.sort();
        for (_, passes, text) in found {
            all_pass &= passes;
            report::print(&text)?;
        }
        all_pass &= report_left(place.path, left.as_deref());
    }
    Ok(if all_pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A path of the command line.
struct Place<'a> {
    path: &'a Path,
    /// Of a folder, the files that a server would load.
    choice: Option<Choice>,
    skills: Skills,
}

impl<'a> Place<'a> {
    fn of(config: &Config, path: &'a Path) -> Result<Self, Failure> {
        // A folder that is named like a plugin is refused, as a server does.
        let is_skill_file = path.file_name().is_some_and(|name| name == SKILL_FILE);
        if (!path.is_dir() && !is_skill_file) || is_component(path) {
            return Ok(Self { path, choice: None, skills: Skills::default() });
        }
        if let Some(skills) = Skills::at(path) {
            return Ok(Self { path, choice: Some(Choice::default()), skills });
        }
        let (choice, skills) = (choice_in(config, path)?, Skills::in_plugins(path));
        if choice.is_empty() && choice.left_out.is_empty() && skills.is_empty() {
            return Err(Failure::usage(format!("find plugins in {}: it has no .wasm files", path.shown())));
        }
        Ok(Self { path, choice: Some(choice), skills })
    }

    fn files(&self) -> Vec<&Path> {
        self.choice.as_ref().map_or_else(|| vec![self.path], |choice| choice.in_order().map(|(_, path)| path).collect())
    }
}

/// The result for one file.
struct Findings {
    file: PathBuf,
    /// `None` if the file could not be read.
    summary: Option<FileSummary>,
    inspection: Inspection,
    /// How it is spoken to, where components of its kind differ in that.
    spoken: Option<String>,
    tools: Vec<(String, String)>,
    /// Of resources, templates and prompts, what they are listed by, and a description.
    resources: Vec<(String, String)>,
    templates: Vec<(String, String)>,
    prompts: Vec<(String, String)>,
    /// The skills in the file.
    carried: String,
    files: Vec<Value>,
    /// Custom methods, by their public names.
    methods: Vec<String>,
    /// Of each declared capability, its section (`experimental` or `extensions`), name and settings.
    capabilities: Vec<(&'static str, String, String)>,
    /// All that clients are shown of them.
    lists: Value,
    warnings: Vec<String>,
    /// Whether clients get all that it lists.
    is_whole: bool,
    grants: Grants,
    /// By its settings.
    isolation: Isolation,
    /// Why it would not load, and a hint.
    refusal: Option<(String, Option<String>)>,
}

async fn check(config: &Config, sandbox: &Arc<Sandbox>, file: &Path) -> Findings {
    let mut findings = Findings {
        file: file.to_owned(),
        summary: None,
        inspection: Inspection::default(),
        spoken: None,
        tools: Vec::new(),
        resources: Vec::new(),
        templates: Vec::new(),
        prompts: Vec::new(),
        carried: String::new(),
        files: Vec::new(),
        methods: Vec::new(),
        capabilities: Vec::new(),
        lists: Value::Null,
        warnings: Vec::new(),
        is_whole: true,
        grants: Grants::default(),
        isolation: Isolation::default(),
        refusal: None,
    };
    let mut embedded = None;
    // Imports are reported even if the file would not load.
    if let Ok(component) = read_component(file).await {
        let summary = summarize(&component);
        findings.inspection = inspect(&component).unwrap_or_else(|_| module_inspection(&summary));
        findings.summary = Some(summary);
        embedded = Some(Embedded::of(&component));
    }
    let loaded = match id_of(config, file) {
        Ok(id) => {
            let settings = plugin_settings(config, &id);
            findings.grants = settings.grants.clone();
            findings.isolation = settings.limits.isolation;
            // It may be untrusted: it is listed without its grants.
            let grants = settings.grants.none();
            let loaded = load_file(sandbox, file, &id, PluginSettings { grants, ..settings }).await;
            loaded.map_err(|error| refused(error, file))
        }
        Err(refusal) => Err(refusal),
    };
    match loaded {
        Ok(plugin) => {
            plugin.try_grants(findings.grants.clone()).await;
            let surface = plugin.surface();
            findings.lists = surface.lists();
            findings.spoken = plugin.spoken();
            let about = |key: &str, texts: [&Option<String>; 2]| {
                (key.to_owned(), texts.into_iter().flatten().next().cloned().unwrap_or_default())
            };
            let tools = surface.tools.iter().flatten().map(|frozen| &frozen.tool);
            findings.tools = tools.map(|tool| about(&tool.name, [&tool.description, &None])).collect();
            let resources = surface.resources.iter().flatten();
            findings.resources = resources.map(|it| about(&it.uri, [&it.description, &it.title])).collect();
            let templates = surface.templates.iter().map(|frozen| &frozen.template);
            findings.templates = templates.map(|it| about(&it.uri_template, [&it.description, &it.title])).collect();
            let prompts = surface.prompts.iter().flatten();
            findings.prompts = prompts.map(|it| about(&it.name, [&it.description, &it.title])).collect();
            if let Some(offer) = &plugin.surface().offer {
                findings.methods = offer.methods.iter().map(|own| method_name(plugin.id(), own)).collect();
                let placed = [("experimental", &offer.experimental), ("extensions", &offer.extensions)];
                let capabilities = placed.into_iter().flat_map(|(place, all)| all.iter().map(move |one| (place, one)));
                findings.capabilities =
                    capabilities.map(|(place, one)| (place, one.name.clone(), one.settings.clone())).collect();
            }
            findings.carried = carried(&plugin);
            findings.files = surface.skills.approved_files();
            findings.warnings = remarks(&plugin);
            findings.is_whole = is_whole(&plugin);
            if surface.is_empty() {
                findings.warnings.push(format!("it {OFFERS_NOTHING}"));
            }
            let embedded = embedded.and_then(|embedded| sandbox.embedded_surface(&embedded, &surface.skills));
            if embedded.is_some_and(|embedded| embedded.digest() != surface.digest()) {
                findings.warnings.push(ListingWarning::Untrue.to_string());
            }
        }
        Err(refusal) => findings.refusal = Some(refusal),
    }
    findings
}

/// The exports and imports of a core module. The host links no imports of core modules.
fn module_inspection(summary: &FileSummary) -> Inspection {
    let import = |name: &String| Import { name: name.clone(), linked: false, grant: None };
    let imports = summary.imports.iter().map(import).collect();
    Inspection { exports: summary.exports.clone(), imports, is_asynchronous: false }
}

impl Findings {
    fn passes(&self) -> bool {
        self.refusal.is_none() && self.is_whole
    }

    /// The grants that its imports need.
    fn needed(&self) -> BTreeSet<Access> {
        self.inspection.imports.iter().filter_map(|import| import.grant).collect()
    }

    /// Why it runs in a process of its own, if it does.
    fn why_apart(&self) -> Option<&'static str> {
        match self.isolation {
            _ if self.inspection.is_asynchronous => Some("it has async functions, streams or futures"),
            Isolation::Process => Some("by limits.isolation"),
            Isolation::Shared => None,
        }
    }

    fn to_text(&self) -> String {
        let mut text = match &self.refusal {
            None => format!("{}: would load\n", self.file.shown()),
            Some((reason, hint)) => {
                let hint = hint.as_ref().map_or_else(String::new, |hint| format!("  hint: {hint}\n"));
                format!("{}: would not load: failed to {reason}\n{hint}", self.file.shown())
            }
        };
        if let Some(summary) = &self.summary {
            text += &format!("  kind     {}\n", summary.kind);
            let makers = summary.producers.iter().map(|maker| match maker.version.as_str() {
                "" => maker.name.clone(),
                version => format!("{} {version}", maker.name),
            });
            let makers: Vec<String> = makers.collect();
            if !makers.is_empty() {
                text += &format!("  made by  {}\n", makers.join(", "));
            }
        }
        if let Some(spoken) = &self.spoken {
            text += &format!("  speaks   {spoken}\n");
        }
        if let Some(why) = self.why_apart() {
            text += &format!("  runs     in a process of its own: {why}\n");
        }
        if !self.inspection.exports.is_empty() {
            text += &format!("  exports  {}\n", self.inspection.exports.join(", "));
        }
        if let Some(imports) = self.imports() {
            text += &format!("  imports  {imports}\n");
        }
        for access in self.needed() {
            let name = access.name();
            text += &if self.grants.allow(access) {
                format!("  grant    {name}, granted\n")
            } else if self.grants.kinds().contains(&access) {
                format!("  grant    {name}, granted to some callers\n")
            } else {
                format!("  grant    {name}, not granted: {}\n", self.grants.remedy(&access.line(), &access.word()))
            };
        }
        for folder in &self.grants.folders {
            let mode = mode(folder);
            let own = if folder.per_subject.is_some() { ", a folder of each user's own" } else { "" };
            text += &format!("  folder   {}, granted to {mode}, from {}{own}\n", folder.guest, folder.host.shown());
        }
        for extra in ShownExtra::all(&self.grants) {
            text += &format!("  extra    {}\n", extra.shown());
        }
        if self.grants.pages != Pages::default() {
            text += &format!("  pages    {}\n", self.grants.pages.name());
        }
        for (kind, offered) in [
            ("tool    ", &self.tools),
            ("resource", &self.resources),
            ("template", &self.templates),
            ("prompt  ", &self.prompts),
        ] {
            for (name, description) in offered {
                let first = description.lines().next().unwrap_or_default();
                text += &format!("  {kind} {NAME}{name}{NAME:#}  {first}\n");
            }
        }
        if !self.carried.is_empty() {
            text += &format!("  carries  {}\n", self.carried);
        }
        for method in &self.methods {
            text += &format!("  method   {NAME}{method}{NAME:#}\n");
        }
        for (place, name, settings) in &self.capabilities {
            text += &format!("  declares {NAME}{name}{NAME:#}  {place}, {settings}\n");
        }
        for warning in &self.warnings {
            text += &format!("  warning  {warning}\n");
        }
        text
    }

    /// What it imports. Of the interfaces of WASI, which every toolchain imports, only those are named that the host
    /// does not have, or that need a grant.
    fn imports(&self) -> Option<String> {
        let is_usual = |import: &&Import| import.linked && import.grant.is_none() && import.name.starts_with("wasi:");
        let (usual, named): (Vec<&Import>, Vec<&Import>) = self.inspection.imports.iter().partition(is_usual);
        let mut parts: Vec<String> = named.iter().map(|import| import.name.clone()).collect();
        match usual.len() {
            0 => {}
            1 => parts.push("1 WASI interface".to_owned()),
            count => parts.push(format!("{count} WASI interfaces")),
        }
        let last = parts.pop()?;
        Some(if parts.is_empty() {
            last
        } else if usual.is_empty() {
            format!("{}, {last}", parts.join(", "))
        } else {
            format!("{} and {last}", parts.join(", "))
        })
    }

    fn to_json(&self) -> Value {
        let imports: Vec<Value> = self
            .inspection
            .imports
            .iter()
            .map(|import| json!({"name": import.name, "linked": import.linked}))
            .collect();
        let makers = self.summary.iter().flat_map(|summary| &summary.producers);
        let makers: Vec<Value> =
            makers.map(|maker| json!({"role": maker.role, "name": maker.name, "version": maker.version})).collect();
        let offered = |list: &str| self.lists[list].as_array().cloned().unwrap_or_default();
        let grants: Vec<Value> = self
            .needed()
            .into_iter()
            .map(|access| {
                let granted = self.grants.allow(access);
                let to_some = self.grants.extras.all().iter().any(|extra| extra.grants.allow(access));
                json!({"name": access.name(), "granted": granted, "grantedToSome": to_some})
            })
            .collect();
        let folders: Vec<Value> = self
            .grants
            .folders
            .iter()
            .map(|folder| json!({"guest": folder.guest, "host": folder.host.to_string_lossy(), "mode": mode(folder)}))
            .collect();
        let mut capabilities = json!({ "experimental": {}, "extensions": {} });
        for (place, name, settings) in &self.capabilities {
            // Validated when it was loaded.
            capabilities[place][name] = crate::json::tree(settings, crate::json::MAX_DEPTH).unwrap_or_default();
        }
        json!({
            "file": self.file.to_string_lossy(),
            "loads": self.refusal.is_none(),
            "reason": self.refusal.as_ref().map(|(reason, _)| reason),
            "kind": self.summary.as_ref().map(|summary| summary.kind.code()),
            "speaks": self.spoken,
            "ownProcess": self.why_apart().is_some(),
            "makers": makers,
            "hint": self.refusal.as_ref().and_then(|(_, hint)| hint.as_ref()),
            "exports": self.inspection.exports,
            "imports": imports,
            "grants": grants,
            "folders": folders,
            "extra": ShownExtra::all(&self.grants).map(|extra| extra.to_json()).collect::<Vec<_>>(),
            "pages": self.grants.pages.name(),
            "files": self.files,
            "tools": offered("tools"),
            "resources": offered("resources"),
            "resourceTemplates": offered("templates"),
            "prompts": offered("prompts"),
            "methods": self.methods,
            "capabilities": capabilities,
            "warnings": self.warnings,
        })
    }
}

fn mode(folder: &FolderGrant) -> &'static str {
    match folder.mode {
        FolderMode::Read => "read",
        FolderMode::Write { .. } => "write",
    }
}
