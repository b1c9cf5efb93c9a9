/* The interfaces `completions` and `extensions`. */
#include <ctype.h>

#include "internal.h"

/* Defined only if the plugin uses WHARF_COMPLETIONS, WHARF_EXTENSIONS. */
extern const wharf_completer wharf_completions __attribute__((weak));
extern const wharf_offer wharf_extensions __attribute__((weak));

wharf_status wharf_suggest(wharf_call *call, const wharf_typed *typed, const char *value) {
  for (size_t i = 0; typed->value[i]; i++)
    if (tolower((unsigned char)value[i]) != tolower((unsigned char)typed->value[i])) return WHARF_OK;
  *WHARF_PUSH(call->suggestions) = wharf_string(value);
  return WHARF_OK;
}

void wharf_suggestions_of(wharf_call *call, uint32_t total) {
  call->has_total = true;
  call->total = total;
}

bool exports_wharf_plugin_completions_complete(exports_wharf_plugin_completions_subject_t *subject,
                                               wharf_abi_string_t *name, wharf_abi_string_t *value,
                                               wharf_abi_list_tuple2_string_string_t *given,
                                               exports_wharf_plugin_completions_call_context_t *context,
                                               exports_wharf_plugin_completions_completion_t *ret,
                                               exports_wharf_plugin_completions_call_error_t *err) {
  wharf_call call = wharf_begin(context);
  bool is_prompt = subject->tag == EXPORTS_WHARF_PLUGIN_COMPLETIONS_SUBJECT_PROMPT;
  const char *of = wharf_taken(&call, subject->val.prompt);
  wharf_typed typed = {is_prompt ? of : NULL, is_prompt ? NULL : of, wharf_taken(&call, *name),
                       wharf_taken(&call, *value), wharf_object(&call, *given)};
  wharf_status status = &wharf_completions ? wharf_completions.complete(&call, &typed) : WHARF_OK;
  memset(ret, 0, sizeof *ret);
  if (status == WHARF_OK) {
    ret->values = call.suggestions;
    ret->total.is_some = call.has_total;
    ret->total.val = call.total;
    ret->has_more = call.has_total && call.total > call.suggestions.len;
    memset(&call.suggestions, 0, sizeof call.suggestions);
  } else {
    *err = wharf_call_error(&call, status);
  }
  wharf_end(&call);
  exports_wharf_plugin_completions_subject_free(subject);
  wharf_abi_string_free(name);
  wharf_abi_string_free(value);
  wharf_abi_list_tuple2_string_string_free(given);
  wharf_plugin_types_call_context_free(context);
  return status == WHARF_OK;
}

static exports_wharf_plugin_extensions_list_capability_t declared(const wharf_capability *capability) {
  exports_wharf_plugin_extensions_list_capability_t list = {0};
  for (; capability && capability->name; capability++) {
    exports_wharf_plugin_extensions_capability_t *added = WHARF_PUSH(list);
    added->name = wharf_string(capability->name);
    added->settings = wharf_string(capability->settings ? capability->settings : "{}");
  }
  return list;
}

static const wharf_method *methods(void) { return &wharf_extensions ? wharf_extensions.methods : NULL; }

bool exports_wharf_plugin_extensions_describe(exports_wharf_plugin_extensions_offer_t *ret, wharf_abi_string_t *err) {
  (void)err;
  memset(ret, 0, sizeof *ret);
  if (!&wharf_extensions) return true;
  ret->experimental = declared(wharf_extensions.experimental);
  ret->extensions = declared(wharf_extensions.extensions);
  for (const wharf_method *method = methods(); method && method->name; method++)
    *WHARF_PUSH(ret->methods) = wharf_string(method->name);
  return true;
}

static wharf_status run(wharf_call *call, wharf_abi_string_t *name, wharf_abi_string_t *params) {
  const char *wanted = wharf_taken(call, *name);
  for (const wharf_method *method = methods(); method && method->name; method++) {
    if (strcmp(method->name, wanted) == 0)
      return method->run(call, wharf_read_json(call, (char *)params->ptr, params->len));
  }
  return WHARF_NOT_FOUND;
}

bool exports_wharf_plugin_extensions_call_method(wharf_abi_string_t *name, exports_wharf_plugin_extensions_json_t *params,
                                                 exports_wharf_plugin_extensions_call_context_t *context,
                                                 exports_wharf_plugin_extensions_json_t *ret,
                                                 exports_wharf_plugin_extensions_call_error_t *err) {
  wharf_call call = wharf_begin(context);
  wharf_status status = run(&call, name, params);
  if (status == WHARF_OK) *ret = wharf_string(call.structured ? call.structured : "{}");
  else *err = wharf_call_error(&call, status);
  wharf_end(&call);
  wharf_abi_string_free(name);
  wharf_abi_string_free(params);
  wharf_plugin_types_call_context_free(context);
  return status == WHARF_OK;
}
