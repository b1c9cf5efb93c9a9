/* The memory of a call: blocks that are freed when it ends. */
#include "internal.h"

/* Aligned for any type, so that the following data is too. */
struct block {
  _Alignas(16) struct block *before;
  struct block *after;
};

/* Traps: reporting an error would need memory too. */
static void *certain(void *memory) {
  if (!memory) abort();
  return memory;
}

static void *allocate(void *context, size_t size) {
  wharf_call *call = context;
  if (size > SIZE_MAX - sizeof(struct block)) abort();
  struct block *block = certain(malloc(sizeof *block + size));
  block->before = NULL;
  block->after = call->blocks;
  if (call->blocks) call->blocks->before = block;
  call->blocks = block;
  return block + 1;
}

static void release(void *context, void *memory) {
  wharf_call *call = context;
  if (!memory) return;
  struct block *block = (struct block *)memory - 1;
  if (block->before) block->before->after = block->after;
  else call->blocks = block->after;
  if (block->after) block->after->before = block->before;
  free(block);
}

static void *resize(void *context, void *memory, size_t old_size, size_t size) {
  void *moved = allocate(context, size);
  memcpy(moved, memory, old_size < size ? old_size : size);
  release(context, memory);
  return moved;
}

yyjson_alc wharf_allocator(wharf_call *call) {
  yyjson_alc allocator = {allocate, resize, release, call};
  return allocator;
}

void wharf_free_blocks(wharf_call *call) {
  while (call->blocks) release(call, call->blocks + 1);
}

void *wharf_alloc(wharf_call *call, size_t size) { return allocate(call, size); }

void *wharf_give(size_t size) { return certain(malloc(size)); }

void *wharf_grow(void *list, size_t count, size_t size) {
  /* Grows at each power of two. */
  if (count & (count - 1)) return list;
  if (count && list == NULL) abort();
  return certain(realloc(list, (count ? 2 * count : 1) * size));
}

char *wharf_copy(wharf_call *call, const char *text, size_t size) {
  char *copy = allocate(call, size + 1);
  if (size) memcpy(copy, text, size);
  copy[size] = 0;
  return copy;
}

char *wharf_vformat(wharf_call *call, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int size = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (size < 0) return wharf_copy(call, "", 0);
  char *text = allocate(call, (size_t)size + 1);
  vsnprintf(text, (size_t)size + 1, format, arguments);
  return text;
}

char *wharf_format(wharf_call *call, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = wharf_vformat(call, format, arguments);
  va_end(arguments);
  return text;
}

yyjson_mut_doc *wharf_doc(wharf_call *call) {
  if (!call->doc) {
    yyjson_alc *allocator = allocate(call, sizeof *allocator);
    *allocator = wharf_allocator(call);
    call->doc = certain(yyjson_mut_doc_new(allocator));
  }
  return call->doc;
}

yyjson_val *wharf_read_json(wharf_call *call, const char *text, size_t size) {
  yyjson_alc allocator = wharf_allocator(call);
  /* Without flags it does not write to its input. */
  return yyjson_doc_get_root(yyjson_read_opts((char *)text, size, YYJSON_READ_NOFLAG, &allocator, NULL));
}

char *wharf_write_json(wharf_call *call, const yyjson_mut_val *value) {
  yyjson_alc allocator = wharf_allocator(call);
  return yyjson_mut_val_write_opts(value, YYJSON_WRITE_NOFLAG, &allocator, NULL, NULL);
}

wharf_abi_string_t wharf_string_n(const void *text, size_t size) {
  /* The bindings do not free blocks of size 0. */
  wharf_abi_string_t given = {size ? wharf_give(size) : NULL, size};
  if (size) memcpy(given.ptr, text, size);
  return given;
}

/* The number of bytes of the character at this position, 0 if it is not UTF-8 (RFC 3629). */
static size_t character(const uint8_t *at, size_t rest) {
  size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : at[0] < 0xf5 ? 4 : 0;
  if (size > rest) return 0;
  for (size_t i = 1; i < size; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  bool is_overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
  bool is_out = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
  return is_overlong || is_out ? 0 : size;
}

wharf_abi_string_t wharf_valid(const void *text, size_t size) {
  static const char replacement[] = "\xef\xbf\xbd";
  const uint8_t *from = text;
  size_t wrong = 0, to = 0;
  for (size_t at = 0, step; at < size; at += step ? step : 1) {
    step = character(from + at, size - at);
    if (!step) wrong++;
  }
  if (!wrong) return wharf_string_n(text, size);
  wharf_abi_string_t given = {wharf_give(size + 2 * wrong), size + 2 * wrong};
  for (size_t at = 0, step; at < size; at += step ? step : 1) {
    step = character(from + at, size - at);
    memcpy(given.ptr + to, step ? (const char *)from + at : replacement, step ? step : 3);
    to += step ? step : 3;
  }
  return given;
}

wharf_abi_string_t wharf_string(const char *text) { return wharf_valid(text ? text : "", text ? strlen(text) : 0); }

wharf_abi_string_t wharf_lend(const char *text) {
  wharf_abi_string_t lent = {(uint8_t *)text, text ? strlen(text) : 0};
  return lent;
}

char *wharf_taken(wharf_call *call, wharf_abi_string_t text) { return wharf_copy(call, (char *)text.ptr, text.len); }

wharf_abi_option_string_t wharf_option(const char *text) {
  wharf_abi_option_string_t option = {0};
  if (text) {
    option.is_some = true;
    option.val = wharf_string(text);
  }
  return option;
}

wharf_plugin_types_option_json_t wharf_json(const char *text) {
  wharf_abi_option_string_t option = wharf_option(text);
  wharf_plugin_types_option_json_t json = {option.is_some, option.val};
  return json;
}

yyjson_val *wharf_object(wharf_call *call, wharf_abi_list_tuple2_string_string_t pairs) {
  yyjson_alc allocator = wharf_allocator(call);
  yyjson_mut_doc *doc = certain(yyjson_mut_doc_new(&allocator));
  yyjson_mut_val *object = yyjson_mut_obj(doc);
  yyjson_mut_doc_set_root(doc, object);
  for (size_t i = 0; i < pairs.len; i++) {
    yyjson_mut_val *key = yyjson_mut_strn(doc, (char *)pairs.ptr[i].f0.ptr, pairs.ptr[i].f0.len);
    yyjson_mut_val *value = yyjson_mut_strn(doc, (char *)pairs.ptr[i].f1.ptr, pairs.ptr[i].f1.len);
    yyjson_mut_obj_put(object, key, value);
  }
  return yyjson_doc_get_root(certain(yyjson_mut_doc_imut_copy(doc, &allocator)));
}
