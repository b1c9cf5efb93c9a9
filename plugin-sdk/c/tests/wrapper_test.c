/* The wrapper without a host: `make test`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../testing/wharf_test.h"

static wharf_status greet(wharf_call *call, yyjson_val *arguments) {
  const char *name = yyjson_get_str(yyjson_obj_get(arguments, "name"));
  if (!name) return wharf_invalid(call, "/name", "is %s", "missing");
  wharf_text(call, "Hello, ");
  wharf_annotate(call, (wharf_annotations){.for_user = true, .has_priority = true, .priority = 0.5}, "{\"a\":1}");
  return wharf_text(call, "%s!", name);
}

static wharf_status sum(wharf_call *call, yyjson_val *arguments) {
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_int(doc, root, "sum",
                         yyjson_get_sint(yyjson_obj_get(arguments, "a")) + yyjson_get_sint(yyjson_obj_get(arguments, "b")));
  return wharf_structured(call, root);
}

static wharf_status delete_files(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  const char *found = wharf_kept(call);
  if (!found) {
    wharf_log(WHARF_INFO, "looking");
    found = wharf_keep(call, "3 files");
  }
  wharf_answer sure = wharf_confirm(call, wharf_format(call, "Delete %s?", found));
  if (sure == WHARF_UNANSWERED && wharf_unavailable(call)) return wharf_text(call, "kept: %s", wharf_unavailable(call));
  if (sure == WHARF_UNANSWERED) return wharf_unanswered(call);
  if (sure == WHARF_NO) return wharf_text(call, "kept");
  wharf_progress(1, 2, "asked");
  wharf_key(call, "really");
  wharf_answer really = wharf_confirm(call, "Really?");
  if (really == WHARF_UNANSWERED) return wharf_unanswered(call);
  return wharf_text(call, "%s %s", found, really == WHARF_YES ? "deleted" : "kept");
}

static wharf_status ask(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  yyjson_val *form;
  const char *said;
  const wharf_root *roots;
  size_t count;
  wharf_answer seats = wharf_form(call, "Which table?", WHARF_JSON({"type": "object"}), &form);
  wharf_answer model = wharf_sample(call, &(wharf_sampling){.prompt = "one word", .model = "small"}, &said);
  if (seats == WHARF_UNANSWERED || model == WHARF_UNANSWERED) return wharf_unanswered(call);
  if (wharf_roots(call, &roots, &count) == WHARF_UNANSWERED) return wharf_unanswered(call);
  wharf_answer visit = wharf_visit(call, "sign in", "https://example.org");
  if (visit == WHARF_UNANSWERED) return wharf_unanswered(call);
  return wharf_text(call, "%d %s %zu %s %d", yyjson_get_int(yyjson_obj_get(form, "seats")), said, count, roots[0].uri, visit);
}

static wharf_status count(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  wharf_store *store = wharf_store_open(call, "default");
  uint64_t number;
  wharf_bytes value;
  const char *const *keys;
  size_t known;
  if (!store || !wharf_store_increment(store, "visits", 1, &number) || !wharf_store_set(store, "last", "x\0y", 3))
    return wharf_failed(call, "%s", wharf_error(call));
  if (wharf_store_get(store, "last", &value) != WHARF_FOUND || value.size != 3 || value.at[1] != 0) return WHARF_FAILED;
  if (wharf_store_get(store, "nothing", &value) != WHARF_ABSENT) return WHARF_FAILED;
  if (!wharf_store_keys(store, &keys, &known)) return WHARF_FAILED;
  return wharf_text(call, "%llu %zu %s", (unsigned long long)number, known, keys[1]);
}

static wharf_status fetch(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  const wharf_field headers[] = {{"accept", "text/plain"}, {0}};
  wharf_response response;
  if (!wharf_fetch(call, &(wharf_request){.url = "https://example.org/", .headers = headers}, &response))
    return wharf_failed(call, "%d %s", response.reason, wharf_error(call));
  return wharf_text(call, "%d %s", response.status, response.body.at);
}

static wharf_status poem(wharf_call *call, yyjson_val *arguments) {
  wharf_speaker(call, WHARF_ASSISTANT);
  return wharf_text(call, "about %s", yyjson_get_str(yyjson_obj_get(arguments, "theme")));
}

static wharf_status list(wharf_call *call) { return wharf_list(call, &(wharf_resource){.uri = "note://1", .name = "list"}); }

static wharf_status read_note(wharf_call *call, const char *uri) {
  if (strcmp(uri, "note://1") != 0) return wharf_not_found(call);
  wharf_fresh_for(call, 1000, true);
  return wharf_contents_text(call, uri, "text/plain", "milk");
}

WHARF_TOOLS({.name = "greet", .description = "Greets.", .run = greet, .read_only = WHARF_IS,
             .icons = (const wharf_icon[]){{"https://example.org/i.png", "image/png", "any", WHARF_DARK}, {0}}},
            {.name = "sum", .description = "Adds.", .run = sum}, {.name = "delete", .run = delete_files},
            {.name = "ask", .run = ask}, {.name = "count", .run = count}, {.name = "fetch", .run = fetch})
WHARF_PROMPTS({.name = "poem", .arguments = (const wharf_argument[]){{.name = "theme"}, {0}}, .run = poem})
WHARF_RESOURCES(.list = list, .read = read_note)

static int failures;

static void is(const char *what, const char *got, const char *want) {
  if (strcmp(got, want) == 0) return;
  printf("%s\n  got  %s\n  want %s\n", what, got, want);
  failures++;
}

#define CALL(tool, arguments) wharf_test_call(tool, arguments)

int main(void) {
  is("greet", CALL("greet", "{\"name\":\"Ada\"}").text, "Hello, Ada!");
  is("invalid", CALL("greet", "{}").error, "/name: is missing");
  is("no object", CALL("greet", "[]").error, ": the arguments are not a JSON object");
  if (CALL("nothing", "{}").status != WHARF_NOT_FOUND) is("nothing", "found", "not found");
  is("sum", CALL("sum", "{\"a\":9007199254740993,\"b\":-1}").structured, "{\"sum\":9007199254740992}");

  if (CALL("delete", "{}").status != WHARF_ASKED) is("delete", "went on", "asks");
  wharf_test_told();
  wharf_test_answer("accept", "");
  wharf_test_answer("decline", "");
  is("delete", CALL("delete", "{}").text, "3 files kept");
  is("told", wharf_test_told(), "info: looking\nprogress: 1 of 2 asked\nprogress: 1 of 2 asked\n");
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

  is("prompt", wharf_test_prompt("poem", "{\"theme\":\"rain\"}").text, "about rain");
  is("read", wharf_test_read("note://1").text, "milk");
  if (wharf_test_read("note://2").status != WHARF_NOT_FOUND) is("note", "found", "not found");
  if (wharf_test_tools() != 6) is("tools", "", "six");
  if (failures) return 1;
  puts("ok");
  return 0;
}
