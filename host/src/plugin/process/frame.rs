//! Frames on the pipes between a server and its workers: a length of four bytes, little endian, and so many bytes.

use std::io::{self, Read, Write};

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of the length.
const LENGTH: usize = 4;
/// Bytes that are reserved before they have arrived.
const RESERVED: usize = 64 << 10;

/// A frame with these bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(LENGTH + bytes.len());
    frame.extend_from_slice(&length(bytes.len()));
    frame.extend_from_slice(bytes);
    frame
}

/// A frame with that text.
pub(super) fn of(value: &Value) -> Vec<u8> {
    of_bytes(value.to_string().as_bytes())
}

/// The next frame; `None`: there is none.
///
/// # Errors
/// If it is longer than `limit` says when it begins, or ends early.
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    limit: impl FnOnce() -> usize,
) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; LENGTH];
    match from.read_exact(&mut length).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = within(length, limit())?;
    let mut bytes = Vec::with_capacity(length.min(RESERVED));
    from.take(length as u64).read_to_end(&mut bytes).await?;
    whole(bytes, length).map(Some)
}

/// As [`read`], on a thread of its own.
///
/// # Errors
/// As [`read`].
pub(super) fn read_blocking(from: &mut impl Read, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; LENGTH];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = within(length, limit)?;
    let mut bytes = Vec::with_capacity(length.min(RESERVED));
    from.take(length as u64).read_to_end(&mut bytes)?;
    whole(bytes, length).map(Some)
}

/// # Errors
/// Those of the pipe.
pub(super) fn write_blocking(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    to.write_all(frame)?;
    to.flush()
}

fn length(bytes: usize) -> [u8; LENGTH] {
    // Longer ones are refused by who reads them.
    u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes()
}

fn within(length: [u8; LENGTH], limit: usize) -> io::Result<usize> {
    let length = u32::from_le_bytes(length) as usize;
    if length > limit {
        let why = format!("a frame of {length} bytes; the limit is {limit}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(length)
}

fn whole(bytes: Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    if bytes.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_are_read_as_they_were_written() {
        let mut pipe = [of_bytes(b"one"), of(&Value::from("two")), of_bytes(b"")].concat();
        for (frame, limit) in [(&b"one"[..], 3), (b"\"two\"", 5), (b"", 0)] {
            let mut rest = pipe.as_slice();
            assert_eq!(read_blocking(&mut rest, limit).expect("a frame").as_deref(), Some(frame));
            let mut again = pipe.as_slice();
            assert_eq!(read(&mut again, || limit).await.expect("a frame").as_deref(), Some(frame));
            assert_eq!(again, rest);
            pipe = rest.to_vec();
        }
        assert!(read(&mut pipe.as_slice(), || 1).await.expect("no frame").is_none());
    }

    #[tokio::test]
    async fn long_frames_and_cut_ones_are_refused() {
        let frame = of_bytes(b"four");
        assert!(read(&mut frame.as_slice(), || 3).await.is_err());
        assert!(read_blocking(&mut frame.as_slice(), 3).is_err());
        for cut in 5..frame.len() {
            assert!(read(&mut &frame[..cut], || 4).await.is_err());
            assert!(read_blocking(&mut &frame[..cut], 4).is_err());
        }
        // Nothing is reserved for what is only announced.
        assert!(read(&mut &u32::MAX.to_le_bytes()[..], || usize::MAX).await.is_err());
    }
}
