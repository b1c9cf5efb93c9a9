//! The files of the page, which are the same for everyone.

use http::{Method, StatusCode};

use super::answer::{Refused, Response, whole};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";
const STYLE: &str = "text/css; charset=utf-8";

/// A file of `host/page/`, by its path.
macro_rules! file {
    ($path:literal, $kind:ident) => {
        ($path, $kind, include_str!(concat!("../../../page/", $path)))
    };
}

/// Names, media types and texts.
const FILES: [(&str, &str, &str); 17] = [
    file!("index.html", HTML),
    file!("icon.svg", PICTURE),
    file!("page.css", STYLE),
    file!("page.js", SCRIPT),
    file!("api.js", SCRIPT),
    file!("dom.js", SCRIPT),
    file!("format.js", SCRIPT),
    file!("json.js", SCRIPT),
    file!("plugins.js", SCRIPT),
    file!("plugin.js", SCRIPT),
    file!("review.js", SCRIPT),
    file!("calls.js", SCRIPT),
    file!("approvals.js", SCRIPT),
    file!("try.js", SCRIPT),
    file!("form.js", SCRIPT),
    file!("answer.js", SCRIPT),
    file!("graphs.js", SCRIPT),
];

/// # Errors
/// 404 if there is no such file.
pub(super) fn respond(method: &Method, path: &str) -> Result<Response, Refused> {
    if method != Method::GET && method != Method::HEAD {
        return Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "use GET"));
    }
    let name = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
    let found = FILES.iter().find(|(own, ..)| *own == name);
    let (_, kind, text) = found.ok_or_else(|| Refused::new(StatusCode::NOT_FOUND, "find that file"))?;
    Ok(whole(StatusCode::OK, kind, *text))
}
