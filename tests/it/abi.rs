//! `docs/abi.md`: the reference of the plugin interface, generated from `wit/`.
//! `WHARF_WRITE_DOCS=1 cargo test -p wharf-mcp --test it abi` regenerates it.

use std::fmt::Write as _;
use std::fs;

use wit_parser::{Docs, Function, Interface, Resolve, Type, TypeDef, TypeDefKind, TypeId, WorldItem, WorldKey};

use super::wit::interface;
use crate::support::home::repository;

const INTRODUCTION: &str = "\
# The plugin interface

This page is generated from [`wit/`](../wit/README.md); a test checks that it is current. A plugin exports one or more of \
`tools`, `resources`, `prompts`, `completions` and `extensions`, and may import `host` and `http`. \
[plugins.md](plugins.md) describes what the host does with it; most plugins use an SDK and do not need this page.
";

/// Exports first, then imports, then the shared types.
const INTERFACES: [&str; 8] = ["tools", "resources", "prompts", "completions", "extensions", "host", "http", "types"];

#[test]
fn docs_abi_md_is_current() {
    let file = repository().join("docs/abi.md");
    let page = page();
    if std::env::var_os("WHARF_WRITE_DOCS").is_some() {
        fs::write(&file, &page).expect("the page is written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    let differs = written.lines().zip(page.lines()).find(|(written, made)| written != made);
    assert!(
        written == page,
        "docs/abi.md is out of date with wit/, first difference: {differs:?}; run this test with WHARF_WRITE_DOCS=1"
    );
}

fn page() -> String {
    let (resolve, package) = interface();
    let package = &resolve.packages[package];
    assert_eq!(package.interfaces.len(), INTERFACES.len(), "an interface is not on the page");
    let mut page = INTRODUCTION.to_owned();
    let _ = writeln!(page, "\n## Worlds of `{}`\n\n| world | imports | exports | |\n|---|---|---|---|", package.name);
    for (name, world) in &package.worlds {
        let world = &resolve.worlds[*world];
        let (imports, exports) = (names(&resolve, &world.imports), names(&resolve, &world.exports));
        let _ = writeln!(page, "| `{name}` | {imports} | {exports} | {} |", line(&world.docs));
    }
    for name in INTERFACES {
        let interface = &resolve.interfaces[package.interfaces[name]];
        write_interface(&mut page, &resolve, name, interface);
    }
    page
}

fn names<'w>(resolve: &Resolve, items: impl IntoIterator<Item = (&'w WorldKey, &'w WorldItem)>) -> String {
    let name = |(key, _): (&WorldKey, &WorldItem)| match key {
        WorldKey::Interface(id) => format!("`{}`", resolve.interfaces[*id].name.as_deref().unwrap_or_default()),
        WorldKey::Name(name) => format!("`{name}`"),
    };
    let names: Vec<String> = items.into_iter().map(name).collect();
    if names.is_empty() { "–".to_owned() } else { names.join(" ") }
}

fn write_interface(page: &mut String, resolve: &Resolve, name: &str, interface: &Interface) {
    let _ = writeln!(page, "\n## `{name}`\n\n{}", text(&interface.docs));
    for (name, function) in &interface.functions {
        let _ = writeln!(page, "\n### `{name}`\n\n```wit\n{name}: {}\n```", signature(resolve, function));
        if !text(&function.docs).is_empty() {
            let _ = writeln!(page, "\n{}", text(&function.docs));
        }
    }
    for (name, id) in &interface.types {
        let of = &resolve.types[*id];
        // A type used from another interface is documented there.
        if matches!(of.kind, TypeDefKind::Type(Type::Id(_))) {
            continue;
        }
        let _ = writeln!(page, "\n### {} `{name}`", kind(of));
        if !text(&of.docs).is_empty() {
            let _ = writeln!(page, "\n{}", text(&of.docs));
        }
        write_members(page, resolve, of);
    }
}

fn write_members(page: &mut String, resolve: &Resolve, of: &TypeDef) {
    let rows: Vec<(&str, String, &Docs)> = match &of.kind {
        TypeDefKind::Record(record) => {
            record.fields.iter().map(|field| (&*field.name, type_name(resolve, &field.ty), &field.docs)).collect()
        }
        TypeDefKind::Variant(variant) => {
            let content = |ty: &Option<Type>| ty.as_ref().map_or_else(String::new, |ty| type_name(resolve, ty));
            variant.cases.iter().map(|case| (&*case.name, content(&case.ty), &case.docs)).collect()
        }
        TypeDefKind::Enum(cases) => cases.cases.iter().map(|case| (&*case.name, String::new(), &case.docs)).collect(),
        TypeDefKind::Flags(flags) => flags.flags.iter().map(|flag| (&*flag.name, String::new(), &flag.docs)).collect(),
        TypeDefKind::Type(ty) => {
            let _ = writeln!(page, "\n`{}`", type_name(resolve, ty));
            return;
        }
        other => panic!("unsupported type definition {other:?}"),
    };
    if rows.iter().all(|(_, ty, docs)| ty.is_empty() && line(docs).is_empty()) {
        let names: Vec<String> = rows.iter().map(|(name, ..)| format!("`{name}`")).collect();
        let _ = writeln!(page, "\n{}", names.join(", "));
        return;
    }
    let _ = writeln!(page, "\n| | type | |\n|---|---|---|");
    for (name, ty, docs) in rows {
        let ty = if ty.is_empty() { "–".to_owned() } else { format!("`{ty}`") };
        let _ = writeln!(page, "| `{name}` | {ty} | {} |", line(docs));
    }
}

fn kind(of: &TypeDef) -> &'static str {
    match of.kind {
        TypeDefKind::Record(_) => "record",
        TypeDefKind::Variant(_) => "variant",
        TypeDefKind::Enum(_) => "enum",
        TypeDefKind::Flags(_) => "flags",
        _ => "type",
    }
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let parameters: Vec<String> =
        function.params.iter().map(|param| format!("{}: {}", param.name, type_name(resolve, &param.ty))).collect();
    let result = function.result.as_ref().map_or_else(String::new, |ty| format!(" -> {}", type_name(resolve, ty)));
    format!("func({}){result}", parameters.join(", "))
}

/// The type in WIT syntax.
fn type_name(resolve: &Resolve, ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::U8 => "u8".to_owned(),
        Type::U16 => "u16".to_owned(),
        Type::U32 => "u32".to_owned(),
        Type::U64 => "u64".to_owned(),
        Type::F64 => "f64".to_owned(),
        Type::String => "string".to_owned(),
        Type::Id(id) => defined_name(resolve, *id),
        other => panic!("unsupported type {other:?}"),
    }
}

fn defined_name(resolve: &Resolve, id: TypeId) -> String {
    let of = &resolve.types[id];
    let name = |ty: &Type| type_name(resolve, ty);
    let or_none = |ty: &Option<Type>| ty.as_ref().map_or_else(|| "_".to_owned(), name);
    match (&of.name, &of.kind) {
        (Some(name), _) => name.clone(),
        (None, TypeDefKind::List(ty)) => format!("list<{}>", name(ty)),
        (None, TypeDefKind::Option(ty)) => format!("option<{}>", name(ty)),
        (None, TypeDefKind::Result(both)) => format!("result<{}, {}>", or_none(&both.ok), or_none(&both.err)),
        (None, TypeDefKind::Tuple(all)) => {
            format!("tuple<{}>", all.types.iter().map(name).collect::<Vec<_>>().join(", "))
        }
        (None, other) => panic!("unsupported type {other:?}"),
    }
}

fn text(docs: &Docs) -> &str {
    docs.contents.as_deref().unwrap_or_default().trim()
}

/// The text escaped for a Markdown table cell.
fn line(docs: &Docs) -> String {
    text(docs).replace('\n', " ").replace('|', "\\|")
}
