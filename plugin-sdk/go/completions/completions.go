// Package completions suggests values while the user types an argument of a prompt or of a
// resource template. Importing it exports the interface.
package completions

import (
	"strings"

	wharf "wharf-plugin"
	"wharf-plugin/internal/abi/wharf_plugin_completions"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Typed is the user's input so far.
type Typed struct {
	// Prompt or Template is what the argument belongs to; the other is empty.
	Prompt, Template string
	// Argument is its name, and Value the text typed so far.
	Argument, Value string
	// Given has the other arguments that are already set.
	Given map[string]string
}

// Completion is the matching values, best first; the host sends at most 100.
type Completion struct {
	Values []string
	// Total is the total number, if it is known; see wharf.Ptr.
	Total *uint32
	// HasMore means that there are more than these.
	HasMore bool
}

// Of returns the values that begin with what was typed, ignoring case.
func Of(typed Typed, values ...string) Completion {
	var fitting []string
	for _, value := range values {
		if len(value) >= len(typed.Value) && strings.EqualFold(value[:len(typed.Value)], typed.Value) {
			fitting = append(fitting, value)
		}
	}
	return Completion{Values: fitting}
}

var complete = func(Typed) (Completion, error) { return Completion{}, nil }

// Handle sets the function that suggests values.
func Handle(handler func(Typed) (Completion, error)) { complete = handler }

func run(typed Typed) (completion Completion, err error) {
	defer wharf.ABIGuard(&err)
	return complete(typed)
}

func exportComplete(subject wharf_plugin_completions.Subject, name, value string, given []wit.Tuple2[string, string], _ types.CallContext) wit.Result[wharf_plugin_completions.Completion, types.CallError] {
	typed := Typed{Argument: name, Value: value, Given: map[string]string{}}
	if subject.Tag() == wharf_plugin_completions.Subject_Prompt {
		typed.Prompt = subject.Prompt()
	} else {
		typed.Template = subject.ResourceTemplate()
	}
	for _, argument := range given {
		typed.Given[argument.F0] = argument.F1
	}
	completion, err := run(typed)
	if err != nil {
		return wit.Err[wharf_plugin_completions.Completion, types.CallError](wharf.ABIFailure(err))
	}
	raw := wharf_plugin_completions.Completion{Values: completion.Values, Total: wit.None[uint32](), HasMore: completion.HasMore}
	if completion.Total != nil {
		raw.Total = wit.Some(*completion.Total)
	}
	return wit.Ok[wharf_plugin_completions.Completion, types.CallError](raw)
}
