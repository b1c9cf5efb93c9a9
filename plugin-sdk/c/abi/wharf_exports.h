// Generated from wit/ by wharf-bindings. DO NOT EDIT!
// Each macro exports one interface: every function under its name in the interface.
#ifndef WHARF_EXPORTS_H
#define WHARF_EXPORTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void __wasm_export_exports_wharf_plugin_tools_list_tools_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_tools_call_tool_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_resources_list_resources_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_resources_list_resource_templates_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_resources_read_resource_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_prompts_list_prompts_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_prompts_get_prompt_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_completions_complete_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_extensions_describe_post_return(uint8_t * arg0);
void __wasm_export_exports_wharf_plugin_extensions_call_method_post_return(uint8_t * arg0);
uint8_t * __wasm_export_exports_wharf_plugin_tools_list_tools(void);
uint8_t * __wasm_export_exports_wharf_plugin_tools_call_tool(uint8_t * arg, size_t arg0, uint8_t * arg1, size_t arg2, uint8_t * arg3, size_t arg4, int32_t arg5, int64_t arg6, uint8_t * arg7, size_t arg8, int32_t arg9, uint8_t * arg10, size_t arg11, int32_t arg12, uint8_t * arg13, size_t arg14);
uint8_t * __wasm_export_exports_wharf_plugin_resources_list_resources(void);
uint8_t * __wasm_export_exports_wharf_plugin_resources_list_resource_templates(void);
uint8_t * __wasm_export_exports_wharf_plugin_resources_read_resource(uint8_t * arg, size_t arg0, uint8_t * arg1, size_t arg2, int32_t arg3, int64_t arg4, uint8_t * arg5, size_t arg6, int32_t arg7, uint8_t * arg8, size_t arg9, int32_t arg10, uint8_t * arg11, size_t arg12);
uint8_t * __wasm_export_exports_wharf_plugin_prompts_list_prompts(void);
uint8_t * __wasm_export_exports_wharf_plugin_prompts_get_prompt(uint8_t * arg, size_t arg0, uint8_t * arg1, size_t arg2, uint8_t * arg3, size_t arg4, int32_t arg5, int64_t arg6, uint8_t * arg7, size_t arg8, int32_t arg9, uint8_t * arg10, size_t arg11, int32_t arg12, uint8_t * arg13, size_t arg14);
uint8_t * __wasm_export_exports_wharf_plugin_completions_complete(uint8_t * arg);
uint8_t * __wasm_export_exports_wharf_plugin_extensions_describe(void);
uint8_t * __wasm_export_exports_wharf_plugin_extensions_call_method(uint8_t * arg, size_t arg0, uint8_t * arg1, size_t arg2, uint8_t * arg3, size_t arg4, int32_t arg5, int64_t arg6, uint8_t * arg7, size_t arg8, int32_t arg9, uint8_t * arg10, size_t arg11, int32_t arg12, uint8_t * arg13, size_t arg14);

#define WHARF_EXPORT_TOOLS \
  __attribute__((__export_name__("cabi_post_wharf:plugin/tools@0.1.0#list-tools"))) void __wasm_export_exports_wharf_plugin_tools_list_tools_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_tools_list_tools_post_return(arg0); } \
  __attribute__((__export_name__("cabi_post_wharf:plugin/tools@0.1.0#call-tool"))) void __wasm_export_exports_wharf_plugin_tools_call_tool_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_tools_call_tool_post_return(arg0); } \
  __attribute__((__export_name__("wharf:plugin/tools@0.1.0#list-tools"))) uint8_t * __wasm_export_exports_wharf_plugin_tools_list_tools_export(void) { return __wasm_export_exports_wharf_plugin_tools_list_tools(); } \
  __attribute__((__export_name__("wharf:plugin/tools@0.1.0#call-tool"))) uint8_t * __wasm_export_exports_wharf_plugin_tools_call_tool_export(uint8_t * arg, size_t arg0, uint8_t * arg1, size_t arg2, uint8_t * arg3, size_t arg4, int32_t arg5, int64_t arg6, uint8_t * arg7, size_t arg8, int32_t arg9, uint8_t * arg10, size_t arg11, int32_t arg12, uint8_t * arg13, size_t arg14) { return __wasm_export_exports_wharf_plugin_tools_call_tool(arg, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, arg10, arg11, arg12, arg13, arg14); }

#define WHARF_EXPORT_RESOURCES \
  __attribute__((__export_name__("cabi_post_wharf:plugin/resources@0.1.0#list-resources"))) void __wasm_export_exports_wharf_plugin_resources_list_resources_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_resources_list_resources_post_return(arg0); } \
  __attribute__((__export_name__("cabi_post_wharf:plugin/resources@0.1.0#list-resource-templates"))) void __wasm_export_exports_wharf_plugin_resources_list_resource_templates_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_resources_list_resource_templates_post_return(arg0); } \
  __attribute__((__export_name__("cabi_post_wharf:plugin/resources@0.1.0#read-resource"))) void __wasm_export_exports_wharf_plugin_resources_read_resource_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_resources_read_resource_post_return(arg0); } \
  __attribute__((__export_name__("wharf:plugin/resources@0.1.0#list-resources"))) uint8_t * __wasm_export_exports_wharf_plugin_resources_list_resources_export(void) { return __wasm_export_exports_wharf_plugin_resources_list_resources(); } \
  __attribute__((__export_name__("wharf:plugin/resources@0.1.0#list-resource-templates"))) uint8_t * __wasm_export_exports_wharf_plugin_resources_list_resource_templates_export(void) { return __wasm_export_exports_wharf_plugin_resources_list_resource_templates(); } \
  __attribute__((__export_name__("wharf:plugin/resources@0.1.0#read-resource"))) uint8_t * __wasm_export_exports_wharf_plugin_resources_read_resource_export(uint8_t * arg, size_t arg0, uint8_t * arg1, size_t arg2, int32_t arg3, int64_t arg4, uint8_t * arg5, size_t arg6, int32_t arg7, uint8_t * arg8, size_t arg9, int32_t arg10, uint8_t * arg11, size_t arg12) { return __wasm_export_exports_wharf_plugin_resources_read_resource(arg, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, arg10, arg11, arg12); }

#define WHARF_EXPORT_PROMPTS \
  __attribute__((__export_name__("cabi_post_wharf:plugin/prompts@0.1.0#list-prompts"))) void __wasm_export_exports_wharf_plugin_prompts_list_prompts_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_prompts_list_prompts_post_return(arg0); } \
  __attribute__((__export_name__("cabi_post_wharf:plugin/prompts@0.1.0#get-prompt"))) void __wasm_export_exports_wharf_plugin_prompts_get_prompt_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_prompts_get_prompt_post_return(arg0); } \
  __attribute__((__export_name__("wharf:plugin/prompts@0.1.0#list-prompts"))) uint8_t * __wasm_export_exports_wharf_plugin_prompts_list_prompts_export(void) { return __wasm_export_exports_wharf_plugin_prompts_list_prompts(); } \
  __attribute__((__export_name__("wharf:plugin/prompts@0.1.0#get-prompt"))) uint8_t * __wasm_export_exports_wharf_plugin_prompts_get_prompt_export(uint8_t * arg, size_t arg0, uint8_t * arg1, size_t arg2, uint8_t * arg3, size_t arg4, int32_t arg5, int64_t arg6, uint8_t * arg7, size_t arg8, int32_t arg9, uint8_t * arg10, size_t arg11, int32_t arg12, uint8_t * arg13, size_t arg14) { return __wasm_export_exports_wharf_plugin_prompts_get_prompt(arg, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, arg10, arg11, arg12, arg13, arg14); }

#define WHARF_EXPORT_COMPLETIONS \
  __attribute__((__export_name__("cabi_post_wharf:plugin/completions@0.1.0#complete"))) void __wasm_export_exports_wharf_plugin_completions_complete_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_completions_complete_post_return(arg0); } \
  __attribute__((__export_name__("wharf:plugin/completions@0.1.0#complete"))) uint8_t * __wasm_export_exports_wharf_plugin_completions_complete_export(uint8_t * arg) { return __wasm_export_exports_wharf_plugin_completions_complete(arg); }

#define WHARF_EXPORT_EXTENSIONS \
  __attribute__((__export_name__("cabi_post_wharf:plugin/extensions@0.1.0#describe"))) void __wasm_export_exports_wharf_plugin_extensions_describe_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_extensions_describe_post_return(arg0); } \
  __attribute__((__export_name__("cabi_post_wharf:plugin/extensions@0.1.0#call-method"))) void __wasm_export_exports_wharf_plugin_extensions_call_method_post_return_export(uint8_t * arg0) { __wasm_export_exports_wharf_plugin_extensions_call_method_post_return(arg0); } \
  __attribute__((__export_name__("wharf:plugin/extensions@0.1.0#describe"))) uint8_t * __wasm_export_exports_wharf_plugin_extensions_describe_export(void) { return __wasm_export_exports_wharf_plugin_extensions_describe(); } \
  __attribute__((__export_name__("wharf:plugin/extensions@0.1.0#call-method"))) uint8_t * __wasm_export_exports_wharf_plugin_extensions_call_method_export(uint8_t * arg, size_t arg0, uint8_t * arg1, size_t arg2, uint8_t * arg3, size_t arg4, int32_t arg5, int64_t arg6, uint8_t * arg7, size_t arg8, int32_t arg9, uint8_t * arg10, size_t arg11, int32_t arg12, uint8_t * arg13, size_t arg14) { return __wasm_export_exports_wharf_plugin_extensions_call_method(arg, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9, arg10, arg11, arg12, arg13, arg14); }

#ifdef __cplusplus
}
#endif

#endif
