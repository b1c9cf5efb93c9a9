//! The component with the linked module in place of the instances that it consists of.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wasm_encoder::reencode::{ReencodeComponent as _, RoundtripReencoder};
use wasm_encoder::{
    Alias, CanonicalFunctionSection, CanonicalOption, Component, ComponentAliasSection, ComponentSection as _,
    ComponentSectionId, Encode as _, ExportKind, InstanceSection, ModuleArg, ModuleSection,
};
use wasmparser::CanonicalFunction;

use super::Unsupported;
use super::module::Layout;
use super::outline::{ByKind, Core, Item, Kind, Made};
use super::plan::{Plan, Source};

/// A core definition that the new component has, before it has an index there.
#[derive(PartialEq, Eq, Hash)]
enum Wanted {
    /// An export of the linked module.
    Linked(Kind, u32),
    /// An export of an instance that stays.
    Export(Kind, usize, String),
}

pub(super) struct Rewriter<'a, 'p> {
    plan: &'p Plan<'a>,
    layout: Layout<'a, 'p>,
    /// Modules of instances that stay.
    kept: BTreeSet<usize>,
    /// What is before the linked module, once that is needed.
    before: Option<Vec<u8>>,
    out: Vec<u8>,
    /// Exports of the linked module.
    exports: Vec<Core>,
    /// The linked module and its instance.
    linked: (u32, u32),
    /// New indices.
    modules: HashMap<usize, u32>,
    instances: HashMap<usize, u32>,
    canonical: HashMap<u32, u32>,
    aliases: HashMap<Wanted, u32>,
    /// So many are there.
    count: Counts,
}

#[derive(Default)]
struct Counts {
    modules: u32,
    instances: u32,
    core: ByKind<u32>,
}

fn next(count: &mut u32) -> u32 {
    *count += 1;
    *count - 1
}

impl<'a, 'p> Rewriter<'a, 'p> {
    pub(super) fn new(plan: &'p Plan<'a>, layout: Layout<'a, 'p>) -> Self {
        let stays = |(instance, made): (usize, &Made<'a>)| match made {
            Made::FromModule(module, _) if !plan.is_linked(instance) => Some(*module),
            _ => None,
        };
        Self {
            plan,
            layout,
            kept: plan.outline.instances.iter().enumerate().filter_map(stays).collect(),
            before: None,
            out: Vec::new(),
            exports: Vec::new(),
            linked: (0, 0),
            modules: HashMap::new(),
            instances: HashMap::new(),
            canonical: HashMap::new(),
            aliases: HashMap::new(),
            count: Counts::default(),
        }
    }

    pub(super) fn component(mut self) -> Result<Vec<u8>, Unsupported> {
        let plan = self.plan;
        for item in &plan.outline.items {
            match item {
                Item::Other(id, contents) => {
                    self.out.push(*id);
                    contents.as_ref().encode(&mut self.out);
                }
                Item::OtherAlias(alias) => {
                    let alias = RoundtripReencoder.component_alias(alias.clone()).map_err(|_| Unsupported)?;
                    self.alias(alias);
                }
                Item::Module(module) if self.kept.contains(module) => {
                    self.out.push(ComponentSectionId::CoreModule.into());
                    plan.outline.modules[*module].bytes.encode(&mut self.out);
                    self.modules.insert(*module, next(&mut self.count.modules));
                }
                Item::Module(_) => {}
                Item::Instance(instance) => self.instance(*instance)?,
                Item::Canonical(function, index) => self.canonical(function, *index)?,
            }
        }
        let mut component = Component::new().finish();
        let Some(before) = self.before.take() else {
            component.extend(self.out);
            return Ok(component);
        };
        component.extend(before);
        ModuleSection(&self.layout.module(&self.exports)?).append_to_component(&mut component);
        let imports = self.layout.imported.iter().enumerate().map(|(name, (function, _))| {
            let index = self.canonical.get(function).copied().ok_or(Unsupported)?;
            Ok((name.to_string(), ExportKind::Func, index))
        });
        let imports = imports.collect::<Result<Vec<_>, Unsupported>>()?;
        let mut instances = InstanceSection::new();
        instances.export_items(imports.iter().map(|(name, kind, index)| (name.as_str(), *kind, *index)));
        let (module, instance) = self.linked;
        instances.instantiate(module, [("", ModuleArg::Instance(instance - 1))]);
        instances.append_to_component(&mut component);
        component.extend(&self.out);
        Ok(component)
    }

    /// An instance that stays; the others have become the linked module, or are made when something needs them.
    fn instance(&mut self, instance: usize) -> Result<(), Unsupported> {
        let plan = self.plan;
        let Some(Made::FromModule(of, _)) = plan.outline.instances.get(instance) else { return Ok(()) };
        if plan.is_linked(instance) {
            return Ok(());
        }
        let mut arguments: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (import, source) in plan.imports(instance) {
            if !seen.insert((import.from, import.name)) {
                continue;
            }
            let export = (import.name, ExportKind::from(import.kind), self.index(import.kind, source)?);
            arguments.entry(import.from).or_default().push(export);
        }
        let mut section = InstanceSection::new();
        let mut indices = Vec::new();
        for (from, exports) in &arguments {
            section.export_items(exports.iter().copied());
            indices.push((*from, ModuleArg::Instance(next(&mut self.count.instances))));
        }
        let module = self.modules.get(of).copied().ok_or(Unsupported)?;
        section.instantiate(module, indices);
        section.append_to_component(&mut self.out);
        self.instances.insert(instance, next(&mut self.count.instances));
        Ok(())
    }

    fn canonical(&mut self, function: &CanonicalFunction, index: Option<u32>) -> Result<(), Unsupported> {
        let mut section = CanonicalFunctionSection::new();
        match function {
            CanonicalFunction::Lift { core_func_index, type_index, options } => {
                let function = self.core((Kind::Function, *core_func_index))?;
                section.lift(function, *type_index, self.options(options)?);
            }
            CanonicalFunction::Lower { func_index, options } => {
                section.lower(*func_index, self.options(options)?);
            }
            CanonicalFunction::ResourceNew { resource } => drop(section.resource_new(*resource)),
            CanonicalFunction::ResourceDrop { resource } => drop(section.resource_drop(*resource)),
            CanonicalFunction::ResourceRep { resource } => drop(section.resource_rep(*resource)),
            _ => return Err(Unsupported),
        }
        section.append_to_component(&mut self.out);
        if let Some(index) = index {
            let new = next(&mut self.count.core[Kind::Function as usize]);
            self.canonical.insert(index, new);
        }
        Ok(())
    }

    fn options(&mut self, options: &[wasmparser::CanonicalOption]) -> Result<Vec<CanonicalOption>, Unsupported> {
        let mut option = |option: &wasmparser::CanonicalOption| {
            Ok(match option {
                wasmparser::CanonicalOption::UTF8 => CanonicalOption::UTF8,
                wasmparser::CanonicalOption::UTF16 => CanonicalOption::UTF16,
                wasmparser::CanonicalOption::CompactUTF16 => CanonicalOption::CompactUTF16,
                wasmparser::CanonicalOption::Memory(memory) => {
                    CanonicalOption::Memory(self.core((Kind::Memory, *memory))?)
                }
                wasmparser::CanonicalOption::Realloc(function) => {
                    CanonicalOption::Realloc(self.core((Kind::Function, *function))?)
                }
                wasmparser::CanonicalOption::PostReturn(function) => {
                    CanonicalOption::PostReturn(self.core((Kind::Function, *function))?)
                }
                _ => return Err(Unsupported),
            })
        };
        options.iter().map(&mut option).collect()
    }

    /// The new index of a core definition of the component.
    fn core(&mut self, core: Core) -> Result<u32, Unsupported> {
        self.index(core.0, self.plan.source(core)?)
    }

    fn index(&mut self, kind: Kind, source: Source<'a>) -> Result<u32, Unsupported> {
        let wanted = match source {
            Source::Canonical { index, .. } => return self.canonical.get(&index).copied().ok_or(Unsupported),
            Source::Linked(instance, core) => Wanted::Linked(kind, self.layout.index(instance, core)?),
            Source::Export(instance, name) => Wanted::Export(kind, instance, name.to_owned()),
        };
        if let Some(index) = self.aliases.get(&wanted) {
            return Ok(*index);
        }
        let (instance, name) = match &wanted {
            Wanted::Linked(_, index) => {
                self.link()?;
                self.exports.push((kind, *index));
                (self.linked.1, (self.exports.len() - 1).to_string())
            }
            Wanted::Export(_, instance, name) => {
                (self.instances.get(instance).copied().ok_or(Unsupported)?, name.clone())
            }
        };
        self.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::from(kind), name: &name });
        let index = next(&mut self.count.core[kind as usize]);
        self.aliases.insert(wanted, index);
        Ok(index)
    }

    /// The linked module is needed from here on: all that it imports must be there.
    fn link(&mut self) -> Result<(), Unsupported> {
        if self.before.is_some() {
            return Ok(());
        }
        if self.layout.imported.iter().any(|(function, _)| !self.canonical.contains_key(function)) {
            return Err(Unsupported);
        }
        self.before = Some(std::mem::take(&mut self.out));
        // Before its instance is that of its imports.
        next(&mut self.count.instances);
        self.linked = (next(&mut self.count.modules), next(&mut self.count.instances));
        Ok(())
    }

    fn alias(&mut self, alias: Alias<'_>) {
        let mut section = ComponentAliasSection::new();
        section.alias(alias);
        section.append_to_component(&mut self.out);
    }
}
