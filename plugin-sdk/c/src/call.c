/* The start, the end and the context of a call. */
#include "internal.h"

const wharf_plugin_types_call_context_t wharf_no_context = {0};

wharf_call wharf_begin(const wharf_plugin_types_call_context_t *context) {
  wharf_call call = {0};
  call.context = context;
  return call;
}

/* The bindings free a list's memory only if it is not empty. */
static void free_questions(wharf_plugin_types_list_question_t *list) {
  for (size_t i = 0; i < list->len; i++) wharf_plugin_types_question_free(&list->ptr[i]);
  free(list->ptr);
}

void wharf_end(wharf_call *call) {
  if (call->close_stores) call->close_stores(call);
  for (size_t i = 0; i < call->content.len; i++) wharf_plugin_types_content_free(&call->content.ptr[i]);
  free(call->content.ptr);
  for (size_t i = 0; i < call->contents.len; i++)
    wharf_plugin_types_resource_contents_free(&call->contents.ptr[i]);
  free(call->contents.ptr);
  for (size_t i = 0; i < call->resources.len; i++)
    wharf_plugin_types_resource_description_free(&call->resources.ptr[i]);
  free(call->resources.ptr);
  for (size_t i = 0; i < call->suggestions.len; i++) wharf_abi_string_free(&call->suggestions.ptr[i]);
  free(call->suggestions.ptr);
  free_questions(&call->questions);
  free_questions(&call->refused);
  free(call->speakers);
  wharf_free_blocks(call);
}

const char *wharf_id(wharf_call *call) { return wharf_taken(call, call->context->id); }

uint64_t wharf_time_left_ms(const wharf_call *call) { return call->context->time_left_ms; }

yyjson_val *wharf_meta(wharf_call *call) {
  wharf_plugin_types_option_json_t meta = call->context->meta;
  return meta.is_some ? wharf_read_json(call, (char *)meta.val.ptr, meta.val.len) : NULL;
}

bool wharf_can(const wharf_call *call, wharf_feature feature) { return (call->context->client & feature) != 0; }

const char *wharf_error(const wharf_call *call) { return call->error ? call->error : ""; }

wharf_status wharf_done(wharf_call *call) {
  (void)call;
  return WHARF_OK;
}

wharf_status wharf_failed(wharf_call *call, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  call->failure = wharf_vformat(call, format, arguments);
  va_end(arguments);
  return WHARF_FAILED;
}

wharf_status wharf_invalid(wharf_call *call, const char *pointer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  call->failure = wharf_vformat(call, format, arguments);
  va_end(arguments);
  call->pointer = wharf_copy(call, pointer, strlen(pointer));
  return WHARF_INVALID;
}

wharf_status wharf_not_found(wharf_call *call) {
  (void)call;
  return WHARF_NOT_FOUND;
}

wharf_plugin_types_call_error_t wharf_call_error(const wharf_call *call, wharf_status status) {
  wharf_plugin_types_call_error_t error = {0};
  const char *why = call->failure ? call->failure : "the plugin gave no reason";
  switch (status) {
  case WHARF_NOT_FOUND:
    error.tag = WHARF_PLUGIN_TYPES_CALL_ERROR_NOT_FOUND;
    break;
  case WHARF_INVALID:
    error.tag = WHARF_PLUGIN_TYPES_CALL_ERROR_INVALID_INPUT;
    error.val.invalid_input.path = wharf_string(call->pointer);
    error.val.invalid_input.reason = wharf_string(why);
    break;
  case WHARF_ASKED:
    why = "questions are not supported here";
    /* fallthrough */
  default:
    error.tag = WHARF_PLUGIN_TYPES_CALL_ERROR_FAILED;
    error.val.failed = wharf_string(why);
  }
  return error;
}
