#include "wharf.h"

static wharf_status greet(wharf_call *call, yyjson_val *arguments) {
  /* The host has checked the arguments against the schema below. */
  const char *name = yyjson_get_str(yyjson_obj_get(arguments, "name"));
  if (!name || !*name) return wharf_invalid(call, "/name", "must not be empty");
  return wharf_text(call, "Hello, %s!", name);
}

static wharf_status count(wharf_call *call, yyjson_val *arguments) {
  const char *text = yyjson_get_str(yyjson_obj_get(arguments, "text"));
  unsigned words = 0;
  bool is_inside = false;
  for (; text && *text; text++) {
    bool is_space = *text == ' ' || *text == '\t' || *text == '\n';
    if (!is_space && !is_inside) words++;
    is_inside = !is_space;
  }
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *result = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_uint(doc, result, "words", words);
  return wharf_structured(call, result);
}

WHARF_TOOLS(
  {
    .name = "greet",
    .description = "Greets somebody.",
    .input = WHARF_JSON({
      "type": "object",
      "properties": {"name": {"type": "string", "description": "Whom to greet."}},
      "required": ["name"]
    }),
    .run = greet,
    .read_only = WHARF_IS,
  },
  {
    .name = "count",
    .description = "Counts the words of a text.",
    .input = WHARF_JSON({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
    .output = WHARF_JSON({"type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"]}),
    .run = count,
    .read_only = WHARF_IS,
  })
