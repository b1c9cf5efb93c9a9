#include <cassert>
#include <string>

#include "testing/wharf_test.h"

int main() {
  assert(wharf_test_call("greet", R"({"name":"Ada"})").text == std::string("Hello, Ada!"));
  assert(wharf_test_call("greet", R"({"name":""})").error == std::string("/name: must not be empty"));
}
