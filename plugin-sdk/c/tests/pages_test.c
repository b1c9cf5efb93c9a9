/* Pages of tools, without a host: `make test`. */
#include "../src/internal.h"
#include "../testing/wharf_test.h"

static int failures;

static void is(const char *what, const char *got, const char *want) {
  if (strcmp(got, want) == 0) return;
  printf("%s\n  got  %s\n  want %s\n", what, got, want);
  failures++;
}

static wharf_status roll(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  return wharf_text(call, "4");
}

static const wharf_page face = {.uri = "ui://dice/face.html",
                                .html = "<!doctype html><p id=face><script>show()</script>",
                                .title = "A die",
                                .connects_to = (const char *const[]){"https://api.example.org", NULL},
                                .permissions = (const char *const[]){"clipboardWrite", NULL}};
static const wharf_page own = {.uri = "ui://dice/own.html", .html = "<p>", .no_border = true, .own_script = true,
                               .loads_from = (const char *const[]){"https://*.example.org", NULL}};
/* What the tests change, to what is refused. */
static wharf_page plain = {.uri = "ui://dice/plain.html", .html = "<p>"};
static char meta[] = "{\"other\": 9007199254740993}";

WHARF_TOOLS({.name = "roll", .run = roll, .page = &face, .meta = WHARF_JSON({"a": 1, "ui": {"visibility": ["model"]}})},
            {.name = "again", .run = roll, .page = &face}, {.name = "alone", .run = roll, .page = &own},
            {.name = "plain", .run = roll, .page = &plain, .meta = meta},
            {.name = "fresh", .run = roll, .app_only = true}, {.name = "none", .run = roll})

static const char *listed_uri = "note://1";
static wharf_status list(wharf_call *call) { return wharf_list(call, &(wharf_resource){.uri = listed_uri, .name = "note"}); }
WHARF_RESOURCES(.list = list)

/* The text in memory that lives as long as the program. */
static const char *kept(wharf_abi_string_t text) {
  char *copy = calloc(1, text.len + 1);
  if (!copy) abort();
  if (text.len) memcpy(copy, text.ptr, text.len);
  return copy;
}

static const char *tool_meta(size_t at) {
  exports_wharf_plugin_tools_list_tool_t tools;
  wharf_abi_string_t error;
  if (!exports_wharf_plugin_tools_list_tools(&tools, &error)) return kept(error);
  const char *said = tools.ptr[at].meta.is_some ? kept(tools.ptr[at].meta.val) : "";
  exports_wharf_plugin_tools_list_tool_free(&tools);
  return said;
}

/* The URIs of the resources, their names, titles and media types. */
static const char *listed(void) {
  static char all[1024];
  exports_wharf_plugin_resources_list_resource_description_t resources;
  wharf_abi_string_t error;
  if (!exports_wharf_plugin_resources_list_resources(&resources, &error)) return kept(error);
  size_t used = 0;
  for (size_t i = 0; i < resources.len; i++) {
    wharf_plugin_types_resource_description_t *resource = &resources.ptr[i];
    used += (size_t)snprintf(all + used, sizeof all - used, "%s %s %s %s\n", kept(resource->uri), kept(resource->name),
                             resource->title.is_some ? kept(resource->title.val) : "-",
                             resource->mime_type.is_some ? kept(resource->mime_type.val) : "-");
  }
  exports_wharf_plugin_resources_list_resource_description_free(&resources);
  return all;
}

/* What the contents say of the page. */
static const char *read_meta(const char *uri) {
  exports_wharf_plugin_resources_read_outcome_t outcome;
  wharf_plugin_types_call_error_t error;
  wharf_plugin_types_call_context_t context = {0};
  wharf_abi_string_t name = wharf_string(uri);
  if (!exports_wharf_plugin_resources_read_resource(&name, &context, &outcome, &error)) return "an error";
  wharf_plugin_types_resource_contents_t *contents = &outcome.val.complete.contents.ptr[0];
  is(uri, kept(contents->mime_type.val), "text/html;profile=mcp-app");
  const char *said = kept(contents->meta.val);
  exports_wharf_plugin_resources_read_outcome_free(&outcome);
  return said;
}

static void tools_say_which_page_they_have(void) {
  is("roll", tool_meta(0), "{\"a\":1,\"ui\":{\"visibility\":[\"model\"],\"resourceUri\":\"ui://dice/face.html\"}}");
  is("again", tool_meta(1), "{\"ui\":{\"resourceUri\":\"ui://dice/face.html\"}}");
  is("plain", tool_meta(3), "{\"other\":9007199254740993,\"ui\":{\"resourceUri\":\"ui://dice/plain.html\"}}");
  is("fresh", tool_meta(4), "{\"ui\":{\"visibility\":[\"app\"]}}");
  is("none", tool_meta(5), "");
}

static void pages_are_resources_with_the_script_before_their_own(void) {
  is("listed", listed(),
     "ui://dice/face.html face.html A die text/html;profile=mcp-app\n"
     "ui://dice/own.html own.html - text/html;profile=mcp-app\n"
     "ui://dice/plain.html plain.html - text/html;profile=mcp-app\n"
     "note://1 note - -\n");
  is("face", read_meta("ui://dice/face.html"),
     "{\"ui\":{\"prefersBorder\":true,\"csp\":{\"connectDomains\":[\"https://api.example.org\"]},"
     "\"permissions\":{\"clipboardWrite\":{}}}}");
  is("own", read_meta("ui://dice/own.html"),
     "{\"ui\":{\"prefersBorder\":false,\"csp\":{\"resourceDomains\":[\"https://*.example.org\"]}}}");
  is("plain", read_meta("ui://dice/plain.html"), "{\"ui\":{\"prefersBorder\":true}}");
  static char expected[8192];
  snprintf(expected, sizeof expected, "<!doctype html><p id=face><script>%s</script>\n<script>show()</script>", wharf_page_script);
  is("face", wharf_test_read("ui://dice/face.html").text, expected);
  snprintf(expected, sizeof expected, "<p><script>%s</script>\n", wharf_page_script);
  is("plain", wharf_test_read("ui://dice/plain.html").text, expected);
  is("own", wharf_test_read("ui://dice/own.html").text, "<p>");
  if (wharf_test_read("ui://dice/no.html").status != WHARF_NOT_FOUND) is("a page", "found", "not found");
}

static void refused(const char *why) {
  is("tools", tool_meta(0), why);
  is("resources", listed(), why);
}

static void what_is_no_page_is_refused(void) {
  const wharf_page good = plain;
  plain.html = NULL;
  refused("tool plain: its page: it has no HTML: ui://dice/plain.html");
  plain = (wharf_page){.html = "<p>"};
  refused("tool plain: its page: it has no URI");
  plain.uri = own.uri;
  plain.html = "<b>";
  refused("tool plain: another page has the URI ui://dice/own.html");
  plain = good;
  listed_uri = plain.uri;
  is("others", listed(), "another resource has the URI of the page: ui://dice/plain.html");
  listed_uri = "note://1";
  *meta = '[';
  is("meta", tool_meta(0), "tool plain: its meta: it is not a JSON object");
  *meta = '{';
}

int main(void) {
  tools_say_which_page_they_have();
  pages_are_resources_with_the_script_before_their_own();
  what_is_no_page_is_refused();
  return failures > 0;
}
