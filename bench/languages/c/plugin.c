/* The tools of the measured servers, in C; `../cpp` compiles them as C++. */
#include "wharf.h"

static wharf_status echo(wharf_call *call, yyjson_val *arguments) {
  yyjson_val *message = yyjson_obj_get(arguments, "message");
  return wharf_text_n(call, yyjson_get_str(message), yyjson_get_len(message));
}

static wharf_status add(wharf_call *call, yyjson_val *arguments) {
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *result = yyjson_mut_obj(doc);
  int64_t a = yyjson_get_sint(yyjson_obj_get(arguments, "a")), b = yyjson_get_sint(yyjson_obj_get(arguments, "b"));
  yyjson_mut_obj_add_sint(doc, result, "sum", a + b);
  return wharf_structured(call, result);
}

WHARF_TOOLS(
  {
    .name = "echo",
    .description = "Says back what it is told.",
    .input = WHARF_JSON({
      "type": "object",
      "properties": {"message": {"type": "string", "description": "The text to return."}},
      "required": ["message"]
    }),
    .run = echo,
    .read_only = WHARF_IS,
  },
  {
    .name = "add",
    .description = "Adds two numbers.",
    .input = WHARF_JSON({
      "type": "object",
      "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
      "required": ["a", "b"]
    }),
    .output = WHARF_JSON({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}),
    .run = add,
    .read_only = WHARF_IS,
  })
