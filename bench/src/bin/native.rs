//! The baseline: an MCP server on the official Rust SDK with the tools of the guest `echo`.
//! It loads nothing and isolates nothing.

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServerHandler, ServiceExt as _, schemars, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What to say back.
    message: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    /// Both numbers together.
    sum: i64,
}

struct Native {
    // Kept: the handler would otherwise build it again for each request.
    tools: ToolRouter<Self>,
}

#[tool_router]
impl Native {
    #[tool(description = "Says back what it is told.", annotations(read_only_hint = true))]
    fn echo(&self, Parameters(Echo { message }): Parameters<Echo>) -> String {
        message
    }

    #[tool(description = "Adds two integers.", annotations(read_only_hint = true))]
    fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> Result<Json<Sum>, String> {
        let sum = a.checked_add(b).ok_or("the sum does not fit in 64 bits")?;
        Ok(Json(Sum { sum }))
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Native {}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let server = Native { tools: Native::tool_router() }.serve(rmcp::transport::stdio()).await?;
    server.waiting().await?;
    Ok(())
}
