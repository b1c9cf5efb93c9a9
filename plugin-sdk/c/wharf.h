/* Write plugins for Wharf in C or C++: tools, resources and prompts for models, as a
 * sandboxed component. It contains no protocol code; the host speaks MCP to clients.
 *
 *     #include "wharf.h"
 *
 *     static wharf_status greet(wharf_call *call, yyjson_val *arguments) {
 *       const char *name = yyjson_get_str(yyjson_obj_get(arguments, "name"));
 *       return wharf_text(call, "Hello, %s!", name);
 *     }
 *
 *     WHARF_TOOLS({
 *       .name = "greet",
 *       .description = "Greets somebody.",
 *       .input = WHARF_JSON({
 *         "type": "object",
 *         "properties": {"name": {"type": "string", "description": "Whom to greet."}},
 *         "required": ["name"]
 *       }),
 *       .run = greet,
 *     })
 *
 * The host checks the arguments against `input` before the tool runs.
 *
 * Memory returned by these functions, wharf_alloc included, lives until the end of the call.
 * Texts are UTF-8 and end with a zero byte. Arguments are copied.
 */
#ifndef WHARF_H
#define WHARF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/wharf_exports.h"
#include "yyjson/yyjson.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The running call. */
typedef struct wharf_call wharf_call;

/* How a call ends. Only the functions below return one: `return wharf_text(call, ...)`. */
typedef enum { WHARF_OK, WHARF_FAILED, WHARF_INVALID, WHARF_NOT_FOUND, WHARF_ASKED } wharf_status;

/* JSON without quotes around it: the arguments as a string. */
#define WHARF_JSON(...) #__VA_ARGS__

#if defined(__GNUC__)
#define WHARF_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define WHARF_PRINTF(format, first)
#endif

/* Bytes with their number, followed by a zero byte. */
typedef struct {
  const char *at;
  size_t size;
} wharf_bytes;

/* ---- memory of the call */

/* Never NULL: when memory runs out the call is stopped. Aligned for any type. */
void *wharf_alloc(wharf_call *call, size_t size);
char *wharf_copy(wharf_call *call, const char *text, size_t size);
char *wharf_format(wharf_call *call, const char *format, ...) WHARF_PRINTF(2, 3);
/* A JSON document in which to build a result: yyjson's mutable API, in the call's memory. */
yyjson_mut_doc *wharf_doc(wharf_call *call);
/* Parses JSON into the call's memory; NULL if it is invalid. */
yyjson_val *wharf_read_json(wharf_call *call, const char *text, size_t size);

/* ---- results: each function appends a piece, so several may be called */

wharf_status wharf_text(wharf_call *call, const char *format, ...) WHARF_PRINTF(2, 3);
/* The same without a format; the text may contain zero bytes. */
wharf_status wharf_text_n(wharf_call *call, const char *text, size_t size);
wharf_status wharf_image(wharf_call *call, const void *data, size_t size, const char *mime_type);
wharf_status wharf_audio(wharf_call *call, const void *data, size_t size, const char *mime_type);
/* Structured content: a value of wharf_doc. Without other content, clients get it as
 * text too. */
wharf_status wharf_structured(wharf_call *call, yyjson_mut_val *value);
/* The same as JSON text. */
wharf_status wharf_structured_text(wharf_call *call, const char *json);
/* `_meta` of the result, a JSON object. */
wharf_status wharf_result_meta(wharf_call *call, const char *json);
/* Adds nothing. */
wharf_status wharf_done(wharf_call *call);

/* The call failed; the text tells the model what could be done. */
wharf_status wharf_failed(wharf_call *call, const char *format, ...) WHARF_PRINTF(2, 3);
/* The caller's arguments are invalid. The pointer is a JSON Pointer into them, "" for the
 * whole. */
wharf_status wharf_invalid(wharf_call *call, const char *pointer, const char *format, ...) WHARF_PRINTF(3, 4);
/* There is no tool, resource or prompt of that name. */
wharf_status wharf_not_found(wharf_call *call);

typedef enum { WHARF_USER, WHARF_ASSISTANT } wharf_role;

/* Hints for clients; zero means none. */
typedef struct {
  bool for_user, for_assistant;
  /* From 0 to 1; used if `has_priority`. */
  bool has_priority;
  double priority;
  /* ISO 8601. */
  const char *last_modified;
} wharf_annotations;

/* Hints and `_meta` (JSON or NULL) of the last piece. */
void wharf_annotate(wharf_call *call, wharf_annotations annotations, const char *meta);

typedef enum { WHARF_ANY_THEME, WHARF_LIGHT, WHARF_DARK } wharf_theme;

/* An icon for a list entry: an `https:` or `data:` URI. A list of them ends with {0}. */
typedef struct {
  const char *src, *mime_type;
  /* `WxH` in pixels, or `any`. */
  const char *size;
  wharf_theme theme;
} wharf_icon;

/* The description of a resource. Only `uri` and `name` are required. */
typedef struct {
  const char *uri, *name, *title, *description, *mime_type;
  bool has_size;
  uint64_t size;
  wharf_annotations annotations;
  const wharf_icon *icons;
  const char *meta;
} wharf_resource;

/* A link to a resource, or a resource with its contents. */
wharf_status wharf_link(wharf_call *call, const wharf_resource *resource);
wharf_status wharf_embed_text(wharf_call *call, const char *uri, const char *mime_type, const char *text);
wharf_status wharf_embed_bytes(wharf_call *call, const char *uri, const char *mime_type, const void *data, size_t size);

/* ---- pages that chat clients show beside the results of tools (MCP Apps) */

/* A page. Only `uri` and `html` are required. The plugin needs WHARF_RESOURCES too.
 *
 *     static const wharf_page face = {.uri = "ui://dice/face.html", .html = "<!doctype html>..."};
 *     WHARF_TOOLS({.name = "roll", .description = "Rolls a die.", .run = roll, .page = &face})
 *     WHARF_RESOURCES()
 *
 * A client reads it once, and gives it the result of each call: wharf.on("tool-result", show) in
 * its own script, which comes after one that the page gets here. */
typedef struct {
  /* Begins with `ui://` and the plugin's name. */
  const char *uri;
  /* A whole HTML5 document with everything inline. */
  const char *html;
  /* The display name. */
  const char *title;
  /* Asks the client to draw no border around it. */
  bool no_border;
  /* It brings its own script, such as the official library's, and gets none. */
  bool own_script;
  /* The origins that its scripts may send requests to, and those of its images, fonts, styles and
   * scripts; each list ends with NULL. The operator may refuse them. */
  const char *const *connects_to, *const *loads_from;
  /* What it asks the browser for: `camera`, `microphone`, `geolocation`, `clipboardWrite`. The
   * list ends with NULL. */
  const char *const *permissions;
} wharf_page;

/* ---- tools */

typedef enum { WHARF_UNSAID, WHARF_IS, WHARF_IS_NOT } wharf_hint;
typedef enum { WHARF_TASKS_FORBIDDEN, WHARF_TASKS_OPTIONAL, WHARF_TASKS_REQUIRED } wharf_tasks;

typedef struct {
  /* `[A-Za-z0-9_-]{1,64}`. */
  const char *name;
  /* The display name; may be NULL. */
  const char *title;
  /* For the model: what it does and when to use it. */
  const char *description;
  /* JSON Schema of the arguments; NULL for none. */
  const char *input;
  /* JSON Schema of the structured content; may be NULL. */
  const char *output;
  /* `arguments` is an object. */
  wharf_status (*run)(wharf_call *call, yyjson_val *arguments);
  wharf_hint read_only, destructive, idempotent, open_world;
  /* A tool that takes long should be optional: clients with tasks need not wait for it, and
   * the messages of wharf_progress are the status of the task. */
  wharf_tasks tasks;
  const wharf_icon *icons;
  /* A JSON object. */
  const char *meta;
  /* The page in which chat clients show its results. The page gets the whole result; the model
   * gets its content. Several tools may have the same page. */
  const wharf_page *page;
  /* Only for pages: chat clients do not offer it to the model. Other clients may, so this protects
   * nothing. */
  bool app_only;
} wharf_tool;

typedef struct {
  const wharf_tool *at;
  size_t count;
} wharf_tool_table;

/* ---- prompts: texts and other pieces become messages */

/* A list of arguments ends with {0}. */
typedef struct {
  const char *name, *title, *description;
  bool optional;
} wharf_argument;

typedef struct {
  const char *name, *title, *description;
  const wharf_argument *arguments;
  /* `arguments` is an object of strings. */
  wharf_status (*run)(wharf_call *call, yyjson_val *arguments);
  const wharf_icon *icons;
  const char *meta;
} wharf_prompt;

typedef struct {
  const wharf_prompt *at;
  size_t count;
} wharf_prompt_table;

/* The role of the following pieces; by default the user. */
void wharf_speaker(wharf_call *call, wharf_role role);
/* The purpose of the messages. */
void wharf_description(wharf_call *call, const char *text);

/* ---- resources */

typedef struct {
  /* RFC 6570. */
  const char *uri_template;
  const char *name, *title, *description, *mime_type;
  wharf_annotations annotations;
  const wharf_icon *icons;
  const char *meta;
} wharf_template;

typedef struct {
  /* Lists resources with wharf_list, when the plugin is loaded and after wharf_list_changed. A
   * failure during loading refuses the plugin. May be NULL. */
  wharf_status (*list)(wharf_call *call);
  /* Reads a resource with wharf_contents_text and wharf_contents_bytes. */
  wharf_status (*read)(wharf_call *call, const char *uri);
  const wharf_template *templates;
  size_t template_count;
} wharf_resource_table;

wharf_status wharf_list(wharf_call *call, const wharf_resource *resource);
wharf_status wharf_contents_text(wharf_call *call, const char *uri, const char *mime_type, const char *text);
wharf_status wharf_contents_bytes(wharf_call *call, const char *uri, const char *mime_type, const void *data, size_t size);
/* How long the contents may be cached; `everybody` if they are the same for all users. */
void wharf_fresh_for(wharf_call *call, uint64_t milliseconds, bool everybody);

/* ---- completions */

typedef struct {
  /* What the argument belongs to: one is NULL. */
  const char *prompt, *uri_template;
  const char *argument;
  /* The text typed so far. */
  const char *value;
  /* The other arguments that are already set, an object of strings. */
  yyjson_val *given;
} wharf_typed;

typedef struct {
  wharf_status (*complete)(wharf_call *call, const wharf_typed *typed);
} wharf_completer;

/* Adds a value if it begins with what was typed, ignoring case. */
wharf_status wharf_suggest(wharf_call *call, const wharf_typed *typed, const char *value);
/* The total number of suggestions. */
void wharf_suggestions_of(wharf_call *call, uint32_t total);

/* ---- extensions; each list ends with {0} */

typedef struct {
  const char *name;
  /* A JSON object. */
  const char *settings;
} wharf_capability;

typedef struct {
  const char *name;
  /* Returns wharf_structured, an object. It cannot ask questions. */
  wharf_status (*run)(wharf_call *call, yyjson_val *params);
} wharf_method;

typedef struct {
  const wharf_capability *experimental, *extensions;
  const wharf_method *methods;
} wharf_offer;

/* ---- the plugin's tables: one of each, in one file, outside of functions */

extern const wharf_tool_table wharf_tools;
extern const wharf_prompt_table wharf_prompts;
extern const wharf_resource_table wharf_resources;
extern const wharf_completer wharf_completions;
extern const wharf_offer wharf_extensions;

/* The host uses only exported interfaces. Tests have no exports. */
#ifdef __wasm__
#define WHARF_EXPORT(what) WHARF_EXPORT_##what
#else
#define WHARF_EXPORT(what)
#endif

/* WHARF_TOOLS({.name = ..., .run = ...}, {...}) */
#define WHARF_TOOLS(...)                                                                        \
  static const wharf_tool wharf_tools_listed[] = {__VA_ARGS__};                                 \
  const wharf_tool_table wharf_tools = {wharf_tools_listed,                                     \
                                        sizeof wharf_tools_listed / sizeof *wharf_tools_listed}; \
  WHARF_EXPORT(TOOLS)

/* WHARF_PROMPTS({.name = ..., .run = ...}, {...}) */
#define WHARF_PROMPTS(...)                                                                            \
  static const wharf_prompt wharf_prompts_listed[] = {__VA_ARGS__};                                   \
  const wharf_prompt_table wharf_prompts = {wharf_prompts_listed,                                     \
                                            sizeof wharf_prompts_listed / sizeof *wharf_prompts_listed}; \
  WHARF_EXPORT(PROMPTS)

/* WHARF_RESOURCES(.list = list, .read = read); WHARF_RESOURCES() if the plugin has only pages */
#define WHARF_RESOURCES(...)                               \
  const wharf_resource_table wharf_resources = {__VA_ARGS__}; \
  WHARF_EXPORT(RESOURCES)

/* WHARF_COMPLETIONS(complete) */
#define WHARF_COMPLETIONS(function)                      \
  const wharf_completer wharf_completions = {function}; \
  WHARF_EXPORT(COMPLETIONS)

/* WHARF_EXTENSIONS(.extensions = ..., .methods = ...) */
#define WHARF_EXTENSIONS(...)                          \
  const wharf_offer wharf_extensions = {__VA_ARGS__}; \
  WHARF_EXPORT(EXTENSIONS)

/* ---- the call */

/* The host's id of this call, as in its log. */
const char *wharf_id(wharf_call *call);
/* The time that was left when the call began, until the host stops it. */
uint64_t wharf_time_left_ms(const wharf_call *call);
/* The request's `_meta`; NULL if there is none. */
yyjson_val *wharf_meta(wharf_call *call);
/* Reports progress. `done` must increase; a total of 0 is unknown; the message may be NULL. */
void wharf_progress(double done, double total, const char *message);
/* Whether the caller has cancelled. */
bool wharf_cancelled(void);

typedef enum {
  WHARF_CAN_FORM = 1,
  WHARF_CAN_VISIT = 2,
  WHARF_CAN_SAMPLE = 4,
  WHARF_CAN_SAMPLE_TOOLS = 8,
  WHARF_CAN_SAMPLE_CONTEXT = 16,
  WHARF_CAN_ROOTS = 32
} wharf_feature;

/* Whether the client supports this. */
bool wharf_can(const wharf_call *call, wharf_feature feature);

/* ---- questions
 *
 * A question without an answer ends the call, which is repeated once the answer is there, so
 * the code before it runs again:
 *
 *     wharf_answer sure = wharf_confirm(call, "Delete 3 files?");
 *     if (sure == WHARF_UNANSWERED) return wharf_unanswered(call);
 *     if (sure == WHARF_NO) return wharf_text(call, "kept");
 *
 * Several questions before wharf_unanswered are asked in one round.
 */

typedef enum { WHARF_NO, WHARF_YES, WHARF_UNANSWERED } wharf_answer;

/* Ends the call until there is an answer. If the question was refused, the host tells the
 * client which capability is missing. */
wharf_status wharf_unanswered(wharf_call *call);
/* Why the last question was refused; NULL if it was not. A plugin that works without the
 * answer continues. */
const char *wharf_unavailable(const wharf_call *call);
/* Sets the key of the next question; the default is q1, q2 and so on. */
void wharf_key(wharf_call *call, const char *key);

wharf_answer wharf_confirm(wharf_call *call, const char *message);
/* `schema` is a flat object of text, numbers, booleans and choices. Do not ask for secrets. */
wharf_answer wharf_form(wharf_call *call, const char *message, const char *schema, yyjson_val **content);
/* Yes if the user agreed to visit the page, which does not mean that the visit is finished. */
wharf_answer wharf_visit(wharf_call *call, const char *message, const char *url);

typedef struct {
  const char *uri;
  /* May be NULL. */
  const char *name;
} wharf_root;

/* The folders that the client works in, yes or unanswered. */
wharf_answer wharf_roots(wharf_call *call, const wharf_root **roots, size_t *count);

/* A request to the client's model; zero is the default of all members but `prompt`. */
typedef struct {
  const char *prompt, *system;
  /* 0 means 1000. */
  uint32_t max_tokens;
  bool has_temperature;
  double temperature;
  /* A name or part of a name. */
  const char *model;
  /* An image or audio for the model. */
  const void *data;
  size_t data_size;
  const char *data_type;
} wharf_sampling;

/* The text of the model's answer, yes or unanswered. */
wharf_answer wharf_sample(wharf_call *call, const wharf_sampling *sampling, const char **text);

/* A text that is kept over the rounds of a call: NULL at first, then the value of wharf_keep.
 *
 *     const char *found = wharf_kept(call);
 *     if (!found) found = wharf_keep(call, search(call));
 */
const char *wharf_kept(wharf_call *call);
const char *wharf_keep(wharf_call *call, const char *text);

#ifdef __cplusplus
}
#endif

#include "wharf_host.h"

#endif
