//! Which instances are linked, and what their imports refer to.

use std::collections::HashMap;

use wasmparser::{ConstExpr, Operator};

use super::Unsupported;
use super::outline::{Core, CoreModule, Definition, Import, Kind, Made, Outline};
use crate::plugin::component::engine::TABLES_PER_MODULE;

/// Steps from an import to what it refers to, over instances that are made of exports.
const MAX_STEPS: usize = 256;

/// Where a core definition comes from.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// A canonical function of the component: its index among the core functions.
    Canonical { index: u32, needs_core: bool },
    /// A linked instance, which defines it: the index is among the definitions of its module, without imports.
    Linked(usize, Core),
    /// An instance that stays.
    Export(usize, &'a str),
}

#[derive(Clone, Copy)]
pub(super) enum Constant {
    I32(i32),
    I64(i64),
}

pub(super) struct Plan<'a> {
    pub(super) outline: Outline<'a>,
    /// By instance.
    is_linked: Vec<bool>,
    /// By instance: where each import of its module comes from.
    sources: Vec<Vec<Source<'a>>>,
    /// Values of globals that never change, by instance and index among its definitions.
    constants: HashMap<(usize, u32), Constant>,
}

impl<'a> Plan<'a> {
    /// Links as many instances as possible: all but those that run code, or need functions that need their memory. None
    /// if that would be fewer than two, or more than one module may have.
    pub(super) fn new(outline: Outline<'a>) -> Result<Self, Unsupported> {
        let plan = Self::made(outline, true)?;
        let (mut instances, mut tables, mut memories) = (0, 0, 0);
        for (_, module) in plan.linked() {
            instances += 1;
            tables += module.tables.len();
            memories += module.memories.len();
        }
        let fits = instances > 1 && tables <= TABLES_PER_MODULE as usize && memories <= 1;
        if fits { Ok(plan) } else { Self::made(plan.outline, false) }
    }

    fn made(outline: Outline<'a>, links: bool) -> Result<Self, Unsupported> {
        let mut plan = Self { outline, is_linked: Vec::new(), sources: Vec::new(), constants: HashMap::new() };
        for instance in 0..plan.outline.instances.len() {
            let sources = plan.read_sources(instance)?;
            let is_early =
                |source: &Source| matches!(source, Source::Linked(..) | Source::Canonical { needs_core: false, .. });
            let has_early_imports = sources.iter().all(is_early);
            let is_linked = links && has_early_imports && plan.module(instance).is_some_and(|module| !module.stays);
            plan.sources.push(sources);
            plan.is_linked.push(is_linked);
            if is_linked {
                plan.read_constants(instance)?;
            }
        }
        Ok(plan)
    }

    /// The linked instances, in the order of their instantiation.
    pub(super) fn linked(&self) -> impl Iterator<Item = (usize, &CoreModule<'a>)> {
        let linked = self.is_linked.iter().enumerate().filter(|(_, is_linked)| **is_linked);
        linked.filter_map(|(instance, _)| Some((instance, self.module(instance)?)))
    }

    pub(super) fn is_linked(&self, instance: usize) -> bool {
        self.is_linked.get(instance).copied().unwrap_or(false)
    }

    /// The module of an instance; an instance made of exports has none.
    pub(super) fn module(&self, instance: usize) -> Option<&CoreModule<'a>> {
        match self.outline.instances.get(instance)? {
            Made::FromModule(module, _) => self.outline.modules.get(*module),
            Made::FromExports(_) => None,
        }
    }

    /// The imports of an instance, with what they refer to.
    pub(super) fn imports(&self, instance: usize) -> impl Iterator<Item = (&Import<'a>, Source<'a>)> {
        let imports = self.module(instance).into_iter().flat_map(|module| &module.imports);
        imports.zip(self.sources.get(instance).into_iter().flatten().copied())
    }

    fn read_sources(&self, instance: usize) -> Result<Vec<Source<'a>>, Unsupported> {
        let Some(Made::FromModule(module, arguments)) = self.outline.instances.get(instance) else {
            return Ok(Vec::new());
        };
        let module = self.outline.modules.get(*module).ok_or(Unsupported)?;
        let source = |import: &Import<'_>| {
            let from = arguments.get(import.from).ok_or(Unsupported)?;
            self.export(*from, import.name, import.kind, 0)
        };
        module.imports.iter().map(source).collect()
    }

    /// Where a core definition of the component comes from.
    pub(super) fn source(&self, core: Core) -> Result<Source<'a>, Unsupported> {
        self.source_after(core, 0)
    }

    fn source_after(&self, core: Core, steps: usize) -> Result<Source<'a>, Unsupported> {
        match self.outline.definition(core)? {
            Definition::Canonical { needs_core } => Ok(Source::Canonical { index: core.1, needs_core }),
            Definition::Export(instance, name) => self.export(instance, name, core.0, steps + 1),
        }
    }

    fn export(&self, instance: usize, name: &str, kind: Kind, steps: usize) -> Result<Source<'a>, Unsupported> {
        if steps > MAX_STEPS {
            return Err(Unsupported);
        }
        match self.outline.instances.get(instance).ok_or(Unsupported)? {
            Made::FromExports(exports) => self.source_after(*exports.get(name).ok_or(Unsupported)?, steps),
            Made::FromModule(module, _) => {
                let module = self.outline.modules.get(*module).ok_or(Unsupported)?;
                let (name, core) = module.exports.get_key_value(name).ok_or(Unsupported)?;
                match self.is_linked(instance) {
                    _ if core.0 != kind => Err(Unsupported),
                    true => self.within(instance, *core),
                    false => Ok(Source::Export(instance, name)),
                }
            }
        }
    }

    /// What an index in the module of a linked instance refers to.
    fn within(&self, instance: usize, (kind, index): Core) -> Result<Source<'a>, Unsupported> {
        let imports = &self.module(instance).ok_or(Unsupported)?.imports_of[kind as usize];
        match imports.get(index as usize) {
            Some(import) => {
                self.sources.get(instance).and_then(|sources| sources.get(*import)).copied().ok_or(Unsupported)
            }
            None => Ok(Source::Linked(instance, (kind, index - imports.len() as u32))),
        }
    }

    fn read_constants(&mut self, instance: usize) -> Result<(), Unsupported> {
        let fixed: Vec<(usize, ConstExpr<'a>)> = self
            .module(instance)
            .into_iter()
            .flat_map(CoreModule::constants)
            .map(|(global, value)| (global, value.clone()))
            .collect();
        for (global, value) in fixed {
            if let Some(constant) = self.constant(instance, &value)? {
                self.constants.insert((instance, global as u32), constant);
            }
        }
        Ok(())
    }

    /// The value of an expression in the module of a linked instance, if it is a number that is known before anything
    /// runs.
    pub(super) fn constant(&self, instance: usize, value: &ConstExpr<'_>) -> Result<Option<Constant>, Unsupported> {
        use Constant::{I32, I64};

        let mut stack = Vec::new();
        for operator in value.get_operators_reader() {
            let mut both = |of: fn(Constant, Constant) -> Option<Constant>| {
                let (second, first) = (stack.pop()?, stack.pop()?);
                of(first, second)
            };
            let found = match operator? {
                Operator::End => continue,
                Operator::I32Const { value } => Some(I32(value)),
                Operator::I64Const { value } => Some(I64(value)),
                Operator::GlobalGet { global_index } => match self.within(instance, (Kind::Global, global_index))? {
                    Source::Linked(of, (_, index)) => self.constants.get(&(of, index)).copied(),
                    _ => None,
                },
                Operator::I32Add => both(|first, second| match (first, second) {
                    (I32(first), I32(second)) => Some(I32(first.wrapping_add(second))),
                    _ => None,
                }),
                Operator::I32Sub => both(|first, second| match (first, second) {
                    (I32(first), I32(second)) => Some(I32(first.wrapping_sub(second))),
                    _ => None,
                }),
                _ => None,
            };
            match found {
                Some(found) => stack.push(found),
                None => return Ok(None),
            }
        }
        Ok(if let [value] = stack[..] { Some(value) } else { None })
    }
}
