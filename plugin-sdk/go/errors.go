package wharf

import (
	"encoding/json"
	"errors"
	"strings"

	types "wharf-plugin/internal/abi/wharf_plugin_types"
)

// ErrNotFound says that there is no tool, resource or prompt of that name.
var ErrNotFound = errors.New("not found")

// ErrUnavailable is in the error of a question that nobody can be asked: the client cannot,
// or will not. A plugin that can do without goes on; one that returns the error says that it
// cannot, and the host tells the client what it lacks.
//
//	yes, err := c.Confirm("Remove it?")
//	if errors.Is(err, wharf.ErrUnavailable) {
//		return "kept, since nobody could be asked", nil
//	}
var ErrUnavailable = errors.New("nobody can be asked")

// Invalid is the error of a caller who gave something wrong. The pointer is a JSON Pointer
// into the arguments, such as "/zone", empty for the whole of them.
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

// A question that was refused, and the question itself.
type unavailable struct {
	why      string
	question types.Question
}

func (e *unavailable) Error() string        { return e.why }
func (e *unavailable) Is(target error) bool { return target == ErrUnavailable }

// A question without an answer yet. Whoever gets it returns it.
type asked struct{ questions []types.Question }

func (e *asked) Error() string { return "an answer is awaited" }

// ABIFailure is the error where nothing can be asked. It is for the packages of this module.
func ABIFailure(err error) types.CallError {
	var wrong *invalid
	var question *asked
	switch {
	case errors.As(err, &wrong):
		return types.MakeCallErrorInvalidInput(types.InvalidInput{Path: ABIValid(wrong.pointer), Reason: ABIValid(wrong.reason)})
	case errors.Is(err, ErrNotFound):
		return types.MakeCallErrorNotFound()
	case errors.As(err, &question), errors.Is(err, ErrUnavailable):
		return types.MakeCallErrorFailed("nothing can be asked here")
	default:
		return types.MakeCallErrorFailed(ABIValid(err.Error()))
	}
}

// A place in the JSON text says nothing to a model, which did not write that text by hand.
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
