//! Why a call has no result. The host converts it for each client.

use std::fmt;

use crate::Call;
use crate::abi::types;

/// The result type of all methods of a plugin.
///
/// ```
/// fn parse(text: &str) -> wharf_plugin::Result<i64> {
///     Ok(text.trim().parse()?)
/// }
/// assert!(parse("12").is_ok());
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call has no result, or not yet: a pending question is returned as an error too,
/// so return errors that you did not create with `?`.
///
/// Errors of other crates, `String` and `&str` become one by `?` or `.into()`; the model reads the text,
/// so it should say what could be done about the error. For a type that is only `Display`:
/// `.map_err(|error| Error::failed(error.to_string()))`.
///
/// It is `Display` and not [`std::error::Error`], as that of `anyhow`: otherwise `?` could not convert
/// all errors to it.
///
/// ```
/// use wharf_plugin::{Error, Result};
///
/// fn half(n: i64) -> Result<i64> {
///     if n % 2 != 0 {
///         return Err(Error::invalid("/n", "must be even"));
///     }
///     Ok(n / 2)
/// }
/// assert_eq!(half(3).unwrap_err().to_string(), "/n: must be even");
/// ```
pub struct Error(pub(crate) Cause);

pub(crate) enum Cause {
    NotFound,
    Invalid {
        path: String,
        reason: String,
    },
    Failed(String),
    Asked(Box<types::InputRequired>),
    /// The question was refused.
    Unavailable {
        why: String,
        question: Box<types::Question>,
    },
}

impl Error {
    /// The caller's arguments are invalid. `path` is a JSON Pointer into them, empty for the
    /// whole.
    ///
    /// ```
    /// let error = wharf_plugin::Error::invalid("/zone", "no such time zone");
    /// assert_eq!(error.text(), "/zone: no such time zone");
    /// ```
    pub fn invalid(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self(Cause::Invalid { path: path.into(), reason: reason.into() })
    }

    /// The call failed, not because of its arguments.
    ///
    /// ```
    /// let error = wharf_plugin::Error::failed("the disk is full");
    /// assert_eq!(error.text(), "the disk is full");
    /// ```
    pub fn failed(text: impl Into<String>) -> Self {
        Self(Cause::Failed(text.into()))
    }

    /// There is no tool, resource or prompt of that name.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::Error::not_found().text(), "not found");
    /// ```
    pub fn not_found() -> Self {
        Self(Cause::NotFound)
    }

    /// Whether a question was refused because the client does not support it or refused it.
    /// A plugin that works without the answer handles this error; if it returns the error
    /// with `?`, the host tells the client which capability is missing.
    ///
    /// ```
    /// use wharf_plugin::*;
    ///
    /// fn remove(ask: &Call, _: NoArguments) -> Result<&'static str> {
    ///     match ask.confirm("Remove it?") {
    ///         Ok(true) => Ok("removed"),
    ///         Ok(false) => Ok("kept"),
    ///         Err(error) if error.is_unavailable() => Ok("kept, without confirmation"),
    ///         Err(error) => Err(error),
    ///     }
    /// }
    /// # struct Files;
    /// # impl Plugin for Files {
    /// #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("remove", "Removes", remove); }
    /// # }
    /// let script = testing::Script::new().unavailable("no such client");
    /// let answer = script.call(&Files, "remove", json!({})).unwrap();
    /// assert_eq!(answer.as_text(), "kept, without confirmation");
    /// ```
    pub fn is_unavailable(&self) -> bool {
        matches!(self.0, Cause::Unavailable { .. })
    }

    /// The error's text.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::Error::from("no luck").text(), "no luck");
    /// ```
    pub fn text(&self) -> String {
        match &self.0 {
            Cause::NotFound => "not found".into(),
            Cause::Invalid { path, reason } if path.is_empty() => reason.clone(),
            Cause::Invalid { path, reason } => [path.as_str(), ": ", reason].concat(),
            Cause::Failed(text) => text.clone(),
            Cause::Asked(_) => "waiting for an answer".into(),
            Cause::Unavailable { why, .. } => why.clone(),
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text()
    }

    /// Separates a pending question from a failure. An unhandled refusal repeats the question,
    /// which tells the host that the plugin needs the answer.
    pub(crate) fn settle(self, call: &Call) -> Result<types::InputRequired, types::CallError> {
        match self.0 {
            Cause::Asked(asked) => Ok(*asked),
            Cause::Unavailable { question, .. } => call.insist(*question).map_err(Error::into_failure),
            _ => Err(self.into_failure()),
        }
    }

    /// The error in interfaces without questions.
    pub(crate) fn into_failure(self) -> types::CallError {
        match self.0 {
            Cause::NotFound => types::CallError::NotFound,
            Cause::Invalid { path, reason } => types::CallError::InvalidInput(types::InvalidInput { path, reason }),
            Cause::Failed(text) => types::CallError::Failed(text),
            Cause::Asked(_) | Cause::Unavailable { .. } => {
                types::CallError::Failed("questions are not supported here".into())
            }
        }
    }
}

// Errors of all kinds, `String` and `&str`. `Error` itself must never be `std::error::Error`, or this would
// overlap with `From<T> for T`.
impl<'a, E: Into<Box<dyn std::error::Error + 'a>>> From<E> for Error {
    fn from(error: E) -> Self {
        Self(Cause::Failed(error.into().to_string()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The text, without quotes: tests show it when `unwrap` fails.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
