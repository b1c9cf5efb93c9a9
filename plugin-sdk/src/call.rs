//! The context of a call. Questions are in `ask`.

use std::cell::RefCell;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::abi::types as raw;
use crate::ask::Round;
use crate::host::sys;

/// The running call: its id, its time limit, its progress, and a way to
/// [ask](Call::confirm) the caller.
///
/// ```
/// use wharf_plugin::*;
///
/// fn copy(call: &Call, _: NoArguments) -> Result<String> {
///     for file in 0..3 {
///         if call.cancelled() {
///             return Err(Error::failed("given up"));
///         }
///         call.progress(f64::from(file), Some(3.0), "copying");
///     }
///     Ok("3 files copied".into())
/// }
/// # struct Files;
/// # impl Plugin for Files {
/// #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("copy", "Copies", copy); }
/// # }
/// # assert_eq!(testing::call(&Files, "copy", json!({})).unwrap().as_text(), "3 files copied");
/// ```
pub struct Call {
    pub(crate) context: raw::CallContext,
    pub(crate) round: RefCell<Round>,
}

/// A client feature that a question needs.
///
/// ```
/// use wharf_plugin::*;
/// fn remove(ask: &Call, _: NoArguments) -> Result<&'static str> {
///     if ask.can(Feature::Form) && !ask.confirm("Remove it?")? {
///         return Ok("kept");
///     }
///     Ok("removed")
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A form for the user.
    Form,
    /// A page for the user to visit.
    Visit,
    /// A question to the client's model.
    Sample,
    /// The same, with tools for the model.
    SampleTools,
    /// The same, with the context of the conversation.
    SampleContext,
    /// The folders that the client works in.
    Roots,
}

impl Call {
    pub(crate) fn new(context: raw::CallContext) -> Self {
        Self { context, round: RefCell::default() }
    }

    /// The host's id of this call, as in its log.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn id(call: &Call, _: NoArguments) -> Result<String> {
    ///     Ok(call.id().to_owned())
    /// }
    /// ```
    pub fn id(&self) -> &str {
        &self.context.id
    }

    /// The time that was left when the call began, until the host stops it.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn patience(call: &Call, _: NoArguments) -> Result<String> {
    ///     Ok(format!("{} s", call.time_left().as_secs()))
    /// }
    /// ```
    pub fn time_left(&self) -> Duration {
        Duration::from_millis(self.context.time_left_ms)
    }

    /// The request's `_meta`, deserialised; `None` if it is missing or of another type.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn trace(call: &Call, _: NoArguments) -> Result<String> {
    ///     let meta: Option<Map<String, Value>> = call.meta();
    ///     Ok(meta.map_or(0, |meta| meta.len()).to_string())
    /// }
    /// ```
    pub fn meta<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.context.meta.as_deref()?).ok()
    }

    /// Whether the client supports this.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn can_ask(call: &Call, _: NoArguments) -> Result<String> {
    ///     Ok(call.can(Feature::Form).to_string())
    /// }
    /// ```
    pub fn can(&self, feature: Feature) -> bool {
        self.context.client.contains(match feature {
            Feature::Form => raw::ClientFeatures::ELICIT_FORM,
            Feature::Visit => raw::ClientFeatures::ELICIT_URL,
            Feature::Sample => raw::ClientFeatures::SAMPLE,
            Feature::SampleTools => raw::ClientFeatures::SAMPLE_TOOLS,
            Feature::SampleContext => raw::ClientFeatures::SAMPLE_CONTEXT,
            Feature::Roots => raw::ClientFeatures::ROOTS,
        })
    }

    /// Reports progress: `progress` must increase; an empty message is not sent.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn work(call: &Call, _: NoArguments) -> Result<()> {
    ///     call.progress(1.0, Some(2.0), "half way");
    ///     Ok(())
    /// }
    /// ```
    pub fn progress(&self, progress: f64, total: Option<f64>, message: &str) {
        sys::progress(progress, total, (!message.is_empty()).then_some(message));
    }

    /// Whether the caller has cancelled. Results are discarded after that.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn wait(call: &Call, _: NoArguments) -> Result<&'static str> {
    ///     Ok(if call.cancelled() { "given up" } else { "still wanted" })
    /// }
    /// ```
    pub fn cancelled(&self) -> bool {
        sys::cancelled()
    }
}
