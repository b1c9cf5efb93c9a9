//! A tool that gets a page of the web in a form that models read. Where it may go is the
//! host's to say, request by request.

mod page;
#[cfg(test)]
mod tests;

use fluent_uri::{Uri, UriRef};
use wharf_plugin::*;

struct Fetch;

impl Plugin for Fetch {
    fn tools(&self, tools: &mut Tools) {
        tools
            .add(
                "fetch",
                "Gets a page of the web and gives it as Markdown. Text and JSON are given as they are. \
                 Use it to read what a URL leads to.",
                fetch,
            )
            .title("Fetch a page")
            .read_only()
            .open_world(true);
    }
}

export!(Fetch);

/// Redirects that are followed one after the other.
const REDIRECTS: usize = 5;
/// Bytes of a page. Ten times as many are needed while it is turned into Markdown.
const PAGE: usize = 4 << 20;

#[derive(Deserialize, JsonSchema)]
struct Wanted {
    /// Absolute, https: or http:.
    url: String,
    /// The most that is given of the page.
    #[schemars(range(min = 1, max = 200_000))]
    #[serde(default = "most")]
    max_characters: usize,
}

fn most() -> usize {
    20_000
}

fn fetch(_: &Call, wanted: Wanted) -> Result<String> {
    let url = Uri::parse(wanted.url).map_err(|_| Error::invalid("/url", "is not an absolute URL"))?;
    let response = follow(url)?.ok()?;
    if response.bytes().len() > PAGE {
        return Err(Error::failed(format!("the page has {} bytes, of {PAGE} at most", response.bytes().len())));
    }
    let kind = response.header("content-type").unwrap_or_default();
    Ok(cut(page::readable(&kind, response.bytes())?, wanted.max_characters))
}

/// Gets a URL, and what it redirects to; the host looks at each of them.
fn follow(url: Uri<String>) -> Result<http::Response> {
    let mut url = url.with_fragment(None);
    for _ in 0..=REDIRECTS {
        let request = http::Request::new("GET", url.as_str()).header("accept", "text/html, text/*, application/json");
        let response = request.header("user-agent", "wharf-fetch").send()?;
        let location = match response.status() {
            301..=303 | 307 | 308 => response.header("location").map(|location| location.into_owned()),
            _ => None,
        };
        let Some(location) = location else { return Ok(response) };
        let next = UriRef::parse(location).map_err(|_| Error::failed("the page redirects to what is no URL"))?;
        let next = next.resolve_against(&url).map_err(|_| Error::failed("the page redirects to nowhere"))?;
        url = next.with_fragment(None);
    }
    Err(Error::failed(format!("the page redirects more than {REDIRECTS} times")))
}

/// The beginning of a text, and how much there is of it.
fn cut(text: String, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    format!("{}\n\n[cut: {most} of {} characters]", &text[..end], text.chars().count())
}
