//! `_meta` of resources. What it says of a page is limited to what pages of the plugin may reach.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::content::meta;
use crate::json::{self, Object};
use crate::plugin::PageReach;
use crate::protocol::Revision;

/// The member that clients read what a page asks for from.
const UI: &str = "ui";
/// Begins members such as `openai/widgetCSP` and `openai/widgetDomain`.
const OPENAI: &str = "openai/widget";

pub(super) struct PageMeta<'a> {
    own: Object<'a>,
    /// In place of the member, if that is not sent as it is.
    ui: Option<Value>,
}

impl<'a> PageMeta<'a> {
    /// `meta` was checked when it left the sandbox.
    pub(super) fn new(revision: Revision, text: Option<&'a str>, reach: PageReach<'_>) -> Option<Box<Self>> {
        let own = meta(revision, text)?;
        // Other dialects say the same in members of their own, which are not limited one by one.
        let own = if reach == PageReach::Declared { own } else { own.filtered(|name| !is_of_other_dialect(name)) };
        let ui = own.iter().find(|(name, _)| name == UI).filter(|_| reach != PageReach::Declared).map(|(_, ui)| {
            let mut ui = json::tree(ui.get(), json::MAX_DEPTH).unwrap_or_default();
            if let Value::Object(ui) = &mut ui {
                reach.limit(ui);
            }
            ui
        });
        // Most pieces of content have none, and should not be larger for it.
        Some(Box::new(Self { own, ui }))
    }
}

/// Whether a member says what a page may reach, for clients that follow another dialect.
fn is_of_other_dialect(name: &str) -> bool {
    name.get(..OPENAI.len()).is_some_and(|start| start.eq_ignore_ascii_case(OPENAI))
}

impl Serialize for PageMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.own.iter() {
            match &self.ui {
                Some(ui) if name == UI => map.serialize_entry(name, ui)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}
