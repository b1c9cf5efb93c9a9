//! The lines of the author's files in a bundle, from its source map, for the stacks of errors.
//!
//! The format is that of ECMA-426.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::project::Project;

/// `files`, and `lines` as runs of four numbers: the first line in the bundle, the number of the file,
/// the first line in it, and how many lines follow one another in both. The author's files are those of
/// the project, without packages and the wrapper.
pub(super) fn lines(map: &[u8], folder: &Path, project: &Project) -> Value {
    let map: Value = serde_json::from_slice(map).unwrap_or_default();
    let sources: Vec<&str> =
        map["sources"].as_array().into_iter().flatten().map(|source| source.as_str().unwrap_or_default()).collect();
    let mut files: Vec<String> = Vec::new();
    let numbers: Vec<Option<usize>> = sources
        .iter()
        .map(|source| {
            files.push(own(source, folder, project)?);
            Some(files.len() - 1)
        })
        .collect();
    let mut runs: Vec<[usize; 4]> = Vec::new();
    for (line, source, original) in first_segments(map["mappings"].as_str().unwrap_or_default()) {
        let Some(file) = numbers.get(source).copied().flatten() else { continue };
        match runs.last_mut() {
            Some([first, of, start, count])
                if *of == file && *first + *count == line && *start + *count == original =>
            {
                *count += 1;
            }
            _ => runs.push([line, file, original, 1]),
        }
    }
    json!({ "files": files, "lines": runs.concat() })
}

/// The path of one of the author's files, in the project.
fn own(source: &str, folder: &Path, project: &Project) -> Option<String> {
    let mut path = PathBuf::new();
    for part in folder.join(source).components() {
        match part {
            Component::ParentDir => _ = path.pop(),
            _ => path.push(part),
        }
    }
    let path = path.strip_prefix(&project.dir).ok()?;
    let is_other = path.starts_with("dist") || path.starts_with(&project.wrapper);
    let is_package = path.iter().any(|part| part == "node_modules");
    (!is_other && !is_package).then(|| path.to_string_lossy().replace('\\', "/"))
}

/// The first source of each line: its number, and those of the source and of the line in it. Lines count
/// from one.
fn first_segments(mappings: &str) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    let (mut source, mut original) = (0i64, 0i64);
    for (at, line) in mappings.split(';').enumerate() {
        let mut is_first = true;
        for segment in line.split(',') {
            let Some([_, source_step, line_step, _]) = numbers(segment) else { continue };
            source += source_step;
            original += line_step;
            if let (true, Ok(source), Ok(line)) = (is_first, usize::try_from(source), usize::try_from(original)) {
                found.push((at + 1, source, line + 1));
            }
            is_first = false;
        }
    }
    found
}

/// The first four numbers of a segment, in base 64 with the sign in the lowest bit.
fn numbers(segment: &str) -> Option<[i64; 4]> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut found = [0; 4];
    let mut digits = segment.bytes().map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    for number in &mut found {
        let (mut value, mut shift) = (0i64, 0);
        loop {
            let digit = i64::try_from(digits.next()??).ok()?;
            value |= (digit & 31).checked_shl(shift)?;
            shift += 5;
            if digit & 32 == 0 {
                break;
            }
        }
        *number = if value & 1 == 1 { -(value >> 1) } else { value >> 1 };
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{lines, numbers};
    use crate::project::Project;

    #[test]
    fn numbers_of_a_segment() {
        assert_eq!(numbers("AAgBC"), Some([0, 0, 16, 1]));
        assert_eq!(numbers("ADF"), None);
        assert_eq!(numbers("A!AA"), None);
        assert_eq!(numbers("////////////////"), None);
    }

    #[test]
    fn runs_have_only_the_lines_of_the_author() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("plugin.toml"), "name = \"a\"\nlanguage = \"typescript\"\n").expect("a file");
        let project = Project::read(dir.path()).expect("a project");
        let folder = project.dir.join("dist/.build");
        let map =
            br#"{"sources":["../../wharf/src/a.js","../../plugin.ts","../../node_modules/x/y.js","../../../other.js"],
            "mappings":";AAAA;ACCA,CAAC;AACA,EAAE;;AAGF;ACHA;ACAA"}"#;
        let found = json!({ "files": ["plugin.ts"], "lines": [3, 0, 2, 2, 6, 0, 6, 1] });
        assert_eq!(lines(map, &folder, &project), found);
        assert_eq!(lines(b"no JSON", &folder, &project), json!({ "files": [], "lines": [] }));
    }
}
