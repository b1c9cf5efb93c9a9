//! What the tools of a plain component are called.
//!
//! By itself: as the function is; with its interface before it where two functions share a
//! name; with the package too where that is not enough. As Wassette calls them: with package and
//! interface always.

use std::collections::HashMap;

/// Where a function is, as the component spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// `ns:package/interface@1.0.0`, or a plain name of the world's own; `None` for the world itself.
    pub(super) interface: Option<&'a str>,
    pub(super) function: &'a str,
}

/// Names for all of them that differ as far as the places do.
pub(super) fn short(places: &[Place<'_>]) -> Vec<String> {
    let spelt: [fn(&Place<'_>) -> String; 3] =
        [|place| place.alone(), |place| place.with_interface(), |place| place.in_full()];
    let counted = spelt.map(|spell| {
        let mut count: HashMap<String, usize> = HashMap::new();
        for place in places {
            *count.entry(spell(place)).or_default() += 1;
        }
        count
    });
    let name = |place: &Place<'_>| {
        // What is of the world itself has no longer name, and keeps its own.
        if place.interface.is_none() {
            return place.alone();
        }
        let unique = spelt.iter().zip(&counted).map(|(spell, count)| (spell(place), count));
        let free = unique.into_iter().find(|(name, count)| count[name] == 1);
        free.map_or_else(|| place.in_full(), |(name, _)| name)
    };
    places.iter().map(name).collect()
}

impl Place<'_> {
    fn alone(&self) -> String {
        self.function.to_owned()
    }

    fn with_interface(&self) -> String {
        let Some(interface) = self.interface else { return self.alone() };
        let bare = interface.split('@').next().unwrap_or_default();
        format!("{}_{}", bare.rsplit('/').next().unwrap_or_default(), self.function)
    }

    fn in_full(&self) -> String {
        let Some(interface) = self.interface else { return self.alone() };
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        format!("{}_{}", interface.chars().map(plain).collect::<String>(), self.function)
    }

    /// `package_interface_function`, in small letters.
    pub(super) fn wassette(&self) -> String {
        self.in_full().to_ascii_lowercase()
    }
}
