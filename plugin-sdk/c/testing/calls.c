/* Calls a plugin as the host does, with answers to its questions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "double.h"

static lines text, structured, failure;

/* ---- answers, in the order of asking */

enum { MOST_ANSWERS = 64 };

static struct {
  char kind;
  lines text;
} answers[MOST_ANSWERS];
static size_t given, used;

void wharf_test_answer(const char *kind, const char *said) {
  if (given == MOST_ANSWERS) abort();
  answers[given].kind = *kind;
  lines_clear(&answers[given].text);
  lines_add(&answers[given].text, said, strlen(said));
  given++;
}

static wharf_plugin_types_reply_t next_reply(void) {
  wharf_plugin_types_reply_t reply = {0};
  char kind = answers[used].kind;
  wharf_abi_string_t said = owned(answers[used].text.at, answers[used].text.size);
  used++;
  switch (kind) {
  case 'a':
    reply.tag = WHARF_PLUGIN_TYPES_REPLY_ELICITED;
    reply.val.elicited.content.is_some = said.len > 0;
    reply.val.elicited.content.val = said;
    if (!said.len) free(said.ptr);
    break;
  case 'd':
    reply.tag = WHARF_PLUGIN_TYPES_REPLY_ELICITED;
    reply.val.elicited.action = WHARF_PLUGIN_TYPES_ELICIT_ACTION_DECLINE;
    free(said.ptr);
    break;
  case 'm':
    reply.tag = WHARF_PLUGIN_TYPES_REPLY_SAMPLED;
    reply.val.sampled.model = owned("test", 4);
    reply.val.sampled.content.ptr = calloc(1, sizeof *reply.val.sampled.content.ptr);
    if (!reply.val.sampled.content.ptr) abort();
    reply.val.sampled.content.len = 1;
    reply.val.sampled.content.ptr[0].val.text.text = said;
    break;
  case 'r':
    reply.tag = WHARF_PLUGIN_TYPES_REPLY_ROOTS;
    reply.val.roots.ptr = calloc(1, sizeof *reply.val.roots.ptr);
    if (!reply.val.roots.ptr) abort();
    reply.val.roots.len = 1;
    reply.val.roots.ptr[0].uri = said;
    break;
  default:
    reply.tag = WHARF_PLUGIN_TYPES_REPLY_UNAVAILABLE;
    reply.val.unavailable = said;
  }
  return reply;
}

static wharf_plugin_types_call_context_t context(wharf_plugin_types_input_required_t *asked) {
  wharf_plugin_types_call_context_t made = {0};
  made.id = owned("test", 4);
  made.client = 63;
  made.time_left_ms = 30000;
  if (!asked) return made;
  made.answers.ptr = calloc(asked->questions.len, sizeof *made.answers.ptr);
  if (!made.answers.ptr) abort();
  for (size_t i = 0; i < asked->questions.len; i++) {
    wharf_abi_string_t key = asked->questions.ptr[i].key;
    made.answers.ptr[i].key = owned((char *)key.ptr, key.len);
    made.answers.ptr[i].reply = next_reply();
  }
  made.answers.len = asked->questions.len;
  if (asked->state.is_some) {
    wharf_abi_string_t state = owned((char *)asked->state.val.ptr, asked->state.val.len);
    made.state.is_some = true;
    made.state.val.ptr = state.ptr;
    made.state.val.len = state.len;
  }
  return made;
}

/* ---- results */

static void begin(void) {
  lines_clear(&text);
  lines_clear(&structured);
  lines_clear(&failure);
}

static wharf_test_result ended(wharf_status status) {
  wharf_test_result result = {status, text.at ? text.at : "", structured.at ? structured.at : "",
                              failure.at ? failure.at : ""};
  if (status != WHARF_ASKED) given = used = 0;
  return result;
}

static void add_piece(const wharf_plugin_types_content_t *piece) {
  if (piece->tag == WHARF_PLUGIN_TYPES_CONTENT_TEXT)
    lines_add(&text, (char *)piece->val.text.text.ptr, piece->val.text.text.len);
}

static wharf_test_result failed(wharf_plugin_types_call_error_t *error) {
  wharf_status status = WHARF_NOT_FOUND;
  if (error->tag == WHARF_PLUGIN_TYPES_CALL_ERROR_INVALID_INPUT) {
    status = WHARF_INVALID;
    lines_add(&failure, (char *)error->val.invalid_input.path.ptr, error->val.invalid_input.path.len);
    lines_add(&failure, ": ", 2);
    lines_add(&failure, (char *)error->val.invalid_input.reason.ptr, error->val.invalid_input.reason.len);
  } else if (error->tag == WHARF_PLUGIN_TYPES_CALL_ERROR_FAILED) {
    status = WHARF_FAILED;
    lines_add(&failure, (char *)error->val.failed.ptr, error->val.failed.len);
  }
  wharf_plugin_types_call_error_free(error);
  return ended(status);
}

wharf_test_result wharf_test_call(const char *tool, const char *arguments) {
  exports_wharf_plugin_tools_tool_outcome_t outcome;
  wharf_plugin_types_call_error_t error;
  wharf_plugin_types_call_context_t first = context(NULL);
  begin();
  for (;;) {
    wharf_abi_string_t name = owned(tool, strlen(tool)), json = owned(arguments, strlen(arguments));
    if (!exports_wharf_plugin_tools_call_tool(&name, &json, &first, &outcome, &error)) return failed(&error);
    if (outcome.tag == EXPORTS_WHARF_PLUGIN_TOOLS_TOOL_OUTCOME_COMPLETE) break;
    wharf_plugin_types_input_required_t *asked = &outcome.val.input_required;
    if (given - used < asked->questions.len) {
      exports_wharf_plugin_tools_tool_outcome_free(&outcome);
      return ended(WHARF_ASKED);
    }
    first = context(asked);
    exports_wharf_plugin_tools_tool_outcome_free(&outcome);
  }
  exports_wharf_plugin_tools_tool_result_t *result = &outcome.val.complete;
  for (size_t i = 0; i < result->content.len; i++) add_piece(&result->content.ptr[i]);
  if (result->structured.is_some)
    lines_add(&structured, (char *)result->structured.val.ptr, result->structured.val.len);
  exports_wharf_plugin_tools_tool_outcome_free(&outcome);
  return ended(WHARF_OK);
}

wharf_test_result wharf_test_prompt(const char *prompt, const char *arguments) {
  exports_wharf_plugin_prompts_prompt_outcome_t outcome;
  wharf_plugin_types_call_error_t error;
  wharf_plugin_types_call_context_t first = context(NULL);
  wharf_abi_string_t name = owned(prompt, strlen(prompt));
  wharf_abi_list_tuple2_string_string_t pairs = {0};
  yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), 0);
  yyjson_val *root = yyjson_doc_get_root(doc), *key, *value;
  size_t at, count;
  begin();
  pairs.ptr = calloc(yyjson_obj_size(root) + 1, sizeof *pairs.ptr);
  if (!pairs.ptr) abort();
  yyjson_obj_foreach(root, at, count, key, value) {
    pairs.ptr[at].f0 = owned(yyjson_get_str(key), yyjson_get_len(key));
    pairs.ptr[at].f1 = owned(yyjson_get_str(value), yyjson_get_len(value));
    pairs.len++;
  }
  if (!pairs.len) free(pairs.ptr);
  yyjson_doc_free(doc);
  if (!exports_wharf_plugin_prompts_get_prompt(&name, &pairs, &first, &outcome, &error)) return failed(&error);
  bool is_complete = outcome.tag == EXPORTS_WHARF_PLUGIN_PROMPTS_PROMPT_OUTCOME_COMPLETE;
  for (size_t i = 0; is_complete && i < outcome.val.complete.messages.len; i++)
    add_piece(&outcome.val.complete.messages.ptr[i].content);
  exports_wharf_plugin_prompts_prompt_outcome_free(&outcome);
  return ended(is_complete ? WHARF_OK : WHARF_ASKED);
}

wharf_test_result wharf_test_read(const char *uri) {
  exports_wharf_plugin_resources_read_outcome_t outcome;
  wharf_plugin_types_call_error_t error;
  wharf_plugin_types_call_context_t first = context(NULL);
  wharf_abi_string_t name = owned(uri, strlen(uri));
  begin();
  if (!exports_wharf_plugin_resources_read_resource(&name, &first, &outcome, &error)) return failed(&error);
  bool is_complete = outcome.tag == EXPORTS_WHARF_PLUGIN_RESOURCES_READ_OUTCOME_COMPLETE;
  for (size_t i = 0; is_complete && i < outcome.val.complete.contents.len; i++) {
    wharf_abi_string_t body = outcome.val.complete.contents.ptr[i].body.val.text;
    lines_add(&text, (char *)body.ptr, body.len);
  }
  exports_wharf_plugin_resources_read_outcome_free(&outcome);
  return ended(is_complete ? WHARF_OK : WHARF_ASKED);
}

size_t wharf_test_tools(void) {
  exports_wharf_plugin_tools_list_tool_t list;
  wharf_abi_string_t error;
  if (!exports_wharf_plugin_tools_list_tools(&list, &error)) return 0;
  size_t count = list.len;
  exports_wharf_plugin_tools_list_tool_free(&list);
  return count;
}
