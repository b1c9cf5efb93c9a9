//! Why a call has no result. It does not decide how that looks to a client: the host does.

use crate::abi::types;

/// What every method of a plugin returns.
///
/// ```
/// fn parse(text: &str) -> wharf_plugin::Result<i64> {
///     Ok(text.trim().parse()?)
/// }
/// assert!(parse("12").is_ok());
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call has no result, or not yet: a question to the user travels as an error too,
/// so pass on with `?` what you did not make yourself.
///
/// Anything that can be displayed becomes an error by `?` or `.into()`; its text is read
/// by the model, so it should say what could be done about it.
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
/// assert_eq!(half(3).unwrap_err().text(), "/n: must be even");
/// ```
pub struct Error(pub(crate) Cause);

pub(crate) enum Cause {
    NotFound,
    Invalid { path: String, reason: String },
    Failed(String),
    Asked(Box<types::InputRequired>),
}

impl Error {
    /// The caller gave something wrong. `path` is a JSON Pointer into the arguments, empty
    /// for the whole of them.
    ///
    /// ```
    /// let error = wharf_plugin::Error::invalid("/zone", "no such time zone");
    /// assert_eq!(error.text(), "/zone: no such time zone");
    /// ```
    pub fn invalid(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self(Cause::Invalid { path: path.into(), reason: reason.into() })
    }

    /// It did not work out, and the arguments are not to blame.
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

    /// The error in words.
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
            Cause::Asked(_) => "an answer is awaited".into(),
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text()
    }

    /// Splits a question from a real failure.
    pub(crate) fn settle(self) -> Result<types::InputRequired, types::CallError> {
        match self.0 {
            Cause::Asked(asked) => Ok(*asked),
            Cause::NotFound => Err(types::CallError::NotFound),
            Cause::Invalid { path, reason } => {
                Err(types::CallError::InvalidInput(types::InvalidInput { path, reason }))
            }
            Cause::Failed(text) => Err(types::CallError::Failed(text)),
        }
    }
}

// `Error` itself must never be `Display`, or this would overlap with `From<T> for T`.
impl<E: std::fmt::Display> From<E> for Error {
    fn from(error: E) -> Self {
        Self(Cause::Failed(error.to_string()))
    }
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}
