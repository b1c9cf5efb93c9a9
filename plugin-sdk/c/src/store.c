/* Values stored between calls. */
#include "internal.h"

struct wharf_store {
  wharf_call *call;
  wharf_store *next;
  wasi_keyvalue_store_own_bucket_t bucket;
};

static const char DENIED[] = "this plugin may not store anything: the operator of the server can grant it `keyvalue`; "
                             "the server's log says how";

static void tell(wharf_call *call, wasi_keyvalue_store_error_t *error) {
  switch (error->tag) {
  case WASI_KEYVALUE_STORE_ERROR_ACCESS_DENIED:
    call->error = DENIED;
    break;
  case WASI_KEYVALUE_STORE_ERROR_NO_SUCH_STORE:
    call->error = "there is no bucket of that name";
    break;
  default:
    call->error = wharf_taken(call, error->val.other);
  }
  wasi_keyvalue_store_error_free(error);
}

static wasi_keyvalue_store_borrow_bucket_t bucket(wharf_store *store) {
  return wasi_keyvalue_store_borrow_bucket(store->bucket);
}

static void close_all(wharf_call *call) {
  for (; call->stores; call->stores = call->stores->next) wasi_keyvalue_store_bucket_drop_own(call->stores->bucket);
}

wharf_store *wharf_store_open(wharf_call *call, const char *name) {
  wharf_abi_string_t text = wharf_lend(name);
  wasi_keyvalue_store_error_t error;
  wharf_store *store = wharf_alloc(call, sizeof *store);
  if (!wasi_keyvalue_store_open(&text, &store->bucket, &error)) {
    tell(call, &error);
    return NULL;
  }
  store->call = call;
  call->close_stores = close_all;
  store->next = call->stores;
  return call->stores = store;
}

wharf_found wharf_store_get(wharf_store *store, const char *key, wharf_bytes *value) {
  wharf_abi_string_t text = wharf_lend(key);
  wharf_abi_option_list_u8_t answer;
  wasi_keyvalue_store_error_t error;
  value->at = NULL;
  value->size = 0;
  if (!wasi_keyvalue_store_method_bucket_get(bucket(store), &text, &answer, &error)) {
    tell(store->call, &error);
    return WHARF_ERRED;
  }
  if (!answer.is_some) return WHARF_ABSENT;
  value->at = wharf_copy(store->call, (char *)answer.val.ptr, answer.val.len);
  value->size = answer.val.len;
  wharf_abi_option_list_u8_free(&answer);
  return WHARF_FOUND;
}

bool wharf_store_set(wharf_store *store, const char *key, const void *value, size_t size) {
  wharf_abi_string_t text = wharf_lend(key);
  wharf_abi_list_u8_t bytes = {(uint8_t *)value, size};
  wasi_keyvalue_store_error_t error;
  bool is_set = wasi_keyvalue_store_method_bucket_set(bucket(store), &text, &bytes, &error);
  if (!is_set) tell(store->call, &error);
  return is_set;
}

bool wharf_store_delete(wharf_store *store, const char *key) {
  wharf_abi_string_t text = wharf_lend(key);
  wasi_keyvalue_store_error_t error;
  bool is_deleted = wasi_keyvalue_store_method_bucket_delete(bucket(store), &text, &error);
  if (!is_deleted) tell(store->call, &error);
  return is_deleted;
}

bool wharf_store_keys(wharf_store *store, const char *const **keys, size_t *count) {
  wharf_call *call = store->call;
  const char **all = NULL;
  size_t known = 0;
  uint64_t cursor = 0, *from = NULL;
  for (;;) {
    wasi_keyvalue_store_key_response_t page;
    wasi_keyvalue_store_error_t error;
    if (!wasi_keyvalue_store_method_bucket_list_keys(bucket(store), from, &page, &error)) {
      tell(call, &error);
      return false;
    }
    const char **more = wharf_alloc(call, (known + page.keys.len) * sizeof *more);
    if (known) memcpy(more, all, known * sizeof *more);
    all = more;
    for (size_t i = 0; i < page.keys.len; i++) all[known++] = wharf_taken(call, page.keys.ptr[i]);
    bool is_last = !page.cursor.is_some;
    cursor = page.cursor.val;
    from = &cursor;
    wasi_keyvalue_store_key_response_free(&page);
    if (is_last) break;
  }
  *keys = all;
  *count = known;
  return true;
}

bool wharf_store_increment(wharf_store *store, const char *key, uint64_t delta, uint64_t *sum) {
  wharf_abi_string_t text = wharf_lend(key);
  wasi_keyvalue_atomics_error_t error;
  bool is_done = wasi_keyvalue_atomics_increment(bucket(store), &text, delta, sum, &error);
  if (!is_done) tell(store->call, &error);
  return is_done;
}
