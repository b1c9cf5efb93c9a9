//! The core modules, instances and definitions of a component, in the order in which it has them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use wasm_encoder::{ComponentSectionId, ExportKind};
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind, ComponentType,
    ComponentTypeRef, ConstExpr, Data, Element, ExternalKind, FunctionBody, Global, Instance, KnownCustom, MemoryType,
    Name, Parser, Payload, SubType, Table, TypeRef,
};

use super::Unsupported;

/// Of core definitions that can be linked.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Function,
    Table,
    Memory,
    Global,
}

/// A core definition's kind, and its index among those of that kind.
pub(super) type Core = (Kind, u32);

/// Something for each kind.
pub(super) type ByKind<T> = [T; 4];

/// What a component has at its top level.
pub(super) enum Item<'a> {
    /// A section that refers to nothing of core modules: its id and contents.
    Other(u8, Cow<'a, [u8]>),
    OtherAlias(ComponentAlias<'a>),
    /// By index in [`Outline::modules`].
    Module(usize),
    /// By index in [`Outline::instances`].
    Instance(usize),
    /// With the index of the core function that it defines; without, it lifts one.
    Canonical(CanonicalFunction, Option<u32>),
}

/// How a core function, table, memory or global is defined.
#[derive(Clone, Copy)]
pub(super) enum Definition<'a> {
    /// By a canonical function, which may need the memory of a module.
    Canonical { needs_core: bool },
    /// As an export of an instance.
    Export(usize, &'a str),
}

pub(super) enum Made<'a> {
    /// Of a module, with instances by the names of its imports' modules.
    FromModule(usize, HashMap<&'a str, usize>),
    FromExports(HashMap<&'a str, Core>),
}

#[derive(Clone, Copy)]
pub(super) struct Import<'a> {
    pub(super) from: &'a str,
    pub(super) name: &'a str,
    pub(super) kind: Kind,
    /// Of a function.
    pub(super) ty: u32,
}

#[derive(Default)]
pub(super) struct CoreModule<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) types: Vec<SubType>,
    pub(super) imports: Vec<Import<'a>>,
    /// Where those of each kind are among them, in the order of their index space.
    pub(super) imports_of: ByKind<Vec<usize>>,
    /// Types of the functions that it defines.
    pub(super) functions: Vec<u32>,
    pub(super) tables: Vec<Table<'a>>,
    pub(super) memories: Vec<MemoryType>,
    pub(super) globals: Vec<Global<'a>>,
    pub(super) exports: HashMap<&'a str, Core>,
    pub(super) elements: Vec<Element<'a>>,
    pub(super) data: Vec<Data<'a>>,
    pub(super) counts_data: bool,
    pub(super) bodies: Vec<FunctionBody<'a>>,
    pub(super) names: Vec<(u32, &'a str)>,
    /// It runs when it is instantiated, or has what is not linked.
    pub(super) stays: bool,
}

#[derive(Default)]
pub(super) struct Outline<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) modules: Vec<CoreModule<'a>>,
    pub(super) instances: Vec<Made<'a>>,
    /// Whether a component within it was linked.
    pub(super) has_linked: bool,
    /// The component's core definitions.
    definitions: ByKind<Vec<Definition<'a>>>,
}

impl<'a> Outline<'a> {
    /// Links the components within it, so many levels deep.
    pub(super) fn read(component: &'a [u8], levels: usize) -> Result<Self, Unsupported> {
        let mut outline = Self::default();
        // Components and modules around what is read, besides the outermost.
        let mut nested: Vec<bool> = Vec::new();
        for payload in Parser::new(0).parse_all(component) {
            let payload = payload?;
            match (nested.last(), &payload) {
                (_, Payload::ModuleSection { unchecked_range, .. }) => {
                    if nested.is_empty() {
                        outline.items.push(Item::Module(outline.modules.len()));
                        let bytes = component.get(unchecked_range.clone()).ok_or(Unsupported)?;
                        outline.modules.push(CoreModule { bytes, ..CoreModule::default() });
                    }
                    nested.push(true);
                }
                (_, Payload::ComponentSection { unchecked_range, .. }) => {
                    if nested.is_empty() {
                        outline.component(component.get(unchecked_range.clone()).ok_or(Unsupported)?, levels);
                    }
                    nested.push(false);
                }
                (Some(_), Payload::End(_)) => drop(nested.pop()),
                (Some(true), _) if nested.len() == 1 => {
                    outline.modules.last_mut().ok_or(Unsupported)?.read(payload)?;
                }
                // Within a nested component.
                (Some(_), Payload::ComponentAliasSection(aliases)) => {
                    for alias in aliases.clone() {
                        if let ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, .. } = alias? {
                            return Err(Unsupported);
                        }
                    }
                }
                (Some(_), _) => {}
                (None, _) => outline.top_level(component, payload)?,
            }
        }
        Ok(outline)
    }

    fn other(&mut self, component: &'a [u8], id: ComponentSectionId, range: Range<usize>) -> Result<(), Unsupported> {
        self.items.push(Item::Other(id.into(), component.get(range).ok_or(Unsupported)?.into()));
        Ok(())
    }

    fn component(&mut self, within: &'a [u8], levels: usize) {
        let linked = levels.checked_sub(1).and_then(|levels| super::link(within, levels).ok());
        self.has_linked |= linked.is_some();
        self.items.push(Item::Other(ComponentSectionId::Component.into(), linked.map_or(within.into(), Cow::Owned)));
    }

    fn top_level(&mut self, component: &'a [u8], payload: Payload<'a>) -> Result<(), Unsupported> {
        match payload {
            Payload::Version { .. } | Payload::End(_) | Payload::CustomSection(_) => {}
            Payload::InstanceSection(instances) => {
                for instance in instances {
                    self.items.push(Item::Instance(self.instances.len()));
                    self.instances.push(made(instance?)?);
                }
            }
            Payload::ComponentAliasSection(aliases) => {
                for alias in aliases {
                    self.alias(alias?)?;
                }
            }
            Payload::ComponentCanonicalSection(functions) => {
                for function in functions {
                    self.canonical(function?)?;
                }
            }
            Payload::ComponentImportSection(imports) => {
                for import in imports.clone() {
                    if let ComponentTypeRef::Module(_) = import?.ty {
                        return Err(Unsupported);
                    }
                }
                self.other(component, ComponentSectionId::Import, imports.range())?;
            }
            Payload::ComponentExportSection(exports) => {
                for export in exports.clone() {
                    if export?.kind == ComponentExternalKind::Module {
                        return Err(Unsupported);
                    }
                }
                self.other(component, ComponentSectionId::Export, exports.range())?;
            }
            Payload::CoreTypeSection(types) => self.other(component, ComponentSectionId::CoreType, types.range())?,
            Payload::ComponentInstanceSection(instances) => {
                for instance in instances.clone() {
                    let has_module = match instance? {
                        wasmparser::ComponentInstance::Instantiate { args, .. } => {
                            args.iter().any(|arg| arg.kind == ComponentExternalKind::Module)
                        }
                        wasmparser::ComponentInstance::FromExports(exports) => {
                            exports.iter().any(|export| export.kind == ComponentExternalKind::Module)
                        }
                    };
                    if has_module {
                        return Err(Unsupported);
                    }
                }
                self.other(component, ComponentSectionId::Instance, instances.range())?;
            }
            Payload::ComponentTypeSection(types) => {
                for ty in types.clone() {
                    // Its destructor is a core function that is there before the resource, and so before its program.
                    if let ComponentType::Resource { dtor: Some(_), .. } = ty? {
                        return Err(Unsupported);
                    }
                }
                self.other(component, ComponentSectionId::Type, types.range())?;
            }
            _ => return Err(Unsupported),
        }
        Ok(())
    }

    fn alias(&mut self, alias: ComponentAlias<'a>) -> Result<(), Unsupported> {
        match alias {
            ComponentAlias::CoreInstanceExport { kind, instance_index, name } => {
                self.definitions[Kind::try_from(kind)? as usize]
                    .push(Definition::Export(instance_index as usize, name));
            }
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Module, .. }
            | ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, .. } => return Err(Unsupported),
            other => self.items.push(Item::OtherAlias(other)),
        }
        Ok(())
    }

    fn canonical(&mut self, function: CanonicalFunction) -> Result<(), Unsupported> {
        let needs_core = match &function {
            CanonicalFunction::Lift { .. } => {
                self.items.push(Item::Canonical(function, None));
                return Ok(());
            }
            CanonicalFunction::Lower { options, .. } => !options.iter().all(|option| {
                matches!(option, CanonicalOption::UTF8 | CanonicalOption::UTF16 | CanonicalOption::CompactUTF16)
            }),
            CanonicalFunction::ResourceNew { .. }
            | CanonicalFunction::ResourceDrop { .. }
            | CanonicalFunction::ResourceRep { .. } => false,
            _ => return Err(Unsupported),
        };
        let functions = &mut self.definitions[Kind::Function as usize];
        self.items.push(Item::Canonical(function, Some(functions.len() as u32)));
        functions.push(Definition::Canonical { needs_core });
        Ok(())
    }

    /// How that core definition of the component is defined.
    pub(super) fn definition(&self, (kind, index): Core) -> Result<Definition<'a>, Unsupported> {
        self.definitions[kind as usize].get(index as usize).copied().ok_or(Unsupported)
    }
}

fn made(instance: Instance<'_>) -> Result<Made<'_>, Unsupported> {
    Ok(match instance {
        Instance::Instantiate { module_index, args } => {
            Made::FromModule(module_index as usize, args.iter().map(|arg| (arg.name, arg.index as usize)).collect())
        }
        Instance::FromExports(exports) => {
            let exports = exports.iter().map(|export| Ok((export.name, (export.kind.try_into()?, export.index))));
            Made::FromExports(exports.collect::<Result<_, Unsupported>>()?)
        }
    })
}

impl<'a> CoreModule<'a> {
    fn read(&mut self, payload: Payload<'a>) -> Result<(), Unsupported> {
        match payload {
            Payload::Version { .. } | Payload::CodeSectionStart { .. } => {}
            Payload::TypeSection(groups) => {
                for group in groups {
                    let group = group?;
                    if group.is_explicit_rec_group() {
                        return Err(Unsupported);
                    }
                    self.types.extend(group.into_types());
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    let (kind, ty) = match import.ty {
                        TypeRef::Func(ty) => (Kind::Function, ty),
                        TypeRef::Table(_) => (Kind::Table, 0),
                        TypeRef::Memory(_) => (Kind::Memory, 0),
                        TypeRef::Global(_) => (Kind::Global, 0),
                        TypeRef::FuncExact(_) | TypeRef::Tag(_) => return Err(Unsupported),
                    };
                    self.imports_of[kind as usize].push(self.imports.len());
                    self.imports.push(Import { from: import.module, name: import.name, kind, ty });
                }
            }
            Payload::FunctionSection(functions) => self.functions = functions.into_iter().collect::<Result<_, _>>()?,
            Payload::TableSection(tables) => self.tables = tables.into_iter().collect::<Result<_, _>>()?,
            Payload::MemorySection(memories) => self.memories = memories.into_iter().collect::<Result<_, _>>()?,
            Payload::GlobalSection(globals) => self.globals = globals.into_iter().collect::<Result<_, _>>()?,
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    self.exports.insert(export.name, (export.kind.try_into()?, export.index));
                }
            }
            Payload::ElementSection(elements) => self.elements = elements.into_iter().collect::<Result<_, _>>()?,
            Payload::DataCountSection { .. } => self.counts_data = true,
            Payload::DataSection(data) => self.data = data.into_iter().collect::<Result<_, _>>()?,
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(names) = section.as_known() {
                    self.read_names(names);
                }
            }
            // A start function among them.
            _ => self.stays = true,
        }
        Ok(())
    }

    /// They are for messages only: what is damaged is left out.
    fn read_names(&mut self, names: wasmparser::NameSectionReader<'a>) {
        for subsection in names.into_iter().map_while(Result::ok) {
            if let Name::Function(names) = subsection {
                self.names.extend(names.into_iter().map_while(Result::ok).map(|naming| (naming.index, naming.name)));
            }
        }
    }

    /// The values of globals that never change, by their indices among its definitions.
    pub(super) fn constants(&self) -> impl Iterator<Item = (usize, &ConstExpr<'a>)> {
        let fixed = self.globals.iter().enumerate().filter(|(_, global)| !global.ty.mutable);
        fixed.map(|(index, global)| (index, &global.init_expr))
    }
}

impl TryFrom<ExternalKind> for Kind {
    type Error = Unsupported;

    fn try_from(kind: ExternalKind) -> Result<Self, Unsupported> {
        match kind {
            ExternalKind::Func => Ok(Self::Function),
            ExternalKind::Table => Ok(Self::Table),
            ExternalKind::Memory => Ok(Self::Memory),
            ExternalKind::Global => Ok(Self::Global),
            ExternalKind::FuncExact | ExternalKind::Tag => Err(Unsupported),
        }
    }
}

impl From<Kind> for ExportKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Function => Self::Func,
            Kind::Table => Self::Table,
            Kind::Memory => Self::Memory,
            Kind::Global => Self::Global,
        }
    }
}
