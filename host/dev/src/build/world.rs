//! The WIT world of a component, written to files for tools that read WIT.

use std::fs;
use std::io;
use std::path::Path;

use wharf_report::Failure;
use wharf_report::ShowPath as _;

use crate::embedded;
use crate::project::{Export, Import};

/// The name of the world.
pub(super) const NAME: &str = "guest";

/// The exports and imports of the component, by their WIT names.
pub(super) struct World {
    exports: Vec<String>,
    imports: Vec<String>,
}

impl World {
    pub(super) fn new(exports: impl IntoIterator<Item = String>, imports: Vec<String>) -> Self {
        Self { exports: exports.into_iter().collect(), imports }
    }

    /// Writes the world and the interfaces into a new folder.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let written = embedded::interface().try_for_each(|(path, bytes)| {
            let path = match path.split_once('/') {
                Some((package, file)) => format!("deps/{package}/{file}"),
                None => format!("deps/wharf-plugin/{path}"),
            };
            write(&folder.join(path), bytes)
        });
        written
            .and_then(|()| write(&folder.join("world.wit"), self.text().as_bytes()))
            .map_err(|error| Failure::new(format!("write the world: {error}: {}", folder.shown())))
    }

    fn text(&self) -> String {
        let mut text = format!("package wharf:build;\n\nworld {NAME} {{\n");
        for import in &self.imports {
            text += &format!("  import {import};\n");
        }
        for export in &self.exports {
            text += &format!("  export {export};\n");
        }
        text + "}\n"
    }
}

/// The WIT names of these exports.
pub(super) fn exports(offered: &[Export]) -> impl Iterator<Item = String> {
    offered.iter().map(|one| format!("wharf:plugin/{}@0.1.0", one.name()))
}

/// The WIT names of these imports, and of `wharf:plugin/host`.
pub(super) fn imports(used: &[Import]) -> Vec<String> {
    let mut imports = vec!["wharf:plugin/host@0.1.0"];
    for import in used {
        imports.extend_from_slice(match import {
            Import::Http => &["wharf:plugin/http@0.1.0"][..],
            Import::Keyvalue => &["wasi:keyvalue/store@0.2.0-draft", "wasi:keyvalue/atomics@0.2.0-draft"],
            Import::Config => &["wasi:config/store@0.2.0-rc.1"],
        });
    }
    imports.into_iter().map(str::to_owned).collect()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use wit_parser::Resolve;

    use super::{NAME, World, exports, imports};
    use crate::project::{Export, Import};

    #[test]
    fn the_largest_world_resolves() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = [Export::Tools, Export::Resources, Export::Prompts, Export::Completions, Export::Extensions];
        let world = World::new(exports(&all), imports(&[Import::Http, Import::Keyvalue, Import::Config]));
        world.write(folder.path()).expect("it is written");
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(folder.path()).expect("valid WIT");
        let world = &resolve.worlds[resolve.select_world(&[package], Some(NAME)).expect("the world")];
        assert_eq!(world.exports.len(), 5);
        // One more: a types interface that the exports use.
        assert_eq!(world.imports.len(), 5 + 1);
    }
}
