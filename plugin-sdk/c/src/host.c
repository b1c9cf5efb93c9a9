/* Notifications that a plugin can send at any time, and its settings. */
#include "internal.h"

void wharf_log(wharf_level level, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (size < 0) return;
  wharf_abi_string_t message = wharf_string(text);
  wharf_plugin_host_log((uint8_t)level, &message);
  wharf_abi_string_free(&message);
}

void wharf_log_data(wharf_level level, const char *logger, const char *json) {
  wharf_abi_string_t name = wharf_lend(logger), data = wharf_lend(json);
  wharf_plugin_host_log_data((uint8_t)level, &name, &data);
}

void wharf_progress(double done, double total, const char *message) {
  wharf_abi_string_t text = wharf_lend(message);
  wharf_plugin_host_progress(done, total > 0 ? &total : NULL, message ? &text : NULL);
}

bool wharf_cancelled(void) { return wharf_plugin_host_cancelled(); }

void wharf_list_changed(wharf_listing listing) { wharf_plugin_host_list_changed((uint8_t)listing); }

void wharf_resource_updated(const char *uri) {
  wharf_abi_string_t text = wharf_lend(uri);
  wharf_plugin_host_resource_updated(&text);
}

wharf_found wharf_config(wharf_call *call, const char *key, const char **value) {
  wharf_abi_string_t name = wharf_lend(key);
  wharf_abi_option_string_t answer = {0};
  wasi_config_store_error_t error = {0};
  *value = NULL;
  if (!wasi_config_store_get(&name, &answer, &error)) {
    call->error = wharf_taken(call, error.val.io);
    wasi_config_store_error_free(&error);
    return WHARF_ERRED;
  }
  if (!answer.is_some) return WHARF_ABSENT;
  *value = wharf_taken(call, answer.val);
  wharf_abi_string_free(&answer.val);
  return WHARF_FOUND;
}
