//! Records with their required members only.

#[cfg(test)]
use super::ResourceDescription;
use super::{TaskSupport, TextContent, Tool};

impl Tool {
    /// `input_schema` is JSON text.
    pub(crate) fn new(name: impl Into<String>, input_schema: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: None,
            task_support: TaskSupport::Forbidden,
            icons: Vec::new(),
            meta: None,
        }
    }
}

#[cfg(test)]
impl ResourceDescription {
    pub(crate) fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        }
    }
}

impl TextContent {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), annotations: None, meta: None }
    }
}
