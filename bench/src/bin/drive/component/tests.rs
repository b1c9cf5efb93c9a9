use super::{leb128, with_new_digest, with_section};

#[test]
fn a_section_is_its_id_size_and_bytes() {
    let extended = with_section(b"\0asm\x0d\0\x01\0", 7, b"xyz");
    assert_eq!(extended, b"\0asm\x0d\0\x01\0\x07\x03xyz");
}

#[test]
fn the_custom_section_has_a_name() -> std::io::Result<()> {
    let extended = with_new_digest(b"component")?;
    assert_eq!(&extended[..17], b"component\x00\x16\x05bench");
    assert_eq!(extended.len(), 17 + 16);
    Ok(())
}

#[test]
fn sizes_are_leb128() {
    let of = |n| {
        let mut bytes = Vec::new();
        leb128(n, &mut bytes);
        bytes
    };
    assert_eq!(of(127), [0x7f]);
    assert_eq!(of(128), [0x80, 0x01]);
    assert_eq!(of(300), [0xac, 0x02]);
}

#[test]
fn each_digest_is_new() -> std::io::Result<()> {
    assert_ne!(with_new_digest(b"x")?, with_new_digest(b"x")?);
    Ok(())
}
