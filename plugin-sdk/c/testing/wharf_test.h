/* Tries a plugin without a host, compiled for the machine it is on: link the plugin's own
 * sources with wharf/src/, wharf/abi/wharf_types.c, wharf/yyjson/ and wharf/testing/. It
 * checks no schema and no grant: what the host does is the host's affair.
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

/* What a call gave. Its texts live until the next call; those that are not there are "". */
typedef struct {
  /* How it ended; WHARF_ASKED if wharf_test_answer gave no answer to a question. */
  wharf_status status;
  /* All text of the content, one piece after the other. */
  const char *text;
  /* Structured content, as JSON. */
  const char *structured;
  /* Why it failed; of what is invalid, the JSON Pointer, a colon and the reason. */
  const char *error;
} wharf_test_result;

/* Calls a tool as often as it takes to answer all that it asks. */
wharf_test_result wharf_test_call(const char *tool, const char *arguments);
/* Makes a prompt; `arguments` is a JSON object of strings. */
wharf_test_result wharf_test_prompt(const char *prompt, const char *arguments);
/* Reads a resource. */
wharf_test_result wharf_test_read(const char *uri);
/* How many tools are listed. */
size_t wharf_test_tools(void);

/* The next answer to a question: `accept` with the form's content as JSON (or ""),
 * `decline`, `model` with a text, `root` with a URI, or `unavailable` with why. */
void wharf_test_answer(const char *kind, const char *text);

/* What the plugin told the host since this was last asked, one line each: `info: text`,
 * `progress: 1 of 2 text` and so on. It lives until it is asked again. */
const char *wharf_test_told(void);

/* The server of all HTTP requests: a status and a body. */
void wharf_test_serve(int status, const char *body);
/* Takes the grant `keyvalue` away; with it, what a test keeps is in memory. */
void wharf_test_deny_store(bool is_denied);
/* Sets a value of wharf_config. */
void wharf_test_config(const char *key, const char *value);

#ifdef __cplusplus
}
#endif

#endif
