//! How the commands in hints begin.

use wharf_report::shell_word;

use super::{Config, base};

impl Config {
    /// `wharf`, with `--config` unless the file is the one that is read without it: a command in a hint works as it
    /// is written, and reads these settings.
    pub fn program(&self) -> String {
        let default = base().map(|base| base.default_file());
        match &self.file {
            Some(file) if default.as_ref() != Some(file) => {
                let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                format!("wharf --config {}", shell_word(&file))
            }
            _ => "wharf".to_owned(),
        }
    }
}
