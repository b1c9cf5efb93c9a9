/* Pieces of results, of prompts and of lists. */
#include "internal.h"

wharf_plugin_types_option_annotations_t wharf_hints(wharf_annotations hints) {
  wharf_plugin_types_option_annotations_t option = {0};
  if (!hints.for_user && !hints.for_assistant && !hints.has_priority && !hints.last_modified) return option;
  option.is_some = true;
  if (hints.for_user) *WHARF_PUSH(option.val.audience) = WHARF_PLUGIN_TYPES_ROLE_USER;
  if (hints.for_assistant) *WHARF_PUSH(option.val.audience) = WHARF_PLUGIN_TYPES_ROLE_ASSISTANT;
  option.val.priority.is_some = hints.has_priority;
  option.val.priority.val = hints.priority;
  option.val.last_modified = wharf_option(hints.last_modified);
  return option;
}

wharf_plugin_types_list_icon_t wharf_icons(const wharf_icon *icons) {
  wharf_plugin_types_list_icon_t list = {0};
  for (; icons && icons->src; icons++) {
    wharf_plugin_types_icon_t icon = {0};
    icon.src = wharf_string(icons->src);
    icon.mime_type = wharf_option(icons->mime_type);
    if (icons->size) *WHARF_PUSH(icon.sizes) = wharf_string(icons->size);
    icon.theme.is_some = icons->theme != WHARF_ANY_THEME;
    icon.theme.val = icons->theme == WHARF_DARK;
    *WHARF_PUSH(list) = icon;
  }
  return list;
}

wharf_plugin_types_resource_description_t wharf_describe(const wharf_resource *resource) {
  wharf_plugin_types_resource_description_t described = {0};
  described.uri = wharf_string(resource->uri);
  described.name = wharf_string(resource->name);
  described.title = wharf_option(resource->title);
  described.description = wharf_option(resource->description);
  described.mime_type = wharf_option(resource->mime_type);
  described.size.is_some = resource->has_size;
  described.size.val = resource->size;
  described.annotations = wharf_hints(resource->annotations);
  described.icons = wharf_icons(resource->icons);
  described.meta = wharf_json(resource->meta);
  return described;
}

wharf_plugin_types_resource_contents_t wharf_contents(const char *uri, const char *mime_type, uint8_t body,
                                                      const void *data, size_t size) {
  wharf_plugin_types_resource_contents_t contents = {0};
  contents.uri = wharf_string(uri);
  contents.mime_type = wharf_option(mime_type);
  contents.body.tag = body;
  /* Text and bytes have the same form. */
  bool is_text = body == WHARF_PLUGIN_TYPES_RESOURCE_BODY_TEXT;
  contents.body.val.text = is_text ? wharf_valid(data, size) : wharf_string_n(data, size);
  return contents;
}

static wharf_status add(wharf_call *call, wharf_plugin_types_content_t piece) {
  call->speakers = wharf_grow(call->speakers, call->content.len, sizeof *call->speakers);
  call->speakers[call->content.len] = call->speaker;
  *WHARF_PUSH(call->content) = piece;
  return WHARF_OK;
}

wharf_status wharf_text_n(wharf_call *call, const char *text, size_t size) {
  wharf_plugin_types_content_t piece = {0};
  piece.tag = WHARF_PLUGIN_TYPES_CONTENT_TEXT;
  piece.val.text.text = wharf_valid(text, size);
  return add(call, piece);
}

wharf_status wharf_text(wharf_call *call, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *text = wharf_vformat(call, format, arguments);
  va_end(arguments);
  return wharf_text_n(call, text, strlen(text));
}

static wharf_status media(wharf_call *call, uint8_t tag, const void *data, size_t size, const char *mime_type) {
  wharf_plugin_types_content_t piece = {0};
  piece.tag = tag;
  wharf_abi_string_t bytes = wharf_string_n(data, size);
  piece.val.image.data.ptr = bytes.ptr;
  piece.val.image.data.len = bytes.len;
  piece.val.image.mime_type = wharf_string(mime_type);
  return add(call, piece);
}

wharf_status wharf_image(wharf_call *call, const void *data, size_t size, const char *mime_type) {
  return media(call, WHARF_PLUGIN_TYPES_CONTENT_IMAGE, data, size, mime_type);
}

wharf_status wharf_audio(wharf_call *call, const void *data, size_t size, const char *mime_type) {
  return media(call, WHARF_PLUGIN_TYPES_CONTENT_AUDIO, data, size, mime_type);
}

wharf_status wharf_link(wharf_call *call, const wharf_resource *resource) {
  wharf_plugin_types_content_t piece = {0};
  piece.tag = WHARF_PLUGIN_TYPES_CONTENT_LINK;
  piece.val.link = wharf_describe(resource);
  return add(call, piece);
}

static wharf_status embed(wharf_call *call, wharf_plugin_types_resource_contents_t contents) {
  wharf_plugin_types_content_t piece = {0};
  piece.tag = WHARF_PLUGIN_TYPES_CONTENT_EMBEDDED;
  piece.val.embedded.contents = contents;
  return add(call, piece);
}

wharf_status wharf_embed_text(wharf_call *call, const char *uri, const char *mime_type, const char *text) {
  return embed(call, wharf_contents(uri, mime_type, WHARF_PLUGIN_TYPES_RESOURCE_BODY_TEXT, text, strlen(text)));
}

wharf_status wharf_embed_bytes(wharf_call *call, const char *uri, const char *mime_type, const void *data, size_t size) {
  return embed(call, wharf_contents(uri, mime_type, WHARF_PLUGIN_TYPES_RESOURCE_BODY_BLOB, data, size));
}

void wharf_annotate(wharf_call *call, wharf_annotations annotations, const char *meta) {
  if (!call->content.len) return;
  wharf_plugin_types_content_t *piece = &call->content.ptr[call->content.len - 1];
  wharf_plugin_types_option_annotations_t hints = wharf_hints(annotations), *old_hints;
  wharf_plugin_types_option_json_t json = wharf_json(meta), *old_json;
  switch (piece->tag) {
  case WHARF_PLUGIN_TYPES_CONTENT_TEXT:
    old_hints = &piece->val.text.annotations, old_json = &piece->val.text.meta;
    break;
  case WHARF_PLUGIN_TYPES_CONTENT_EMBEDDED:
    old_hints = &piece->val.embedded.annotations, old_json = &piece->val.embedded.meta;
    break;
  case WHARF_PLUGIN_TYPES_CONTENT_LINK:
    old_hints = &piece->val.link.annotations, old_json = &piece->val.link.meta;
    break;
  default:
    old_hints = &piece->val.image.annotations, old_json = &piece->val.image.meta;
  }
  wharf_plugin_types_option_annotations_free(old_hints);
  wharf_plugin_types_option_json_free(old_json);
  *old_hints = hints;
  *old_json = json;
}

wharf_status wharf_structured_text(wharf_call *call, const char *json) {
  call->structured = wharf_copy(call, json, strlen(json));
  return WHARF_OK;
}

wharf_status wharf_structured(wharf_call *call, yyjson_mut_val *value) {
  yyjson_alc allocator = wharf_allocator(call);
  yyjson_write_err error;
  call->structured = yyjson_mut_val_write_opts(value, YYJSON_WRITE_NOFLAG, &allocator, NULL, &error);
  if (!call->structured) return wharf_failed(call, "the result cannot be converted to JSON: %s", error.msg);
  return WHARF_OK;
}

wharf_status wharf_result_meta(wharf_call *call, const char *json) {
  call->meta = wharf_copy(call, json, strlen(json));
  return WHARF_OK;
}

void wharf_speaker(wharf_call *call, wharf_role role) { call->speaker = role; }

void wharf_description(wharf_call *call, const char *text) { call->description = wharf_copy(call, text, strlen(text)); }
