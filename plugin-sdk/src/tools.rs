//! The tools of a plugin: one run of `Plugin::tools` lists them, calls one, or collects their pages.
//! Only the needed part is computed: a call builds no schemas, a listing runs no tool.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::abi::tools as raw;
use crate::page::merged;
use crate::{Call, Error, Icon, Page, Plugin, Reply, Result, ToolResult, schema};

pub use crate::abi::tools::TaskSupport;

/// Collects the tools of `Plugin::tools`.
///
/// ```
/// use wharf_plugin::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greet {
///     /// Whom to greet.
///     name: String,
/// }
///
/// struct Hello;
///
/// impl Plugin for Hello {
///     fn tools(&self, tools: &mut Tools<'_>) {
///         tools.add("greet", "Greets somebody by name", |_, args: Greet| Ok(format!("Hello, {}!", args.name)));
///     }
/// }
///
/// let answer = testing::call(&Hello, "greet", json!({ "name": "Ada" })).unwrap();
/// assert_eq!(answer.as_text(), "Hello, Ada!");
/// ```
pub struct Tools<'a>(Visit<'a>);

enum Visit<'a> {
    List { listed: Vec<raw::Tool>, refused: Option<String> },
    Run { name: &'a str, arguments: &'a str, call: &'a Call, outcome: Option<Result<ToolResult>> },
    Pages(Vec<Page>),
}

impl Tools<'_> {
    /// Adds a tool. `name` is `[A-Za-z0-9_-]{1,64}`; `description` tells the model what it
    /// does and when to use it.
    ///
    /// `run` gets the call (to ask the user, report progress and so on) and the arguments;
    /// the input schema is derived from their type and its doc comments. `run` returns a
    /// [`Reply`]: text, [`Content`](crate::Content), or [`Json`](crate::Json) of a type
    /// from which the output schema is derived.
    ///
    /// ```
    /// use wharf_plugin::*;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Divide { dividend: i64, divisor: i64 }
    /// #[derive(Serialize, JsonSchema)]
    /// struct Quotient { quotient: i64, remainder: i64 }
    ///
    /// # struct Arithmetic;
    /// # impl Plugin for Arithmetic {
    /// fn tools(&self, tools: &mut Tools<'_>) {
    ///     tools.add("divide", "Divides integers", |_, Divide { dividend, divisor }: Divide| {
    ///         if divisor == 0 {
    ///             return Err(Error::invalid("/divisor", "must not be zero"));
    ///         }
    ///         Ok(Json(Quotient { quotient: dividend / divisor, remainder: dividend % divisor }))
    ///     });
    /// }
    /// # }
    /// # let answer = testing::call(&Arithmetic, "divide", json!({ "dividend": 7, "divisor": 2 })).unwrap();
    /// # assert_eq!(answer.as_json().unwrap(), json!({ "quotient": 3, "remainder": 1 }));
    /// ```
    pub fn add<A, R>(&mut self, name: &str, description: &str, run: impl FnOnce(&Call, A) -> Result<R>) -> Tool<'_>
    where
        A: DeserializeOwned + JsonSchema,
        R: Reply,
    {
        match &mut self.0 {
            Visit::Run { name: wanted, arguments, call, outcome } => {
                if *wanted == name && outcome.is_none() {
                    *outcome = Some(parse(arguments).and_then(|arguments| run(call, arguments)?.into_result()));
                }
                Tool(Added::Nothing)
            }
            Visit::Pages(pages) => Tool(Added::Pages(pages)),
            Visit::List { listed, refused } => {
                let schemas = schema::input::<A>().and_then(|input| Ok((input, R::output_schema().transpose()?)));
                Tool(enter(listed, refused, name, description, schemas).map_or(Added::Nothing, Added::Listed))
            }
        }
    }

    pub(crate) fn listing() -> Tools<'static> {
        Tools(Visit::List { listed: Vec::new(), refused: None })
    }

    pub(crate) fn into_list(self) -> Result<Vec<raw::Tool>, String> {
        match self.0 {
            Visit::List { listed, refused: None } => Ok(listed),
            Visit::List { refused: Some(reason), .. } => Err(reason),
            Visit::Run { .. } | Visit::Pages(_) => Ok(Vec::new()),
        }
    }
}

/// Appends to the list. Not generic, since `add` is compiled once for each tool.
fn enter<'a>(
    listed: &'a mut Vec<raw::Tool>,
    refused: &mut Option<String>,
    name: &str,
    description: &str,
    schemas: Result<(serde_json::Value, Option<serde_json::Value>), String>,
) -> Option<&'a mut raw::Tool> {
    let (input, output) = match schemas {
        Ok(schemas) => schemas,
        Err(reason) => {
            refused.get_or_insert_with(|| ["tool ", name, ": ", &reason].concat());
            return None;
        }
    };
    if listed.iter().any(|tool| tool.name == name) {
        refused.get_or_insert_with(|| ["tool ", name, ": duplicate name"].concat());
        return None;
    }
    listed.push(raw::Tool {
        name: name.into(),
        title: None,
        description: Some(description.into()),
        input_schema: input.to_string(),
        output_schema: output.map(|schema| schema.to_string()),
        annotations: None,
        task_support: TaskSupport::Forbidden,
        icons: Vec::new(),
        meta: None,
    });
    listed.last_mut()
}

pub(crate) fn parse<A: DeserializeOwned>(arguments: &str) -> Result<A> {
    serde_json::from_str(arguments).map_err(misread)
}

/// Removes the line and column, which mean nothing to a model: it did not write that JSON text.
fn misread(error: serde_json::Error) -> Error {
    let mut reason = error.to_string();
    if let Some(place) = reason.rfind(" at line ") {
        reason.truncate(place);
    }
    Error::invalid("", reason)
}

pub(crate) fn run<P: Plugin>(plugin: &P, name: &str, arguments: &str, call: &Call) -> Result<ToolResult> {
    let mut tools = Tools(Visit::Run { name, arguments, call, outcome: None });
    plugin.tools(&mut tools);
    match tools.0 {
        Visit::Run { outcome: Some(outcome), .. } => outcome,
        _ => Err(Error::not_found()),
    }
}

/// The pages of the tools, each once.
pub(crate) fn pages<P: Plugin>(plugin: &P) -> Vec<Page> {
    let mut tools = Tools(Visit::Pages(Vec::new()));
    plugin.tools(&mut tools);
    match tools.0 {
        Visit::Pages(pages) => pages,
        Visit::List { .. } | Visit::Run { .. } => Vec::new(),
    }
}

/// A tool just added, to set its other properties.
///
/// ```
/// use wharf_plugin::*;
/// # struct Clock;
/// # impl Plugin for Clock {
/// fn tools(&self, tools: &mut Tools<'_>) {
///     tools
///         .add("now", "The time of day", |_, _: NoArguments| Ok("noon"))
///         .title("Current time")
///         .read_only()
///         .icon(Icon::new("https://example.org/clock.svg"));
/// }
/// # }
/// # assert_eq!(testing::tools(&Clock).unwrap()[0]["title"], "Current time");
/// ```
pub struct Tool<'a>(Added<'a>);

enum Added<'a> {
    Nothing,
    Listed(&'a mut raw::Tool),
    Pages(&'a mut Vec<Page>),
}

impl Tool<'_> {
    /// The display name.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools.add("now", "The time of day", |_, _: NoArguments| Ok("noon")).title("Current time");
    /// # }
    /// ```
    pub fn title(self, title: &str) -> Self {
        self.with(|tool| tool.title = Some(title.into()))
    }

    /// The tool is read-only: it changes nothing.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools.add("now", "The time of day", |_, _: NoArguments| Ok("noon")).read_only();
    /// # }
    /// ```
    pub fn read_only(self) -> Self {
        self.annotate(|annotations| {
            annotations.read_only = Some(true);
            annotations.destructive = Some(false);
            annotations.idempotent = Some(true);
            annotations.open_world.get_or_insert(false);
        })
    }

    /// Whether it may delete or overwrite.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools.add("empty_bin", "Deletes what is in the bin", |_, _: NoArguments| Ok("done")).destructive(true);
    /// # }
    /// ```
    pub fn destructive(self, yes: bool) -> Self {
        self.annotate(|annotations| annotations.destructive = Some(yes))
    }

    /// Whether repeating a call with the same arguments has no further effect.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools.add("empty_bin", "Deletes what is in the bin", |_, _: NoArguments| Ok("done")).idempotent(true);
    /// # }
    /// ```
    pub fn idempotent(self, yes: bool) -> Self {
        self.annotate(|annotations| annotations.idempotent = Some(yes))
    }

    /// Whether it interacts with external systems, such as the web.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools.add("weather", "The weather now", |_, _: NoArguments| Ok("fine")).read_only().open_world(true);
    /// # }
    /// ```
    pub fn open_world(self, yes: bool) -> Self {
        self.annotate(|annotations| annotations.open_world = Some(yes))
    }

    /// Whether it may, or must, run as a task: what takes long should be optional. The messages of
    /// [`Call::progress`](crate::Call::progress) become the status of the task; it asks as in any call.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools.add("render", "Renders a film", |_, _: NoArguments| Ok("done")).tasks(TaskSupport::Optional);
    /// # }
    /// ```
    pub fn tasks(self, support: TaskSupport) -> Self {
        self.with(|tool| tool.task_support = support)
    }

    /// An icon; may be set several times.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// let icon = Icon::new("https://example.org/clock.svg");
    /// tools.add("now", "The time of day", |_, _: NoArguments| Ok("noon")).icon(icon);
    /// # }
    /// ```
    pub fn icon(self, icon: Icon) -> Self {
        self.with(|tool| tool.icons.push(icon.0))
    }

    /// `_meta`: a value that serialises to a JSON object. Omitted if it cannot be serialised.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// let meta = json!({ "example.org/group": "clocks" });
    /// tools.add("now", "The time of day", |_, _: NoArguments| Ok("noon")).meta(&meta);
    /// # }
    /// ```
    pub fn meta(self, meta: &impl Serialize) -> Self {
        match serde_json::to_value(meta) {
            Ok(meta) => self.with_meta(meta),
            Err(_) => self,
        }
    }

    /// The page in which chat clients show its results. The page gets the whole result; the model gets
    /// the content, which must say all that matters.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// let page = Page::new("ui://clock/face.html", "<!doctype html><p id=face></p>");
    /// tools.add("now", "The time of day", |_, _: NoArguments| Ok("noon")).page(page);
    /// # }
    /// ```
    pub fn page(self, page: Page) -> Self {
        if let Tool(Added::Pages(pages)) = self {
            if pages.iter().all(|other| other.uri != page.uri) {
                pages.push(page);
            }
            return Tool(Added::Pages(pages));
        }
        self.with_meta(json!({ "ui": { "resourceUri": page.uri } }))
    }

    /// Only for pages: chat clients do not offer it to the model. Other clients may, so this protects
    /// nothing.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools.add("tick", "The time of day, for the page", |_, _: NoArguments| Ok("noon")).app_only();
    /// # }
    /// ```
    pub fn app_only(self) -> Self {
        self.with_meta(json!({ "ui": { "visibility": ["app"] } }))
    }

    /// Replaces the derived input schema with this JSON text.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools
    ///     .add("count", "Counts members", |_, any: Map<String, Value>| Ok(any.len().to_string()))
    ///     .input_schema(r#"{ "type": "object", "maxProperties": 9 }"#);
    /// # }
    /// ```
    pub fn input_schema(self, schema: &str) -> Self {
        self.with(|tool| tool.input_schema = schema.into())
    }

    /// Replaces the derived output schema with this JSON text.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn tools(tools: &mut Tools<'_>) {
    /// tools
    ///     .add("one", "Says one", |_, _: NoArguments| Ok(ToolResult::json(&json!({ "n": 1 }))?))
    ///     .output_schema(r#"{ "type": "object", "required": ["n"] }"#);
    /// # }
    /// ```
    pub fn output_schema(self, schema: &str) -> Self {
        self.with(|tool| tool.output_schema = Some(schema.into()))
    }

    fn annotate(self, change: impl FnOnce(&mut raw::ToolAnnotations)) -> Self {
        self.with(|tool| {
            change(tool.annotations.get_or_insert(raw::ToolAnnotations {
                read_only: None,
                destructive: None,
                idempotent: None,
                open_world: None,
            }));
        })
    }

    /// Metadata that cannot be combined with what is there is left out.
    fn with_meta(self, meta: Value) -> Self {
        self.with(|tool| {
            if let Ok(meta) = merged(tool.meta.as_deref(), meta) {
                tool.meta = Some(meta);
            }
        })
    }

    fn with(mut self, change: impl FnOnce(&mut raw::Tool)) -> Self {
        if let Added::Listed(tool) = &mut self.0 {
            change(tool);
        }
        self
    }
}
