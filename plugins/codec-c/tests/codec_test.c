/* The codecs without a host: `make test`. */
#include <stdio.h>
#include <string.h>

#include "testing/wharf_test.h"

static int failures;

/* `want` is the text, the structured content or the error. */
static void is(const char *tool, const char *arguments, const char *want) {
  wharf_test_result got = wharf_test_call(tool, arguments);
  const char *given = got.status != WHARF_OK ? got.error : *got.text ? got.text : got.structured;
  if (strcmp(given, want) == 0) return;
  printf("%s %s\n  got  %s\n  want %s\n", tool, arguments, given, want);
  failures++;
}

int main(void) {
  /* RFC 4648 section 10. */
  static const char *const base32[][3] = {{"f", "MY======", "66"}, {"fo", "MZXQ====", "666f"}, {"foo", "MZXW6===", "666f6f"},
                                          {"foob", "MZXW6YQ=", "666f6f62"}, {"fooba", "MZXW6YTB", "666f6f6261"},
                                          {"foobar", "MZXW6YTBOI======", "666f6f626172"}};
  char arguments[256], want[256];
  for (size_t i = 0; i < 6; i++) {
    snprintf(arguments, sizeof arguments, "{\"codec\":\"base32\",\"text\":\"%s\"}", base32[i][0]);
    is("encode", arguments, base32[i][1]);
    snprintf(arguments, sizeof arguments, "{\"codec\":\"base32\",\"encoded\":\"%s\"}", base32[i][1]);
    snprintf(want, sizeof want, "{\"hex\":\"%s\",\"bytes\":%zu,\"text\":\"%s\"}", base32[i][2], strlen(base32[i][0]), base32[i][0]);
    is("decode", arguments, want);
  }
  /* draft-msporny-base58 section 5. */
  is("encode", "{\"codec\":\"base58\",\"text\":\"Hello World!\"}", "2NEpo7TZRRrLZSi2U");
  is("encode", "{\"codec\":\"base58\",\"hex\":\"0000287fb4cd\"}", "11233QC4");
  is("decode", "{\"codec\":\"base58\",\"encoded\":\"11233QC4\"}", "{\"hex\":\"0000287fb4cd\",\"bytes\":6}");
  /* The example of Apple's technical note 1023. */
  is("encode", "{\"codec\":\"packbits\",\"hex\":\"aaaaaa80002aaaaaaaaa80002a22aaaaaaaaaaaaaaaaaaaa\"}", "feaa0280002afdaa0380002a22f7aa");
  is("decode", "{\"codec\":\"packbits\",\"encoded\":\"feaa0280002afdaa0380002a22f7aa\"}",
     "{\"hex\":\"aaaaaa80002aaaaaaaaa80002a22aaaaaaaaaaaaaaaaaaaa\",\"bytes\":24}");
  is("checksum", "{\"text\":\"123456789\"}", "{\"hex\":\"cbf43926\",\"value\":3421780262}");
  is("checksum", "{\"kind\":\"crc32c\",\"text\":\"123456789\"}", "{\"hex\":\"e3069283\",\"value\":3808858755}");
  is("checksum", "{\"kind\":\"adler32\",\"text\":\"Wikipedia\"}", "{\"hex\":\"11e60398\",\"value\":300286872}");
  is("varint", "{\"numbers\":[0,127,128,300,18446744073709551615]}", "{\"hex\":\"007f8001ac02ffffffffffffffffff01\"}");
  is("varint", "{\"hex\":\"007f8001ac02ffffffffffffffffff01\"}", "{\"numbers\":[0,127,128,300,18446744073709551615]}");

  is("decode", "{\"codec\":\"base32\",\"encoded\":\"MZXW0===\"}", "/encoded: character 5 (0) is not of the alphabet A-Z, 2-7");
  is("decode", "{\"codec\":\"base32\",\"encoded\":\"MZX\"}", "/encoded: character 4 is missing: the text is cut off");
  is("decode", "{\"codec\":\"base32\",\"encoded\":\"MZ==\"}", "/encoded: character 3 (=) is padding that does not fit");
  is("decode", "{\"codec\":\"base32\",\"encoded\":\"MZ======\"}", "/encoded: character 2 (Z) has bits that belong to no byte");
  is("decode", "{\"codec\":\"base58\",\"encoded\":\"2NEpO\"}",
     "/encoded: character 5 (O) is not of the base58 alphabet, which has no 0, O, I and l");
  is("decode", "{\"codec\":\"packbits\",\"encoded\":\"feaa0280\"}", "/encoded: character 5 (0) announces more bytes than there are");
  is("decode", "{\"codec\":\"hex\",\"encoded\":\"abc\"}", "/encoded: character 3 (c) is half a byte");
  is("encode", "{\"codec\":\"hex\",\"hex\":\"0g\"}", "/hex: character 2 is not a hex digit");
  is("encode", "{\"codec\":\"hex\"}", ": give either `text` or `hex`");
  is("varint", "{\"hex\":\"ac\"}", "/hex: what begins at character 1 is the begin of a number without an end");
  is("varint", "{\"hex\":\"01ffffffffffffffffff02\"}", "/hex: what begins at character 3 is more than 64 bits");
  is("varint", "{\"numbers\":[1,-1]}", "/numbers/1: is not from 0 to 2^64-1");
  is("encode", "{\"codec\":\"packbits\",\"text\":\"\"}", "");
  return failures > 0;
}
