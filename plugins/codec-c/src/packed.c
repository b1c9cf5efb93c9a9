/* Bytes in fewer bytes: PackBits and varints; and sums over bytes. */
#include <string.h>

#include "codec.h"

/* ---- PackBits of TIFF: a count n from 0 to 127 and n+1 bytes, or from -1 to -127 and one
 * byte that comes 1-n times */

char *packbits_encode(wharf_call *call, const uint8_t *bytes, size_t size) {
  uint8_t *packed = wharf_alloc(call, size + size / 128 + 2);
  size_t to = 0;
  for (size_t i = 0; i < size;) {
    size_t same = 1, literal = 0;
    while (i + same < size && same < 128 && bytes[i + same] == bytes[i]) same++;
    if (same > 2) {
      packed[to++] = (uint8_t)(257 - same);
      packed[to++] = bytes[i];
      i += same;
      continue;
    }
    /* Up to where three in a row begin. */
    while (i + literal < size && literal < 128 &&
           !(i + literal + 2 < size && bytes[i + literal] == bytes[i + literal + 1] && bytes[i + literal] == bytes[i + literal + 2]))
      literal++;
    packed[to++] = (uint8_t)(literal - 1);
    memcpy(packed + to, bytes + i, literal);
    to += literal;
    i += literal;
  }
  return hex_encode(call, packed, to);
}

/* Where the byte is in the hex text. */
static decoded wrong(size_t byte, const char *error) {
  decoded none = {NULL, 0, error, 2 * byte};
  return none;
}

/* Unpacked, a text of a few bytes may be 64 times as long: more than this is refused. */
enum { MOST_UNPACKED = 1 << 20 };

decoded packbits_decode(wharf_call *call, const char *text, size_t size) {
  decoded packed = hex_decode(call, text, size);
  if (packed.error) return packed;
  size_t needed = 0;
  for (int pass = 0;; pass++) {
    decoded made = {pass ? wharf_alloc(call, needed + 1) : NULL, 0, NULL, 0};
    for (size_t i = 0; i < packed.size;) {
      uint8_t count = packed.bytes[i];
      size_t length = count < 128 ? count + 1u : 257u - count, taken = count < 128 ? length : 1;
      if (count == 128) {
        i++;
        continue;
      }
      if (packed.size - i - 1 < taken) return wrong(i, "announces more bytes than there are");
      if (made.size + length > MOST_UNPACKED) return wrong(i, "would make more than 1 MiB");
      if (pass && count < 128) memcpy(made.bytes + made.size, packed.bytes + i + 1, length);
      if (pass && count > 128) memset(made.bytes + made.size, packed.bytes[i + 1], length);
      made.size += length;
      i += 1 + taken;
    }
    if (pass) return made;
    needed = made.size;
  }
}

/* ---- varints */

size_t varint_encode(uint8_t bytes[10], uint64_t number) {
  size_t size = 0;
  for (; number > 127; number >>= 7) bytes[size++] = (uint8_t)(number | 128);
  bytes[size++] = (uint8_t)number;
  return size;
}

size_t varint_decode(const uint8_t *bytes, size_t size, uint64_t *number, const char **error) {
  *number = 0;
  for (size_t i = 0; i < size; i++) {
    if (i == 9 && bytes[i] > 1) {
      *error = "is more than 64 bits";
      return 0;
    }
    *number |= (uint64_t)(bytes[i] & 127) << (7 * i);
    if (bytes[i] < 128) return i + 1;
  }
  *error = "is the begin of a number without an end";
  return 0;
}

/* ---- sums */

uint32_t crc32_of(uint32_t polynomial, const uint8_t *bytes, size_t size) {
  uint32_t sum = ~0u;
  for (size_t i = 0; i < size; i++) {
    sum ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? polynomial : 0);
  }
  return ~sum;
}

uint32_t adler32_of(const uint8_t *bytes, size_t size) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < size; i++) {
    a = (a + bytes[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}
