//! The names that MCP has for the cases of enums.

use super::Role;

impl Role {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}
