/* Bytes as text: hex, base32 and base58. */
#include <string.h>

#include "codec.h"

static decoded wrong(size_t at, const char *error) {
  decoded none = {NULL, 0, error, at};
  return none;
}

char *hex_encode(wharf_call *call, const uint8_t *bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  char *text = wharf_alloc(call, 2 * size + 1);
  for (size_t i = 0; i < size; i++) {
    text[2 * i] = digits[bytes[i] >> 4];
    text[2 * i + 1] = digits[bytes[i] & 15];
  }
  text[2 * size] = 0;
  return text;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

decoded hex_decode(wharf_call *call, const char *text, size_t size) {
  decoded made = {wharf_alloc(call, size / 2 + 1), size / 2, NULL, 0};
  for (size_t i = 0; i < size; i++) {
    int digit = hex_digit(text[i]);
    if (digit < 0) return wrong(i, "is not a hex digit");
    if (i % 2) made.bytes[i / 2] = (uint8_t)(made.bytes[i / 2] | digit);
    else if (i + 1 < size) made.bytes[i / 2] = (uint8_t)(digit << 4);
  }
  if (size % 2) return wrong(size - 1, "is half a byte");
  return made;
}

/* ---- base32, RFC 4648 section 6: five bytes are eight characters */

static const char base32_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static char *base32_encode(wharf_call *call, const uint8_t *bytes, size_t size) {
  char *text = wharf_alloc(call, (size + 4) / 5 * 8 + 1), *to = text;
  for (size_t i = 0; i < size; i += 5) {
    size_t here = size - i < 5 ? size - i : 5, characters = (here * 8 + 4) / 5;
    uint64_t group = 0;
    for (size_t k = 0; k < 5; k++) group = group << 8 | (k < here ? bytes[i + k] : 0);
    for (size_t k = 0; k < 8; k++) *to++ = k < characters ? base32_alphabet[group >> (35 - 5 * k) & 31] : '=';
  }
  *to = 0;
  return text;
}

static int base32_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a';
  if (c >= '2' && c <= '7') return c - '2' + 26;
  return -1;
}

/* Padding may be left out; if it is there it must be whole. */
static decoded base32_decode(wharf_call *call, const char *text, size_t size) {
  size_t characters = size;
  while (characters && text[characters - 1] == '=') characters--;
  if (characters < size && (size % 8 || size - characters > 6)) return wrong(characters, "is padding that does not fit");
  size_t rest = characters % 8;
  for (size_t i = 0; i < characters; i++)
    if (base32_digit(text[i]) < 0) return wrong(i, "is not of the alphabet A-Z, 2-7");
  if (rest == 1 || rest == 3 || rest == 6) return wrong(characters, "is missing: the text is cut off");
  decoded made = {wharf_alloc(call, characters * 5 / 8 + 1), 0, NULL, 0};
  uint32_t bits = 0, count = 0;
  for (size_t i = 0; i < characters; i++) {
    bits = bits << 5 | (uint32_t)base32_digit(text[i]);
    count += 5;
    if (count >= 8) {
      count -= 8;
      made.bytes[made.size++] = (uint8_t)(bits >> count);
      bits &= (1u << count) - 1;
    }
  }
  if (bits) return wrong(characters - 1, "has bits that belong to no byte");
  return made;
}

/* ---- base58: a number in base 58, its leading zero bytes as 1 */

static const char base58_alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

static char *base58_encode(wharf_call *call, const uint8_t *bytes, size_t size) {
  size_t zeros = 0, used = 0, most = size * 138 / 100 + 2;
  uint8_t *digits = wharf_alloc(call, most);
  while (zeros < size && bytes[zeros] == 0) zeros++;
  for (size_t i = zeros; i < size; i++) {
    uint32_t carry = bytes[i];
    for (size_t k = 0; k < used; k++) {
      carry += (uint32_t)digits[k] << 8;
      digits[k] = (uint8_t)(carry % 58);
      carry /= 58;
    }
    for (; carry; carry /= 58) digits[used++] = (uint8_t)(carry % 58);
  }
  char *text = wharf_alloc(call, zeros + used + 1);
  memset(text, '1', zeros);
  for (size_t k = 0; k < used; k++) text[zeros + k] = base58_alphabet[digits[used - 1 - k]];
  text[zeros + used] = 0;
  return text;
}

static decoded base58_decode(wharf_call *call, const char *text, size_t size) {
  size_t zeros = 0, used = 0;
  uint8_t *number = wharf_alloc(call, size + 1);
  while (zeros < size && text[zeros] == '1') zeros++;
  for (size_t i = zeros; i < size; i++) {
    const char *digit = text[i] ? strchr(base58_alphabet, text[i]) : NULL;
    if (!digit) return wrong(i, "is not of the base58 alphabet, which has no 0, O, I and l");
    uint32_t carry = (uint32_t)(digit - base58_alphabet);
    for (size_t k = 0; k < used; k++) {
      carry += (uint32_t)number[k] * 58;
      number[k] = (uint8_t)carry;
      carry >>= 8;
    }
    for (; carry; carry >>= 8) number[used++] = (uint8_t)carry;
  }
  decoded made = {wharf_alloc(call, zeros + used + 1), zeros + used, NULL, 0};
  memset(made.bytes, 0, zeros);
  for (size_t k = 0; k < used; k++) made.bytes[zeros + k] = number[used - 1 - k];
  return made;
}

const codec codecs[] = {
    {"hex", hex_encode, hex_decode},
    {"base32", base32_encode, base32_decode},
    {"base58", base58_encode, base58_decode},
    {"packbits", packbits_encode, packbits_decode},
    {0},
};
