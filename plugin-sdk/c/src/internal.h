/* Shared by the wrapper's files; not for plugins. */
#ifndef WHARF_INTERNAL_H
#define WHARF_INTERNAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../abi/wharf_abi.h"
#include "../wharf.h"

struct block;
struct settled;

struct wharf_call {
  const wharf_plugin_types_call_context_t *context;
  struct block *blocks;
  wharf_store *stores;
  /* A pointer, so that a plugin that opens no store does not import the store. */
  void (*close_stores)(wharf_call *call);
  yyjson_mut_doc *doc;

  /* The result so far, in memory that is passed to the host or freed. */
  wharf_plugin_types_list_content_t content;
  exports_wharf_plugin_resources_list_resource_contents_t contents;
  exports_wharf_plugin_resources_list_resource_description_t resources;
  wharf_abi_list_string_t suggestions;
  wharf_plugin_types_list_question_t questions;
  wharf_plugin_types_list_question_t refused;

  /* One for each piece of content. */
  wharf_role *speakers;
  wharf_role speaker;
  const char *structured, *meta, *description;
  uint64_t fresh_ms;
  bool for_everybody;
  bool has_total;
  uint32_t total;

  /* Why it failed. */
  const char *failure, *pointer;
  const char *error;

  unsigned asked;
  const char *key;
  bool has_state;
  struct settled *settled;
  const char *unavailable;
};

/* Starts a call from the host's context, and ends it, which frees its remaining memory. */
wharf_call wharf_begin(const wharf_plugin_types_call_context_t *context);
void wharf_end(wharf_call *call);
void wharf_free_blocks(wharf_call *call);
/* For functions of the interface without a context. */
extern const wharf_plugin_types_call_context_t wharf_no_context;

/* Makes room for one more element of `size` bytes in a list of `count`. */
void *wharf_grow(void *list, size_t count, size_t size);
#define WHARF_PUSH(list) \
  ((list).ptr = wharf_grow((list).ptr, (list).len, sizeof *(list).ptr), (list).ptr + (list).len++)

char *wharf_vformat(wharf_call *call, const char *format, va_list arguments);
yyjson_alc wharf_allocator(wharf_call *call);

/* Memory for the host, which the bindings free. */
void *wharf_give(size_t size);
wharf_abi_string_t wharf_string(const char *text);
wharf_abi_string_t wharf_string_n(const void *text, size_t size);
/* The text as valid UTF-8: the host accepts nothing else, and would end the call. Invalid bytes
 * become U+FFFD. */
wharf_abi_string_t wharf_valid(const void *text, size_t size);
/* Absent if it is NULL. */
wharf_abi_option_string_t wharf_option(const char *text);
wharf_plugin_types_option_json_t wharf_json(const char *text);
wharf_plugin_types_list_icon_t wharf_icons(const wharf_icon *icons);
wharf_plugin_types_option_annotations_t wharf_hints(wharf_annotations annotations);
wharf_plugin_types_resource_description_t wharf_describe(const wharf_resource *resource);
wharf_plugin_types_resource_contents_t wharf_contents(const char *uri, const char *mime_type, uint8_t body,
                                                      const void *data, size_t size);

/* JSON text in the call's memory; NULL if a string of it is not UTF-8. */
char *wharf_write_json(wharf_call *call, const yyjson_mut_val *value);

/* ---- pages of tools */

/* What a page gets before its first script. */
extern const char wharf_page_script[];
/* The `_meta` of the tool at this position, with what it says of pages; fails if that is wrong. */
wharf_status wharf_tool_meta(wharf_call *call, size_t at, const char **meta);
/* Lists the pages, each once. */
wharf_status wharf_list_pages(wharf_call *call);
/* Fails if a resource after that many pages has the URI of one. */
wharf_status wharf_check_others(wharf_call *call, size_t pages);
/* Reads the page of that URI; false if no tool has one. */
bool wharf_read_page(wharf_call *call, const char *uri);

/* A borrowed string for the duration of a call. */
wharf_abi_string_t wharf_lend(const char *text);
/* A copy in the call's memory. */
char *wharf_taken(wharf_call *call, wharf_abi_string_t text);
yyjson_val *wharf_object(wharf_call *call, wharf_abi_list_tuple2_string_string_t pairs);

/* The error of a call that has no result. */
wharf_plugin_types_call_error_t wharf_call_error(const wharf_call *call, wharf_status status);
/* The pending questions of a call; false if there are none. */
bool wharf_required(wharf_call *call, wharf_plugin_types_input_required_t *required);

#endif
