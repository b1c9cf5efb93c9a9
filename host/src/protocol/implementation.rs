//! Who speaks: the name and version of a client or of this server.
//! Purely for people and logs; nothing may depend on it.

use std::fmt::Display;

use serde_json::value::RawValue;

use super::error::ErrorObject;
use super::params;
use super::revision::Revision;
use crate::json;

/// The wire's `Implementation`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Implementation {
    pub name: String,
    pub version: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub website_url: Option<String>,
}

impl Implementation {
    /// What a client says of itself; `path` is where it stood.
    pub(super) fn parse(raw: &RawValue, path: impl Display) -> Result<Self, ErrorObject> {
        let names = ["name", "version", "title", "description", "websiteUrl"];
        let object = params::object(Some(raw), &path)?;
        let members = params::members(params::required(object, &path)?.into(), names, &path)?;
        let mut texts = [const { None }; 5];
        for ((text, member), name) in texts.iter_mut().zip(members).zip(names) {
            *text = params::string(member, format_args!("{path}.{name}"))?.map(String::from);
        }
        let [name, version, title, description, website_url] = texts;
        Ok(Self {
            name: params::required(name, format_args!("{path}.name"))?,
            version: params::required(version, format_args!("{path}.version"))?,
            title,
            description,
            website_url,
        })
    }

    /// As JSON, with the members that `revision` has.
    pub fn to_json(&self, revision: Revision) -> String {
        let mut out = String::new();
        self.write(revision, &mut out);
        out
    }

    pub(super) fn write(&self, revision: Revision, out: &mut String) {
        out.push_str("{\"name\":");
        json::write_str(out, &self.name);
        out.push_str(",\"version\":");
        json::write_str(out, &self.version);
        let optional = [
            ("title", &self.title, revision.has_title()),
            ("description", &self.description, revision.has_icons()),
            ("websiteUrl", &self.website_url, revision.has_icons()),
        ];
        for (name, value, allowed) in optional {
            if let (Some(value), true) = (value, allowed) {
                out.push_str(&format!(",\"{name}\":"));
                json::write_str(out, value);
            }
        }
        out.push('}');
    }
}
