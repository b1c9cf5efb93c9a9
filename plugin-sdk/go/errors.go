package wharf

import (
	"encoding/json"
	"errors"
	"strings"

	types "wharf-plugin/internal/abi/wharf_plugin_types"
)

// ErrNotFound means that there is no tool, resource or prompt of that name.
var ErrNotFound = errors.New("not found")

// ErrUnavailable is wrapped by the error of a refused question: the client does not support
// or refused it. A plugin that works without the answer handles it; if the plugin returns it,
// the host tells the client which capability is missing.
//
//	yes, err := c.Confirm("Remove it?")
//	if errors.Is(err, wharf.ErrUnavailable) {
//		return "kept, without confirmation", nil
//	}
var ErrUnavailable = errors.New("the question is unavailable")

// Invalid returns an error about the caller's arguments. The pointer is a JSON Pointer into
// them, such as "/zone", empty for the whole.
func Invalid(pointer, reason string) error {
	return &invalid{pointer, reason}
}

type invalid struct{ pointer, reason string }

func (e *invalid) Error() string {
	if e.pointer == "" {
		return e.reason
	}
	return e.pointer + ": " + e.reason
}

// The error of a refused question, with the question.
type unavailable struct {
	why      string
	question types.Question
}

func (e *unavailable) Error() string        { return e.why }
func (e *unavailable) Is(target error) bool { return target == ErrUnavailable }

// The error of a pending question, to be returned.
type asked struct{ questions []types.Question }

func (e *asked) Error() string { return "waiting for an answer" }

// ABIFailure returns the error in interfaces without questions. It is for the packages of this module.
func ABIFailure(err error) types.CallError {
	var wrong *invalid
	var question *asked
	switch {
	case errors.As(err, &wrong):
		return types.MakeCallErrorInvalidInput(types.InvalidInput{Path: ABIValid(wrong.pointer), Reason: ABIValid(wrong.reason)})
	case errors.Is(err, ErrNotFound):
		return types.MakeCallErrorNotFound()
	case errors.As(err, &question), errors.Is(err, ErrUnavailable):
		return types.MakeCallErrorFailed("questions are not supported here")
	default:
		return types.MakeCallErrorFailed(ABIValid(err.Error()))
	}
}

// Removes the offset in the JSON text, which means nothing to a model.
func misread(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return Invalid(pointer(kind.Field), "expected "+kindOf(kind.Type)+", found "+kind.Value)
	}
	return Invalid("", err.Error())
}

// The JSON Pointer of a path of fields, `a.b`.
func pointer(path string) string {
	if path == "" {
		return ""
	}
	return "/" + strings.ReplaceAll(path, ".", "/")
}
