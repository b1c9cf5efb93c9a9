/* The interface `resources`. */
#include "internal.h"

/* Defined only if the plugin uses WHARF_RESOURCES. */
extern const wharf_resource_table wharf_resources __attribute__((weak));

wharf_status wharf_list(wharf_call *call, const wharf_resource *resource) {
  *WHARF_PUSH(call->resources) = wharf_describe(resource);
  return WHARF_OK;
}

wharf_status wharf_contents_text(wharf_call *call, const char *uri, const char *mime_type, const char *text) {
  *WHARF_PUSH(call->contents) =
      wharf_contents(uri, mime_type, WHARF_PLUGIN_TYPES_RESOURCE_BODY_TEXT, text, strlen(text));
  return WHARF_OK;
}

wharf_status wharf_contents_bytes(wharf_call *call, const char *uri, const char *mime_type, const void *data, size_t size) {
  *WHARF_PUSH(call->contents) = wharf_contents(uri, mime_type, WHARF_PLUGIN_TYPES_RESOURCE_BODY_BLOB, data, size);
  return WHARF_OK;
}

void wharf_fresh_for(wharf_call *call, uint64_t milliseconds, bool everybody) {
  call->fresh_ms = milliseconds;
  call->for_everybody = everybody;
}

/* The pages of tools before the others. */
static wharf_status list(wharf_call *call) {
  wharf_status status = wharf_list_pages(call);
  size_t pages = call->resources.len;
  if (status == WHARF_OK && &wharf_resources && wharf_resources.list) status = wharf_resources.list(call);
  return status == WHARF_OK ? wharf_check_others(call, pages) : status;
}

bool exports_wharf_plugin_resources_list_resources(exports_wharf_plugin_resources_list_resource_description_t *ret,
                                                   wharf_abi_string_t *err) {
  memset(ret, 0, sizeof *ret);
  wharf_call call = wharf_begin(&wharf_no_context);
  bool is_listed = list(&call) == WHARF_OK;
  if (is_listed) {
    *ret = call.resources;
    memset(&call.resources, 0, sizeof call.resources);
  } else {
    *err = wharf_string(call.failure ? call.failure : "the plugin could not list its resources");
  }
  wharf_end(&call);
  return is_listed;
}

bool exports_wharf_plugin_resources_list_resource_templates(exports_wharf_plugin_resources_list_resource_template_t *ret,
                                                            wharf_abi_string_t *err) {
  (void)err;
  memset(ret, 0, sizeof *ret);
  for (size_t i = 0; &wharf_resources && i < wharf_resources.template_count; i++) {
    const wharf_template *template = &wharf_resources.templates[i];
    exports_wharf_plugin_resources_resource_template_t entry = {0};
    entry.uri_template = wharf_string(template->uri_template);
    entry.name = wharf_string(template->name);
    entry.title = wharf_option(template->title);
    entry.description = wharf_option(template->description);
    entry.mime_type = wharf_option(template->mime_type);
    wharf_plugin_types_option_annotations_t hints = wharf_hints(template->annotations);
    entry.annotations.is_some = hints.is_some;
    entry.annotations.val = hints.val;
    wharf_plugin_types_list_icon_t icons = wharf_icons(template->icons);
    entry.icons.ptr = icons.ptr;
    entry.icons.len = icons.len;
    wharf_plugin_types_option_json_t meta = wharf_json(template->meta);
    entry.meta.is_some = meta.is_some;
    entry.meta.val = meta.val;
    *WHARF_PUSH(*ret) = entry;
  }
  return true;
}

static void complete(wharf_call *call, exports_wharf_plugin_resources_read_result_t *result) {
  memset(result, 0, sizeof *result);
  result->contents = call->contents;
  memset(&call->contents, 0, sizeof call->contents);
  result->caching.is_some = call->fresh_ms > 0;
  result->caching.val.ttl_ms = call->fresh_ms;
  result->caching.val.scope = call->for_everybody ? EXPORTS_WHARF_PLUGIN_RESOURCES_CACHE_SCOPE_PUBLIC
                                                  : EXPORTS_WHARF_PLUGIN_RESOURCES_CACHE_SCOPE_PRIVATE;
  wharf_plugin_types_option_json_t meta = wharf_json(call->meta);
  result->meta.is_some = meta.is_some;
  result->meta.val = meta.val;
}

bool exports_wharf_plugin_resources_read_resource(wharf_abi_string_t *uri,
                                                  exports_wharf_plugin_resources_call_context_t *context,
                                                  exports_wharf_plugin_resources_read_outcome_t *ret,
                                                  exports_wharf_plugin_resources_call_error_t *err) {
  wharf_call call = wharf_begin(context);
  wharf_status status = WHARF_NOT_FOUND;
  const char *wanted = wharf_taken(&call, *uri);
  if (wharf_read_page(&call, wanted)) status = WHARF_OK;
  else if (&wharf_resources && wharf_resources.read) status = wharf_resources.read(&call, wanted);
  bool has_outcome = true;
  if (status == WHARF_OK) {
    ret->tag = EXPORTS_WHARF_PLUGIN_RESOURCES_READ_OUTCOME_COMPLETE;
    complete(&call, &ret->val.complete);
  } else if (status == WHARF_ASKED && wharf_required(&call, &ret->val.input_required)) {
    ret->tag = EXPORTS_WHARF_PLUGIN_RESOURCES_READ_OUTCOME_INPUT_REQUIRED;
  } else {
    *err = wharf_call_error(&call, status);
    has_outcome = false;
  }
  wharf_end(&call);
  wharf_abi_string_free(uri);
  wharf_plugin_types_call_context_free(context);
  return has_outcome;
}
