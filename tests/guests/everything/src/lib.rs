//! One of each feature of a plugin, for tests of the protocol. Names and texts that begin with `test`
//! are required by MCP's conformance suite.

mod apps;
mod asking;
mod content;
mod prompts;
mod tasks;
mod telling;

use std::time::{Duration, SystemTime};

use wharf_plugin::*;

struct Everything;

impl Plugin for Everything {
    fn tools(&self, tools: &mut Tools) {
        apps::add(tools);
        content::add(tools);
        telling::add(tools);
        asking::add(tools);
        tasks::add(tools);
    }

    fn resources(&self) -> Result<Vec<Resource>> {
        Ok(vec![
            Resource::new("test://static-text", "Static text")
                .title("A text")
                .description("A text that never changes")
                .mime_type("text/plain")
                .size(TEXT.len() as u64)
                .audience([Role::User, Role::Assistant])
                .priority(0.5)
                .last_modified("2026-11-20T10:00:00Z")
                .icon(Icon::new("https://example.org/text.svg").mime_type("image/svg+xml").size("any")),
            Resource::new("test://static-binary", "Static picture")
                .description("One red pixel")
                .mime_type("image/png")
                .size(PIXEL.len() as u64),
            Resource::new("test://watched-resource", "Watched")
                .description("Has new contents whenever test_update_resource says so")
                .mime_type("text/plain"),
            Resource::new("test://listed", "Listed").description(listed()),
            Resource::new("test://folder", "Folder").description("Two contents in one read"),
            apps::listed(),
        ])
    }

    fn resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        Ok(vec![
            ResourceTemplate::new("test://template/{id}/data", "Template")
                .title("By number")
                .description("Data by its number")
                .mime_type("application/json")
                .audience([Role::Assistant])
                .priority(1.0),
        ])
    }

    fn read_resource(&self, uri: &str, ask: &Call) -> Result<ReadResult> {
        let contents = match uri {
            "test://static-text" => {
                let text = ReadResult::from(ResourceContents::text(uri, TEXT).mime_type("text/plain"));
                return Ok(text.cache_for(Duration::from_secs(60), CacheScope::Public));
            }
            "test://static-binary" => {
                let picture = ReadResult::from(ResourceContents::bytes(uri, PIXEL).mime_type("image/png"));
                return Ok(picture.cache_for(Duration::MAX, CacheScope::Private));
            }
            "test://watched-resource" => ResourceContents::text(uri, listed()).mime_type("text/plain"),
            apps::PAGE => return Ok(apps::read()),
            "test://listed" => ResourceContents::text(uri, "listed"),
            "test://folder" => {
                let inside = |name: &str, text: &str| ResourceContents::text(format!("{uri}/{name}"), text);
                return Ok(vec![inside("a", "first"), inside("b", "second")].into());
            }
            "test://template/asked/data" => {
                let agreed = ask.confirm("May it be read?")?;
                ResourceContents::text(uri, json!({ "agreed": agreed }).to_string()).mime_type("application/json")
            }
            // A URI of another plugin.
            "test://template/foreign/data" => ResourceContents::text("notes://1", "forged"),
            "test://template/broken/data" => return Err(Error::failed("the data is broken")),
            _ => match uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data")) {
                Some(id) => {
                    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                    ResourceContents::text(uri, data.to_string()).mime_type("application/json")
                }
                None => return Err(Error::not_found()),
            },
        };
        Ok(ReadResult::from(contents).meta(&json!({ "example.org/read": true })))
    }

    fn prompts(&self, prompts: &mut Prompts) {
        prompts::add(prompts);
    }

    fn complete(&self, typed: &Typed) -> Result<Completion> {
        Ok(match (&typed.subject, typed.argument.as_str()) {
            (Subject::Prompt(name), "arg1") if name == "test_prompt_with_arguments" => {
                Completion::from(["paris", "park", "party", "rome"]).starting_with(&typed.value)
            }
            // Depends on the argument given before.
            (Subject::Prompt(name), "arg2") if name == "test_prompt_with_arguments" => {
                Completion::from(typed.given.iter().map(|(name, value)| format!("{name}-{value}"))).of(Some(1000))
            }
            (Subject::ResourceTemplate(template), "id") if template == "test://template/{id}/data" => {
                Completion::from((0..200).map(|number| number.to_string())).starting_with(&typed.value)
            }
            (Subject::Prompt(name), _) if name == "test_simple_prompt" => Completion::default(),
            _ => return Err(Error::not_found()),
        })
    }

    fn extensions(&self, extensions: &mut Extensions) {
        extensions
            .extension("com.example/test", &json!({ "versions": [1, 2] }))
            .experimental("test.thing", &json!({ "on": true }))
            .method("echo", |call, params: Echo| match params.answer {
                Some(answer) => Ok(answer),
                None => Ok(json!({ "params": params.rest, "meta": call.meta::<Value>() })),
            })
            .method("fail", |_, _: NoArguments| Err::<(), _>(Error::failed("there is nothing")));
    }
}

export!(Everything: tools, resources, prompts, completions, extensions);

#[derive(Deserialize)]
struct Echo {
    /// The whole result; without it, what came.
    answer: Option<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

const TEXT: &str = "This is the content of the static text resource.";

/// One red pixel.
const PIXEL: &[u8] = include_bytes!("pixel.png");

/// Two silent samples.
const SILENCE: &[u8] = include_bytes!("silence.wav");

/// Differs each time, so that a list with it really changes.
fn listed() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("Listed at {}", since.as_nanos())
}
