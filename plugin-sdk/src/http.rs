//! HTTP requests, if the plugin was granted them. Redirects are not followed.
//!
//! ```
//! use wharf_plugin::*;
//!
//! fn weather(_: &Call, _: NoArguments) -> Result<String> {
//!     let response = http::get("https://api.example.org/weather")?;
//!     Ok(response.ok()?.text().into_owned())
//! }
//! # struct Weather;
//! # impl Plugin for Weather {
//! #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("weather", "The weather", weather); }
//! # }
//! testing::serve(|request| http::Response::new(200, format!("{} is fine", request.url())));
//! let answer = testing::call(&Weather, "weather", json!({})).unwrap();
//! assert_eq!(answer.as_text(), "https://api.example.org/weather is fine");
//! ```

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::abi::http as raw;

#[cfg(target_family = "wasm")]
use crate::abi::http::fetch as exchange;
#[cfg(not(target_family = "wasm"))]
use crate::testing::exchange;

/// Why there is no response.
///
/// ```
/// use wharf_plugin::http::Error;
/// assert_eq!(Error::TooLarge(1024).to_string(), "the response has more than 1024 bytes");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No grant covers the request; the text names a grant that would.
    Denied(String),
    /// The request is invalid.
    Invalid(String),
    /// Name resolution, connection or TLS failed.
    Unreachable(String),
    /// The time limit was reached.
    Timeout,
    /// The response is larger than the host's limit, in bytes.
    TooLarge(u64),
    /// The server violated the protocol.
    Protocol(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Denied(why) | Self::Invalid(why) | Self::Unreachable(why) | Self::Protocol(why) => f.write_str(why),
            Self::Timeout => f.write_str("the request timed out"),
            Self::TooLarge(limit) => write!(f, "the response has more than {limit} bytes"),
        }
    }
}

impl std::error::Error for Error {}

impl From<raw::Error> for Error {
    fn from(error: raw::Error) -> Self {
        match error {
            raw::Error::Denied(why) => Self::Denied(why),
            raw::Error::Invalid(why) => Self::Invalid(why),
            raw::Error::Unreachable(why) => Self::Unreachable(why),
            raw::Error::Timeout => Self::Timeout,
            raw::Error::TooLarge(limit) => Self::TooLarge(limit),
            raw::Error::Protocol(why) => Self::Protocol(why),
        }
    }
}

/// Gets a URL.
///
/// ```
/// # use wharf_plugin::http;
/// fn page() -> wharf_plugin::Result<String> {
///     Ok(http::get("https://example.org/")?.text().into_owned())
/// }
/// ```
pub fn get(url: impl Into<String>) -> Result<Response, Error> {
    Request::new("GET", url).send()
}

/// Sends a request and waits for the whole response, whatever its status.
///
/// ```
/// # use wharf_plugin::http;
/// fn gone() -> wharf_plugin::Result<bool> {
///     Ok(http::fetch(http::Request::new("HEAD", "https://example.org/old"))?.status() == 410)
/// }
/// ```
pub fn fetch(request: Request) -> Result<Response, Error> {
    Ok(Response(exchange(&request.0)?))
}

/// A request.
///
/// ```
/// # use wharf_plugin::{http, json};
/// fn post() -> wharf_plugin::Result<u16> {
///     let request = http::Request::new("POST", "https://example.org/notes")
///         .header("authorization", "Bearer …")
///         .json(&json!({ "text": "milk" }))?;
///     Ok(request.send()?.status())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Request(raw::Request);

impl Request {
    /// `url` is absolute, `http:` or `https:`.
    ///
    /// ```
    /// wharf_plugin::http::Request::new("DELETE", "https://example.org/notes/1");
    /// ```
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self(raw::Request { method: method.into(), url: url.into(), headers: Vec::new(), body: None, timeout_ms: None })
    }

    /// Appends a header field.
    ///
    /// ```
    /// wharf_plugin::http::Request::new("GET", "https://example.org/").header("accept", "text/html");
    /// ```
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.0.headers.push(raw::Header { name: name.into(), value: value.into() });
        self
    }

    /// The body.
    ///
    /// ```
    /// wharf_plugin::http::Request::new("PUT", "https://example.org/notes/1").body("milk");
    /// ```
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.0.body = Some(body.into());
        self
    }

    /// A JSON body, with its media type.
    ///
    /// ```
    /// # use wharf_plugin::{http::Request, json};
    /// let request = Request::new("POST", "https://example.org/notes").json(&json!({ "text": "milk" }));
    /// assert!(request.is_ok());
    /// ```
    pub fn json(self, body: &impl Serialize) -> crate::Result<Self> {
        Ok(self.header("content-type", "application/json").body(serde_json::to_vec(body)?))
    }

    /// The time limit of the whole exchange; the host's own limit may be lower.
    ///
    /// ```
    /// # use std::time::Duration;
    /// wharf_plugin::http::Request::new("GET", "https://example.org/").timeout(Duration::from_secs(2));
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout_ms = Some(u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX));
        self
    }

    /// Its URL.
    ///
    /// ```
    /// # use wharf_plugin::http::Request;
    /// assert_eq!(Request::new("GET", "https://example.org/").url(), "https://example.org/");
    /// ```
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Sends it and waits for the whole response.
    ///
    /// ```
    /// # use wharf_plugin::http;
    /// fn status() -> Result<u16, http::Error> {
    ///     Ok(http::Request::new("GET", "https://example.org/").send()?.status())
    /// }
    /// ```
    pub fn send(self) -> Result<Response, Error> {
        fetch(self)
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn from_raw(raw: &raw::Request) -> Self {
        Self(raw.clone())
    }
}

/// A response.
///
/// ```
/// let response = wharf_plugin::http::Response::new(404, "no such page");
/// assert!(response.ok().is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Response(raw::Response);

impl Response {
    /// Creates a response, for a test.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::http::Response::new(200, "fine").status(), 200);
    /// ```
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self(raw::Response { status, headers: Vec::new(), body: body.into() })
    }

    /// Appends a header field, for a test.
    ///
    /// ```
    /// let response = wharf_plugin::http::Response::new(302, "").with_header("Location", "/");
    /// assert_eq!(response.header("location").as_deref(), Some("/"));
    /// ```
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.0.headers.push(raw::Header { name: name.into(), value: value.into() });
        self
    }

    /// The status.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::http::Response::new(204, "").status(), 204);
    /// ```
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// The first header field of that name, as text.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::http::Response::new(200, "").header("etag"), None);
    /// ```
    pub fn header(&self, name: &str) -> Option<Cow<'_, str>> {
        let field = self.0.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(&field.value))
    }

    /// The response itself if its status is 200 to 299, else an error.
    ///
    /// ```
    /// assert!(wharf_plugin::http::Response::new(200, "").ok().is_ok());
    /// ```
    pub fn ok(self) -> crate::Result<Self> {
        if (200..300).contains(&self.0.status) {
            return Ok(self);
        }
        Err(crate::Error::failed(["the server answered with status ", &self.0.status.to_string()].concat()))
    }

    /// The body as text; invalid UTF-8 is replaced.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::http::Response::new(200, "fine").text(), "fine");
    /// ```
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0.body)
    }

    /// The body as JSON.
    ///
    /// ```
    /// # use wharf_plugin::{Value, http::Response};
    /// let value: Value = Response::new(200, "[1]").json().unwrap();
    /// assert_eq!(value[0], 1);
    /// ```
    pub fn json<T: DeserializeOwned>(&self) -> crate::Result<T> {
        Ok(serde_json::from_slice(&self.0.body)?)
    }

    /// The body.
    ///
    /// ```
    /// assert_eq!(wharf_plugin::http::Response::new(200, "fine").bytes(), b"fine");
    /// ```
    pub fn bytes(&self) -> &[u8] {
        &self.0.body
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn into_raw(self) -> raw::Response {
        self.0
    }
}
