//! The name and version of a client or of this server.
//! For people and logs only; no behaviour may depend on it.

use std::fmt::Display;

use serde::Serialize;
use serde_json::value::RawValue;

use super::error::ErrorObject;
use super::params;
use super::revision::Revision;

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
    /// Parses a client's self-description at `path`.
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

    /// Its wire form, with the members that `revision` has.
    pub fn shown(&self, revision: Revision) -> Shown<'_> {
        Shown {
            name: &self.name,
            version: &self.version,
            title: self.title.as_deref().filter(|_| revision.has_title()),
            description: self.description.as_deref().filter(|_| revision.has_icons()),
            website_url: self.website_url.as_deref().filter(|_| revision.has_icons()),
        }
    }
}

/// The wire's `Implementation` in one revision.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown<'a> {
    name: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    website_url: Option<&'a str>,
}
