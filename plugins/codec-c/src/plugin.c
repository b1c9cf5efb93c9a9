/* Codecs as tools. */
#include <stdlib.h>
#include <string.h>

#include "codec.h"

/* The bytes that a call is about: `text` as UTF-8, or `hex`. */
static wharf_status input(wharf_call *call, yyjson_val *arguments, decoded *bytes) {
  yyjson_val *text = yyjson_obj_get(arguments, "text"), *hex = yyjson_obj_get(arguments, "hex");
  if (yyjson_is_str(text) == yyjson_is_str(hex)) return wharf_invalid(call, "", "give either `text` or `hex`");
  if (yyjson_is_str(text)) {
    *bytes = (decoded){(uint8_t *)yyjson_get_str(text), yyjson_get_len(text), NULL, 0};
    return WHARF_OK;
  }
  *bytes = hex_decode(call, yyjson_get_str(hex), yyjson_get_len(hex));
  if (bytes->error) return wharf_invalid(call, "/hex", "character %zu %s", bytes->at + 1, bytes->error);
  return WHARF_OK;
}

static const codec *chosen(yyjson_val *arguments) {
  const char *name = yyjson_get_str(yyjson_obj_get(arguments, "codec"));
  for (const codec *one = codecs; name && one->name; one++)
    if (strcmp(one->name, name) == 0) return one;
  return NULL;
}

static wharf_status encode(wharf_call *call, yyjson_val *arguments) {
  decoded bytes;
  const codec *codec = chosen(arguments);
  wharf_status status = input(call, arguments, &bytes);
  if (status != WHARF_OK) return status;
  if (!codec) return wharf_invalid(call, "/codec", "is unknown");
  return wharf_text(call, "%s", codec->encode(call, bytes.bytes, bytes.size));
}

/* The bytes as hex, and as text if they are some. */
static void add_bytes(wharf_call *call, yyjson_mut_val *to, const decoded *bytes) {
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_obj_add_str(doc, to, "hex", hex_encode(call, bytes->bytes, bytes->size));
  yyjson_mut_obj_add_uint(doc, to, "bytes", bytes->size);
  /* Only UTF-8 can be written. */
  yyjson_mut_val *text = yyjson_mut_strn(doc, (char *)bytes->bytes, bytes->size);
  char *written = yyjson_mut_val_write(text, YYJSON_WRITE_NOFLAG, NULL);
  if (written) yyjson_mut_obj_add_val(doc, to, "text", text);
  free(written);
}

static wharf_status decode(wharf_call *call, yyjson_val *arguments) {
  yyjson_val *text = yyjson_obj_get(arguments, "encoded");
  const codec *codec = chosen(arguments);
  if (!codec) return wharf_invalid(call, "/codec", "is unknown");
  if (!yyjson_is_str(text)) return wharf_invalid(call, "/encoded", "is not a text");
  const char *from = yyjson_get_str(text);
  decoded bytes = codec->decode(call, from, yyjson_get_len(text));
  if (bytes.error) {
    const char *at = from + bytes.at;
    bool is_shown = bytes.at < yyjson_get_len(text) && *at > ' ' && *at < 127;
    const char *what = is_shown ? wharf_format(call, " (%c)", *at) : "";
    return wharf_invalid(call, "/encoded", "character %zu%s %s", bytes.at + 1, what, bytes.error);
  }
  yyjson_mut_val *root = yyjson_mut_obj(wharf_doc(call));
  add_bytes(call, root, &bytes);
  return wharf_structured(call, root);
}

static wharf_status checksum(wharf_call *call, yyjson_val *arguments) {
  decoded bytes;
  const char *kind = yyjson_get_str(yyjson_obj_get(arguments, "kind"));
  wharf_status status = input(call, arguments, &bytes);
  uint32_t sum;
  if (status != WHARF_OK) return status;
  if (kind && strcmp(kind, "adler32") == 0) sum = adler32_of(bytes.bytes, bytes.size);
  else if (kind && strcmp(kind, "crc32c") == 0) sum = crc32_of(0x82f63b78, bytes.bytes, bytes.size);
  else sum = crc32_of(0xedb88320, bytes.bytes, bytes.size);
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_str(doc, root, "hex", wharf_format(call, "%08x", sum));
  yyjson_mut_obj_add_uint(doc, root, "value", sum);
  return wharf_structured(call, root);
}

static wharf_status to_varints(wharf_call *call, yyjson_val *numbers) {
  uint8_t *bytes = wharf_alloc(call, 10 * yyjson_arr_size(numbers) + 1);
  size_t size = 0, at, count;
  yyjson_val *number;
  yyjson_arr_foreach(numbers, at, count, number) {
    if (!yyjson_is_uint(number)) return wharf_invalid(call, wharf_format(call, "/numbers/%zu", at), "is not from 0 to 2^64-1");
    size += varint_encode(bytes + size, yyjson_get_uint(number));
  }
  yyjson_mut_val *root = yyjson_mut_obj(wharf_doc(call));
  yyjson_mut_obj_add_str(wharf_doc(call), root, "hex", hex_encode(call, bytes, size));
  return wharf_structured(call, root);
}

static wharf_status varint(wharf_call *call, yyjson_val *arguments) {
  yyjson_val *numbers = yyjson_obj_get(arguments, "numbers"), *hex = yyjson_obj_get(arguments, "hex");
  if (!numbers == !hex) return wharf_invalid(call, "", "give either `numbers` or `hex`");
  if (numbers) return to_varints(call, numbers);
  decoded bytes = hex_decode(call, yyjson_get_str(hex), yyjson_get_len(hex));
  if (bytes.error) return wharf_invalid(call, "/hex", "character %zu %s", bytes.at + 1, bytes.error);
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *root = yyjson_mut_obj(doc), *list = yyjson_mut_obj_add_arr(doc, root, "numbers");
  for (size_t at = 0; at < bytes.size;) {
    const char *error;
    uint64_t number;
    size_t taken = varint_decode(bytes.bytes + at, bytes.size - at, &number, &error);
    if (!taken) return wharf_invalid(call, "/hex", "what begins at character %zu %s", 2 * at + 1, error);
    yyjson_mut_arr_add_uint(doc, list, number);
    at += taken;
  }
  return wharf_structured(call, root);
}

#define TEXT_OR_HEX                                                              \
  "\"text\":{\"type\":\"string\",\"description\":\"The input as text (UTF-8).\"}," \
  "\"hex\":{\"type\":\"string\",\"description\":\"Or as bytes in hex.\"}"
#define CODEC "\"codec\":{\"type\":\"string\",\"enum\":[\"hex\",\"base32\",\"base58\",\"packbits\"]}"

WHARF_TOOLS({.name = "encode",
             .description = "Encodes a text or bytes as hex, base32 (RFC 4648), base58, or packed by PackBits (as hex).",
             .input = "{\"type\":\"object\",\"properties\":{" CODEC "," TEXT_OR_HEX "},\"required\":[\"codec\"]}",
             .run = encode,
             .read_only = WHARF_IS,
             .idempotent = WHARF_IS},
            {.name = "decode",
             .description = "Decodes hex, base32, base58 or PackBits (in hex); says at which character it goes wrong.",
             .input = "{\"type\":\"object\",\"properties\":{" CODEC ",\"encoded\":{\"type\":\"string\"}},"
                      "\"required\":[\"codec\",\"encoded\"]}",
             .output = WHARF_JSON({
               "type": "object",
               "properties": {
                 "hex": {"type": "string"},
                 "bytes": {"type": "integer"},
                 "text": {"type": "string", "description": "Only if the bytes are UTF-8."}
               },
               "required": ["hex", "bytes"]
             }),
             .run = decode,
             .read_only = WHARF_IS,
             .idempotent = WHARF_IS},
            {.name = "checksum",
             .description = "CRC-32 (of zip and PNG), CRC-32C or Adler-32 of a text or bytes.",
             .input = "{\"type\":\"object\",\"properties\":{\"kind\":{\"type\":\"string\","
                      "\"enum\":[\"crc32\",\"crc32c\",\"adler32\"],\"default\":\"crc32\"}," TEXT_OR_HEX "}}",
             .output = WHARF_JSON({
               "type": "object",
               "properties": {"hex": {"type": "string"}, "value": {"type": "integer"}},
               "required": ["hex", "value"]
             }),
             .run = checksum,
             .read_only = WHARF_IS,
             .idempotent = WHARF_IS},
            {.name = "varint",
             .description = "Numbers as varints (LEB128, as in Protocol Buffers), and back.",
             .input = WHARF_JSON({
               "type": "object",
               "properties": {
                 "numbers": {"type": "array", "items": {"type": "integer", "minimum": 0}},
                 "hex": {"type": "string", "description": "Varints to read, in place of numbers."}
               }
             }),
             .run = varint,
             .read_only = WHARF_IS,
             .idempotent = WHARF_IS})
