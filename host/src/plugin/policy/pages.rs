//! What the pages of a plugin may reach from the user's browser, past the plugin's own grants.
//!
//! Only decides what clients are told of a page; they enforce it.

use http::Uri;
use serde_json::{Map, Value};

use super::outbound::grant::HttpGrant;

/// What pages may have of what they ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pages {
    /// All of it.
    Declared,
    /// The origins that the plugin itself may use, and no permissions.
    #[default]
    Granted,
    /// Nothing.
    None,
}

impl Pages {
    /// The value in a configuration file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Granted => "granted",
            Self::None => "none",
        }
    }
}

/// The same with the plugin's grants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PageReach<'a> {
    Declared,
    Granted(&'a [HttpGrant]),
    None,
}

impl PageReach<'_> {
    /// Removes from `_meta.ui` what pages may not have. What is not known is removed too.
    pub fn limit(self, ui: &mut Map<String, Value>) {
        if self == Self::Declared {
            return;
        }
        // An origin of its own is a permission too: two plugins could name the same.
        ui.retain(|name, _| matches!(name.as_str(), "csp" | "prefersBorder"));
        if let Some(csp) = ui.get_mut("csp") {
            for origins in csp.as_object_mut().into_iter().flat_map(Map::values_mut) {
                if let Value::Array(origins) = origins {
                    origins.retain(|origin| origin.as_str().is_some_and(|origin| self.allows(origin)));
                }
            }
        }
    }

    /// The origins and permissions that [`PageReach::limit`] removes.
    pub(in crate::plugin) fn removed(self, ui: &Map<String, Value>) -> Vec<&str> {
        if self == Self::Declared {
            return Vec::new();
        }
        let csp = ui.get("csp").and_then(Value::as_object);
        let origins = csp.into_iter().flat_map(Map::values).filter_map(Value::as_array).flatten();
        let mut removed: Vec<&str> = Vec::new();
        for origin in origins.filter_map(Value::as_str).filter(|origin| !self.allows(origin)) {
            if !removed.contains(&origin) {
                removed.push(origin);
            }
        }
        let permissions = ui.get("permissions").and_then(Value::as_object);
        removed.extend(permissions.into_iter().flat_map(Map::keys).map(String::as_str));
        removed
    }

    /// Whether the plugin may send requests to all of that origin. Wildcards are in no grant.
    fn allows(self, origin: &str) -> bool {
        let Self::Granted(grants) = self else { return false };
        // A WebSocket is opened by a request.
        let url = origin.strip_prefix("ws").map(|rest| format!("http{rest}"));
        let Ok(uri) = url.as_deref().unwrap_or(origin).parse::<Uri>() else { return false };
        grants.iter().any(|grant| grant.covers_origin(&uri))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limited(reach: PageReach<'_>, ui: Value) -> Value {
        let Value::Object(mut ui) = ui else { panic!("not an object: {ui}") };
        reach.limit(&mut ui);
        ui.into()
    }

    #[test]
    fn pages_get_what_the_operator_lets_them_have() {
        let asked = json!({
            "csp": {
                "connectDomains": ["https://api.example.org", "wss://api.example.org", "https://other.example"],
                "resourceDomains": ["https://*.example.org", "https://api.example.org:8443"],
            },
            "permissions": { "camera": {} },
            "sandbox": ["allow-popups"],
            "prefersBorder": true,
        });
        let grants =
            ["https://api.example.org/", "https://other.example/v1"].map(|url| HttpGrant::new(url).expect("a URL"));
        assert_eq!(limited(PageReach::Declared, asked.clone()), asked);
        assert_eq!(
            limited(PageReach::Granted(&grants), asked.clone()),
            json!({
                "csp": {
                    "connectDomains": ["https://api.example.org", "wss://api.example.org"],
                    "resourceDomains": [],
                },
                "prefersBorder": true,
            })
        );
        let ui = asked.as_object().expect("an object");
        assert_eq!(PageReach::Declared.removed(ui), Vec::<&str>::new());
        let beyond = ["https://other.example", "https://*.example.org", "https://api.example.org:8443", "camera"];
        assert_eq!(PageReach::Granted(&grants).removed(ui), beyond);
        let nothing = json!({ "csp": { "connectDomains": [], "resourceDomains": [] }, "prefersBorder": true });
        assert_eq!(limited(PageReach::Granted(&[]), asked.clone()), nothing);
        assert_eq!(limited(PageReach::None, asked), nothing);
    }
}
