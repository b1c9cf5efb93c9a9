/* The host's functions for tests: they record calls, and store values in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "double.h"

void *cabi_realloc(void *memory, size_t old_size, size_t align, size_t size) {
  (void)old_size, (void)align;
  return realloc(memory, size);
}

void lines_add(lines *to, const char *text, size_t size) {
  to->at = realloc(to->at, to->size + size + 1);
  if (!to->at) abort();
  if (size) memcpy(to->at + to->size, text, size);
  to->size += size;
  to->at[to->size] = 0;
}

void lines_clear(lines *of) {
  free(of->at);
  of->at = NULL;
  of->size = 0;
}

wharf_abi_string_t owned(const char *text, size_t size) {
  wharf_abi_string_t string = {size ? malloc(size) : NULL, size};
  if (size && !string.ptr) abort();
  if (size) memcpy(string.ptr, text, size);
  return string;
}

/* ---- recorded messages */

static lines messages, shown;

const char *wharf_test_messages(void) {
  lines_clear(&shown);
  shown = messages;
  messages = (lines){0};
  return shown.at ? shown.at : "";
}

static void tell(const char *what, const char *text, size_t size) {
  lines_add(&messages, what, strlen(what));
  lines_add(&messages, ": ", 2);
  lines_add(&messages, text, size);
  lines_add(&messages, "\n", 1);
}

static const char *const levels[] = {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};
static const char *const listings[] = {"tools", "prompts", "resources"};

void wharf_plugin_host_log(uint8_t level, wharf_abi_string_t *message) {
  tell(levels[level], (char *)message->ptr, message->len);
}

void wharf_plugin_host_log_data(uint8_t level, wharf_abi_string_t *logger, wharf_abi_string_t *data) {
  lines line = {0};
  lines_add(&line, (char *)logger->ptr, logger->len);
  lines_add(&line, ": ", 2);
  lines_add(&line, (char *)data->ptr, data->len);
  tell(levels[level], line.at, line.size);
  lines_clear(&line);
}

void wharf_plugin_host_progress(double done, double *total, wharf_abi_string_t *message) {
  char text[512];
  int size = total ? snprintf(text, sizeof text, "%g of %g", done, *total) : snprintf(text, sizeof text, "%g", done);
  if (message && size >= 0 && (size_t)size < sizeof text)
    size += snprintf(text + size, sizeof text - (size_t)size, " %.*s", (int)message->len, (char *)message->ptr);
  tell("progress", text, strlen(text));
}

void wharf_plugin_host_list_changed(uint8_t listing) { tell("list changed", listings[listing], strlen(listings[listing])); }

void wharf_plugin_host_resource_updated(wharf_abi_string_t *uri) { tell("resource updated", (char *)uri->ptr, uri->len); }

bool wharf_plugin_host_cancelled(void) { return false; }

/* ---- values and settings */

typedef struct entry {
  struct entry *next;
  int bucket;
  wharf_abi_string_t key, value;
} entry;

static entry *entries;
static bool is_denied;
static lines names[16];

void wharf_test_deny_store(bool denied) { is_denied = denied; }

static bool is_same(wharf_abi_string_t a, wharf_abi_string_t b) { return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0; }

static entry **place(int bucket, wharf_abi_string_t key) {
  entry **at = &entries;
  while (*at && ((*at)->bucket != bucket || !is_same((*at)->key, key))) at = &(*at)->next;
  return at;
}

static void put(int bucket, wharf_abi_string_t key, const char *value, size_t size) {
  entry **at = place(bucket, key);
  if (!*at) {
    *at = calloc(1, sizeof **at);
    if (!*at) abort();
    (*at)->bucket = bucket;
    (*at)->key = owned((char *)key.ptr, key.len);
  }
  free((*at)->value.ptr);
  (*at)->value = owned(value, size);
}

/* Buckets are numbered in order of opening. Settings have number -1. */
bool wasi_keyvalue_store_open(wharf_abi_string_t *name, wasi_keyvalue_store_own_bucket_t *ret,
                              wasi_keyvalue_store_error_t *err) {
  int number = 0;
  if (is_denied) {
    err->tag = WASI_KEYVALUE_STORE_ERROR_ACCESS_DENIED;
    return false;
  }
  while (number < 16 && names[number].at &&
         (names[number].size != name->len || memcmp(names[number].at, name->ptr, name->len) != 0))
    number++;
  if (number == 16) {
    err->tag = WASI_KEYVALUE_STORE_ERROR_NO_SUCH_STORE;
    return false;
  }
  if (!names[number].at) lines_add(&names[number], (char *)name->ptr, name->len);
  ret->__handle = number;
  return true;
}

/* The bindings are compiled without their imports, except this one. */
void __wasm_import_wasi_keyvalue_store_bucket_drop(int32_t handle) { (void)handle; }

bool wasi_keyvalue_store_method_bucket_get(wasi_keyvalue_store_borrow_bucket_t self, wharf_abi_string_t *key,
                                           wharf_abi_option_list_u8_t *ret, wasi_keyvalue_store_error_t *err) {
  (void)err;
  entry *found = *place(self.__handle, *key);
  ret->is_some = found != NULL;
  if (found) {
    wharf_abi_string_t value = owned((char *)found->value.ptr, found->value.len);
    ret->val.ptr = value.ptr;
    ret->val.len = value.len;
  }
  return true;
}

bool wasi_keyvalue_store_method_bucket_set(wasi_keyvalue_store_borrow_bucket_t self, wharf_abi_string_t *key,
                                           wharf_abi_list_u8_t *value, wasi_keyvalue_store_error_t *err) {
  (void)err;
  put(self.__handle, *key, (char *)value->ptr, value->len);
  return true;
}

bool wasi_keyvalue_store_method_bucket_delete(wasi_keyvalue_store_borrow_bucket_t self, wharf_abi_string_t *key,
                                              wasi_keyvalue_store_error_t *err) {
  (void)err;
  entry **at = place(self.__handle, *key), *gone = *at;
  if (!gone) return true;
  *at = gone->next;
  free(gone->key.ptr);
  free(gone->value.ptr);
  free(gone);
  return true;
}

/* One key per page, so that tests cover paging. */
bool wasi_keyvalue_store_method_bucket_list_keys(wasi_keyvalue_store_borrow_bucket_t self, uint64_t *cursor,
                                                 wasi_keyvalue_store_key_response_t *ret,
                                                 wasi_keyvalue_store_error_t *err) {
  (void)err;
  uint64_t skip = cursor ? *cursor : 0, seen = 0;
  memset(ret, 0, sizeof *ret);
  for (entry *at = entries; at; at = at->next) {
    if (at->bucket != self.__handle || seen++ < skip) continue;
    if (ret->keys.len) {
      ret->cursor.is_some = true;
      ret->cursor.val = skip + 1;
      break;
    }
    ret->keys.ptr = malloc(sizeof *ret->keys.ptr);
    if (!ret->keys.ptr) abort();
    ret->keys.ptr[ret->keys.len++] = owned((char *)at->key.ptr, at->key.len);
  }
  return true;
}

bool wasi_keyvalue_atomics_increment(wasi_keyvalue_atomics_borrow_bucket_t bucket, wharf_abi_string_t *key,
                                     uint64_t delta, uint64_t *ret, wasi_keyvalue_atomics_error_t *err) {
  entry *found = *place(bucket.__handle, *key);
  char text[32] = "0", *end;
  if (found && found->value.len < sizeof text) {
    memcpy(text, found->value.ptr, found->value.len);
    text[found->value.len] = 0;
  }
  *ret = strtoull(text, &end, 10) + delta;
  if (*end) {
    static const char why[] = "the value to increment is no whole number";
    err->tag = WASI_KEYVALUE_STORE_ERROR_OTHER;
    err->val.other = owned(why, strlen(why));
    return false;
  }
  int size = snprintf(text, sizeof text, "%llu", (unsigned long long)*ret);
  put(bucket.__handle, *key, text, (size_t)size);
  return true;
}

void wharf_test_config(const char *key, const char *value) {
  wharf_abi_string_t name = {(uint8_t *)key, strlen(key)};
  put(-1, name, value, strlen(value));
}

bool wasi_config_store_get(wharf_abi_string_t *key, wharf_abi_option_string_t *ret, wasi_config_store_error_t *err) {
  (void)err;
  entry *found = *place(-1, *key);
  ret->is_some = found != NULL;
  if (found) ret->val = owned((char *)found->value.ptr, found->value.len);
  return true;
}

/* ---- HTTP */

static int status;
static lines body;

void wharf_test_serve(int answered, const char *text) {
  status = answered;
  lines_clear(&body);
  lines_add(&body, text, strlen(text));
}

bool wharf_plugin_http_fetch(wharf_plugin_http_request_t *request, wharf_plugin_http_response_t *ret,
                             wharf_plugin_http_error_t *err) {
  if (!status) {
    static const char why[] = "a test without wharf_test_serve has no network";
    err->tag = WHARF_PLUGIN_HTTP_ERROR_DENIED;
    err->val.denied = owned(why, strlen(why));
    return false;
  }
  lines line = {0};
  lines_add(&line, (char *)request->method.ptr, request->method.len);
  lines_add(&line, " ", 1);
  lines_add(&line, (char *)request->url.ptr, request->url.len);
  tell("fetch", line.at, line.size);
  lines_clear(&line);
  wharf_abi_string_t given = owned(body.at, body.size);
  memset(ret, 0, sizeof *ret);
  ret->status = (uint16_t)status;
  ret->body.ptr = given.ptr;
  ret->body.len = given.len;
  return true;
}
