//! From a response's bytes to text that is read.

use htmd::HtmlToMarkdown;
use wharf_plugin::{Error, Result};

/// What nobody reads of a page.
const SKIPPED: [&str; 9] = ["script", "style", "noscript", "template", "svg", "iframe", "nav", "footer", "head"];

/// `kind` is the `Content-Type`; without one, the bytes decide.
pub(crate) fn readable(kind: &str, bytes: &[u8]) -> Result<String> {
    let (media, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    let media = media.trim().to_ascii_lowercase();
    let text = text(bytes, &parameters.to_ascii_lowercase());
    match media.as_str() {
        "text/html" | "application/xhtml+xml" => markdown(&text),
        "" if text.trim_start().starts_with('<') => markdown(&text),
        "" | "application/json" | "application/xml" | "application/javascript" => Ok(text),
        _ if media.starts_with("text/") || media.ends_with("+json") || media.ends_with("+xml") => Ok(text),
        _ => Err(Error::failed(format!("the page is no text but {media}"))),
    }
}

fn text(bytes: &[u8], parameters: &str) -> String {
    if parameters.contains("iso-8859-1") || parameters.contains("windows-1252") {
        // Latin-1 is the beginning of Unicode.
        return bytes.iter().copied().map(char::from).collect();
    }
    String::from_utf8_lossy(bytes).into_owned()
}

fn markdown(html: &str) -> Result<String> {
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
    Ok(converter.convert(html)?.trim().to_owned())
}
