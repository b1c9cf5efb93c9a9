//! Writes the bindings of `wit/` that the wrappers for Go and C carry, or checks that they
//! are up to date. They are committed, so that building a plugin needs no generator.
//!
//! ```sh
//! cargo run -p wharf-bindings            # after a change of wit/
//! cargo run -p wharf-bindings -- --check
//! ```

mod c;
mod go;
mod interface;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Contents by path, from the repository's root.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => write(&generate()?),
        ["--check"] => match &stale(&generate()?)?[..] {
            [] => Ok(()),
            stale => bail!("bindings are not what wit/ gives: {}\nhint: cargo run -p wharf-bindings", stale.join(", ")),
        },
        _ => bail!("expected no arguments, or `--check`"),
    }
}

fn generate() -> Result<Files> {
    let interface = interface::Interface::read(&repository().join("wit"))?;
    let mut files = c::bindings(&interface)?;
    files.append(&mut go::bindings(&interface)?);
    Ok(files)
}

fn write(files: &Files) -> Result<()> {
    for (path, content) in files {
        let path = repository().join(path);
        let folder = path.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder)?;
        fs::write(&path, content).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

/// The committed files that differ from the generated ones.
fn stale(files: &Files) -> Result<Vec<String>> {
    let differs =
        |(path, content): &(&PathBuf, &Vec<u8>)| fs::read(repository().join(path)).ok().as_ref() != Some(content);
    Ok(files.iter().filter(differs).map(|(path, _)| path.display().to_string()).collect())
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(test)]
mod tests {
    #[test]
    fn committed_bindings_are_up_to_date() {
        let files = crate::generate().expect("bindings");
        assert!(files.len() > 10, "{}", files.len());
        let stale = crate::stale(&files).expect("committed files");
        assert!(stale.is_empty(), "{stale:?} are stale: cargo run -p wharf-bindings");
    }
}
