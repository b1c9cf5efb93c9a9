//! One entry of the grant `http`: which requests it covers, and which header fields the host adds.
//!
//! Only parses and compares; nothing is resolved or sent. There are no wildcards.

use std::fmt;

use http::{HeaderName, HeaderValue, Method, Uri};

use crate::net::address::{LOOPBACK, reach};
use crate::net::http::is_reserved;
use crate::net::target::{Host, Target, is_ambiguous, without_dots};
use crate::plugin::policy::template::SecretTemplate;

/// An entry of the grant.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpGrant {
    pub(in crate::plugin) target: Target,
    /// Without a trailing slash; empty for the whole host.
    path: String,
    methods: Vec<Method>,
    pub(in crate::plugin) private: bool,
    pub(in crate::plugin) headers: Vec<(HeaderName, HeaderTemplate)>,
}

impl HttpGrant {
    /// Allows GET and HEAD of a URL and paths below it, at public addresses.
    ///
    /// # Errors
    /// If it is not an absolute `https:` or `http:` URL, or has anything but host, port and path.
    pub fn new(url: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{why}: {url:?}");
        if url.contains(['*', '?', '#']) {
            return Err(wrong("a grant is a scheme, a host, an optional port and path, without patterns or a query"));
        }
        let uri: Uri = url.parse().map_err(|_| wrong("not a URL"))?;
        let target = Target::of(&uri).map_err(|why| wrong(&format!("not a URL for a grant, {why}")))?;
        let path = uri.path().trim_end_matches('/');
        if is_ambiguous(path) || without_dots(path).trim_end_matches('/') != path {
            return Err(wrong("its path must not have dot segments or encoded slashes"));
        }
        let methods = vec![Method::GET, Method::HEAD];
        Ok(Self { target, path: path.to_owned(), methods, private: false, headers: Vec::new() })
    }

    /// Allows these methods instead.
    ///
    /// # Errors
    /// If there is none, or one is not the method of a request to an origin server.
    pub fn methods(self, names: &[String]) -> Result<Self, String> {
        let parse = |name: &String| {
            let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
            let method = Method::from_bytes(name.as_bytes()).ok().filter(|method| plain && *method != Method::CONNECT);
            method.ok_or_else(|| format!("not a method, such as \"POST\": {name:?}"))
        };
        let methods = names.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        if methods.is_empty() { Err("methods: at least one is required".into()) } else { Ok(Self { methods, ..self }) }
    }

    /// Whether addresses that are not public are allowed too.
    pub fn private(self, private: bool) -> Self {
        Self { private, ..self }
    }

    /// Whether it is known that no request can be sent unless private addresses are allowed.
    pub fn lacks_private(&self) -> bool {
        !self.private && self.target.is_private()
    }

    /// Where it leads besides public addresses, in plain words; `None`: nowhere.
    pub fn reach(&self) -> Option<&'static str> {
        match &self.target.host {
            _ if !self.private => None,
            Host::Address(address) => reach(*address),
            Host::Name(_) if self.target.is_private() => Some(LOOPBACK),
            Host::Name(_) => Some("whatever address this name has, also this machine and those of its network"),
        }
    }

    /// Adds a header field that the host sets; `${NAME}` in it is replaced by a secret.
    ///
    /// # Errors
    /// If it is not a valid field, or one that belongs to the connection.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, String> {
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok().filter(|name| plain && !is_reserved(name));
        let parsed = parsed.ok_or_else(|| format!("not a header that can be set: {name:?}"))?;
        let template = HeaderTemplate::parse(value).ok_or_else(|| format!("not a header value: {value:?}"))?;
        self.headers.push((parsed, template));
        Ok(self)
    }

    /// The methods that it allows.
    pub(in crate::plugin) fn method_names(&self) -> Vec<&str> {
        self.methods.iter().map(Method::as_str).collect()
    }

    /// Where it leads: scheme, host, port unless it is the default one, and path. Two texts of one URL give the same.
    pub fn url(&self) -> String {
        format!("{}{}", self.target, self.path)
    }

    /// The values of its headers.
    pub fn templates(&self) -> impl Iterator<Item = &SecretTemplate> {
        self.headers.iter().map(|(_, template)| &template.0)
    }

    /// The secrets that its headers name.
    pub(in crate::plugin) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.templates().flat_map(SecretTemplate::secrets)
    }

    /// Whether all paths of an origin are covered, by some method.
    pub(in crate::plugin) fn covers_origin(&self, origin: &Uri) -> bool {
        self.path.is_empty() && Target::of(origin).is_ok_and(|target| target == self.target)
    }

    /// Whether a request is covered.
    pub(in crate::plugin) fn covers(&self, requested: &Requested) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        let path = self.path.is_empty()
            || !is_ambiguous(&requested.path) && requested.path.strip_prefix(&self.path).is_some_and(below);
        self.target == requested.target && path && self.methods.contains(&requested.method)
    }
}

/// As it is written in the configuration.
impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = format!("\"{}\"", self.url());
        let safe = self.methods == [Method::GET, Method::HEAD];
        if safe && !self.private && self.headers.is_empty() {
            return f.write_str(&url);
        }
        write!(f, "{{ url = {url}")?;
        if !safe {
            let methods: Vec<String> = self.methods.iter().map(|method| format!("\"{method}\"")).collect();
            write!(f, ", methods = [{}]", methods.join(", "))?;
        }
        if self.private {
            f.write_str(", private = true")?;
        }
        if !self.headers.is_empty() {
            let field = |(name, value): &(HeaderName, HeaderTemplate)| format!("{name} = \"{value}\"");
            let fields: Vec<String> = self.headers.iter().map(field).collect();
            write!(f, ", headers = {{ {} }}", fields.join(", "))?;
        }
        f.write_str(" }")
    }
}

/// Method, target and path of a request, normalized for comparison.
#[derive(Debug)]
pub(in crate::plugin) struct Requested {
    pub(in crate::plugin) target: Target,
    /// Without dot segments.
    pub(in crate::plugin) path: String,
    pub(in crate::plugin) method: Method,
}

impl Requested {
    pub(in crate::plugin) fn of(method: &Method, uri: &Uri) -> Result<Self, &'static str> {
        Ok(Self { target: Target::of(uri)?, path: without_dots(uri.path()), method: method.clone() })
    }

    /// The smallest grant that would cover it.
    pub(in crate::plugin) fn grant(&self, private: bool) -> HttpGrant {
        let safe = vec![Method::GET, Method::HEAD];
        let methods = if safe.contains(&self.method) { safe } else { vec![self.method.clone()] };
        HttpGrant { target: self.target.clone(), path: String::new(), methods, private, headers: Vec::new() }
    }
}

/// A template for the value of a header field.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plugin) struct HeaderTemplate(SecretTemplate);

impl HeaderTemplate {
    fn parse(text: &str) -> Option<Self> {
        let template = SecretTemplate::parse(text)?;
        let is_plain = |text: &str| HeaderValue::from_str(text).is_ok() && !text.contains(['"', '\\']);
        let all_plain = template.texts().all(is_plain);
        all_plain.then_some(Self(template))
    }

    /// The value; `None` if a secret is not available.
    pub(in crate::plugin) fn fill<'a>(&self, secret: impl Fn(&str) -> Option<&'a str>) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(self.0.fill(secret)?).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Display for HeaderTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
