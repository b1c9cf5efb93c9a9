/* HTTP requests. */
#include <strings.h>

#include "internal.h"

static void tell(wharf_call *call, wharf_plugin_http_error_t *error, wharf_response *response) {
  response->reason = (wharf_http_reason)error->tag;
  switch (error->tag) {
  case WHARF_PLUGIN_HTTP_ERROR_TIMEOUT:
    call->error = "the request timed out";
    break;
  case WHARF_PLUGIN_HTTP_ERROR_TOO_LARGE:
    call->error = wharf_format(call, "the response has more than %llu bytes", (unsigned long long)error->val.too_large);
    break;
  default:
    call->error = wharf_taken(call, error->val.denied);
  }
  wharf_plugin_http_error_free(error);
}

bool wharf_fetch(wharf_call *call, const wharf_request *request, wharf_response *response) {
  wharf_plugin_http_request_t raw = {0};
  wharf_plugin_http_response_t answer;
  wharf_plugin_http_error_t error;
  memset(response, 0, sizeof *response);
  raw.method = wharf_lend(request->method ? request->method : "GET");
  raw.url = wharf_lend(request->url);
  for (const wharf_field *field = request->headers; field && field->name; field++) {
    wharf_plugin_http_header_t *header = WHARF_PUSH(raw.headers);
    wharf_abi_string_t value = wharf_lend(field->value);
    header->name = wharf_lend(field->name);
    header->value.ptr = value.ptr;
    header->value.len = value.len;
  }
  raw.body.is_some = request->body != NULL;
  raw.body.val.ptr = (uint8_t *)request->body;
  raw.body.val.len = request->body_size;
  raw.timeout_ms.is_some = request->timeout_ms > 0;
  raw.timeout_ms.val = request->timeout_ms;
  bool is_answered = wharf_plugin_http_fetch(&raw, &answer, &error);
  /* The elements are borrowed, the list is owned. */
  free(raw.headers.ptr);
  if (!is_answered) {
    tell(call, &error, response);
    return false;
  }
  wharf_field *fields = wharf_alloc(call, (answer.headers.len + 1) * sizeof *fields);
  for (size_t i = 0; i < answer.headers.len; i++) {
    fields[i].name = wharf_taken(call, answer.headers.ptr[i].name);
    fields[i].value = wharf_copy(call, (char *)answer.headers.ptr[i].value.ptr, answer.headers.ptr[i].value.len);
  }
  memset(&fields[answer.headers.len], 0, sizeof *fields);
  response->status = answer.status;
  response->headers = fields;
  response->body.at = wharf_copy(call, (char *)answer.body.ptr, answer.body.len);
  response->body.size = answer.body.len;
  wharf_plugin_http_response_free(&answer);
  return true;
}

const char *wharf_header(const wharf_response *response, const char *name) {
  for (const wharf_field *field = response->headers; field && field->name; field++)
    if (strcasecmp(field->name, name) == 0) return field->value;
  return NULL;
}
