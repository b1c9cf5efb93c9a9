/* Pages that chat clients show beside the results of tools (MCP Apps). */
#include "internal.h"

/* Defined only if the plugin uses WHARF_TOOLS, WHARF_RESOURCES. */
extern const wharf_tool_table wharf_tools __attribute__((weak));
extern const wharf_resource_table wharf_resources __attribute__((weak));

/* The media type by which clients know a page. */
static const char media_type[] = "text/html;profile=mcp-app";

/* What is wrong with the page of the tool at this position. */
static wharf_status check(wharf_call *call, size_t at) {
  const wharf_tool *tool = &wharf_tools.at[at];
  const wharf_page *page = tool->page;
  if (!page->uri) return wharf_failed(call, "tool %s: its page: it has no URI", tool->name);
  if (!page->html) return wharf_failed(call, "tool %s: its page: it has no HTML: %s", tool->name, page->uri);
  if (!&wharf_resources) return wharf_failed(call, "tool %s: its page needs WHARF_RESOURCES()", tool->name);
  for (size_t i = 0; i < at; i++) {
    const wharf_page *other = wharf_tools.at[i].page;
    if (other && strcmp(other->uri, page->uri) == 0 && strcmp(other->html, page->html) != 0)
      return wharf_failed(call, "tool %s: another page has the URI %s", tool->name, page->uri);
  }
  return WHARF_OK;
}

/* Once, for size: the functions of yyjson are inlined wherever they are called. */
static void put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, yyjson_mut_val *value) {
  yyjson_mut_obj_put(object, yyjson_mut_str(doc, name), value);
}

static yyjson_mut_val *texts(yyjson_mut_doc *doc, const char *const *list) {
  yyjson_mut_val *array = yyjson_mut_arr(doc);
  for (; *list; list++) yyjson_mut_arr_append(array, yyjson_mut_str(doc, *list));
  return array;
}

wharf_status wharf_tool_meta(wharf_call *call, size_t at, const char **meta) {
  const wharf_tool *tool = &wharf_tools.at[at];
  *meta = tool->meta;
  if (!tool->page && !tool->app_only) return WHARF_OK;
  if (tool->page && check(call, at) != WHARF_OK) return WHARF_FAILED;
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *all = yyjson_mut_obj(doc);
  if (tool->meta) all = yyjson_val_mut_copy(doc, wharf_read_json(call, tool->meta, strlen(tool->meta)));
  if (!yyjson_mut_is_obj(all)) return wharf_failed(call, "tool %s: its meta: it is not a JSON object", tool->name);
  yyjson_mut_val *ui = yyjson_mut_obj_get(all, "ui");
  if (!yyjson_mut_is_obj(ui)) {
    ui = yyjson_mut_obj(doc);
    put(doc, all, "ui", ui);
  }
  if (tool->page) put(doc, ui, "resourceUri", yyjson_mut_str(doc, tool->page->uri));
  if (tool->app_only) put(doc, ui, "visibility", texts(doc, (const char *const[]){"app", NULL}));
  *meta = wharf_write_json(call, all);
  return *meta ? WHARF_OK : wharf_failed(call, "tool %s: its page: its URI is not UTF-8", tool->name);
}

/* What clients are told of it. */
static const char *meta_of(wharf_call *call, const wharf_page *page) {
  yyjson_mut_doc *doc = wharf_doc(call);
  yyjson_mut_val *meta = yyjson_mut_obj(doc), *ui = yyjson_mut_obj(doc), *csp = yyjson_mut_obj(doc);
  put(doc, meta, "ui", ui);
  put(doc, ui, "prefersBorder", yyjson_mut_bool(doc, !page->no_border));
  if (page->connects_to && *page->connects_to) put(doc, csp, "connectDomains", texts(doc, page->connects_to));
  if (page->loads_from && *page->loads_from) put(doc, csp, "resourceDomains", texts(doc, page->loads_from));
  if (yyjson_mut_obj_size(csp)) put(doc, ui, "csp", csp);
  if (page->permissions && *page->permissions) {
    yyjson_mut_val *asked = yyjson_mut_obj(doc);
    for (const char *const *name = page->permissions; *name; name++) put(doc, asked, *name, yyjson_mut_obj(doc));
    put(doc, ui, "permissions", asked);
  }
  return wharf_write_json(call, meta);
}

/* The page of the tool at this position, if no tool before it has the same. */
static const wharf_page *page_at(size_t at) {
  const wharf_page *page = wharf_tools.at[at].page;
  for (size_t i = 0; page && i < at; i++) {
    const wharf_page *other = wharf_tools.at[i].page;
    if (other && strcmp(other->uri, page->uri) == 0) return NULL;
  }
  return page;
}

static const wharf_page *find(const char *uri) {
  for (size_t i = 0; &wharf_tools && i < wharf_tools.count; i++) {
    const wharf_page *page = wharf_tools.at[i].page;
    if (page && strcmp(page->uri, uri) == 0) return page;
  }
  return NULL;
}

wharf_status wharf_list_pages(wharf_call *call) {
  for (size_t i = 0; &wharf_tools && i < wharf_tools.count; i++) {
    if (wharf_tools.at[i].page && check(call, i) != WHARF_OK) return WHARF_FAILED;
    const wharf_page *page = page_at(i);
    if (!page) continue;
    const char *slash = strrchr(page->uri, '/');
    wharf_list(call, &(wharf_resource){.uri = page->uri,
                                       .name = slash ? slash + 1 : page->uri,
                                       .title = page->title,
                                       .mime_type = media_type,
                                       .meta = meta_of(call, page)});
  }
  return WHARF_OK;
}

wharf_status wharf_check_others(wharf_call *call, size_t pages) {
  for (size_t i = pages; i < call->resources.len; i++) {
    const char *uri = wharf_taken(call, call->resources.ptr[i].uri);
    if (find(uri)) return wharf_failed(call, "another resource has the URI of the page: %s", uri);
  }
  return WHARF_OK;
}

bool wharf_read_page(wharf_call *call, const char *uri) {
  const wharf_page *page = find(uri);
  if (!page) return false;
  const char *document = page->html;
  if (!page->own_script) {
    const char *own = strstr(page->html, "<script");
    size_t before = own ? (size_t)(own - page->html) : strlen(page->html);
    const char *start = wharf_copy(call, page->html, before);
    document = wharf_format(call, "%s<script>%s</script>\n%s", start, wharf_page_script, page->html + before);
  }
  wharf_contents_text(call, uri, media_type, document);
  call->contents.ptr[call->contents.len - 1].meta = wharf_json(meta_of(call, page));
  return true;
}
