//! What a plugin may do: its grants, the secrets they name, denials and redaction.
//!
//! Enforces nothing; `imports` does.

pub(in crate::plugin) mod access;
pub(in crate::plugin) mod command;
pub(in crate::plugin) mod denial;
pub(in crate::plugin) mod extra;
pub(in crate::plugin) mod grants;
pub(in crate::plugin) mod outbound;
pub(in crate::plugin) mod pages;
pub(in crate::plugin) mod personal;
pub(in crate::plugin) mod redact;
pub(in crate::plugin) mod secret;
pub(in crate::plugin) mod template;
