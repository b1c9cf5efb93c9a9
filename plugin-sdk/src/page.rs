//! Pages that chat clients show beside the results of tools (MCP Apps, `io.modelcontextprotocol/ui`).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::{Error, Plugin, ReadResult, Resource, ResourceContents, Result};

/// The media type by which clients know a page.
const MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// The page's side of the protocol.
const SCRIPT: &str = include_str!("page.js");

/// A page: one HTML document with everything inline, bound to tools with
/// [`Tool::page`](crate::Tool::page).
///
/// A client reads it once, and gives it the result of each call. Before its first script it is given
/// another one, which speaks with the client:
///
/// ```html
/// <script>
///   wharf.on("tool-result", ({ structuredContent }) => draw(structuredContent));
///   button.onclick = async () => draw((await wharf.callTool("again", { faces: 6 })).structuredContent);
/// </script>
/// ```
///
/// The plugin must export the interface `resources` too.
///
/// ```
/// use wharf_plugin::*;
///
/// struct Dice;
///
/// impl Plugin for Dice {
///     fn tools(&self, tools: &mut Tools<'_>) {
///         let page = Page::new("ui://dice/face.html", "<!doctype html><p id=face></p>").title("A die");
///         tools.add("roll", "Rolls a die", |_, _: NoArguments| Ok("4")).page(page);
///         tools.add("again", "Rolls it again", |_, _: NoArguments| Ok("4")).app_only();
///     }
/// }
///
/// export!(Dice: tools, resources);
/// assert!(testing::read(&Dice, "ui://dice/face.html").is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    pub(crate) uri: Cow<'static, str>,
    html: Cow<'static, str>,
    title: Option<String>,
    /// Whether the script is part of it.
    scripted: bool,
    /// `_meta.ui` of the resource.
    ui: Map<String, Value>,
}

impl Page {
    /// `uri` begins with `ui://` and the plugin's name; `html` is a whole HTML5 document.
    ///
    /// ```
    /// wharf_plugin::Page::new("ui://dice/face.html", "<!doctype html><p id=face></p>");
    /// ```
    pub fn new(uri: impl Into<Cow<'static, str>>, html: impl Into<Cow<'static, str>>) -> Self {
        let ui = Map::from_iter([("prefersBorder".to_owned(), Value::Bool(true))]);
        Self { uri: uri.into(), html: html.into(), title: None, scripted: true, ui }
    }

    /// The display name.
    ///
    /// ```
    /// wharf_plugin::Page::new("ui://dice/face.html", "<!doctype html><p>").title("A die");
    /// ```
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Whether the client should draw a border around it, as it does by default.
    ///
    /// ```
    /// wharf_plugin::Page::new("ui://dice/face.html", "<!doctype html><p>").border(false);
    /// ```
    pub fn border(mut self, yes: bool) -> Self {
        self.ui.insert("prefersBorder".into(), yes.into());
        self
    }

    /// The origins that its scripts may send requests to; none by default. The operator may refuse.
    ///
    /// ```
    /// wharf_plugin::Page::new("ui://dice/face.html", "<!doctype html><p>").connects_to(["https://api.example.org"]);
    /// ```
    pub fn connects_to<'o>(self, origins: impl IntoIterator<Item = &'o str>) -> Self {
        self.csp("connectDomains", origins)
    }

    /// The origins of its images, fonts, styles and scripts; none by default. The operator may refuse.
    ///
    /// ```
    /// wharf_plugin::Page::new("ui://dice/face.html", "<!doctype html><p>").loads_from(["https://*.example.org"]);
    /// ```
    pub fn loads_from<'o>(self, origins: impl IntoIterator<Item = &'o str>) -> Self {
        self.csp("resourceDomains", origins)
    }

    /// What it asks the browser for: `camera`, `microphone`, `geolocation`, `clipboardWrite`.
    ///
    /// ```
    /// wharf_plugin::Page::new("ui://dice/face.html", "<!doctype html><p>").permissions(["clipboardWrite"]);
    /// ```
    pub fn permissions<'p>(mut self, names: impl IntoIterator<Item = &'p str>) -> Self {
        let asked: Map<_, _> = names.into_iter().map(|name| (name.to_owned(), json!({}))).collect();
        self.ui.insert("permissions".into(), asked.into());
        self
    }

    /// Without the script, for a page that brings its own, such as the official library's.
    ///
    /// ```
    /// wharf_plugin::Page::new("ui://dice/face.html", "<!doctype html><script>…</script>").own_script();
    /// ```
    pub fn own_script(mut self) -> Self {
        self.scripted = false;
        self
    }

    fn csp<'o>(mut self, directive: &str, origins: impl IntoIterator<Item = &'o str>) -> Self {
        let origins: Vec<Value> = origins.into_iter().map(Value::from).collect();
        let csp = self.ui.entry("csp").or_insert_with(|| json!({}));
        csp[directive] = origins.into();
        self
    }

    fn meta(&self) -> Value {
        json!({ "ui": self.ui })
    }

    fn listed(&self) -> Resource {
        let name = self.uri.rsplit('/').next().unwrap_or_default();
        let mut resource = Resource::new(&*self.uri, name).mime_type(MEDIA_TYPE).meta(&self.meta());
        if let Some(title) = &self.title {
            resource = resource.title(title);
        }
        resource
    }

    /// The document with the script before the first one of its own.
    fn document(self) -> Cow<'static, str> {
        if !self.scripted {
            return self.html;
        }
        let at = self.html.find("<script").unwrap_or(self.html.len());
        let (before, after) = self.html.split_at(at);
        Cow::Owned([before, "<script>", SCRIPT, "</script>\n", after].concat())
    }
}

/// The plugin's resources, its pages before the others.
pub(crate) fn resources<P: Plugin>(plugin: &P) -> Result<Vec<Resource>> {
    let mut listed: Vec<_> = crate::tools::pages(plugin).iter().map(Page::listed).collect();
    listed.extend(plugin.resources()?);
    Ok(listed)
}

/// The page with that URI, if the plugin has one.
pub(crate) fn read<P: Plugin>(plugin: &P, uri: &str) -> Option<ReadResult> {
    if !uri.starts_with("ui://") {
        return None;
    }
    let page = crate::tools::pages(plugin).into_iter().find(|page| page.uri == uri)?;
    let meta = page.meta();
    Some(ResourceContents::text(uri, page.document()).mime_type(MEDIA_TYPE).meta(&meta).into())
}

/// `meta` with the members of `more`, of which objects are combined.
pub(crate) fn merged(meta: Option<&str>, more: Value) -> Result<String, Error> {
    fn merge(into: &mut Value, more: Value) {
        match (into, more) {
            (Value::Object(into), Value::Object(more)) => {
                for (name, value) in more {
                    merge(into.entry(name).or_insert(Value::Null), value);
                }
            }
            (into, more) => *into = more,
        }
    }
    let mut all = meta.map_or(Ok(json!({})), serde_json::from_str)?;
    merge(&mut all, more);
    Ok(all.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_at_most_3_kibibytes_and_ends_no_element() {
        assert!(SCRIPT.len() <= 3 << 10, "{} bytes", SCRIPT.len());
        assert!(!SCRIPT.contains("</") && !SCRIPT.contains("<!--"), "it would end its own element");
    }

    #[test]
    fn other_languages_have_the_same_script() {
        let read = |copy: &str| {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(copy);
            std::fs::read_to_string(path).expect("a copy")
        };
        for copy in ["python/wharf_plugin/page_script.py", "typescript/src/page_script.js"] {
            assert!(read(copy).contains(SCRIPT), "{copy} differs");
        }
        assert_eq!(read("go/resources/page.js"), SCRIPT);
        // A string for each line, in which `??` could be the start of a trigraph.
        let lines: Vec<_> =
            SCRIPT.split_inclusive('\n').map(|line| format!("{line:?}").replace("??", "?\\?")).collect();
        let copy = read("c/src/page_script.c");
        assert!(copy.contains(&format!("[] =\n    {};", lines.join("\n    "))), "it should be:\n{}", lines.join("\n"));
    }

    #[test]
    fn the_script_comes_before_those_of_the_page() {
        let page = |html: &'static str| Page::new("ui://dice/face.html", html).document();
        assert_eq!(page("<p><script>a</script>"), format!("<p><script>{SCRIPT}</script>\n<script>a</script>"));
        assert_eq!(page("<p>"), format!("<p><script>{SCRIPT}</script>\n"));
        let own = Page::new("ui://dice/face.html", "<script>a</script>").own_script();
        assert_eq!(own.document(), "<script>a</script>");
    }

    #[test]
    fn objects_of_metadata_are_combined() {
        let meta =
            merged(Some(r#"{"a":1,"ui":{"visibility":["app"]}}"#), json!({ "ui": { "resourceUri": "ui://d/f" } }));
        let meta: Value = serde_json::from_str(&meta.expect("JSON")).expect("JSON");
        assert_eq!(meta, json!({ "a": 1, "ui": { "visibility": ["app"], "resourceUri": "ui://d/f" } }));
        assert!(merged(Some("{"), json!({})).is_err());
    }
}
