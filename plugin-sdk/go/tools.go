// Package wharf is for writing plugins of Wharf in Go: tools, resources and prompts for
// models, as a sandboxed component. It contains no protocol code; the host speaks MCP to
// clients.
//
//	package main
//
//	import wharf "wharf-plugin"
//
//	type Greet struct {
//		Name string `json:"name" description:"Whom to greet."`
//	}
//
//	func init() {
//		wharf.Tool("greet", "Greets somebody.", func(_ *wharf.Call, a Greet) (string, error) {
//			return "Hello, " + a.Name + "!", nil
//		})
//	}
//
//	func main() {}
//
// Register everything in init: a component does not run main. The packages prompts,
// resources, completions and extensions are separate; importing one exports its interface.
package wharf

import (
	"encoding/json"
	"fmt"
	"reflect"

	"wharf-plugin/internal/abi/wharf_plugin_tools"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// TaskSupport determines whether a call may run as a task.
type TaskSupport uint8

const (
	// TasksForbidden is the default.
	TasksForbidden = TaskSupport(wharf_plugin_tools.TaskSupport_Forbidden)
	// TasksOptional is for a tool that takes long: clients with tasks need not wait for it.
	TasksOptional = TaskSupport(wharf_plugin_tools.TaskSupport_Optional)
	// TasksRequired allows only tasks.
	TasksRequired = TaskSupport(wharf_plugin_tools.TaskSupport_Required)
)

// Entry is a tool just added, to set its other properties.
type Entry struct {
	name, title, description string
	input, output            func() (string, error)
	annotations              *wharf_plugin_tools.ToolAnnotations
	tasks                    TaskSupport
	icons                    []Icon
	meta                     any
	page                     Page
	appOnly                  bool
	run                      func(*Call, string) (any, error)
}

var entries []*Entry

// Tool adds a tool. The name is of `[A-Za-z0-9_-]{1,64}`; the description tells the model
// what it does and when to use it.
//
// The input schema is derived from the arguments' type: a struct whose fields have the tags `json`
// and `description`, and optionally `enum:"a,b"`, `minimum`, `maximum`, `minLength`,
// `maxLength`, `pattern`, `format`, `default`. Pointers and fields with `omitempty` are
// optional. A tool without arguments takes struct{}.
//
// It returns text (string), Content, []Content, nothing (struct{}), a Result, or any other
// struct or map, which is a structured result with a derived output schema.
func Tool[A, R any](name, description string, run func(*Call, A) (R, error)) *Entry {
	entry := &Entry{name: name, description: description}
	entry.input = func() (string, error) { return objectSchema(reflect.TypeFor[A](), true) }
	if kind := reflect.TypeFor[R](); isStructured(kind) {
		entry.output = func() (string, error) { return objectSchema(kind, false) }
	}
	entry.run = func(call *Call, arguments string) (any, error) {
		var read A
		if err := json.Unmarshal([]byte(arguments), &read); err != nil {
			return nil, misread(err)
		}
		return run(call, read)
	}
	entries = append(entries, entry)
	return entry
}

// Title sets the display name.
func (e *Entry) Title(title string) *Entry {
	e.title = title
	return e
}

// ReadOnly marks it as read-only, idempotent and not destructive, and unless OpenWorld was called
// as without external systems.
func (e *Entry) ReadOnly() *Entry {
	no := wit.Some(false)
	a := e.annotate()
	a.ReadOnly, a.Destructive, a.Idempotent = wit.Some(true), no, wit.Some(true)
	if a.OpenWorld.IsNone() {
		a.OpenWorld = no
	}
	return e
}

// Destructive sets whether it may delete or overwrite.
func (e *Entry) Destructive(yes bool) *Entry {
	e.annotate().Destructive = wit.Some(yes)
	return e
}

// Idempotent sets whether repeating a call with the same arguments has no further effect.
func (e *Entry) Idempotent(yes bool) *Entry {
	e.annotate().Idempotent = wit.Some(yes)
	return e
}

// OpenWorld sets whether it interacts with external systems, such as the web.
func (e *Entry) OpenWorld(yes bool) *Entry {
	e.annotate().OpenWorld = wit.Some(yes)
	return e
}

// Tasks sets whether it may, or must, run as a task, as a tool that takes long should. The
// messages of [Call.Progress] become the status of the task; it asks as in any call.
func (e *Entry) Tasks(support TaskSupport) *Entry {
	e.tasks = support
	return e
}

// Icon adds an icon.
func (e *Entry) Icon(icon Icon) *Entry {
	e.icons = append(e.icons, icon)
	return e
}

// Meta sets its `_meta`: a value that encodes to a JSON object.
func (e *Entry) Meta(meta any) *Entry {
	e.meta = meta
	return e
}

// InputSchema replaces the derived input schema with this JSON.
func (e *Entry) InputSchema(schema string) *Entry {
	e.input = func() (string, error) { return schema, nil }
	return e
}

// OutputSchema replaces the derived output schema with this JSON.
func (e *Entry) OutputSchema(schema string) *Entry {
	e.output = func() (string, error) { return schema, nil }
	return e
}

func (e *Entry) annotate() *wharf_plugin_tools.ToolAnnotations {
	if e.annotations == nil {
		none := wit.None[bool]()
		e.annotations = &wharf_plugin_tools.ToolAnnotations{ReadOnly: none, Destructive: none, Idempotent: none, OpenWorld: none}
	}
	return e.annotations
}

func (e *Entry) abi() (wharf_plugin_tools.Tool, error) {
	tool := wharf_plugin_tools.Tool{
		Name:         e.name,
		Title:        ABIText(e.title),
		Description:  ABIText(e.description),
		OutputSchema: wit.None[string](),
		Annotations:  option(e.annotations),
		TaskSupport:  uint8(e.tasks),
		Icons:        ABIIcons(e.icons),
	}
	var err error
	if tool.Meta, err = e.abiMeta(); err != nil {
		return tool, fmt.Errorf("tool %s: %w", e.name, err)
	}
	if tool.InputSchema, err = e.input(); err != nil {
		return tool, fmt.Errorf("tool %s: its arguments: %w", e.name, err)
	}
	if e.output != nil {
		schema, err := e.output()
		if err != nil {
			return tool, fmt.Errorf("tool %s: its result: %w", e.name, err)
		}
		tool.OutputSchema = wit.Some(schema)
	}
	return tool, nil
}

func listTools() (tools []wharf_plugin_tools.Tool, err error) {
	defer ABIGuard(&err)
	if _, err := ABIPages(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		tool, err := entry.abi()
		if err != nil {
			return nil, err
		}
		if seen[tool.Name] {
			return nil, fmt.Errorf("tool %s: duplicate name", tool.Name)
		}
		seen[tool.Name] = true
		tools = append(tools, tool)
	}
	return tools, nil
}

func runTool(call *Call, name, arguments string) (result *Result, err error) {
	defer ABIGuard(&err)
	for _, entry := range entries {
		if entry.name == name {
			value, err := entry.run(call, arguments)
			if err != nil {
				return nil, err
			}
			return reply(value), nil
		}
	}
	return nil, ErrNotFound
}

func exportListTools() wit.Result[[]wharf_plugin_tools.Tool, string] {
	tools, err := listTools()
	if err != nil {
		return wit.Err[[]wharf_plugin_tools.Tool, string](err.Error())
	}
	return wit.Ok[[]wharf_plugin_tools.Tool, string](tools)
}

func exportCallTool(name, arguments string, context types.CallContext) wit.Result[wharf_plugin_tools.ToolOutcome, types.CallError] {
	type outcome = wharf_plugin_tools.ToolOutcome
	call := ABICall(context)
	result, err := runTool(call, name, arguments)
	if err == nil {
		var raw wharf_plugin_tools.ToolResult
		if raw, err = result.abi(); err == nil {
			return wit.Ok[outcome, types.CallError](wharf_plugin_tools.MakeToolOutcomeComplete(raw))
		}
	}
	required, failure := ABISettle(call, err)
	if failure != nil {
		return wit.Err[outcome, types.CallError](*failure)
	}
	return wit.Ok[outcome, types.CallError](wharf_plugin_tools.MakeToolOutcomeInputRequired(required))
}
