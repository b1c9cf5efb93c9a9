//! Requests to the client's model, and its answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::abi::types as raw;
use crate::content::Role;

pub use crate::abi::types::{ContextScope, ToolChoice};

/// A request to the client's model. Where `impl Into<Sampling>` is expected, a text is
/// enough; this type has all options.
///
/// ```
/// use wharf_plugin::Sampling;
///
/// let question = Sampling::new("How is the weather?")
///     .assistant("Where?")
///     .user("In Paris")
///     .system("Answer in one word")
///     .max_tokens(20)
///     .temperature(0.0)
///     .model("claude");
/// # let _ = question;
/// ```
#[derive(Clone, Debug)]
pub struct Sampling(pub(crate) raw::Sampling);

impl<T: Into<String>> From<T> for Sampling {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl Sampling {
    /// One message of the user; the answer has at most 1,000 tokens by default.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour");
    /// ```
    pub fn new(text: impl Into<String>) -> Self {
        let empty = Self(raw::Sampling {
            messages: Vec::new(),
            max_tokens: 1000,
            system_prompt: None,
            temperature: None,
            stop_sequences: Vec::new(),
            model_preferences: None,
            include_context: None,
            tools: Vec::new(),
            tool_choice: None,
            metadata: None,
        });
        empty.user(text)
    }

    /// Appends a message of the user.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour").user("A warm one");
    /// ```
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Role::User, vec![text_block(text.into())])
    }

    /// Appends a message with the role of the model.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour").assistant("Red").user("Another");
    /// ```
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(Role::Assistant, vec![text_block(text.into())])
    }

    /// Appends an image from the user.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("What is this?").image(vec![0xff, 0xd8], "image/jpeg");
    /// ```
    pub fn image(self, data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        self.message(Role::User, vec![raw::SamplingContent::Image(media(data.into(), mime_type.into()))])
    }

    /// Appends audio from the user.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("What is said here?").audio(*b"RIFF", "audio/wav");
    /// ```
    pub fn audio(self, data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        self.message(Role::User, vec![raw::SamplingContent::Audio(media(data.into(), mime_type.into()))])
    }

    /// The system prompt.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour").system("You are a painter");
    /// ```
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.0.system_prompt = Some(prompt.into());
        self
    }

    /// The maximal length of the answer, in tokens.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour").max_tokens(10);
    /// ```
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.0.max_tokens = tokens;
        self
    }

    /// The temperature; 0 is least random.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour").temperature(0.7);
    /// ```
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.0.temperature = Some(temperature);
        self
    }

    /// A text at which the model stops; may be set several times.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour").stop_at("\n");
    /// ```
    pub fn stop_at(mut self, text: impl Into<String>) -> Self {
        self.0.stop_sequences.push(text.into());
        self
    }

    /// A preferred model, or part of its name; may be set several times, best first.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour").model("haiku").model("claude");
    /// ```
    pub fn model(mut self, hint: impl Into<String>) -> Self {
        self.preferences().hints.push(hint.into());
        self
    }

    /// The priorities in the choice of a model, each from 0 to 1.
    ///
    /// ```
    /// wharf_plugin::Sampling::new("Name a colour").priorities(0.9, 0.8, 0.1);
    /// ```
    pub fn priorities(mut self, cost: f64, speed: f64, intelligence: f64) -> Self {
        let preferences = self.preferences();
        preferences.cost_priority = Some(cost);
        preferences.speed_priority = Some(speed);
        preferences.intelligence_priority = Some(intelligence);
        self
    }

    /// How much of the conversation the model sees.
    ///
    /// ```
    /// use wharf_plugin::{ContextScope, Sampling};
    /// Sampling::new("What did I say?").context(ContextScope::ThisServer);
    /// ```
    pub fn context(mut self, scope: ContextScope) -> Self {
        self.0.include_context = Some(scope);
        self
    }

    /// A tool that the model may use, with the JSON Schema of its input. The plugin runs
    /// it: send the result with [`Sampling::used`].
    ///
    /// ```
    /// use wharf_plugin::{Sampling, json};
    /// Sampling::new("How old is it?").tool("year", "The year now", &json!({ "type": "object" }));
    /// ```
    pub fn tool(mut self, name: impl Into<String>, description: impl Into<String>, schema: &Value) -> Self {
        self.0.tools.push(raw::SamplingTool {
            name: name.into(),
            description: Some(description.into()),
            input_schema: schema.to_string(),
        });
        self
    }

    /// Whether the model may, must or must not use tools.
    ///
    /// ```
    /// use wharf_plugin::{Sampling, ToolChoice};
    /// Sampling::new("How old is it?").tool_choice(ToolChoice::Required);
    /// ```
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.0.tool_choice = Some(choice);
        self
    }

    /// The model used tools: its answer, and each tool's result by the id of the use.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn age(ask: &Call, _: NoArguments) -> Result<String> {
    ///     let question = Sampling::new("How old is it?").tool("year", "The year now", &json!({ "type": "object" }));
    ///     let said = ask.sample(question.clone())?;
    ///     let results = said.tool_uses().map(|(id, _, _)| (id.to_owned(), "2026".to_owned()));
    ///     let results: Vec<_> = results.collect();
    ///     Ok(ask.sample(question.used(&said, results))?.text())
    /// }
    /// ```
    pub fn used(self, said: &Sampled, results: impl IntoIterator<Item = (String, String)>) -> Self {
        let said = said.blocks.iter().cloned().map(raw::SamplingContent::from).collect();
        let results = results.into_iter().map(|(tool_use_id, text)| {
            raw::SamplingContent::ToolResult(raw::ToolAnswer {
                tool_use_id,
                content: vec![crate::Content::text(text).0],
                structured: None,
                is_error: false,
            })
        });
        self.message(Role::Assistant, said).message(Role::User, results.collect())
    }

    fn message(mut self, role: Role, content: Vec<raw::SamplingContent>) -> Self {
        self.0.messages.push(raw::SamplingMessage { role, content });
        self
    }

    fn preferences(&mut self) -> &mut raw::ModelPreferences {
        self.0.model_preferences.get_or_insert_with(|| raw::ModelPreferences {
            hints: Vec::new(),
            cost_priority: None,
            speed_priority: None,
            intelligence_priority: None,
        })
    }
}

/// The model's answer.
///
/// ```
/// # use wharf_plugin::*;
/// fn colour(ask: &Call, _: NoArguments) -> Result<String> {
///     let said = ask.sample("Name a colour")?;
///     Ok(format!("{} says {}", said.model, said.text()))
/// }
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sampled {
    /// The model's name.
    pub model: String,
    /// Why it stopped: `endTurn`, `maxTokens`, `toolUse`, …
    pub stop_reason: Option<String>,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Block {
    Text(String),
    Image(Vec<u8>, String),
    Audio(Vec<u8>, String),
    ToolUse { id: String, name: String, input: String },
}

impl Sampled {
    /// All its texts, concatenated.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn colour(ask: &Call, _: NoArguments) -> Result<String> {
    ///     Ok(ask.sample("Name a colour")?.text())
    /// }
    /// ```
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Images and audio in it: bytes and media type.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn draw(ask: &Call, _: NoArguments) -> Result<Vec<Content>> {
    ///     let said = ask.sample("Draw a tree")?;
    ///     Ok(said.media().map(|(bytes, mime_type)| Content::image(bytes, mime_type)).collect())
    /// }
    /// ```
    pub fn media(&self) -> impl Iterator<Item = (&[u8], &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Image(data, mime_type) | Block::Audio(data, mime_type) => {
                Some((data.as_slice(), mime_type.as_str()))
            }
            _ => None,
        })
    }

    /// The tools that the model wants to use: id of the use, name, input as JSON text.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn wanted(ask: &Call, _: NoArguments) -> Result<String> {
    ///     let said = ask.sample(Sampling::new("How old is it?").tool("year", "", &json!({ "type": "object" })))?;
    ///     Ok(said.tool_uses().map(|(_, name, _)| name).collect())
    /// }
    /// ```
    pub fn tool_uses(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse { id, name, input } => Some((id.as_str(), name.as_str(), input.as_str())),
            _ => None,
        })
    }
}

impl From<&raw::Sampled> for Sampled {
    fn from(sampled: &raw::Sampled) -> Self {
        let blocks = sampled.content.iter().filter_map(|content| match content {
            raw::SamplingContent::Text(text) => Some(Block::Text(text.text.clone())),
            raw::SamplingContent::Image(image) => Some(Block::Image(image.data.clone(), image.mime_type.clone())),
            raw::SamplingContent::Audio(audio) => Some(Block::Audio(audio.data.clone(), audio.mime_type.clone())),
            raw::SamplingContent::ToolUse(tool) => {
                Some(Block::ToolUse { id: tool.id.clone(), name: tool.name.clone(), input: tool.input.clone() })
            }
            // Only a caller sends tool results; a model's answer has none.
            raw::SamplingContent::ToolResult(_) => None,
        });
        Self { model: sampled.model.clone(), stop_reason: sampled.stop_reason.clone(), blocks: blocks.collect() }
    }
}

impl From<Block> for raw::SamplingContent {
    fn from(block: Block) -> Self {
        match block {
            Block::Text(text) => text_block(text),
            Block::Image(data, mime_type) => Self::Image(media(data, mime_type)),
            Block::Audio(data, mime_type) => Self::Audio(media(data, mime_type)),
            Block::ToolUse { id, name, input } => Self::ToolUse(raw::ToolUse { id, name, input }),
        }
    }
}

pub(crate) fn text_block(text: String) -> raw::SamplingContent {
    raw::SamplingContent::Text(raw::TextContent { text, annotations: None, meta: None })
}

fn media(data: Vec<u8>, mime_type: String) -> raw::MediaContent {
    raw::MediaContent { data, mime_type, annotations: None, meta: None }
}
