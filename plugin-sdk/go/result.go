package wharf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"wharf-plugin/internal/abi/wharf_plugin_tools"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Result is a whole result, where text, content or a struct does not do.
type Result struct {
	Content []Content
	// Structured becomes JSON. Where there is no content, clients get it as text too.
	Structured any
	// Failed says that the tool failed; the content says how. An error says the same.
	Failed bool
	// Meta becomes a JSON object.
	Meta any
}

// Text is all of its text, one piece after the other.
func (r *Result) Text() string {
	var all strings.Builder
	for _, piece := range r.Content {
		if text, is := piece.AsText(); is {
			all.WriteString(text)
		}
	}
	return all.String()
}

// What a tool gave, as a result.
func reply(value any) *Result {
	switch value := value.(type) {
	case string:
		return &Result{Content: []Content{Text(value)}}
	case Content:
		return &Result{Content: []Content{value}}
	case []Content:
		return &Result{Content: value}
	case Result:
		return &value
	case *Result:
		if value == nil {
			return &Result{}
		}
		return value
	case struct{}:
		return &Result{}
	default:
		return &Result{Structured: value}
	}
}

// Whether a tool that gives this has structured results.
func isStructured(kind reflect.Type) bool {
	switch kind {
	case reflect.TypeFor[string](), reflect.TypeFor[Content](), reflect.TypeFor[[]Content](),
		reflect.TypeFor[Result](), reflect.TypeFor[*Result](), reflect.TypeFor[struct{}]():
		return false
	}
	return true
}

func (r *Result) abi() (wharf_plugin_tools.ToolResult, error) {
	raw := wharf_plugin_tools.ToolResult{
		Content:    ABIContent(r.Content),
		Structured: wit.None[string](),
		IsError:    r.Failed,
		Meta:       ABIMeta(r.Meta),
	}
	if r.Structured != nil {
		text, err := json.Marshal(r.Structured)
		if err != nil {
			return raw, fmt.Errorf("the result cannot be JSON: %w", err)
		}
		raw.Structured = wit.Some(string(text))
	}
	return raw, nil
}

// ABIContent is for the packages of this module.
func ABIContent(content []Content) []types.Content {
	raw := make([]types.Content, 0, len(content))
	for _, piece := range content {
		raw = append(raw, piece.ABI())
	}
	return raw
}
