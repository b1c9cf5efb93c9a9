//! The core module that the linked instances become.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, Elements, EntityType, ExportKind,
    ExportSection, FunctionSection, GlobalSection, ImportSection, Instruction, MemorySection, Module, NameMap,
    NameSection, TableSection, TypeSection,
};
use wasmparser::Operator;

use super::Unsupported;
use super::outline::{ByKind, Core, Kind};
use super::plan::{Constant, Plan, Source};

/// Where the definitions of one instance are in the module.
#[derive(Clone, Default)]
struct Indices {
    types: u32,
    /// Of what it imports, and of what it defines.
    of: ByKind<Vec<u32>>,
    elements: u32,
    data: u32,
}

/// What is where in the module.
pub(super) struct Layout<'a, 'p> {
    plan: &'p Plan<'a>,
    /// The functions that it imports, by their indices in the component, each with the index of its type.
    pub(super) imported: Vec<(u32, u32)>,
    instances: HashMap<usize, Indices>,
}

impl<'a, 'p> Layout<'a, 'p> {
    pub(super) fn new(plan: &'p Plan<'a>) -> Result<Self, Unsupported> {
        let mut layout = Self { plan, imported: Vec::new(), instances: HashMap::new() };
        let imported = layout.read_imports();
        let mut next = Indices::default();
        let mut counts: ByKind<u32> = [layout.imported.len() as u32, 0, 0, 0];
        for (instance, module) in plan.linked() {
            let mut indices = next.clone();
            for (import, source) in plan.imports(instance) {
                let index = match source {
                    Source::Canonical { index, .. } => *imported.get(&index).ok_or(Unsupported)?,
                    Source::Linked(of, core) => layout.index(of, core)?,
                    Source::Export(..) => return Err(Unsupported),
                };
                indices.of[import.kind as usize].push(index);
            }
            let defined = [module.functions.len(), module.tables.len(), module.memories.len(), module.globals.len()];
            for (of, (count, defined)) in indices.of.iter_mut().zip(counts.iter_mut().zip(defined)) {
                let end = *count + defined as u32;
                of.extend(*count..end);
                *count = end;
            }
            next.types += module.types.len() as u32;
            next.elements += module.elements.len() as u32;
            next.data += module.data.len() as u32;
            layout.instances.insert(instance, indices);
        }
        Ok(layout)
    }

    /// The functions to import; where each is in the module.
    fn read_imports(&mut self) -> HashMap<u32, u32> {
        let (mut at, mut types) = (HashMap::new(), 0);
        for (instance, module) in self.plan.linked() {
            for (import, source) in self.plan.imports(instance) {
                if let Source::Canonical { index, .. } = source {
                    at.entry(index).or_insert_with(|| {
                        self.imported.push((index, types + import.ty));
                        self.imported.len() as u32 - 1
                    });
                }
            }
            types += module.types.len() as u32;
        }
        at
    }

    /// Where a definition of a linked instance is in the module.
    pub(super) fn index(&self, instance: usize, (kind, index): Core) -> Result<u32, Unsupported> {
        let imports = self.plan.module(instance).ok_or(Unsupported)?.imports_of[kind as usize].len();
        let indices = self.instances.get(&instance).ok_or(Unsupported)?;
        indices.of[kind as usize].get(imports + index as usize).copied().ok_or(Unsupported)
    }

    /// Makes the module, with these exports. They and its imports are named by numbers.
    pub(super) fn module(&self, exports: &[Core]) -> Result<Module, Unsupported> {
        let mut parts = Parts::default();
        let mut imports = ImportSection::new();
        for (at, (_, ty)) in self.imported.iter().enumerate() {
            imports.import("", &at.to_string(), EntityType::Function(*ty));
        }
        let mut referenced = BTreeSet::new();
        for (instance, _) in self.plan.linked() {
            let indices = self.instances.get(&instance).ok_or(Unsupported)?;
            let mut linker = Linker { plan: self.plan, instance, indices, referenced: &mut referenced };
            parts.add(&mut linker).map_err(|_| Unsupported)?;
        }
        // What is referred to by `ref.func` must be declared, as it was by the exports of its module.
        if !referenced.is_empty() {
            let referenced: Vec<u32> = referenced.into_iter().collect();
            parts.elements.declared(Elements::Functions(referenced.into()));
        }
        let mut exported = ExportSection::new();
        for (name, (kind, index)) in exports.iter().enumerate() {
            exported.export(&name.to_string(), ExportKind::from(*kind), *index);
        }
        Ok(parts.module(&imports, &exported))
    }
}

/// The sections of the module.
#[derive(Default)]
struct Parts {
    types: TypeSection,
    functions: FunctionSection,
    tables: TableSection,
    memories: MemorySection,
    globals: GlobalSection,
    elements: ElementSection,
    counts_data: bool,
    data: DataSection,
    code: CodeSection,
    names: BTreeMap<u32, String>,
}

impl Parts {
    /// Adds the definitions of an instance.
    fn add(&mut self, linker: &mut Linker<'_, '_>) -> Result<(), Error<Unsupported>> {
        let plan = linker.plan;
        let module = plan.module(linker.instance).ok_or(Error::UserError(Unsupported))?;
        for ty in &module.types {
            let ty = linker.sub_type(ty.clone())?;
            self.types.ty().subtype(&ty);
        }
        for ty in &module.functions {
            self.functions.function(linker.type_index(*ty)?);
        }
        for table in &module.tables {
            linker.parse_table(&mut self.tables, table.clone())?;
        }
        for memory in &module.memories {
            self.memories.memory(linker.memory_type(*memory)?);
        }
        for global in &module.globals {
            linker.parse_global(&mut self.globals, global.clone())?;
        }
        for element in &module.elements {
            linker.parse_element(&mut self.elements, element.clone())?;
        }
        self.counts_data |= module.counts_data;
        for data in &module.data {
            linker.parse_data(&mut self.data, data.clone())?;
        }
        for body in &module.bodies {
            linker.parse_function_body(&mut self.code, body.clone())?;
        }
        let imports = module.imports_of[Kind::Function as usize].len();
        for (index, name) in &module.names {
            if *index as usize >= imports {
                self.names.insert(linker.function_index(*index)?, (*name).to_owned());
            }
        }
        Ok(())
    }

    fn module(&self, imports: &ImportSection, exports: &ExportSection) -> Module {
        let mut module = Module::new();
        module.section(&self.types).section(imports).section(&self.functions).section(&self.tables);
        module.section(&self.memories).section(&self.globals).section(exports).section(&self.elements);
        if self.counts_data {
            module.section(&DataCountSection { count: self.data.len() });
        }
        module.section(&self.code).section(&self.data);
        let (mut names, mut functions) = (NameSection::new(), NameMap::new());
        for (index, name) in &self.names {
            functions.append(*index, name);
        }
        names.functions(&functions);
        module.section(&names);
        module
    }
}

/// Translates the indices of one instance.
struct Linker<'a, 'p> {
    plan: &'p Plan<'a>,
    instance: usize,
    indices: &'p Indices,
    /// Functions of which references are made.
    referenced: &'p mut BTreeSet<u32>,
}

impl Linker<'_, '_> {
    fn index(&self, kind: Kind, index: u32) -> Result<u32, Error<Unsupported>> {
        self.indices.of[kind as usize].get(index as usize).copied().ok_or(Error::UserError(Unsupported))
    }
}

impl Reencode for Linker<'_, '_> {
    type Error = Unsupported;

    fn type_index(&mut self, ty: u32) -> Result<u32, Error<Unsupported>> {
        Ok(self.indices.types + ty)
    }

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Unsupported>> {
        self.index(Kind::Function, function)
    }

    fn table_index(&mut self, table: u32) -> Result<u32, Error<Unsupported>> {
        self.index(Kind::Table, table)
    }

    fn memory_index(&mut self, memory: u32) -> Result<u32, Error<Unsupported>> {
        self.index(Kind::Memory, memory)
    }

    fn global_index(&mut self, global: u32) -> Result<u32, Error<Unsupported>> {
        self.index(Kind::Global, global)
    }

    fn element_index(&mut self, element: u32) -> Result<u32, Error<Unsupported>> {
        Ok(self.indices.elements + element)
    }

    fn data_index(&mut self, data: u32) -> Result<u32, Error<Unsupported>> {
        Ok(self.indices.data + data)
    }

    /// What an imported global has given is a number now: the engine prepares segments at known places in advance.
    fn const_expr(&mut self, value: wasmparser::ConstExpr<'_>) -> Result<ConstExpr, Error<Unsupported>> {
        match self.plan.constant(self.instance, &value).map_err(Error::UserError)? {
            Some(Constant::I32(value)) => return Ok(ConstExpr::i32_const(value)),
            Some(Constant::I64(value)) => return Ok(ConstExpr::i64_const(value)),
            None => {}
        }
        for operator in value.get_operators_reader() {
            if let Operator::GlobalGet { .. } = operator? {
                return Err(Error::UserError(Unsupported));
            }
        }
        utils::const_expr(self, value)
    }

    fn instruction<'a>(&mut self, operator: Operator<'a>) -> Result<Instruction<'a>, Error<Unsupported>> {
        if let Operator::RefFunc { function_index } = operator {
            let function = self.function_index(function_index)?;
            self.referenced.insert(function);
        }
        utils::instruction(self, operator)
    }
}
