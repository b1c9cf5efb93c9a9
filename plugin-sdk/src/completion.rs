//! Suggestions while the user types an argument of a prompt or of a resource template.

use crate::abi::completions as raw;

/// The user's input so far.
///
/// ```
/// use wharf_plugin::*;
///
/// struct Notes;
/// impl Plugin for Notes {
///     fn complete(&self, typed: &Typed) -> Result<Completion> {
///         Ok(match typed.argument.as_str() {
///             "language" => Completion::from(["English", "French", "Greek"]).starting_with(&typed.value),
///             _ => Completion::default(),
///         })
///     }
/// }
/// # let typed = Typed { subject: Subject::Prompt("poem".into()), argument: "language".into(), value: "fr".into(), given: vec![] };
/// # assert_eq!(Notes.complete(&typed).unwrap().values(), ["French"]);
/// ```
#[derive(Clone, Debug)]
pub struct Typed {
    /// What the argument belongs to.
    pub subject: Subject,
    /// The name of the argument.
    pub argument: String,
    /// The text typed so far.
    pub value: String,
    /// The other arguments that are already set.
    pub given: Vec<(String, String)>,
}

/// What an argument belongs to.
///
/// ```
/// use wharf_plugin::Subject;
/// assert_ne!(Subject::Prompt("poem".into()), Subject::ResourceTemplate("note://{number}".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A prompt of this plugin, by name.
    Prompt(String),
    /// A URI template of this plugin.
    ResourceTemplate(String),
}

impl From<raw::Subject> for Subject {
    fn from(subject: raw::Subject) -> Self {
        match subject {
            raw::Subject::Prompt(name) => Self::Prompt(name),
            raw::Subject::ResourceTemplate(template) => Self::ResourceTemplate(template),
        }
    }
}

/// Suggestions, best first. The default has none.
///
/// ```
/// use wharf_plugin::Completion;
/// assert_eq!(Completion::from(["one", "two"]).starting_with("t").values(), ["two"]);
/// ```
#[derive(Clone, Debug)]
pub struct Completion(pub(crate) raw::Completion);

impl Default for Completion {
    fn default() -> Self {
        Self(raw::Completion { values: Vec::new(), total: None, has_more: false })
    }
}

impl<T: Into<String>, I: IntoIterator<Item = T>> From<I> for Completion {
    fn from(values: I) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self(raw::Completion { values, ..Self::default().0 })
    }
}

impl Completion {
    /// Keeps those that begin with what was typed, ignoring ASCII case.
    ///
    /// ```
    /// use wharf_plugin::Completion;
    /// assert_eq!(Completion::from(["Bern", "Basel", "Genf"]).starting_with("b").values(), ["Bern", "Basel"]);
    /// ```
    pub fn starting_with(mut self, typed: &str) -> Self {
        self.0.values.retain(|value| value.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed)));
        self
    }

    /// Marks the list as incomplete, with the total number if it is known.
    ///
    /// ```
    /// wharf_plugin::Completion::from(["a", "b"]).of(Some(26));
    /// ```
    pub fn of(mut self, total: Option<u32>) -> Self {
        self.0.total = total;
        self.0.has_more = total.is_none_or(|total| total as usize > self.0.values.len());
        self
    }

    /// The suggestions.
    ///
    /// ```
    /// assert!(wharf_plugin::Completion::default().values().is_empty());
    /// ```
    pub fn values(&self) -> &[String] {
        &self.0.values
    }
}
