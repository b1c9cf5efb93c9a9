//! Base64 as others write it: with or without padding.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const INDIFFERENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const LENIENT: GeneralPurpose = GeneralPurpose::new(&STANDARD, INDIFFERENT);
const LENIENT_URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, INDIFFERENT);

pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    LENIENT.decode(text).ok()
}

/// The same in either alphabet.
pub(super) fn decoded_in_any(text: &str) -> Option<Vec<u8>> {
    decoded(text).or_else(|| LENIENT_URL.decode(text).ok())
}
