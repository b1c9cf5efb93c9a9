/* The functions of the host: logging, stored values, HTTP. Included by wharf.h. */
#ifndef WHARF_HOST_H
#define WHARF_HOST_H

#include "wharf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- logging and notifications */

typedef enum {
  WHARF_DEBUG, WHARF_INFO, WHARF_NOTICE, WHARF_WARNING,
  WHARF_ERROR, WHARF_CRITICAL, WHARF_ALERT, WHARF_EMERGENCY
} wharf_level;

/* Writes to the host's log, and to the client if it asked for messages of this level; at most
 * 1023 bytes. */
void wharf_log(wharf_level level, const char *format, ...) WHARF_PRINTF(2, 3);
void wharf_log_data(wharf_level level, const char *logger, const char *json);

typedef enum { WHARF_TOOL_LIST, WHARF_PROMPT_LIST, WHARF_RESOURCE_LIST } wharf_listing;

/* Notifies the host that one of this plugin's lists has changed. */
void wharf_list_changed(wharf_listing listing);
void wharf_resource_updated(const char *uri);

/* ---- values stored between calls, if the plugin was granted `keyvalue` */

/* The error of the last function that returned WHARF_ERRED, NULL or false. */
const char *wharf_error(const wharf_call *call);

/* A bucket; closed at the end of the call. */
typedef struct wharf_store wharf_store;
typedef enum { WHARF_ABSENT, WHARF_FOUND, WHARF_ERRED } wharf_found;

/* NULL on an error. The plugin's default bucket is "default". */
wharf_store *wharf_store_open(wharf_call *call, const char *name);
wharf_found wharf_store_get(wharf_store *store, const char *key, wharf_bytes *value);
bool wharf_store_set(wharf_store *store, const char *key, const void *value, size_t size);
bool wharf_store_delete(wharf_store *store, const char *key);
bool wharf_store_keys(wharf_store *store, const char *const **keys, size_t *count);
/* Adds to a number atomically; a missing key counts as 0. */
bool wharf_store_increment(wharf_store *store, const char *key, uint64_t delta, uint64_t *sum);

/* A value of the grant's `config`. Variables of its `env` are available through getenv. */
wharf_found wharf_config(wharf_call *call, const char *key, const char **value);

/* ---- HTTP, if the plugin was granted it. Redirects are not followed. */

/* A list of fields ends with {0}. */
typedef struct {
  const char *name, *value;
} wharf_field;

typedef struct {
  /* NULL means GET. */
  const char *method;
  const char *url;
  const wharf_field *headers;
  const void *body;
  size_t body_size;
  /* Limits the whole exchange; with 0 the host's limit applies. */
  uint32_t timeout_ms;
} wharf_request;

typedef enum {
  WHARF_HTTP_DENIED, WHARF_HTTP_INVALID, WHARF_HTTP_UNREACHABLE,
  WHARF_HTTP_TIMEOUT, WHARF_HTTP_TOO_LARGE, WHARF_HTTP_PROTOCOL
} wharf_http_reason;

typedef struct {
  int status;
  const wharf_field *headers;
  wharf_bytes body;
  /* Why there is no response. */
  wharf_http_reason reason;
} wharf_response;

/* Waits for the whole response, whatever its status. */
bool wharf_fetch(wharf_call *call, const wharf_request *request, wharf_response *response);
/* The first field of that name, ignoring case; NULL if there is none. */
const char *wharf_header(const wharf_response *response, const char *name);

#ifdef __cplusplus
}
#endif

#endif
