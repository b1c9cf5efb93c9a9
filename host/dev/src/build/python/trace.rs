//! Python's traces, as the plugin's author reads them.

use std::path::Path;

/// The first line of one.
pub(super) const START: &str = "Traceback (most recent call last):";

/// Frames of the entry, of the wrapper and of the import system. Folders have the numbers that they have in the module
/// search path.
const OTHERS: [&str; 3] = ["  File \"/0/", "  File \"/2/", "  File \"<frozen "];
const PROJECT: &str = "  File \"/1/";

/// The trace without frames that are not the author's, and with the paths of the project's files.
pub(super) fn of_author(trace: &str, project: &Path) -> String {
    let project = format!("  File \"{}/", project.display());
    let (mut shown, mut is_left_out) = (Vec::new(), false);
    for line in trace.lines() {
        if line.starts_with("  File ") {
            is_left_out = OTHERS.iter().any(|other| line.starts_with(other));
        } else if !line.starts_with("  ") {
            is_left_out = false;
        }
        if !is_left_out {
            shown.push(line.replacen(PROJECT, &project, 1));
        }
    }
    shown.join("\n")
}

/// The error that a trace ends with. A text of several lines begins where the frames end.
pub(super) fn error(trace: &str) -> &str {
    let lines: Vec<&str> = trace.lines().collect();
    let last_frame = lines.iter().rposition(|line| line.starts_with("  File ")).unwrap_or_default();
    let mut rest = lines.iter().skip(last_frame + 1);
    rest.find(|line| !line.starts_with("  ")).or(lines.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{error, of_author};

    const TRACE: &str = "Traceback (most recent call last):\n  File \"/0/wharf_entry.py\", line 4, in <module>\n    \
        from plugin import plugin\n  File \"/1/plugin.py\", line 9, in <module>\n    @plugin.tool\n     ^^^^^\n  \
        File \"/2/wharf_plugin/plugin.py\", line 40, in tool\n    raise TypeError(\"no hint\")\nTypeError: no hint\n\
        for x";

    #[test]
    fn only_frames_of_the_author_are_shown() {
        assert_eq!(
            of_author(TRACE, Path::new("/p")),
            "Traceback (most recent call last):\n  File \"/p/plugin.py\", line 9, in <module>\n    @plugin.tool\n     \
             ^^^^^\nTypeError: no hint\nfor x"
        );
    }

    #[test]
    fn the_error_is_its_first_line() {
        assert_eq!(error(TRACE), "TypeError: no hint");
        assert_eq!(error("Traceback (most recent call last):\nMemoryError"), "MemoryError");
    }
}
