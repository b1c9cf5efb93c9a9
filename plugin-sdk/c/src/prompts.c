/* The interface `prompts`. */
#include "internal.h"

/* Defined only if the plugin uses WHARF_PROMPTS. */
extern const wharf_prompt_table wharf_prompts __attribute__((weak));

static exports_wharf_plugin_prompts_prompt_t listed(const wharf_prompt *prompt) {
  exports_wharf_plugin_prompts_prompt_t entry = {0};
  entry.name = wharf_string(prompt->name);
  entry.title = wharf_option(prompt->title);
  entry.description = wharf_option(prompt->description);
  for (const wharf_argument *argument = prompt->arguments; argument && argument->name; argument++) {
    exports_wharf_plugin_prompts_prompt_argument_t *added = WHARF_PUSH(entry.arguments);
    added->name = wharf_string(argument->name);
    added->title = wharf_option(argument->title);
    added->description = wharf_option(argument->description);
    added->required = !argument->optional;
  }
  wharf_plugin_types_list_icon_t icons = wharf_icons(prompt->icons);
  entry.icons.ptr = icons.ptr;
  entry.icons.len = icons.len;
  wharf_plugin_types_option_json_t meta = wharf_json(prompt->meta);
  entry.meta.is_some = meta.is_some;
  entry.meta.val = meta.val;
  return entry;
}

bool exports_wharf_plugin_prompts_list_prompts(exports_wharf_plugin_prompts_list_prompt_t *ret, wharf_abi_string_t *err) {
  (void)err;
  ret->ptr = NULL;
  ret->len = 0;
  for (size_t i = 0; &wharf_prompts && i < wharf_prompts.count; i++) *WHARF_PUSH(*ret) = listed(&wharf_prompts.at[i]);
  return true;
}

static wharf_status run(wharf_call *call, wharf_abi_string_t *name, wharf_abi_list_tuple2_string_string_t *arguments) {
  const char *wanted = wharf_taken(call, *name);
  for (size_t i = 0; &wharf_prompts && i < wharf_prompts.count; i++) {
    if (strcmp(wharf_prompts.at[i].name, wanted) == 0)
      return wharf_prompts.at[i].run(call, wharf_object(call, *arguments));
  }
  return WHARF_NOT_FOUND;
}

static void complete(wharf_call *call, exports_wharf_plugin_prompts_prompt_result_t *result) {
  memset(result, 0, sizeof *result);
  result->description = wharf_option(call->description);
  for (size_t i = 0; i < call->content.len; i++) {
    exports_wharf_plugin_prompts_prompt_message_t *message = WHARF_PUSH(result->messages);
    message->role = (uint8_t)call->speakers[i];
    message->content = call->content.ptr[i];
  }
  /* The host owns the pieces now, but not the list. */
  call->content.len = 0;
  wharf_plugin_types_option_json_t meta = wharf_json(call->meta);
  result->meta.is_some = meta.is_some;
  result->meta.val = meta.val;
}

bool exports_wharf_plugin_prompts_get_prompt(wharf_abi_string_t *name, wharf_abi_list_tuple2_string_string_t *arguments,
                                             exports_wharf_plugin_prompts_call_context_t *context,
                                             exports_wharf_plugin_prompts_prompt_outcome_t *ret,
                                             exports_wharf_plugin_prompts_call_error_t *err) {
  wharf_call call = wharf_begin(context);
  wharf_status status = run(&call, name, arguments);
  bool has_outcome = true;
  if (status == WHARF_OK) {
    ret->tag = EXPORTS_WHARF_PLUGIN_PROMPTS_PROMPT_OUTCOME_COMPLETE;
    complete(&call, &ret->val.complete);
  } else if (status == WHARF_ASKED && wharf_required(&call, &ret->val.input_required)) {
    ret->tag = EXPORTS_WHARF_PLUGIN_PROMPTS_PROMPT_OUTCOME_INPUT_REQUIRED;
  } else {
    *err = wharf_call_error(&call, status);
    has_outcome = false;
  }
  wharf_end(&call);
  wharf_abi_string_free(name);
  wharf_abi_list_tuple2_string_string_free(arguments);
  wharf_plugin_types_call_context_free(context);
  return has_outcome;
}
