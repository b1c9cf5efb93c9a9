/* A plugin with everything that the wrapper offers, for its tests. */
#include <stdlib.h>
#include <string.h>

#include "wharf.h"

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

static wharf_status contents(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  wharf_text(call, "text");
  wharf_annotate(call, (wharf_annotations){.for_user = true, .has_priority = true, .priority = 0.5}, NULL);
  wharf_image(call, "\x89PNG", 4, "image/png");
  wharf_audio(call, "RIFF", 4, "audio/wav");
  wharf_embed_text(call, "everything://note", NULL, "milk");
  return wharf_link(call, &(wharf_resource){.uri = "everything://note", .name = "note", .has_size = true, .size = 4});
}

static wharf_status tell(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  wharf_log(WHARF_WARNING, "%d left", 2);
  wharf_log_data(WHARF_ERROR, "disk", WHARF_JSON({"free": 0}));
  wharf_progress(1, 2, "half");
  return wharf_done(call);
}

static wharf_status roll(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  return wharf_structured_text(call, WHARF_JSON({"face": 4}));
}

static const wharf_page face = {.uri = "ui://everything/face.html", .html = "<!doctype html><p>", .title = "A die",
                                .permissions = (const char *const[]){"clipboardWrite", NULL}};

static wharf_status bytes(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  /* A lone byte, a letter, half a surrogate pair, and a letter that is cut off. */
  return wharf_text(call, "a\xff\xc3\xa4\xed\xa0\x80z\xc3");
}

static wharf_status setting(wharf_call *call, yyjson_val *arguments) {
  (void)arguments;
  const char *unit, *variable = getenv("UNIT");
  if (wharf_config(call, "unit", &unit) == WHARF_ERRED) return wharf_failed(call, "%s", wharf_error(call));
  return wharf_text(call, "%s %s", unit ? unit : "none", variable ? variable : "none");
}

static wharf_status poem(wharf_call *call, yyjson_val *arguments) {
  wharf_speaker(call, WHARF_ASSISTANT);
  return wharf_text(call, "about %s", yyjson_get_str(yyjson_obj_get(arguments, "theme")));
}

static wharf_status list(wharf_call *call) { return wharf_list(call, &(wharf_resource){.uri = "everything://note", .name = "note"}); }

static wharf_status read_note(wharf_call *call, const char *uri) {
  if (strcmp(uri, "everything://note") != 0) return wharf_not_found(call);
  wharf_fresh_for(call, 1000, true);
  return wharf_contents_text(call, uri, "text/plain", "milk");
}

static wharf_status suggest(wharf_call *call, const wharf_typed *typed) {
  wharf_suggest(call, typed, "rain");
  wharf_suggest(call, typed, "Rails");
  return wharf_suggest(call, typed, "sun");
}

static wharf_status twice(wharf_call *call, yyjson_val *params) {
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *root = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_sint(doc, root, "n", 2 * yyjson_get_sint(yyjson_obj_get(params, "n")));
  return wharf_structured(call, root);
}

WHARF_TOOLS({.name = "greet", .description = "Greets.", .run = greet, .read_only = WHARF_IS,
             .input = WHARF_JSON({"type": "object", "properties": {"name": {"type": "string"}}}),
             .icons = (const wharf_icon[]){{"https://example.org/i.png", "image/png", "any", WHARF_DARK}, {0}}},
            {.name = "sum", .description = "Adds.", .run = sum,
             .input = WHARF_JSON({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}),
             .output = WHARF_JSON({"type": "object", "properties": {"sum": {"type": "integer"}}})},
            {.name = "delete", .run = delete_files}, {.name = "ask", .run = ask}, {.name = "count", .run = count},
            {.name = "fetch", .run = fetch}, {.name = "contents", .run = contents}, {.name = "tell", .run = tell, .tasks = WHARF_TASKS_OPTIONAL},
            {.name = "setting", .run = setting}, {.name = "bytes", .run = bytes},
            {.name = "roll", .run = roll, .page = &face}, {.name = "roll-again", .run = roll, .page = &face, .app_only = true})
WHARF_PROMPTS({.name = "poem", .arguments = (const wharf_argument[]){{.name = "theme"}, {0}}, .run = poem})
WHARF_RESOURCES(.list = list, .read = read_note)
WHARF_COMPLETIONS(suggest)
WHARF_EXTENSIONS(.extensions = (const wharf_capability[]){{"org.example/everything", WHARF_JSON({"version": 1})}, {0}},
                 .methods = (const wharf_method[]){{"double", twice}, {0}})
