package wharf

import (
	"encoding/json"
	"fmt"
	"time"

	types "wharf-plugin/internal/abi/wharf_plugin_types"
	"wharf-plugin/internal/host"
)

// Call is the running call: its id, its time limit, its progress, and a way to ask the
// caller. Use it from one goroutine.
type Call struct {
	context types.CallContext
	round   round
}

// Feature is a client feature that a question needs.
type Feature uint8

const (
	// CanForm is support for forms.
	CanForm = Feature(types.ClientFeatures_ElicitForm)
	// CanVisit is support for pages to visit.
	CanVisit = Feature(types.ClientFeatures_ElicitUrl)
	// CanSample is support for requests to the client's model.
	CanSample = Feature(types.ClientFeatures_Sample)
	// CanSampleTools is the same, with tools for the model.
	CanSampleTools = Feature(types.ClientFeatures_SampleTools)
	// CanSampleContext is the same, with the context of the conversation.
	CanSampleContext = Feature(types.ClientFeatures_SampleContext)
	// CanRoots is support for listing the client's folders.
	CanRoots = Feature(types.ClientFeatures_Roots)
)

// ID is the host's id of this call, as in its log.
func (c *Call) ID() string { return c.context.Id }

// TimeLeft is the time that was left when the call began, until the host stops it.
func (c *Call) TimeLeft() time.Duration {
	return time.Duration(c.context.TimeLeftMs) * time.Millisecond
}

// Meta decodes the request's `_meta` into the pointer's target; false if it is missing or of
// another type.
func (c *Call) Meta(into any) bool {
	return c.context.Meta.IsSome() && json.Unmarshal([]byte(c.context.Meta.Some()), into) == nil
}

// Can reports whether the client supports this.
func (c *Call) Can(feature Feature) bool { return c.context.Client&uint8(feature) != 0 }

// Progress reports progress. The value of done must increase; a total of 0 is unknown; an
// empty message is not sent.
func (c *Call) Progress(done, total float64, message string) {
	host.Progress(done, total, ABIValid(message))
}

// Cancelled reports whether the caller has cancelled. Results are discarded after that.
func (c *Call) Cancelled() bool { return host.Cancelled() }

// ABICall is a call of the host. It is for the packages of this module.
func ABICall(context types.CallContext) *Call { return &Call{context: context} }

// ABIGuard turns a panic into an error. It is for the packages of this module.
func ABIGuard(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("the plugin panicked: %v", panicked)
	}
}
