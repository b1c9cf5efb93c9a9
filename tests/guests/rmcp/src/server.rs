//! What the server offers.

use rmcp::handler::server::tool::InputResponses;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams, ElicitationSchema,
    InputRequest, InputRequiredResult, ListResourcesResult, PaginatedRequestParams, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, prompt, prompt_handler, prompt_router, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const ABOUT: &str = "about://rmcp";

pub(crate) struct Server;

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text to look at
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Counts {
    words: usize,
    characters: usize,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Name {
    /// Your name
    name: String,
}

#[tool_router]
impl Server {
    /// Count the words and characters of a text
    #[tool(annotations(read_only_hint = true))]
    fn count(&self, Parameters(Text { text }): Parameters<Text>) -> Json<Counts> {
        Json(Counts { words: text.split_whitespace().count(), characters: text.chars().count() })
    }

    /// Fail, always
    #[tool]
    fn fail(&self) -> Result<String, String> {
        Err("this tool always fails".into())
    }

    /// Greet the user by a name that they are asked for
    #[tool]
    fn greet(&self, InputResponses(answers): InputResponses) -> Result<CallToolResponse, ErrorData> {
        let Some(answer) = answers.as_ref().and_then(|answers| answers.get("name")) else {
            let form = ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: "Who are you?".into(),
                requested_schema: ElicitationSchema::from_type::<Name>()
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?,
            };
            let question = InputRequest::Elicitation(ElicitRequest::new(form));
            return Ok(InputRequiredResult::from_input_requests([("name".into(), question)].into()).into());
        };
        let text = match answer["content"]["name"].as_str() {
            Some(name) if answer["action"] == "accept" => format!("Hello, {name}!"),
            _ => "Hello, whoever you are!".into(),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

#[prompt_router]
impl Server {
    /// Ask for a summary of a text
    #[prompt]
    fn summary(&self, Parameters(Text { text }): Parameters<Text>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Summarize this in one sentence:\n\n{text}"))]
    }
}

#[tool_handler]
#[prompt_handler]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let about = Resource::new(ABOUT, "about").with_description("What this server is").with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![about]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != ABOUT {
            return Err(ErrorData::resource_not_found(format!("no resource {}", request.uri), None));
        }
        let about = ResourceContents::text("A server of the official Rust SDK, as a component.", ABOUT);
        Ok(ReadResourceResult::new(vec![about.with_mime_type("text/plain")]).into())
    }
}
