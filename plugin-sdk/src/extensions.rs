//! The extensions of a plugin: one run of `Plugin::extensions` either describes them or runs one
//! method, as [`crate::tools`] does with tools.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::abi::extensions as raw;
use crate::tools::parse;
use crate::{Call, Error, Plugin, Result};

/// Collects the extensions of `Plugin::extensions`.
///
/// ```
/// use wharf_plugin::*;
///
/// #[derive(Deserialize)]
/// struct Since {
///     version: u32,
/// }
///
/// struct Notes;
///
/// impl Plugin for Notes {
///     fn extensions(&self, extensions: &mut Extensions<'_>) {
///         extensions
///             .extension("com.example/sync", &json!({ "versions": [1] }))
///             .method("changes", |_, since: Since| Ok(json!({ "since": since.version, "changed": [] })));
///     }
/// }
///
/// export!(Notes: extensions);
/// let answer = testing::method(&Notes, "changes", json!({ "version": 3 })).unwrap();
/// assert_eq!(answer["since"], 3);
/// ```
pub struct Extensions<'a>(Visit<'a>);

enum Visit<'a> {
    Describe { offer: raw::Offer, refused: Option<String> },
    Run { name: &'a str, params: &'a str, call: &'a Call, outcome: Option<Result<String>> },
}

impl Extensions<'_> {
    /// Declares an extension of the protocol. `name` has a prefix, `vendor.example/name`;
    /// `settings` must serialise to a JSON object without null and fractions.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn extensions(extensions: &mut Extensions<'_>) {
    /// extensions.extension("com.example/sync", &json!({ "versions": [1, 2] }));
    /// # }
    /// ```
    pub fn extension(&mut self, name: &str, settings: &impl Serialize) -> &mut Self {
        self.declare(name, settings, |offer| &mut offer.extensions)
    }

    /// Declares an experimental capability. `name` is `[A-Za-z0-9_./-]{1,64}`; `settings` as for
    /// an extension.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn extensions(extensions: &mut Extensions<'_>) {
    /// extensions.experimental("fastSync", &json!({}));
    /// # }
    /// ```
    pub fn experimental(&mut self, name: &str, settings: &impl Serialize) -> &mut Self {
        self.declare(name, settings, |offer| &mut offer.experimental)
    }

    /// Adds a method that clients call as `<plugin>/<name>`. `name` is `[A-Za-z0-9_-]{1,64}`;
    /// the result of `run` must serialise to a JSON object. It cannot ask questions.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # fn extensions(extensions: &mut Extensions<'_>) {
    /// extensions.method("status", |_, _: NoArguments| Ok(json!({ "fresh": true })));
    /// # }
    /// ```
    pub fn method<P, R>(&mut self, name: &str, run: impl FnOnce(&Call, P) -> Result<R>) -> &mut Self
    where
        P: DeserializeOwned,
        R: Serialize,
    {
        match &mut self.0 {
            Visit::Run { name: wanted, params, call, outcome } if *wanted == name && outcome.is_none() => {
                let ran = parse(params).and_then(|params| run(call, params));
                *outcome = Some(ran.and_then(|result| Ok(serde_json::to_string(&result)?)));
            }
            Visit::Run { .. } => {}
            Visit::Describe { offer, .. } => offer.methods.push(name.into()),
        }
        self
    }

    fn declare(
        &mut self,
        name: &str,
        settings: &impl Serialize,
        list: impl FnOnce(&mut raw::Offer) -> &mut Vec<raw::Capability>,
    ) -> &mut Self {
        if let Visit::Describe { offer, refused } = &mut self.0 {
            match serde_json::to_string(settings) {
                Ok(settings) => list(offer).push(raw::Capability { name: name.into(), settings }),
                Err(error) => {
                    refused.get_or_insert_with(|| [name, ": ", &error.to_string()].concat());
                }
            }
        }
        self
    }
}

pub(crate) fn offer<P: Plugin>(plugin: &P) -> Result<raw::Offer> {
    let offer = raw::Offer { experimental: Vec::new(), extensions: Vec::new(), methods: Vec::new() };
    let mut extensions = Extensions(Visit::Describe { offer, refused: None });
    plugin.extensions(&mut extensions);
    match extensions.0 {
        Visit::Describe { offer, refused: None } => Ok(offer),
        Visit::Describe { refused: Some(reason), .. } => Err(Error::failed(reason)),
        Visit::Run { .. } => Err(Error::not_found()),
    }
}

pub(crate) fn run<P: Plugin>(plugin: &P, name: &str, params: &str, call: &Call) -> Result<String> {
    let mut extensions = Extensions(Visit::Run { name, params, call, outcome: None });
    plugin.extensions(&mut extensions);
    match extensions.0 {
        Visit::Run { outcome: Some(outcome), .. } => outcome,
        _ => Err(Error::not_found()),
    }
}
