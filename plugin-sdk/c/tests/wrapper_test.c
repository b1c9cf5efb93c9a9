/* The wrapper without a host: `make test`. The plugin is tests/everything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../testing/wharf_test.h"

static int failures;

static void is(const char *what, const char *got, const char *want) {
  if (strcmp(got, want) == 0) return;
  printf("%s\n  got  %s\n  want %s\n", what, got, want);
  failures++;
}

#define CALL(tool, arguments) wharf_test_call(tool, arguments)

int main(void) {
  is("greet", CALL("greet", "{\"name\":\"Ada\"}").text, "Hello, Ada!");
  is("not UTF-8", CALL("bytes", "{}").text, "a\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd");
  is("invalid", CALL("greet", "{}").error, "/name: is missing");
  is("no object", CALL("greet", "[]").error, ": the arguments are not a JSON object");
  if (CALL("nothing", "{}").status != WHARF_NOT_FOUND) is("nothing", "found", "not found");
  is("sum", CALL("sum", "{\"a\":9007199254740993,\"b\":-1}").structured, "{\"sum\":9007199254740992}");

  if (CALL("delete", "{}").status != WHARF_ASKED) is("delete", "went on", "asks");
  wharf_test_messages();
  wharf_test_answer("accept", "");
  wharf_test_answer("decline", "");
  is("delete", CALL("delete", "{}").text, "3 files kept");
  is("messages", wharf_test_messages(), "info: looking\nprogress: 1 of 2 asked\nprogress: 1 of 2 asked\n");
  wharf_test_answer("unavailable", "nobody is there");
  is("unavailable", CALL("delete", "{}").text, "kept: nobody is there");
  wharf_test_answer("accept", "{\"seats\":4}");
  wharf_test_answer("model", "rain");
  wharf_test_answer("root", "file:///a");
  wharf_test_answer("decline", "");
  is("ask", CALL("ask", "{}").text, "4 rain 1 file:///a 0");
  wharf_test_answer("model", "not a form");
  wharf_test_answer("model", "rain");
  if (CALL("ask", "{}").status != WHARF_ASKED) is("misplaced", "went on", "asks again");

  is("count", CALL("count", "{}").text, "1 2 last");
  is("count again", CALL("count", "{}").text, "2 2 last");
  wharf_test_deny_store(true);
  if (!strstr(CALL("count", "{}").error, "can grant it `keyvalue`")) is("denied", "", "says which grant");
  is("fetch", CALL("fetch", "{}").error, "0 a test without wharf_test_serve has no network");
  wharf_test_serve(200, "fine");
  is("fetch", CALL("fetch", "{}").text, "200 fine");

  is("setting", CALL("setting", "{}").text, "none none");
  wharf_test_config("unit", "metric");
  is("setting", CALL("setting", "{}").text, "metric none");
  is("contents", CALL("contents", "{}").text, "text");
  is("prompt", wharf_test_prompt("poem", "{\"theme\":\"rain\"}").text, "about rain");
  is("read", wharf_test_read("everything://note").text, "milk");
  if (wharf_test_read("everything://no").status != WHARF_NOT_FOUND) is("note", "found", "not found");
  if (wharf_test_tools() != 12) is("tools", "", "twelve");
  return failures > 0;
}
