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

// Result is a whole result, where text, content or a struct is not enough.
type Result struct {
	Content []Content
	// Structured is encoded as JSON. Without content, clients get it as text too.
	Structured any
	// Failed marks an error, which the content describes. Returning an error is equivalent.
	Failed bool
	// Meta must encode to a JSON object.
	Meta any
}

// Text returns all its texts, concatenated.
func (r *Result) Text() string {
	var all strings.Builder
	for _, piece := range r.Content {
		if text, is := piece.AsText(); is {
			all.WriteString(text)
		}
	}
	return all.String()
}

// A tool's return value as a result.
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

// Whether a tool with this return type has structured results.
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
			return raw, fmt.Errorf("the result cannot be converted to JSON: %w", err)
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
