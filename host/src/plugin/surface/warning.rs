//! Warnings about a plugin's listing.

use std::borrow::Cow;
use std::fmt;

/// A remark on a listing that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListingWarning {
    /// An entry is invalid, and not served.
    Dropped { kind: Cow<'static, str>, name: String, why: String },
    /// A function cannot be a tool.
    NoTool { function: String, interface: Option<String>, why: String },
    /// A function returns streams or futures without being async: what it writes later is never sent.
    NotAsync { function: String, interface: Option<String> },
    /// So many functions are not examined: only the first `examined` are.
    NotExamined { more: usize, examined: usize },
    /// What an entry says of a page is not what clients can use.
    Page { kind: Cow<'static, str>, name: String, why: String },
    /// The skills in the file cannot be read; reads after "failed to".
    Skills(String),
    /// The code of a component lists something else than its custom section.
    Untrue,
}

impl ListingWarning {
    /// Whether clients lack something that the plugin lists.
    pub fn is_of_dropped(&self) -> bool {
        matches!(self, Self::Dropped { .. } | Self::Skills(_))
    }

    /// Whether it is of functions that are no tools: that concerns the plugin's author, not its user.
    pub fn is_of_functions(&self) -> bool {
        matches!(self, Self::NoTool { .. } | Self::NotAsync { .. } | Self::NotExamined { .. })
    }
}

impl fmt::Display for ListingWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped { kind, name, why } => write!(f, "dropped the {kind} '{name}': {why}"),
            Self::Page { kind, name, why } => write!(f, "the {kind} '{name}': {why}"),
            Self::NoTool { function, interface: None, why } => {
                write!(f, "left out the function '{function}': it {why}")
            }
            Self::NoTool { function, interface: Some(interface), why } => {
                write!(f, "left out the function '{function}' of {interface}: it {why}")
            }
            Self::NotAsync { function, interface } => {
                let of = interface.as_ref().map(|interface| format!(" of {interface}")).unwrap_or_default();
                write!(
                    f,
                    "the function '{function}'{of} returns a stream or a future without being async: what it writes after it has returned does not arrive"
                )
            }
            Self::NotExamined { more, examined } => {
                write!(f, "left out {more} functions: only the first {examined} of a component are examined")
            }
            Self::Skills(why) => write!(f, "left out its skills: failed to {why}"),
            Self::Untrue => f.write_str(
                "the listing in its file differs from what its code lists; build it again, or run wharf embed, unless it \
                 lists something else each time",
            ),
        }
    }
}
