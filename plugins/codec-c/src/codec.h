/* Codecs over bytes. What they make is in the call's memory. */
#ifndef CODEC_H
#define CODEC_H

#include "wharf.h"

/* What was decoded, or where it went wrong: `at` is the byte of the input, from 0. */
typedef struct {
  uint8_t *bytes;
  size_t size;
  /* NULL if it went well. */
  const char *error;
  size_t at;
} decoded;

typedef struct {
  const char *name;
  /* A text that ends with a zero byte. */
  char *(*encode)(wharf_call *call, const uint8_t *bytes, size_t size);
  decoded (*decode)(wharf_call *call, const char *text, size_t size);
} codec;

/* hex, base32 (RFC 4648), base58 (of Bitcoin) and packbits, as hex; ends with {0}. */
extern const codec codecs[];

char *hex_encode(wharf_call *call, const uint8_t *bytes, size_t size);
decoded hex_decode(wharf_call *call, const char *text, size_t size);
char *packbits_encode(wharf_call *call, const uint8_t *bytes, size_t size);
decoded packbits_decode(wharf_call *call, const char *text, size_t size);

/* Unsigned LEB128, as in Protocol Buffers and WebAssembly: at most ten bytes. */
size_t varint_encode(uint8_t bytes[10], uint64_t number);
/* How many bytes it took; 0 if `error` says what is wrong. */
size_t varint_decode(const uint8_t *bytes, size_t size, uint64_t *number, const char **error);

/* CRC-32 of zip and PNG (polynomial 0xedb88320), of iSCSI (0x82f63b78), and Adler-32. */
uint32_t crc32_of(uint32_t polynomial, const uint8_t *bytes, size_t size);
uint32_t adler32_of(const uint8_t *bytes, size_t size);

#endif
