/* Questions: one without an answer ends the call, which is repeated once the answer is there.
 * The key of a question is its position, so the same code finds its answer. */
#include "internal.h"

/* An answer, as stored in the state across rounds. */
enum kind { ACCEPTED = 'a', DECLINED = 'd', SAMPLED = 's', ROOTS = 'r', UNAVAILABLE = 'u', KEPT = 'k' };

struct settled {
  struct settled *next;
  char kind;
  const char *key, *text;
};

static struct settled *settle(wharf_call *call, const char *key, char kind, const char *text) {
  struct settled *answer = wharf_alloc(call, sizeof *answer);
  struct settled **end = &call->settled;
  while (*end) end = &(*end)->next;
  *answer = (struct settled){NULL, kind, key, text};
  return *end = answer;
}

/* An unreadable state has no answers. */
static void read_state(wharf_call *call) {
  wharf_abi_option_list_u8_t state = call->context->state;
  if (call->has_state || !state.is_some) return;
  call->has_state = true;
  yyjson_val *all = wharf_read_json(call, (char *)state.val.ptr, state.val.len), *one;
  size_t at, count;
  yyjson_arr_foreach(all, at, count, one) {
    const char *kind = yyjson_get_str(yyjson_arr_get(one, 0));
    const char *key = yyjson_get_str(yyjson_arr_get(one, 1));
    const char *text = yyjson_get_str(yyjson_arr_get(one, 2));
    if (kind && key && text) settle(call, key, *kind, text);
  }
}

static const char *next_key(wharf_call *call) {
  call->asked++;
  const char *key = call->key ? call->key : wharf_format(call, "q%u", call->asked);
  call->key = NULL;
  return key;
}

static char *roots_text(wharf_call *call, const wharf_plugin_types_list_root_t *roots) {
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *list = yyjson_mut_arr(doc);
  for (size_t i = 0; i < roots->len; i++) {
    yyjson_mut_val *root = yyjson_mut_arr_add_arr(doc, list);
    yyjson_mut_arr_add_strncpy(doc, root, (char *)roots->ptr[i].uri.ptr, roots->ptr[i].uri.len);
    if (roots->ptr[i].name.is_some)
      yyjson_mut_arr_add_strncpy(doc, root, (char *)roots->ptr[i].name.val.ptr, roots->ptr[i].name.val.len);
  }
  return wharf_write_json(call, list);
}

static const char *said(wharf_call *call, const wharf_plugin_types_sampled_t *sampled) {
  const char *all = "";
  for (size_t i = 0; i < sampled->content.len; i++) {
    const wharf_plugin_types_sampling_content_t *piece = &sampled->content.ptr[i];
    if (piece->tag == WHARF_PLUGIN_TYPES_SAMPLING_CONTENT_TEXT)
      all = wharf_format(call, "%s%.*s", all, (int)piece->val.text.text.len, (char *)piece->val.text.text.ptr);
  }
  return all;
}

static struct settled *take(wharf_call *call, const char *key, const wharf_plugin_types_reply_t *reply) {
  switch (reply->tag) {
  case WHARF_PLUGIN_TYPES_REPLY_ELICITED: {
    const wharf_plugin_types_elicited_t *elicited = &reply->val.elicited;
    if (elicited->action != WHARF_PLUGIN_TYPES_ELICIT_ACTION_ACCEPT) return settle(call, key, DECLINED, "");
    return settle(call, key, ACCEPTED, elicited->content.is_some ? wharf_taken(call, elicited->content.val) : "{}");
  }
  case WHARF_PLUGIN_TYPES_REPLY_SAMPLED:
    return settle(call, key, SAMPLED, said(call, &reply->val.sampled));
  case WHARF_PLUGIN_TYPES_REPLY_ROOTS:
    return settle(call, key, ROOTS, roots_text(call, &reply->val.roots));
  default:
    return settle(call, key, UNAVAILABLE, wharf_taken(call, reply->val.unavailable));
  }
}

static struct settled *found(wharf_call *call, const char *key) {
  read_state(call);
  for (struct settled *answer = call->settled; answer; answer = answer->next)
    if (strcmp(answer->key, key) == 0) return answer;
  for (size_t i = 0; i < call->context->answers.len; i++) {
    const wharf_plugin_types_answer_t *answer = &call->context->answers.ptr[i];
    if (answer->key.len == strlen(key) && memcmp(answer->key.ptr, key, answer->key.len) == 0)
      return take(call, key, &answer->reply);
  }
  return NULL;
}

/* The answer of one of two kinds; NULL if there is none: the question is then pending. */
static struct settled *ask(wharf_call *call, wharf_plugin_types_ask_t what, char kind, char other) {
  const char *key = next_key(call);
  wharf_plugin_types_question_t question = {wharf_string(key), what};
  struct settled *answer = found(call, key);
  call->unavailable = NULL;
  if (!answer) {
    *WHARF_PUSH(call->questions) = question;
    return NULL;
  }
  if (answer->kind == kind || answer->kind == other) {
    wharf_plugin_types_question_free(&question);
    return answer;
  }
  call->unavailable = answer->kind == UNAVAILABLE ? answer->text : "the answer does not fit the question";
  *WHARF_PUSH(call->refused) = question;
  return NULL;
}

void wharf_key(wharf_call *call, const char *key) { call->key = wharf_copy(call, key, strlen(key)); }

const char *wharf_unavailable(const wharf_call *call) { return call->unavailable; }

wharf_status wharf_unanswered(wharf_call *call) {
  if (call->questions.len || call->refused.len) return WHARF_ASKED;
  return wharf_failed(call, "wharf_unanswered was called without a pending question");
}

/* Whether a refused question is repeated, so that a later answer still counts. */
static bool is_refused(const wharf_call *call, const char *key) {
  for (size_t i = 0; i < call->refused.len; i++) {
    wharf_abi_string_t refused = call->refused.ptr[i].key;
    if (refused.len == strlen(key) && memcmp(refused.ptr, key, refused.len) == 0) return true;
  }
  return false;
}

bool wharf_required(wharf_call *call, wharf_plugin_types_input_required_t *required) {
  memset(required, 0, sizeof *required);
  wharf_plugin_types_list_question_t *open = call->questions.len ? &call->questions : &call->refused;
  if (!open->len) return false;
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *state = yyjson_mut_arr(doc);
  for (struct settled *answer = call->settled; answer; answer = answer->next) {
    if (open == &call->refused && is_refused(call, answer->key)) continue;
    yyjson_mut_val *one = yyjson_mut_arr_add_arr(doc, state);
    yyjson_mut_arr_add_strncpy(doc, one, &answer->kind, 1);
    yyjson_mut_arr_add_str(doc, one, answer->key);
    yyjson_mut_arr_add_str(doc, one, answer->text);
  }
  if (yyjson_mut_arr_size(state)) {
    yyjson_alc allocator = wharf_allocator(call);
    size_t size;
    char *text = yyjson_mut_val_write_opts(state, YYJSON_WRITE_NOFLAG, &allocator, &size, NULL);
    wharf_abi_string_t given = wharf_string_n(text, text ? size : 0);
    required->state.is_some = text != NULL;
    required->state.val.ptr = given.ptr;
    required->state.val.len = given.len;
  }
  required->questions = *open;
  memset(open, 0, sizeof *open);
  return true;
}

static wharf_answer yes_or_no(struct settled *answer) {
  if (!answer) return WHARF_UNANSWERED;
  return answer->kind == ACCEPTED ? WHARF_YES : WHARF_NO;
}

wharf_answer wharf_form(wharf_call *call, const char *message, const char *schema, yyjson_val **content) {
  wharf_plugin_types_ask_t form = {.tag = WHARF_PLUGIN_TYPES_ASK_FORM};
  form.val.form.message = wharf_string(message);
  form.val.form.schema = wharf_string(schema);
  struct settled *answer = ask(call, form, ACCEPTED, DECLINED);
  wharf_answer agreed = yes_or_no(answer);
  if (content) *content = agreed == WHARF_YES ? wharf_read_json(call, answer->text, strlen(answer->text)) : NULL;
  return agreed;
}

wharf_answer wharf_confirm(wharf_call *call, const char *message) {
  return wharf_form(call, message, WHARF_JSON({"type": "object", "properties": {}}), NULL);
}

wharf_answer wharf_visit(wharf_call *call, const char *message, const char *url) {
  wharf_plugin_types_ask_t visit = {.tag = WHARF_PLUGIN_TYPES_ASK_URL};
  visit.val.url.message = wharf_string(message);
  visit.val.url.url = wharf_string(url);
  return yes_or_no(ask(call, visit, ACCEPTED, DECLINED));
}

wharf_answer wharf_roots(wharf_call *call, const wharf_root **roots, size_t *count) {
  wharf_plugin_types_ask_t what = {.tag = WHARF_PLUGIN_TYPES_ASK_ROOTS};
  struct settled *answer = ask(call, what, ROOTS, ROOTS);
  *count = 0;
  if (!answer) return WHARF_UNANSWERED;
  yyjson_val *list = wharf_read_json(call, answer->text, strlen(answer->text));
  wharf_root *all = wharf_alloc(call, yyjson_arr_size(list) * sizeof *all);
  yyjson_val *one;
  size_t at, size;
  yyjson_arr_foreach(list, at, size, one) {
    all[at].uri = yyjson_get_str(yyjson_arr_get(one, 0));
    all[at].name = yyjson_get_str(yyjson_arr_get(one, 1));
  }
  *roots = all;
  *count = yyjson_arr_size(list);
  return WHARF_YES;
}

static wharf_plugin_types_sampling_content_t attached(const wharf_sampling *sampling) {
  wharf_plugin_types_sampling_content_t piece = {0};
  bool is_audio = strncmp(sampling->data_type, "audio/", 6) == 0;
  piece.tag = is_audio ? WHARF_PLUGIN_TYPES_SAMPLING_CONTENT_AUDIO : WHARF_PLUGIN_TYPES_SAMPLING_CONTENT_IMAGE;
  wharf_abi_string_t bytes = wharf_string_n(sampling->data, sampling->data_size);
  piece.val.image.data.ptr = bytes.ptr;
  piece.val.image.data.len = bytes.len;
  piece.val.image.mime_type = wharf_string(sampling->data_type);
  return piece;
}

wharf_answer wharf_sample(wharf_call *call, const wharf_sampling *sampling, const char **text) {
  wharf_plugin_types_ask_t what = {.tag = WHARF_PLUGIN_TYPES_ASK_SAMPLE};
  wharf_plugin_types_sampling_t *raw = &what.val.sample;
  wharf_plugin_types_sampling_message_t *message = WHARF_PUSH(raw->messages);
  memset(message, 0, sizeof *message);
  if (sampling->data && sampling->data_type) *WHARF_PUSH(message->content) = attached(sampling);
  wharf_plugin_types_sampling_content_t prompt = {.tag = WHARF_PLUGIN_TYPES_SAMPLING_CONTENT_TEXT};
  prompt.val.text.text = wharf_string(sampling->prompt);
  *WHARF_PUSH(message->content) = prompt;
  raw->max_tokens = sampling->max_tokens ? sampling->max_tokens : 1000;
  raw->system_prompt = wharf_option(sampling->system);
  raw->temperature.is_some = sampling->has_temperature;
  raw->temperature.val = sampling->temperature;
  if (sampling->model) {
    raw->model_preferences.is_some = true;
    *WHARF_PUSH(raw->model_preferences.val.hints) = wharf_string(sampling->model);
  }
  struct settled *answer = ask(call, what, SAMPLED, SAMPLED);
  if (text) *text = answer ? answer->text : NULL;
  return answer ? WHARF_YES : WHARF_UNANSWERED;
}

const char *wharf_kept(wharf_call *call) {
  const char *key = next_key(call);
  struct settled *answer = found(call, key);
  if (answer && answer->kind == KEPT) return answer->text;
  call->key = key;
  return NULL;
}

const char *wharf_keep(wharf_call *call, const char *text) {
  /* Under the key for which wharf_kept found nothing. */
  const char *key = call->key ? call->key : next_key(call);
  call->key = NULL;
  return settle(call, key, KEPT, wharf_copy(call, text, strlen(text)))->text;
}
