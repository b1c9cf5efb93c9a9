//! Builds whose interfaces are guessed from the sources, and corrected once by the plugin itself.

use std::path::PathBuf;

use wharf_report::Failure;

/// The end of one attempt. `W` is what the component exports and imports.
pub(super) enum Outcome<W> {
    Built(PathBuf),
    /// The plugin has these interfaces instead.
    OtherWorld(W),
}

/// Builds with what was guessed, and if the plugin has other interfaces, with those. `stated` is an
/// example of how they are stated.
pub(super) async fn corrected<W>(
    guessed: W,
    stated: &str,
    attempt: impl AsyncFn(&W) -> Result<Outcome<W>, Failure>,
) -> Result<PathBuf, Failure> {
    let right = match attempt(&guessed).await? {
        Outcome::Built(component) => return Ok(component),
        Outcome::OtherWorld(right) => right,
    };
    match attempt(&right).await? {
        Outcome::Built(component) => Ok(component),
        Outcome::OtherWorld(_) => {
            Err(Failure::new("build: the plugin has other interfaces each time that it is loaded")
                .hint(format!("state them in plugin.toml: {stated}, for example")))
        }
    }
}
