#include <assert.h>
#include <string.h>

#include "testing/wharf_test.h"

int main(void) {
  assert(strcmp(wharf_test_call("greet", "{\"name\":\"Ada\"}").text, "Hello, Ada!") == 0);
  assert(strcmp(wharf_test_call("greet", "{\"name\":\"\"}").error, "/name: must not be empty") == 0);
  assert(strcmp(wharf_test_call("count", "{\"text\":\" two  words\"}").structured, "{\"words\":2}") == 0);
  return 0;
}
