//! Who this is by a key: the files `*.creds` and `*.nk` of NATS.
//!
//! A server sends a nonce, which is signed with the seed of an Ed25519 key. A file of `nsc` also has a JWT, by which the
//! server knows the account; one of `nk` has the seed alone, whose public key the server's configuration names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

const JWT: (&str, &str) = ("-----BEGIN NATS USER JWT-----", "------END NATS USER JWT------");
/// Letters of base32.
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// The first bits of public keys of users: their text begins with `U`.
const USER: u8 = 20 << 3;
/// Of a seed: two bytes say that it is one, and of a user; two are a checksum.
const SEED: usize = 2 + 32 + 2;

#[derive(Clone)]
pub(super) struct Credentials {
    pub(super) jwt: Option<String>,
    seed: [u8; 32],
}

impl Credentials {
    /// # Errors
    /// If the text has no seed of a user's key.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let jwt = text.split_once(JWT.0).and_then(|(_, rest)| rest.split_once(JWT.1)).map(|(jwt, _)| jwt.trim());
        if jwt.is_some_and(|jwt| !jwt.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err("its JWT has blanks");
        }
        let mut seeds = text.lines().map(str::trim).filter(|line| line.starts_with("SU"));
        let bytes = seeds.next().and_then(from_base32).filter(|bytes| bytes.len() == SEED);
        let bytes = bytes.ok_or("it has no seed of a user, which begins with SU")?;
        let (body, sum) = bytes.split_at(SEED - 2);
        if checksum(body).to_le_bytes() != sum {
            return Err("its seed has a letter that is wrong");
        }
        let seed = body[2..].try_into().map_err(|_| "its seed is too short")?;
        Ok(Self { jwt: jwt.map(str::to_owned), seed })
    }

    /// The signature of a nonce, and the public key, as the server is told them.
    pub(super) fn sign(&self, nonce: &str) -> Result<(String, String), String> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&self.seed).map_err(|error| error.to_string())?;
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(nonce.as_bytes()).as_ref());
        let mut public = vec![USER];
        public.extend_from_slice(pair.public_key().as_ref());
        public.extend(checksum(&public).to_le_bytes());
        Ok((signature, to_base32(&public)))
    }
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter)?;
        bits = bits << 5 | value as u32;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

fn to_base32(bytes: &[u8]) -> String {
    let (mut text, mut bits, mut count) = (String::new(), 0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            text.push(ALPHABET[(bits >> count) as usize & 31].into());
        }
    }
    if count > 0 {
        text.push(ALPHABET[(bits << (5 - count)) as usize & 31].into());
    }
    text
}

/// CRC-16 as of XMODEM.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_checked_and_their_public_keys_known() {
        assert_eq!(checksum(b"123456789"), 0x31c3);
        assert_eq!(from_base32(&to_base32(b"wharf 1")).expect("base32"), b"wharf 1");
        // As `nk` writes a seed of 32 bytes: a prefix of 13 bits, and a checksum.
        let mut bytes = vec![18 << 3 | USER >> 5, (USER & 31) << 3];
        bytes.extend([7; 32]);
        bytes.extend(checksum(&bytes).to_le_bytes());
        let seed = to_base32(&bytes);
        assert!(seed.starts_with("SU"), "{seed}");
        let creds = format!("{}\na.b.c\n{}\n\nNKEY\n{seed}\n", JWT.0, JWT.1);
        let known = Credentials::parse(&creds).expect("credentials");
        let (signature, public) = known.sign("nonce").expect("signed");
        assert_eq!((known.jwt.as_deref(), signature.len(), public.len()), (Some("a.b.c"), 86, 56));
        assert!(public.starts_with('U'), "{public}");
        assert_eq!(Credentials::parse(&seed).expect("a seed").jwt, None);
        let wrong = format!("{}A", &seed[..seed.len() - 1]);
        for text in ["", "SUAB", &wrong, &seed.to_lowercase(), "SAAB"] {
            assert!(Credentials::parse(text).is_err(), "{text}");
        }
    }
}
