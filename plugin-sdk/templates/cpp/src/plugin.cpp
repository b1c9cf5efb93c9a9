#include <string>

#include "wharf.h"

static wharf_status greet(wharf_call *call, yyjson_val *arguments) {
  // The host has checked the arguments against the schema below.
  const std::string name = yyjson_get_str(yyjson_obj_get(arguments, "name"));
  if (name.empty()) return wharf_invalid(call, "/name", "must not be empty");
  const std::string greeting = "Hello, " + name + "!";
  return wharf_text_n(call, greeting.data(), greeting.size());
}

WHARF_TOOLS({
  .name = "greet",
  .description = "Greets somebody.",
  .input = WHARF_JSON({
    "type": "object",
    "properties": {"name": {"type": "string", "description": "Whom to greet."}},
    "required": ["name"]
  }),
  .run = greet,
  .read_only = WHARF_IS,
})
