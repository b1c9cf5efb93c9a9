// Package prompts serves message templates that a user can select. Importing it exports the
// interface.
//
//	type Poem struct {
//		Theme    string `json:"theme" description:"What it is about."`
//		Language string `json:"language,omitempty"`
//	}
//
//	prompts.Add("poem", "Asks for a poem.", func(_ *wharf.Call, p Poem) (prompts.Result, error) {
//		return prompts.User(wharf.Text("Write a poem about " + p.Theme)), nil
//	})
package prompts

import (
	"fmt"
	"reflect"
	"strings"

	wharf "wharf-plugin"
	"wharf-plugin/internal/abi/wharf_plugin_prompts"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Result is the messages of a prompt.
type Result struct {
	// Description is the purpose of these messages.
	Description string
	Messages    []Message
	// Meta must encode to a JSON object.
	Meta any
}

// Message is a message with the role of the user or the model.
type Message struct {
	Role    wharf.Role
	Content wharf.Content
}

// User returns messages of the user.
func User(content ...wharf.Content) Result {
	var result Result
	for _, piece := range content {
		result.Messages = append(result.Messages, Message{wharf.User, piece})
	}
	return result
}

// Entry is a prompt just added, to set its other properties.
type Entry struct {
	raw   wharf_plugin_prompts.Prompt
	err   error
	icons []wharf.Icon
	run   func(*wharf.Call, map[string]string) (Result, error)
}

var entries []*Entry

// Add adds a prompt. The arguments' type is a struct of strings with the tags `json` and
// `description`; those with `omitempty`, and pointers to strings, are optional. A prompt
// without arguments takes struct{}.
func Add[A any](name, description string, run func(*wharf.Call, A) (Result, error)) *Entry {
	arguments, err := arguments(reflect.TypeFor[A]())
	entry := &Entry{err: err, raw: wharf_plugin_prompts.Prompt{
		Name:        name,
		Title:       wit.None[string](),
		Description: wharf.ABIText(description),
		Arguments:   arguments,
		Meta:        wit.None[string](),
	}}
	entry.run = func(call *wharf.Call, given map[string]string) (Result, error) {
		var read A
		fill(reflect.ValueOf(&read).Elem(), given)
		return run(call, read)
	}
	entries = append(entries, entry)
	return entry
}

// Title sets the display name.
func (e *Entry) Title(title string) *Entry {
	e.raw.Title = wharf.ABIText(title)
	return e
}

// Icon adds an icon.
func (e *Entry) Icon(icon wharf.Icon) *Entry {
	e.icons = append(e.icons, icon)
	return e
}

// Meta sets its `_meta`: a value that encodes to a JSON object.
func (e *Entry) Meta(meta any) *Entry {
	e.raw.Meta = wharf.ABIMeta(meta)
	return e
}

func arguments(kind reflect.Type) (list []wharf_plugin_prompts.PromptArgument, err error) {
	if kind.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", kind)
	}
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, options := tag(field)
		text, optional := field.Type, strings.Contains(options, "omitempty")
		if text.Kind() == reflect.Pointer {
			text, optional = text.Elem(), true
		}
		if text.Kind() != reflect.String || !field.IsExported() {
			return nil, fmt.Errorf("%s must be an exported string field", field.Name)
		}
		list = append(list, wharf_plugin_prompts.PromptArgument{
			Name:        name,
			Title:       wharf.ABIText(field.Tag.Get("title")),
			Description: wharf.ABIText(field.Tag.Get("description")),
			Required:    !optional,
		})
	}
	return list, nil
}

func tag(field reflect.StructField) (name, options string) {
	if name, options, _ = strings.Cut(field.Tag.Get("json"), ","); name == "" {
		name = field.Name
	}
	return name, options
}

func fill(into reflect.Value, given map[string]string) {
	for i := range into.NumField() {
		name, _ := tag(into.Type().Field(i))
		value, found := given[name]
		if !found {
			continue
		}
		if field := into.Field(i); field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field.Elem().SetString(value)
		} else {
			field.SetString(value)
		}
	}
}

func list() (prompts []wharf_plugin_prompts.Prompt, err error) {
	for _, entry := range entries {
		if entry.err != nil {
			return nil, fmt.Errorf("prompt %s: %w", entry.raw.Name, entry.err)
		}
		prompt := entry.raw
		prompt.Icons = wharf.ABIIcons(entry.icons)
		prompts = append(prompts, prompt)
	}
	return prompts, nil
}

func get(call *wharf.Call, name string, given map[string]string) (result Result, err error) {
	defer wharf.ABIGuard(&err)
	for _, entry := range entries {
		if entry.raw.Name == name {
			return entry.run(call, given)
		}
	}
	return result, wharf.ErrNotFound
}

func exportListPrompts() wit.Result[[]wharf_plugin_prompts.Prompt, string] {
	prompts, err := list()
	if err != nil {
		return wit.Err[[]wharf_plugin_prompts.Prompt, string](err.Error())
	}
	return wit.Ok[[]wharf_plugin_prompts.Prompt, string](prompts)
}

func exportGetPrompt(name string, arguments []wit.Tuple2[string, string], context types.CallContext) wit.Result[wharf_plugin_prompts.PromptOutcome, types.CallError] {
	type outcome = wharf_plugin_prompts.PromptOutcome
	given := map[string]string{}
	for _, argument := range arguments {
		given[argument.F0] = argument.F1
	}
	call := wharf.ABICall(context)
	result, err := get(call, name, given)
	if err == nil {
		return wit.Ok[outcome, types.CallError](wharf_plugin_prompts.MakePromptOutcomeComplete(result.abi()))
	}
	required, failure := wharf.ABISettle(call, err)
	if failure != nil {
		return wit.Err[outcome, types.CallError](*failure)
	}
	return wit.Ok[outcome, types.CallError](wharf_plugin_prompts.MakePromptOutcomeInputRequired(required))
}

func (r Result) abi() wharf_plugin_prompts.PromptResult {
	raw := wharf_plugin_prompts.PromptResult{Description: wharf.ABIText(r.Description), Meta: wharf.ABIMeta(r.Meta)}
	for _, message := range r.Messages {
		raw.Messages = append(raw.Messages, wharf_plugin_prompts.PromptMessage{
			Role: uint8(message.Role), Content: message.Content.ABI(),
		})
	}
	return raw
}
