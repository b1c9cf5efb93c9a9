//! Ids that are drawn at random.

/// That many random bytes in hexadecimal.
///
/// # Errors
/// If the system's random number generator fails.
pub(crate) fn random_id<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut id = [0; BYTES];
    getrandom::fill(&mut id)?;
    Ok(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
