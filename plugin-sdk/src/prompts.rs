//! The prompts of a plugin: as with tools, one run either lists them or makes one.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::abi::prompts as raw;
use crate::content::{Content, Icon, Role};
use crate::{Call, Error, Plugin, Result, schema};

/// Collects the prompts of `Plugin::prompts`.
///
/// ```
/// use wharf_plugin::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Poem {
///     /// What it is about.
///     theme: String,
///     language: Option<String>,
/// }
///
/// struct Poet;
/// impl Plugin for Poet {
///     fn prompts(&self, prompts: &mut Prompts<'_>) {
///         prompts.add("poem", "Asks for a poem", |_, poem: Poem| {
///             let language = poem.language.as_deref().unwrap_or("English");
///             Ok(PromptResult::user(format!("Write a poem in {language} about {}", poem.theme)))
///         });
///     }
/// }
/// # let listed = testing::prompts(&Poet).unwrap();
/// # assert_eq!(listed[0]["arguments"][1]["required"], true);
/// # assert_eq!(testing::prompt(&Poet, "poem", &[("theme", "rain")]).unwrap(), ["Write a poem in English about rain"]);
/// ```
pub struct Prompts<'a>(Visit<'a>);

enum Visit<'a> {
    List { listed: Vec<raw::Prompt>, refused: Option<String> },
    Make { name: &'a str, arguments: Vec<(String, String)>, call: &'a Call, outcome: Option<Result<PromptResult>> },
}

impl Prompts<'_> {
    /// Adds a prompt. The fields of the arguments' type become the prompt's arguments:
    /// `String`, or `Option<String>` for an optional one.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn prompts(prompts: &mut Prompts<'_>) {
    /// prompts.add("standup", "Asks for a daily report", |_, _: NoArguments| Ok(PromptResult::user("What did you do?")));
    /// # }
    /// ```
    pub fn add<A>(
        &mut self,
        name: &str,
        description: &str,
        make: impl FnOnce(&Call, A) -> Result<PromptResult>,
    ) -> Prompt<'_>
    where
        A: DeserializeOwned + JsonSchema,
    {
        match &mut self.0 {
            Visit::Make { name: wanted, arguments, call, outcome } => {
                if *wanted == name && outcome.is_none() {
                    let given = gather(std::mem::take(arguments));
                    let parsed = A::deserialize(given).map_err(|error| Error::invalid("", error.to_string()));
                    *outcome = Some(parsed.and_then(|arguments| make(call, arguments)));
                }
                Prompt(None)
            }
            Visit::List { listed, refused } => match schema::input::<A>() {
                Ok(schema) => {
                    listed.push(raw::Prompt {
                        name: name.into(),
                        title: None,
                        description: Some(description.into()),
                        arguments: arguments(&schema),
                        icons: Vec::new(),
                        meta: None,
                    });
                    Prompt(listed.last_mut())
                }
                Err(reason) => {
                    refused.get_or_insert_with(|| ["prompt ", name, ": ", &reason].concat());
                    Prompt(None)
                }
            },
        }
    }

    pub(crate) fn listing() -> Prompts<'static> {
        Prompts(Visit::List { listed: Vec::new(), refused: None })
    }

    pub(crate) fn into_list(self) -> Result<Vec<raw::Prompt>, String> {
        match self.0 {
            Visit::List { listed, refused: None } => Ok(listed),
            Visit::List { refused: Some(reason), .. } => Err(reason),
            Visit::Make { .. } => Ok(Vec::new()),
        }
    }
}

fn gather(given: Vec<(String, String)>) -> Value {
    Value::Object(given.into_iter().map(|(name, value)| (name, Value::String(value))).collect())
}

/// A prompt's arguments, from the schema of their type.
fn arguments(schema: &Value) -> Vec<raw::PromptArgument> {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let arguments = properties.iter().map(|(name, property)| raw::PromptArgument {
        name: name.clone(),
        title: text(&property["title"]),
        description: text(&property["description"]),
        required: required.iter().any(|required| required == name),
    });
    arguments.collect()
}

pub(crate) fn run<P: Plugin>(
    plugin: &P,
    name: &str,
    arguments: Vec<(String, String)>,
    call: &Call,
) -> Result<PromptResult> {
    let mut prompts = Prompts(Visit::Make { name, arguments, call, outcome: None });
    plugin.prompts(&mut prompts);
    match prompts.0 {
        Visit::Make { outcome: Some(outcome), .. } => outcome,
        _ => Err(Error::not_found()),
    }
}

/// A prompt just added, to set its other properties.
///
/// ```
/// # use wharf_plugin::*;
/// # fn prompts(prompts: &mut Prompts<'_>) {
/// prompts
///     .add("standup", "Asks for a daily report", |_, _: NoArguments| Ok(PromptResult::user("What did you do?")))
///     .title("Stand-up");
/// # }
/// ```
pub struct Prompt<'a>(Option<&'a mut raw::Prompt>);

impl Prompt<'_> {
    /// The display name.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn prompts(prompts: &mut Prompts<'_>) {
    /// prompts.add("p", "Asks", |_, _: NoArguments| Ok(PromptResult::user("?"))).title("Question");
    /// # }
    /// ```
    pub fn title(self, title: &str) -> Self {
        self.with(|prompt| prompt.title = Some(title.into()))
    }

    /// An icon; may be set several times.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn prompts(prompts: &mut Prompts<'_>) {
    /// let icon = Icon::new("https://example.org/i.png");
    /// prompts.add("p", "Asks", |_, _: NoArguments| Ok(PromptResult::user("?"))).icon(icon);
    /// # }
    /// ```
    pub fn icon(self, icon: Icon) -> Self {
        self.with(|prompt| prompt.icons.push(icon.0))
    }

    /// `_meta`: a value that serialises to a JSON object. Omitted if it cannot be serialised.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn prompts(prompts: &mut Prompts<'_>) {
    /// let meta = json!({ "example.org/since": 2 });
    /// prompts.add("p", "Asks", |_, _: NoArguments| Ok(PromptResult::user("?"))).meta(&meta);
    /// # }
    /// ```
    pub fn meta(self, meta: &impl Serialize) -> Self {
        self.with(|prompt| prompt.meta = serde_json::to_string(meta).ok())
    }

    fn with(mut self, change: impl FnOnce(&mut raw::Prompt)) -> Self {
        if let Some(prompt) = &mut self.0 {
            change(prompt);
        }
        self
    }
}

/// The messages that a prompt makes.
///
/// ```
/// use wharf_plugin::{Content, PromptResult};
///
/// let prompt = PromptResult::user("What is in this picture?")
///     .and_user(Content::image(vec![0xff, 0xd8], "image/jpeg"))
///     .and_assistant("I see");
/// # let _ = prompt;
/// ```
#[derive(Clone, Debug)]
pub struct PromptResult(pub(crate) raw::PromptResult);

impl PromptResult {
    /// Starts with a message of the user.
    ///
    /// ```
    /// wharf_plugin::PromptResult::user("Say hello");
    /// ```
    pub fn user(content: impl Into<Content>) -> Self {
        Self(raw::PromptResult { description: None, messages: Vec::new(), meta: None }).and_user(content)
    }

    /// Appends a message of the user.
    ///
    /// ```
    /// wharf_plugin::PromptResult::user("Say hello").and_user("to Ada");
    /// ```
    pub fn and_user(self, content: impl Into<Content>) -> Self {
        self.message(Role::User, content.into())
    }

    /// Appends a message with the role of the model.
    ///
    /// ```
    /// wharf_plugin::PromptResult::user("Say hello").and_assistant("Hello");
    /// ```
    pub fn and_assistant(self, content: impl Into<Content>) -> Self {
        self.message(Role::Assistant, content.into())
    }

    /// The purpose of these messages.
    ///
    /// ```
    /// wharf_plugin::PromptResult::user("Say hello").description("A greeting");
    /// ```
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// `_meta`: a value that serialises to a JSON object. Omitted if it cannot be serialised.
    ///
    /// ```
    /// use wharf_plugin::{PromptResult, json};
    /// PromptResult::user("Say hello").meta(&json!({ "example.org/version": 2 }));
    /// ```
    pub fn meta(mut self, meta: &impl Serialize) -> Self {
        self.0.meta = serde_json::to_string(meta).ok();
        self
    }

    fn message(mut self, role: Role, content: Content) -> Self {
        self.0.messages.push(raw::PromptMessage { role, content: content.0 });
        self
    }
}
