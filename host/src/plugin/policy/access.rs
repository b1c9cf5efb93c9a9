//! The kinds of access that a plugin can be granted.

/// The kinds of access that are granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    Keyvalue,
    Http,
    Fs,
    Env,
    Config,
    Secrets,
    Elicit,
    Sample,
    Roots,
}

impl Access {
    /// A minimal configuration line that grants it.
    pub fn line(self) -> String {
        match self {
            Self::Http => "http = [\"https://HOST\"]".into(),
            Self::Fs => "fs = [{ host = \"PATH\", guest = \"/data\" }]".into(),
            _ => format!("{} = true", self.name()),
        }
    }

    /// As an argument of `wharf grant`.
    pub fn word(self) -> String {
        match self {
            Self::Http => "http=https://HOST".into(),
            Self::Fs => "read=PATH:/data".into(),
            _ => self.name().into(),
        }
    }

    /// Its key in `[plugins.NAME.grants]`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyvalue => "keyvalue",
            Self::Http => "http",
            Self::Fs => "fs",
            Self::Env => "env",
            Self::Config => "config",
            Self::Secrets => "secrets",
            Self::Elicit => "elicit",
            Self::Sample => "sample",
            Self::Roots => "roots",
        }
    }
}
