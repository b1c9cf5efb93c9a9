//! The plugin interface as a contract: it parses, its worlds resolve, and all items are documented.

use wit_parser::{Docs, FunctionKind, PackageId, Resolve, Type, TypeDefKind, WorldItem, WorldKey};

use crate::support::home::repository;

/// The interface's folder, parsed and resolved.
pub(super) fn interface() -> (Resolve, PackageId) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(repository().join("wit")).expect("valid WIT");
    (resolve, package)
}

/// The interfaces that a plugin may export; each also has a world of its own.
const EXPORTS: [&str; 5] = ["tools", "resources", "prompts", "completions", "extensions"];

#[test]
fn the_wit_package_has_the_documented_version() {
    let (resolve, package) = interface();
    assert_eq!(resolve.packages[package].name.to_string(), "wharf:plugin@0.1.0");
    assert_eq!(resolve.packages.len(), 1, "it depends on another package");
}

#[test]
fn a_plugin_can_export_each_interface_alone_or_all() {
    let (resolve, package) = interface();
    let exports = |world: &str| -> Vec<String> {
        let id = resolve.select_world(&[package], Some(world)).unwrap_or_else(|error| panic!("{world}: {error}"));
        let world = &resolve.worlds[id];
        let name = |(key, item): (&WorldKey, &WorldItem)| {
            assert!(matches!(item, WorldItem::Interface { .. }), "{} exports an item outside an interface", world.name);
            match key {
                WorldKey::Interface(id) => resolve.interfaces[*id].name.clone().expect("a named interface"),
                WorldKey::Name(name) => name.clone(),
            }
        };
        world.exports.iter().map(name).collect()
    };
    let mut all = exports("plugin");
    all.sort();
    let mut expected = EXPORTS;
    expected.sort_unstable();
    assert_eq!(all, expected);
    for name in EXPORTS {
        assert_eq!(exports(&format!("{name}-plugin")), [name]);
    }
}

#[test]
fn each_world_imports_only_host_interfaces() {
    let (resolve, package) = interface();
    let worlds: Vec<&str> = resolve.packages[package].worlds.keys().map(String::as_str).collect();
    assert!(worlds.contains(&"imports"), "{worlds:?}");
    for (name, world) in &resolve.packages[package].worlds {
        let imports: Vec<&str> = resolve.worlds[*world]
            .imports
            .keys()
            .filter_map(|key| match key {
                WorldKey::Interface(id) => resolve.interfaces[*id].name.as_deref(),
                WorldKey::Name(name) => Some(name),
            })
            .collect();
        assert!(imports.contains(&"host") && imports.contains(&"http"), "{name} imports {imports:?}");
        let known = |import: &&str| ["host", "http", "types"].contains(import);
        assert!(imports.iter().all(known), "{name} imports {imports:?}");
    }
}

#[test]
fn no_function_is_async() {
    let (resolve, _) = interface();
    let mut seen = 0;
    for (_, interface) in &resolve.interfaces {
        for (name, function) in &interface.functions {
            assert!(matches!(function.kind, FunctionKind::Freestanding), "{name} is async or of a resource");
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} functions were checked");
}

/// Fields and cases need no documentation where their names suffice.
#[test]
fn each_interface_type_and_function_is_documented() {
    let (resolve, package) = interface();
    let mut undocumented = Vec::new();
    let mut check = |path: String, docs: &Docs| {
        if docs.contents.as_deref().is_none_or(|text| text.trim().is_empty()) {
            undocumented.push(path);
        }
    };
    for (name, id) in &resolve.packages[package].worlds {
        check(format!("world {name}"), &resolve.worlds[*id].docs);
    }
    for (name, id) in &resolve.packages[package].interfaces {
        let interface = &resolve.interfaces[*id];
        check(name.clone(), &interface.docs);
        for (function, item) in &interface.functions {
            check(format!("{name}.{function}"), &item.docs);
        }
        for (kind, id) in &interface.types {
            // A type imported with `use` is documented elsewhere.
            if !matches!(resolve.types[*id].kind, TypeDefKind::Type(Type::Id(_))) {
                check(format!("{name}.{kind}"), &resolve.types[*id].docs);
            }
        }
    }
    assert!(undocumented.is_empty(), "without documentation:\n{}", undocumented.join("\n"));
}
