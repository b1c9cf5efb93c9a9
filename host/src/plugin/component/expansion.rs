//! How many instances a component consists of once all that it instantiates is counted.
//!
//! The compiler expands nested components before it counts them: twenty levels that each instantiate the one below
//! twice are a few hundred bytes and a million instances. This counts without expanding.

use wasmparser::{
    BinaryReaderError, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind,
    ComponentTypeRef, Encoding, Instance, Payload,
};

/// What one instance of a component consists of. Saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Instances {
    /// Of core modules.
    pub(super) core: u64,
    /// Of components within it.
    pub(super) components: u64,
}

impl Instances {
    fn add(&mut self, other: Self) {
        self.core = self.core.saturating_add(other.core);
        self.components = self.components.saturating_add(other.components);
    }

    fn max(self, other: Self) -> Self {
        Self { core: self.core.max(other.core), components: self.components.max(other.components) }
    }
}

/// A component or module that is being read.
#[derive(Default)]
struct Frame {
    is_component: bool,
    own: Instances,
    /// By its index: what an instance of each component consists of.
    known: Vec<Instances>,
}

/// Counts while the payloads of a component are read in order.
#[derive(Default)]
pub(super) struct Expansion {
    frames: Vec<Frame>,
    /// The most of any component that was read. One that is taken out of an instance is not followed, and counts as
    /// much.
    most: Instances,
    /// Imports of components, whose contents are not known where they are instantiated. No toolchain makes them.
    pub(super) component_imports: u64,
}

impl Expansion {
    /// Returns the total when the outermost component ends.
    pub(super) fn read(&mut self, payload: &Payload<'_>) -> Result<Option<Instances>, BinaryReaderError> {
        match payload {
            Payload::Version { encoding, .. } => {
                self.frames.push(Frame { is_component: *encoding == Encoding::Component, ..Frame::default() });
            }
            Payload::End(_) => return Ok(self.end()),
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    let core = u64::from(matches!(instance?, Instance::Instantiate { .. }));
                    self.count(Instances { core, components: 0 });
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    if let ComponentInstance::Instantiate { component_index, .. } = instance? {
                        self.count(Instances { core: 0, components: 1 });
                        self.count(self.at(0, component_index));
                    }
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    if matches!(import?.ty, ComponentTypeRef::Component(_)) {
                        self.component_imports += 1;
                        self.name(self.most);
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    match alias? {
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                            self.name(self.most);
                        }
                        ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                            self.name(self.at(count, index));
                        }
                        _ => {}
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export?;
                    // An export is a new index.
                    if export.kind == ComponentExternalKind::Component {
                        self.name(self.at(0, export.index));
                    }
                }
            }
            _ => {}
        }
        Ok(None)
    }

    fn end(&mut self) -> Option<Instances> {
        let ended = self.frames.pop()?;
        if self.frames.is_empty() {
            return Some(ended.own);
        }
        if ended.is_component {
            self.most = self.most.max(ended.own);
            self.name(ended.own);
        }
        None
    }

    fn count(&mut self, more: Instances) {
        if let Some(frame) = self.frames.last_mut() {
            frame.own.add(more);
        }
    }

    /// Gives the next component index to a component.
    fn name(&mut self, component: Instances) {
        if let Some(frame) = self.frames.last_mut() {
            frame.known.push(component);
        }
    }

    /// A component by its index, `outer` levels up. One that does not exist is left to the compiler.
    fn at(&self, outer: u32, index: u32) -> Instances {
        let frame = self.frames.iter().rev().nth(outer as usize);
        frame.and_then(|frame| frame.known.get(index as usize)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use wasmparser::Parser;

    use super::{Expansion, Instances};

    fn count(wat: &str) -> (Instances, u64) {
        let bytes = wat::parse_str(wat).expect("a component");
        let (mut expansion, mut total) = (Expansion::default(), None);
        for payload in Parser::new(0).parse_all(&bytes) {
            total = total.or(expansion.read(&payload.expect("a payload")).expect("a section"));
        }
        (total.expect("an end"), expansion.component_imports)
    }

    #[test]
    fn instances_of_nested_components_are_multiplied() {
        let mut wat = "(component (component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
        for level in 1..=70 {
            let below = level - 1;
            write!(
                wat,
                "(component $c{level} (alias outer 1 {below} (component $b)) (instance (instantiate $b)) (instance (instantiate $b)))"
            )
            .expect("text");
            if level == 10 {
                let (total, _) = count(&format!("{wat}(instance (instantiate $c10)))"));
                assert_eq!(total, Instances { core: 1024, components: 2047 });
            }
        }
        let (total, _) = count(&format!("{wat}(instance (instantiate $c70)))"));
        assert_eq!(total, Instances { core: u64::MAX, components: u64::MAX }, "it saturates");
        assert_eq!(count(&format!("{wat})")).0, Instances::default(), "what is never instantiated does not count");
    }

    #[test]
    fn components_are_followed_through_exports_and_aliases() {
        let inner =
            r#"(component $a (core module $m) (core instance (instantiate $m)) (core instance (instantiate $m)))"#;
        let exported = format!("(component {inner} (export $e \"e\" (component $a)) (instance (instantiate $e)))");
        assert_eq!(count(&exported).0, Instances { core: 2, components: 1 });
        let aliased = format!(
            "(component (component $o {inner} (export \"e\" (component $a))) (instance $i (instantiate $o)) \
             (alias export $i \"e\" (component $x)) (instance (instantiate $x)))"
        );
        assert_eq!(count(&aliased).0, Instances { core: 2, components: 2 });
        assert_eq!(count("(component (import \"c\" (component)))").1, 1);
    }
}
