// UTF-8 conversion, which QuickJS lacks.

/** The bytes of a text; a lone surrogate becomes U+FFFD. */
export function encode(text) {
  const bytes = [];
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0);
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 0x3f));
    else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 0x3f), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
  }
  return new Uint8Array(bytes);
}

// By the first byte: the number of following bytes, and the bounds of the second.
function sequence(first) {
  if (first >= 0xc2 && first <= 0xdf) return [1, 0x80, 0xbf];
  if (first === 0xe0) return [2, 0xa0, 0xbf];
  if (first === 0xed) return [2, 0x80, 0x9f];
  if (first >= 0xe1 && first <= 0xef) return [2, 0x80, 0xbf];
  if (first === 0xf0) return [3, 0x90, 0xbf];
  if (first === 0xf4) return [3, 0x80, 0x8f];
  if (first >= 0xf1 && first <= 0xf3) return [3, 0x80, 0xbf];
  return null;
}

/** The text of bytes; each maximal invalid part becomes U+FFFD. */
export function decode(bytes) {
  const pieces = [];
  let units = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at++];
    let code = first;
    if (first >= 0x80) {
      code = 0xfffd;
      const form = sequence(first);
      if (form) {
        let [left, least, most] = form;
        let value = first & (0x3f >> left);
        while (left > 0 && at < bytes.length && bytes[at] >= least && bytes[at] <= most) {
          value = (value << 6) | (bytes[at++] & 0x3f);
          [left, least, most] = [left - 1, 0x80, 0xbf];
        }
        if (left === 0) code = value;
      }
    }
    units.push(code);
    // In pieces, since the length of an argument list is limited.
    if (units.length === 4096) {
      pieces.push(String.fromCodePoint(...units));
      units = [];
    }
  }
  pieces.push(String.fromCodePoint(...units));
  return pieces.join("");
}
