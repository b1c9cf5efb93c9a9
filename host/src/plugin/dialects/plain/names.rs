//! Tool names of a plain component.
//!
//! The function's name, after its resource's if it is a static function; prefixed with the interface
//! where two functions share a name; and with the package where that is not enough. Wassette's names
//! always have package and interface.

use std::collections::HashMap;

/// The path of a function, as the component spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FunctionPath<'a> {
    /// `ns:package/interface@1.0.0`, or a plain name in the world; `None` for the world itself.
    pub(super) interface: Option<&'a str>,
    pub(super) function: &'a str,
}

/// The shortest names that are unique, as far as the paths are.
pub(super) fn short(paths: &[FunctionPath<'_>]) -> Vec<String> {
    let forms: [fn(&FunctionPath<'_>) -> String; 3] =
        [|path| path.unqualified(), |path| path.with_interface(), |path| path.in_full()];
    let counted = forms.map(|form| {
        let mut count: HashMap<String, usize> = HashMap::new();
        for path in paths {
            *count.entry(form(path)).or_default() += 1;
        }
        count
    });
    let name = |path: &FunctionPath<'_>| {
        // A function of the world itself has no longer name.
        if path.interface.is_none() {
            return path.unqualified();
        }
        let unique = forms.iter().zip(&counted).map(|(form, count)| (form(path), count));
        let free = unique.into_iter().find(|(name, count)| count[name] == 1);
        free.map_or_else(|| path.in_full(), |(name, _)| name)
    };
    paths.iter().map(name).collect()
}

impl FunctionPath<'_> {
    /// `twice`, or `r_twice` for `[static]r.twice`.
    fn unqualified(&self) -> String {
        match self.function.strip_prefix("[static]") {
            Some(function) => function.replace('.', "_"),
            None => self.function.to_owned(),
        }
    }

    fn with_interface(&self) -> String {
        let Some(interface) = self.interface else { return self.unqualified() };
        let bare = interface.split('@').next().unwrap_or_default();
        format!("{}_{}", bare.rsplit('/').next().unwrap_or_default(), self.unqualified())
    }

    fn in_full(&self) -> String {
        let Some(interface) = self.interface else { return self.unqualified() };
        format!("{}_{}", plain(interface), self.unqualified())
    }

    /// `package_interface_function`, in lower case, with the brackets of a static function as `_`.
    pub(super) fn wassette(&self) -> String {
        let function = plain(self.function);
        let interface = self.interface.map_or_else(String::new, |interface| plain(interface) + "_");
        (interface + &function).to_ascii_lowercase()
    }
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
