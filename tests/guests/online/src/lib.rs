//! Sends requests through both of the host's front ends, and passes the response on through every
//! channel of a plugin.

#[cfg(target_family = "wasm")]
mod outgoing;

use wharf_plugin::*;

struct Online;

impl Plugin for Online {
    fn tools(&self, tools: &mut Tools<'_>) {
        tools.add("fetch", "Sends a request through wharf:plugin/http.", |_, wanted: Wanted| fetch(&wanted));
        tools.add("tell", "Sends a request, and says what came back in every way.", tell);
        tools.add("fail", "Sends a request, and fails with what came back.", |_, wanted: Wanted| {
            Err::<String, _>(Error::failed(fetch(&wanted)?))
        });
        #[cfg(target_family = "wasm")]
        tools.add("outgoing", "Sends a request through wasi:http.", |_, wanted: outgoing::Wanted| {
            outgoing::send(&wanted)
        });
    }
}

export!(Online);

#[derive(Deserialize, JsonSchema)]
struct Wanted {
    #[serde(default = "get")]
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body: Option<String>,
}

fn get() -> String {
    "GET".into()
}

/// The status, the header fields that tests need, and the body.
fn fetch(wanted: &Wanted) -> Result<String> {
    let mut request = http::Request::new(&wanted.method, &wanted.url);
    for (name, value) in &wanted.headers {
        request = request.header(name, value.as_str());
    }
    if let Some(body) = &wanted.body {
        request = request.body(body.as_str());
    }
    let response = request.send()?;
    let location = response.header("location").unwrap_or_default().into_owned();
    Ok(format!("{} {location}\n{}", response.status(), response.text()))
}

fn tell(call: &Call, wanted: Wanted) -> Result<Json<Value>> {
    let text = fetch(&wanted)?;
    log::info(&text);
    log::data(log::Level::Warning, "online", &json!({ "said": text }));
    call.progress(1.0, None, &text);
    println_of_a_guest(&text);
    Ok(Json(json!({ "said": text, "again": [text] })))
}

/// A guest's stdout is written to the host's log.
#[allow(clippy::print_stdout)]
fn println_of_a_guest(text: &str) {
    println!("{text}");
}
