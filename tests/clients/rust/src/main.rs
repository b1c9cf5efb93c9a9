//! The official Rust client signs in and calls a tool.
//!
//!     oauth-client URL WAY FLOW ERA ISSUER
//!
//! A program of `oauth.mjs`, which says what is printed and read.

use std::error::Error;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthorizationRequest, ClientCredentialsConfig, OAuthState};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _};

const REDIRECT: &str = "http://localhost:3030/callback";
const MODERN: &str = "2026-07-28";

fn ask(question: &str) -> Result<String, Box<dyn Error>> {
    println!("{question}");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Without a user. Its secret is in the body.
fn machine(url: &str) -> ClientCredentialsConfig {
    ClientCredentialsConfig::ClientSecret {
        client_id: "machine-by-body".into(),
        client_secret: "machine-by-body-0123456789abcdef0123456789abcdef".into(),
        scopes: vec!["mcp".into()],
        resource: Some(url.into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, _, flow, era, _] = arguments.as_slice() else { return Err("URL WAY FLOW ERA ISSUER are needed".into()) };
    let mut state = OAuthState::new(url, None).await?;
    if flow == "machine" {
        state.authenticate_client_credentials(machine(url)).await?;
    } else {
        state.start_authorization(AuthorizationRequest::new(REDIRECT).with_client_name("tests")).await?;
        let led_to = ask(&format!("open {}", state.get_authorization_url().await?))?;
        state.handle_callback_url(&led_to).await?;
    }
    let manager = state.into_authorization_manager().ok_or("there is no authorization")?;
    let client = AuthClient::new(reqwest::Client::default(), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let lifecycle = match era.as_str() {
        MODERN => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
        _ => ClientLifecycleMode::Initialize,
    };
    let client = ().serve_with_lifecycle(transport, lifecycle).await?;
    loop {
        let arguments = [("message".to_owned(), "x".into())].into_iter().collect();
        let result = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
        let text = &result.content[0].as_text().ok_or("the result is no text")?.text;
        if ask(&format!("called {text}"))? == "end" {
            break;
        }
    }
    client.cancel().await?;
    Ok(())
}
