//! The results of tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::abi::tools as raw;
use crate::{Content, Result, schema};

/// A possible result of a tool: text, [`Content`] or several, `()`, a [`Json`] value, a
/// `Json` value with separate content, or a [`ToolResult`] for full control.
///
/// ```
/// use wharf_plugin::{Content, Reply};
/// fn is_reply(_: impl Reply) {}
/// is_reply("text");
/// is_reply(vec![Content::text("two"), Content::text("pieces")]);
/// ```
pub trait Reply {
    /// Converts to the result.
    fn into_result(self) -> Result<ToolResult>;

    /// The schema of its structured part, if it has one.
    fn output_schema() -> Option<Result<Value, String>>
    where
        Self: Sized,
    {
        None
    }
}

/// A structured result: `T` must serialise to a JSON object. The output schema is derived from it.
///
/// ```
/// use wharf_plugin::*;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Sum {
///     /// Both numbers together.
///     sum: i64,
/// }
/// let result = Json(Sum { sum: 3 }).into_result().unwrap();
/// assert_eq!(result.as_json().unwrap(), json!({ "sum": 3 }));
/// ```
pub struct Json<T>(pub T);

/// The arguments of a tool without arguments.
///
/// ```
/// use wharf_plugin::*;
/// # fn tools(tools: &mut Tools<'_>) {
/// tools.add("ping", "Answers", |_, _: NoArguments| Ok("pong"));
/// # }
/// ```
#[derive(Deserialize)]
pub struct NoArguments {}

impl JsonSchema for NoArguments {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NoArguments".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "additionalProperties": false })
    }
}

/// A whole result, where a simpler [`Reply`] is not enough.
///
/// ```
/// use wharf_plugin::{Content, ToolResult, json};
///
/// let result = ToolResult::text("2 of 3 copied").failed().meta(&json!({ "example.org/left": 1 }));
/// assert!(result.is_error());
/// ```
#[derive(Clone, Debug)]
pub struct ToolResult(pub(crate) raw::ToolResult);

impl ToolResult {
    /// A result with these pieces of content.
    ///
    /// ```
    /// use wharf_plugin::{Content, ToolResult};
    /// ToolResult::new([Content::text("see:"), Content::image([], "image/png")]);
    /// ```
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        let content = content.into_iter().map(|piece| piece.0).collect();
        Self(raw::ToolResult { content, structured: None, is_error: false, meta: None })
    }

    /// A result with one text.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::ToolResult::text("done").as_text(), "done");
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([Content::text(text)])
    }

    /// Structured content. Without other content, clients get it as text too.
    ///
    /// ```
    /// use wharf_plugin::{ToolResult, json};
    /// let result = ToolResult::json(&json!({ "n": 1 })).unwrap();
    /// assert_eq!(result.as_json().unwrap()["n"], 1);
    /// ```
    pub fn json(value: &impl Serialize) -> Result<Self> {
        let mut result = Self::new([]);
        result.0.structured = Some(serde_json::to_string(value)?);
        Ok(result)
    }

    /// Appends a piece of content.
    ///
    /// ```
    /// use wharf_plugin::{ToolResult, json};
    /// ToolResult::json(&json!({ "n": 1 })).unwrap().with("there is one");
    /// ```
    pub fn with(mut self, content: impl Into<Content>) -> Self {
        self.0.content.push(content.into().0);
        self
    }

    /// Marks the result as failed; the content describes the error.
    /// [`Error::failed`](crate::Error::failed) is the short form.
    ///
    /// ```
    /// assert!(wharf_plugin::ToolResult::text("no such file").failed().is_error());
    /// ```
    pub fn failed(mut self) -> Self {
        self.0.is_error = true;
        self
    }

    /// `_meta`: a value that serialises to a JSON object. Omitted if it cannot be serialised.
    ///
    /// ```
    /// use wharf_plugin::{ToolResult, json};
    /// ToolResult::text("done").meta(&json!({ "example.org/cached": true }));
    /// ```
    pub fn meta(mut self, meta: &impl Serialize) -> Self {
        self.0.meta = serde_json::to_string(meta).ok();
        self
    }

    /// All its texts, concatenated.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::ToolResult::text("a").with("b").as_text(), "ab");
    /// ```
    pub fn as_text(&self) -> String {
        let texts = self.0.content.iter().filter_map(|piece| match piece {
            crate::abi::types::Content::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Its structured content, if there is any.
    ///
    /// ```
    /// assert!(wharf_plugin::ToolResult::text("a").as_json().is_none());
    /// ```
    pub fn as_json(&self) -> Option<Value> {
        serde_json::from_str(self.0.structured.as_deref()?).ok()
    }

    /// Its pieces of content.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::ToolResult::text("a").with("b").content().len(), 2);
    /// ```
    pub fn content(&self) -> Vec<Content> {
        self.0.content.iter().cloned().map(Content).collect()
    }

    /// Whether the tool failed.
    ///
    /// ```
    /// assert!(!wharf_plugin::ToolResult::text("a").is_error());
    /// ```
    pub fn is_error(&self) -> bool {
        self.0.is_error
    }
}

impl Reply for ToolResult {
    fn into_result(self) -> Result<ToolResult> {
        Ok(self)
    }
}

impl Reply for () {
    fn into_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new([]))
    }
}

impl Reply for String {
    fn into_result(self) -> Result<ToolResult> {
        Ok(ToolResult::text(self))
    }
}

impl Reply for &str {
    fn into_result(self) -> Result<ToolResult> {
        Ok(ToolResult::text(self))
    }
}

impl Reply for Content {
    fn into_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new([self]))
    }
}

impl Reply for Vec<Content> {
    fn into_result(self) -> Result<ToolResult> {
        Ok(ToolResult::new(self))
    }
}

impl<T: Serialize + JsonSchema> Reply for Json<T> {
    fn into_result(self) -> Result<ToolResult> {
        ToolResult::json(&self.0)
    }

    fn output_schema() -> Option<Result<Value, String>> {
        Some(schema::output::<T>())
    }
}

impl<T: Serialize + JsonSchema, R: Reply> Reply for (Json<T>, R) {
    fn into_result(self) -> Result<ToolResult> {
        let mut result = self.1.into_result()?;
        result.0.structured = Some(serde_json::to_string(&self.0.0)?);
        Ok(result)
    }

    fn output_schema() -> Option<Result<Value, String>> {
        Some(schema::output::<T>())
    }
}
