package wharf

import (
	"encoding/json"
	"fmt"
	"time"

	types "wharf-plugin/internal/abi/wharf_plugin_types"
	"wharf-plugin/internal/host"
)

// Call is the call that is running: its name, its time, its progress, and a way to ask
// whoever made it. It is of one goroutine.
type Call struct {
	context types.CallContext
	round   round
}

// Feature is something that a client may be asked for.
type Feature uint8

const (
	// CanForm is a form for the user.
	CanForm = Feature(types.ClientFeatures_ElicitForm)
	// CanVisit is a page for the user to visit.
	CanVisit = Feature(types.ClientFeatures_ElicitUrl)
	// CanSample is a question to the client's model.
	CanSample = Feature(types.ClientFeatures_Sample)
	// CanSampleTools is the same with tools for the model.
	CanSampleTools = Feature(types.ClientFeatures_SampleTools)
	// CanSampleContext is the same with the context of the conversation.
	CanSampleContext = Feature(types.ClientFeatures_SampleContext)
	// CanRoots is the folders that the client works in.
	CanRoots = Feature(types.ClientFeatures_Roots)
)

// ID is the host's name for this call, the same as in its log.
func (c *Call) ID() string { return c.context.Id }

// TimeLeft is how long the call had, when it began, until the host stops it.
func (c *Call) TimeLeft() time.Duration {
	return time.Duration(c.context.TimeLeftMs) * time.Millisecond
}

// Meta reads the request's `_meta` into what the pointer points to; false if there is none,
// or it is something else.
func (c *Call) Meta(into any) bool {
	return c.context.Meta.IsSome() && json.Unmarshal([]byte(c.context.Meta.Some()), into) == nil
}

// Can says whether the client can be asked for this.
func (c *Call) Can(feature Feature) bool { return c.context.Client&uint8(feature) != 0 }

// Progress tells how far the call is. What is done must rise; a total of 0 is not known; an
// empty message is none.
func (c *Call) Progress(done, total float64, message string) {
	host.Progress(done, total, ABIValid(message))
}

// Cancelled says whether the caller has given up. What is returned after that is thrown away.
func (c *Call) Cancelled() bool { return host.Cancelled() }

// ABICall is a call of the host. It is for the packages of this module.
func ABICall(context types.CallContext) *Call { return &Call{context: context} }

// ABIGuard turns a panic into an error. It is for the packages of this module.
func ABIGuard(err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("the plugin panicked: %v", panicked)
	}
}
