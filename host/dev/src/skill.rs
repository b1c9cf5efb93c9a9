//! `wharf new --skill`: creates a skill that passes `wharf check`.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use wharf_report::{Failure, NAME, ShowPath as _, message, shell_word};

use crate::new::{require_empty, write_new};

/// The longest name, in bytes.
const MAX: usize = 64;

const TEMPLATE: &str = "---
name: {{name}}
description: Says what the skill is for, and when to use it. A model reads this to decide whether to read the rest.
---

# {{name}}

Write here what to do, step by step, and which tools to use for it: a tool `add` of the plugin `math` is `math_add`.

Put details that are not always needed into files of their own, and say when to read them: [details](references/details.md).
";

const DETAILS: &str = "# Details

Whatever is needed only sometimes.
";

/// Whether a skill may have that name. The server has the same rule; a test compares the two.
pub fn is_skill_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= MAX && name.split('-').all(is_part)
}

pub(crate) fn run(name: &str, dir: Option<PathBuf>) -> Result<ExitCode, Failure> {
    if !is_skill_name(name) {
        return Err(Failure::usage(format!(
            "create the skill: its name must be 1 to {MAX} of a-z, 0-9 and single - between them: {name:?}"
        )));
    }
    let dir = dir.unwrap_or_else(|| PathBuf::from(name));
    if dir.file_name().is_none_or(|last| last != name) {
        return Err(Failure::usage(format!(
            "create the skill: its folder must have its name, {name}: {}",
            dir.shown()
        ))
        .hint(format!("write --dir {}", shell_word(&dir.with_file_name(name)))));
    }
    require_empty(&dir)?;
    let failed = |error: io::Error| Failure::new(format!("create the skill: {error}: {}", dir.shown()));
    write_new(&dir.join("SKILL.md"), TEMPLATE.replace("{{name}}", name).as_bytes()).map_err(failed)?;
    write_new(&dir.join("references/details.md"), DETAILS.as_bytes()).map_err(failed)?;
    let folder = shell_word(&dir);
    message(&format!(
        "created {NAME}{}{NAME:#}: the skill {name}. Write its SKILL.md, then check it:\n  wharf check {folder}\n\
         A server serves it once it is in the folder skills of its plugin folder; one that is in the folder skills of a \
         plugin's project is packed into the plugin by wharf build.",
        dir.shown()
    ));
    Ok(ExitCode::SUCCESS)
}
