//! A component of a random world.

use std::fmt::Write as _;

use arbitrary::Unstructured;
use wasmparser::{ExternalKind, FuncType, Parser, Payload, TypeRef, ValType};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, decode, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve, World, WorldId, WorldItem};
use wit_smith::Config;

use crate::random::Random;

/// Bytes that a package is made of.
const ENTROPY: usize = 4096;
/// Where arguments are put, in bytes: results are read of the zeros before.
const ARGUMENTS: usize = 1 << 20;

/// How often a world is made until one is a component: most have nothing to call.
const TRIES: usize = 100;

/// A component, and whether it may have async functions, streams and futures. `None`: none of many worlds is a component.
pub(crate) fn component(random: &mut Random) -> Option<(Vec<u8>, bool)> {
    (0..TRIES).find_map(|_| of_one_world(random))
}

fn of_one_world(random: &mut Random) -> Option<(Vec<u8>, bool)> {
    let is_asynchronous = random.one_in(6);
    let (resolve, world) = world(random, is_asynchronous)?;
    let abi = match random.below(4) {
        0 if is_asynchronous => ManglingAndAbi::Legacy(LiftLowerAbi::AsyncCallback),
        1 if is_asynchronous => ManglingAndAbi::Legacy(LiftLowerAbi::AsyncStackful),
        _ => ManglingAndAbi::Legacy(LiftLowerAbi::Sync),
    };
    let dummy = dummy_module(&resolve, world, abi);
    // What a module does not import, its component does not import either: then it may be served.
    let mut module = implemented(&dummy, random.one_in(4))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).ok()?;
    let component = ComponentEncoder::default().module(&module).ok()?.validate(false).encode().ok()?;
    Some((component, is_asynchronous))
}

fn world(random: &mut Random, is_asynchronous: bool) -> Option<(Resolve, WorldId)> {
    let config = Config {
        max_packages: 1 + random.below(3),
        max_type_size: 1 + random.below(60),
        max_resource_items: if random.one_in(2) { 0 } else { 4 },
        async_: is_asynchronous,
        futures: is_asynchronous,
        streams: is_asynchronous,
        error_context: random.one_in(24),
        fixed_length_lists: random.one_in(24),
        ..Config::default()
    };
    let entropy = random.bytes(ENTROPY);
    let package = wit_smith::smith(&config, &mut Unstructured::new(&entropy)).ok()?;
    let DecodedWasm::WitPackage(mut resolve, _) = decode(&package).ok()? else { return None };
    if !random.one_in(24) {
        drop_external_ids(&mut resolve);
    }
    // Of those without, a few are enough.
    let has_functions =
        |(_, world): &(WorldId, &World)| world.exports.values().any(|export| is_of_functions(&resolve, export));
    let mut worlds: Vec<WorldId> = resolve.worlds.iter().filter(has_functions).map(|(id, _)| id).collect();
    if random.one_in(200) {
        worlds = resolve.worlds.iter().map(|(id, _)| id).collect();
    }
    let world = *worlds.get(random.below(worlds.len()))?;
    Some((resolve, world))
}

/// Half of all items have one, which the engine does not accept.
fn drop_external_ids(resolve: &mut Resolve) {
    resolve.types.iter_mut().for_each(|(_, of)| of.external_id = None);
    let interfaces = resolve.interfaces.iter_mut().flat_map(|(_, of)| of.functions.values_mut());
    interfaces.for_each(|function| function.external_id = None);
    for (_, world) in resolve.worlds.iter_mut() {
        for item in world.imports.values_mut().chain(world.exports.values_mut()) {
            match item {
                WorldItem::Interface { external_id, .. } => *external_id = None,
                WorldItem::Function(function) => function.external_id = None,
                WorldItem::Type { .. } => {}
            }
        }
    }
}

fn is_of_functions(resolve: &Resolve, export: &WorldItem) -> bool {
    match export {
        WorldItem::Function(_) => true,
        WorldItem::Interface { id, .. } => !resolve.interfaces[*id].functions.is_empty(),
        WorldItem::Type { .. } => false,
    }
}

/// The same module with functions that return zeros, and memory for their arguments and results.
fn implemented(dummy: &[u8], has_imports: bool) -> Option<Vec<u8>> {
    let (mut types, mut imports, mut functions, mut exports) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(dummy) {
        match payload.ok()? {
            Payload::TypeSection(section) => {
                types.extend(section.into_iter_err_on_gc_types().collect::<Result<Vec<FuncType>, _>>().ok()?);
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.ok()?;
                    let TypeRef::Func(of) = import.ty else { return None };
                    imports.push((import.module, import.name, of));
                }
            }
            Payload::FunctionSection(section) => {
                functions = section.into_iter().collect::<Result<Vec<u32>, _>>().ok()?;
            }
            Payload::ExportSection(section) => {
                exports = section.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
            }
            _ => {}
        }
    }
    let mut text = "(module\n".to_owned();
    if has_imports {
        for (module, name, of) in &imports {
            let _ = writeln!(text, "(import {module:?} {name:?} (func {}))", signature(types.get(*of as usize)?));
        }
    }
    let reserve = exports.iter().find(|export| export.name == "cabi_realloc").map(|export| export.index as usize);
    for (n, of) in functions.iter().enumerate() {
        let of = types.get(*of as usize)?;
        let body = match reserve == Some(imports.len() + n) {
            true => format!("i32.const {ARGUMENTS}"),
            false => of.results().iter().map(|result| format!("{}.const 0 ", name(*result))).collect(),
        };
        let _ = writeln!(text, "(func $f{n} {} {body})", signature(of));
    }
    for export in &exports {
        let _ = match export.kind {
            ExternalKind::Memory => writeln!(text, "(memory (export {:?}) 64)", export.name),
            _ => writeln!(text, "(export {:?} (func $f{}))", export.name, export.index as usize - imports.len()),
        };
    }
    wat::parse_str(text + ")").ok()
}

fn signature(of: &FuncType) -> String {
    let params = of.params().iter().map(|param| format!("(param {})", name(*param)));
    params.chain(of.results().iter().map(|result| format!("(result {})", name(*result)))).collect()
}

/// Components use these types alone.
fn name(of: ValType) -> &'static str {
    match of {
        ValType::I64 => "i64",
        ValType::F32 => "f32",
        ValType::F64 => "f64",
        _ => "i32",
    }
}
