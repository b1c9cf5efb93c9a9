//! The size of an outcome in bytes: its texts and blobs, without encoding overhead.

use crate::plugin::abi::*;

pub(super) trait Size {
    fn size(&self) -> usize;
}

/// Cost of an element in addition to its bytes, so that many empty ones are not free.
const ELEMENT: usize = 16;

impl Size for String {
    fn size(&self) -> usize {
        self.len()
    }
}

impl<T: Size> Size for Option<T> {
    fn size(&self) -> usize {
        self.as_ref().map_or(0, Size::size)
    }
}

fn list<T: Size>(list: &[T]) -> usize {
    list.iter().map(|element| ELEMENT + element.size()).sum()
}

impl Size for ToolOutcome {
    fn size(&self) -> usize {
        match self {
            Self::Complete(result) => list(&result.content) + result.structured.size() + result.meta.size(),
            Self::InputRequired(wanted) => wanted.size(),
        }
    }
}

impl Size for ReadOutcome {
    fn size(&self) -> usize {
        match self {
            Self::Complete(result) => list(&result.contents) + result.meta.size(),
            Self::InputRequired(wanted) => wanted.size(),
        }
    }
}

impl Size for PromptOutcome {
    fn size(&self) -> usize {
        match self {
            Self::Complete(result) => {
                let messages = result.messages.iter().map(|m| ELEMENT + m.content.size());
                result.description.size() + result.meta.size() + messages.sum::<usize>()
            }
            Self::InputRequired(wanted) => wanted.size(),
        }
    }
}

impl Size for Completion {
    fn size(&self) -> usize {
        list(&self.values)
    }
}

impl Size for Content {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.text.len() + text.annotations.size() + text.meta.size(),
            Self::Image(media) | Self::Audio(media) => media.size(),
            Self::Embedded(embedded) => embedded.contents.size() + embedded.annotations.size() + embedded.meta.size(),
            Self::Link(link) => link.size(),
        }
    }
}

impl Size for MediaContent {
    fn size(&self) -> usize {
        self.data.len() + self.mime_type.len() + self.annotations.size() + self.meta.size()
    }
}

impl Size for ResourceContents {
    fn size(&self) -> usize {
        let body = match &self.body {
            ResourceBody::Text(text) => text.len(),
            ResourceBody::Blob(bytes) => bytes.len(),
        };
        body + self.uri.len() + self.mime_type.size() + self.meta.size()
    }
}

impl Size for ResourceDescription {
    fn size(&self) -> usize {
        self.uri.len()
            + self.name.len()
            + self.title.size()
            + self.description.size()
            + self.mime_type.size()
            + self.annotations.size()
            + list(&self.icons)
            + self.meta.size()
    }
}

impl Size for Icon {
    fn size(&self) -> usize {
        self.src.len() + self.mime_type.size() + list(&self.sizes)
    }
}

impl Size for Annotations {
    fn size(&self) -> usize {
        self.audience.len() + self.last_modified.size()
    }
}

impl Size for InputRequired {
    fn size(&self) -> usize {
        list(&self.questions) + self.state.as_ref().map_or(0, Vec::len)
    }
}

impl Size for Question {
    fn size(&self) -> usize {
        self.key.len()
            + match &self.ask {
                Ask::Form(form) => form.message.len() + form.schema.len(),
                Ask::Url(visit) => visit.message.len() + visit.url.len(),
                Ask::Roots => 0,
                Ask::Sample(sampling) => sampling.size(),
            }
    }
}

impl Size for Sampling {
    fn size(&self) -> usize {
        let hints = self.model_preferences.as_ref().map_or(0, |p| list(&p.hints));
        list(&self.messages)
            + self.system_prompt.size()
            + list(&self.stop_sequences)
            + hints
            + list(&self.tools)
            + self.metadata.size()
    }
}

impl Size for SamplingMessage {
    fn size(&self) -> usize {
        list(&self.content)
    }
}

impl Size for SamplingTool {
    fn size(&self) -> usize {
        self.name.len() + self.description.size() + self.input_schema.len()
    }
}

impl Size for SamplingContent {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.text.len() + text.annotations.size() + text.meta.size(),
            Self::Image(media) | Self::Audio(media) => media.size(),
            Self::ToolUse(tool_use) => tool_use.id.len() + tool_use.name.len() + tool_use.input.len(),
            Self::ToolResult(answer) => answer.tool_use_id.len() + list(&answer.content) + answer.structured.size(),
        }
    }
}
