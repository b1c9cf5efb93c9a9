/* The interface `tools`. */
#include "internal.h"

/* Defined only if the plugin uses WHARF_TOOLS. */
extern const wharf_tool_table wharf_tools __attribute__((weak));

static wharf_abi_option_bool_t hint(wharf_hint said) {
  wharf_abi_option_bool_t option = {said != WHARF_UNSAID, said == WHARF_IS};
  return option;
}

static exports_wharf_plugin_tools_tool_t listed(const wharf_tool *tool, const char *with_pages) {
  exports_wharf_plugin_tools_tool_t entry = {0};
  entry.name = wharf_string(tool->name);
  entry.title = wharf_option(tool->title);
  entry.description = wharf_option(tool->description);
  entry.input_schema = wharf_string(tool->input ? tool->input : WHARF_JSON({"type": "object", "additionalProperties": false}));
  wharf_plugin_types_option_json_t output = wharf_json(tool->output);
  entry.output_schema.is_some = output.is_some;
  entry.output_schema.val = output.val;
  entry.annotations.is_some = tool->read_only || tool->destructive || tool->idempotent || tool->open_world;
  entry.annotations.val.read_only = hint(tool->read_only);
  entry.annotations.val.destructive = hint(tool->destructive);
  entry.annotations.val.idempotent = hint(tool->idempotent);
  entry.annotations.val.open_world = hint(tool->open_world);
  entry.task_support = (uint8_t)tool->tasks;
  wharf_plugin_types_list_icon_t icons = wharf_icons(tool->icons);
  entry.icons.ptr = icons.ptr;
  entry.icons.len = icons.len;
  wharf_plugin_types_option_json_t meta = wharf_json(with_pages);
  entry.meta.is_some = meta.is_some;
  entry.meta.val = meta.val;
  return entry;
}

bool exports_wharf_plugin_tools_list_tools(exports_wharf_plugin_tools_list_tool_t *ret, wharf_abi_string_t *err) {
  ret->ptr = NULL;
  ret->len = 0;
  wharf_call call = wharf_begin(&wharf_no_context);
  wharf_status status = WHARF_OK;
  for (size_t i = 0; status == WHARF_OK && &wharf_tools && i < wharf_tools.count; i++) {
    const char *meta;
    status = wharf_tool_meta(&call, i, &meta);
    if (status == WHARF_OK) *WHARF_PUSH(*ret) = listed(&wharf_tools.at[i], meta);
  }
  if (status != WHARF_OK) {
    exports_wharf_plugin_tools_list_tool_free(ret);
    *err = wharf_string(call.failure);
  }
  wharf_end(&call);
  return status == WHARF_OK;
}

static wharf_status run(wharf_call *call, wharf_abi_string_t *name, wharf_abi_string_t *arguments) {
  const char *wanted = wharf_taken(call, *name);
  for (size_t i = 0; &wharf_tools && i < wharf_tools.count; i++) {
    if (strcmp(wharf_tools.at[i].name, wanted) == 0) {
      yyjson_val *read = wharf_read_json(call, (char *)arguments->ptr, arguments->len);
      if (!yyjson_is_obj(read)) return wharf_invalid(call, "", "the arguments are not a JSON object");
      return wharf_tools.at[i].run(call, read);
    }
  }
  return WHARF_NOT_FOUND;
}

static void complete(wharf_call *call, exports_wharf_plugin_tools_tool_result_t *result) {
  memset(result, 0, sizeof *result);
  result->content.ptr = call->content.ptr;
  result->content.len = call->content.len;
  /* The host owns it now. */
  memset(&call->content, 0, sizeof call->content);
  wharf_plugin_types_option_json_t structured = wharf_json(call->structured), meta = wharf_json(call->meta);
  result->structured.is_some = structured.is_some;
  result->structured.val = structured.val;
  result->meta.is_some = meta.is_some;
  result->meta.val = meta.val;
}

bool exports_wharf_plugin_tools_call_tool(wharf_abi_string_t *name, exports_wharf_plugin_tools_json_t *arguments,
                                          exports_wharf_plugin_tools_call_context_t *context,
                                          exports_wharf_plugin_tools_tool_outcome_t *ret,
                                          exports_wharf_plugin_tools_call_error_t *err) {
  wharf_call call = wharf_begin(context);
  wharf_status status = run(&call, name, arguments);
  bool has_outcome = true;
  if (status == WHARF_OK) {
    ret->tag = EXPORTS_WHARF_PLUGIN_TOOLS_TOOL_OUTCOME_COMPLETE;
    complete(&call, &ret->val.complete);
  } else if (status == WHARF_ASKED && wharf_required(&call, &ret->val.input_required)) {
    ret->tag = EXPORTS_WHARF_PLUGIN_TOOLS_TOOL_OUTCOME_INPUT_REQUIRED;
  } else {
    *err = wharf_call_error(&call, status);
    has_outcome = false;
  }
  wharf_end(&call);
  wharf_abi_string_free(name);
  wharf_abi_string_free(arguments);
  wharf_plugin_types_call_context_free(context);
  return has_outcome;
}
