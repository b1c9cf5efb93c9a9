/* Tests a plugin without a host, compiled natively: link the plugin's own
 * sources with wharf/src/, wharf/abi/wharf_types.c, wharf/yyjson/ and wharf/testing/. It
 * checks no schema and no grant: those checks are the host's.
 *
 *     wharf_test_result result = wharf_test_call("greet", "{\"name\": \"Ada\"}");
 *     assert(strcmp(result.text, "Hello, Ada!") == 0);
 */
#ifndef WHARF_TEST_H
#define WHARF_TEST_H

#include "../wharf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call. Its texts live until the next call; missing ones are "". */
typedef struct {
  /* How it ended; WHARF_ASKED if a question had no answer by wharf_test_answer. */
  wharf_status status;
  /* All texts of the content, concatenated. */
  const char *text;
  /* Structured content, as JSON. */
  const char *structured;
  /* Why it failed; for invalid arguments the JSON Pointer, a colon and the reason. */
  const char *error;
} wharf_test_result;

/* Calls a tool in as many rounds as its questions need. */
wharf_test_result wharf_test_call(const char *tool, const char *arguments);
/* Makes a prompt; `arguments` is a JSON object of strings. */
wharf_test_result wharf_test_prompt(const char *prompt, const char *arguments);
/* Reads a resource. */
wharf_test_result wharf_test_read(const char *uri);
/* The number of listed tools. */
size_t wharf_test_tools(void);

/* The next answer to a question: `accept` with the form's content as JSON (or ""),
 * `decline`, `model` with a text, `root` with a URI, or `unavailable` with the reason. */
void wharf_test_answer(const char *kind, const char *text);

/* The log messages and notifications since the last call of this function, one line each:
 * `info: text`, `progress: 1 of 2 text` and so on. Lives until the next call of it. */
const char *wharf_test_messages(void);

/* Sets the response to all HTTP requests: a status and a body. */
void wharf_test_serve(int status, const char *body);
/* Revokes the grant `keyvalue`; with it, values are stored in memory. */
void wharf_test_deny_store(bool is_denied);
/* Sets a value of wharf_config. */
void wharf_test_config(const char *key, const char *value);

#ifdef __cplusplus
}
#endif

#endif
