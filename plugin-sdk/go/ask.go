package wharf

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Questions are straight-line code: one without an answer ends the call with its error, and
// the call is repeated once the answer is there. The key of a question is its position, so
// the same code finds its answer.

// Root is a folder that the client works in.
type Root struct {
	// URI is a `file:` URI.
	URI string `json:"uri"`
	// Name is a display name; it may be empty.
	Name string `json:"name,omitempty"`
}

// The state of the questions of a call.
type round struct {
	asked   int
	key     string
	read    bool
	settled []settled
	// Asked in this round and not answered.
	open []types.Question
}

// An answer, as stored across rounds. One of its members is set.
type settled struct {
	Key         string   `json:"key"`
	Accepted    *string  `json:"accepted,omitempty"`
	Declined    bool     `json:"declined,omitempty"`
	Sampled     *Sampled `json:"sampled,omitempty"`
	Roots       *[]Root  `json:"roots,omitempty"`
	Unavailable *string  `json:"unavailable,omitempty"`
	Made        *string  `json:"made,omitempty"`
}

var errMisplaced = errors.New("the answer does not fit the question")

// Confirm asks the user for a yes or no. Declining and cancelling are both a no.
//
//	yes, err := c.Confirm("Delete 3 files?")
//	if err != nil {
//		return "", err
//	}
func (c *Call) Confirm(message string) (bool, error) {
	form := types.Form{Message: message, Schema: `{"type":"object","properties":{}}`}
	answer, err := c.elicit(types.MakeAskForm(form))
	return answer != nil, err
}

// Form asks the user to fill in a form, and reads the answer into the struct that the
// pointer points to: flat, of text, numbers, booleans and choices. False if the user
// declines. Do not ask for secrets this way.
func (c *Call) Form(message string, into any) (bool, error) {
	kind := reflect.TypeOf(into)
	if kind == nil || kind.Kind() != reflect.Pointer {
		return false, errors.New("a form needs a pointer to a struct")
	}
	schema, err := formSchema(kind.Elem())
	if err != nil {
		return false, err
	}
	return c.FormOf(message, schema, into)
}

// FormOf is Form with your own schema, as JSON.
func (c *Call) FormOf(message, schema string, into any) (bool, error) {
	answer, err := c.elicit(types.MakeAskForm(types.Form{Message: message, Schema: schema}))
	if answer == nil || err != nil {
		return false, err
	}
	if err := json.Unmarshal([]byte(*answer), into); err != nil {
		return false, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return true, nil
}

// Visit asks the user to visit a page, for data that must not pass through the client: signing
// in, paying. True if the user agreed, which does not mean that the visit is finished.
func (c *Call) Visit(message, url string) (bool, error) {
	answer, err := c.elicit(types.MakeAskUrl(types.UrlVisit{Message: message, Url: url}))
	return answer != nil, err
}

// Roots asks for the folders that the client works in.
func (c *Call) Roots() ([]Root, error) {
	answer, err := c.ask(types.MakeAskRoots())
	if err == nil && answer.Roots == nil {
		err = errMisplaced
	}
	if err != nil {
		return nil, err
	}
	return *answer.Roots, nil
}

// Once computes a value once and keeps it over the rounds of a call: the code before a
// question runs again when the answer is there. The value is sent through the client as
// JSON (sealed by the host), so keep it small.
func Once[T any](c *Call, make func() (T, error)) (value T, err error) {
	key, found := c.next()
	if found != nil {
		if found.Made == nil {
			return value, errMisplaced
		}
		err = json.Unmarshal([]byte(*found.Made), &value)
		return value, err
	}
	if value, err = make(); err != nil {
		return value, err
	}
	text, err := json.Marshal(value)
	if err == nil {
		made := string(text)
		c.round.settled = append(c.round.settled, settled{Key: key, Made: &made})
	}
	return value, err
}

// Together asks several questions in one round, which saves a round trip.
// Return its error before the answers are used.
//
//	var tent, stove bool
//	err := c.Together(func() {
//		tent, _ = c.Confirm("A tent?")
//		stove, _ = c.Confirm("A stove?")
//	})
func (c *Call) Together(questions func()) error {
	questions()
	return c.wait()
}

// Key sets the key of the next question, for clients and tests that read it; the default is
// q1, q2 and so on. Keys must not repeat in one call.
func (c *Call) Key(key string) *Call {
	c.round.key = key
	return c
}

// The form's content if the user accepted, else nil.
func (c *Call) elicit(question types.Ask) (*string, error) {
	answer, err := c.ask(question)
	if err == nil && answer.Accepted == nil && !answer.Declined {
		err = errMisplaced
	}
	if err != nil {
		return nil, err
	}
	return answer.Accepted, nil
}

func (c *Call) ask(question types.Ask) (*settled, error) {
	key, found := c.next()
	if found == nil {
		c.round.open = append(c.round.open, types.Question{Key: key, Ask: question})
		return nil, &asked{c.round.open}
	}
	if found.Unavailable != nil {
		return nil, &unavailable{*found.Unavailable, types.Question{Key: key, Ask: question}}
	}
	return found, nil
}

// Ends the round if there are unanswered questions.
func (c *Call) wait() error {
	if len(c.round.open) == 0 {
		return nil
	}
	return &asked{c.round.open}
}

// The key of the next question, and its answer if there is one.
func (c *Call) next() (string, *settled) {
	c.round.asked++
	key := c.round.key
	if c.round.key = ""; key == "" {
		key = fmt.Sprintf("q%d", c.round.asked)
	}
	if !c.round.read {
		c.round.read = true
		// An unreadable state has no answers.
		if json.Unmarshal(c.context.State.SomeOr(nil), &c.round.settled) != nil {
			c.round.settled = nil
		}
	}
	for i := range c.round.settled {
		if c.round.settled[i].Key == key {
			return key, &c.round.settled[i]
		}
	}
	for _, answer := range c.context.Answers {
		if answer.Key == key {
			c.round.settled = append(c.round.settled, settle(key, answer.Reply))
			return key, &c.round.settled[len(c.round.settled)-1]
		}
	}
	return key, nil
}

func settle(key string, reply types.Reply) settled {
	answer := settled{Key: key}
	switch reply.Tag() {
	case types.Reply_Elicited:
		if elicited := reply.Elicited(); elicited.Action == types.ElicitAction_Accept {
			content := elicited.Content.SomeOr("{}")
			answer.Accepted = &content
		} else {
			answer.Declined = true
		}
	case types.Reply_Sampled:
		sampled := sampledOf(reply.Sampled())
		answer.Sampled = &sampled
	case types.Reply_Roots:
		roots := []Root{}
		for _, root := range reply.Roots() {
			roots = append(roots, Root{root.Uri, root.Name.SomeOr("")})
		}
		answer.Roots = &roots
	default:
		why := reply.Unavailable()
		answer.Unavailable = &why
	}
	return answer
}

// ABISettle separates a pending question from a failure. An unhandled refusal repeats the
// question, which tells the host that the plugin needs the answer. It is for the packages of
// this module.
func ABISettle(c *Call, err error) (types.InputRequired, *types.CallError) {
	var question *asked
	var refused *unavailable
	switch {
	case errors.As(err, &refused):
		return c.require([]types.Question{refused.question}, refused.question.Key), nil
	case errors.As(err, &question):
		return c.require(question.questions, ""), nil
	}
	failure := ABIFailure(err)
	return types.InputRequired{}, &failure
}

// The questions, and the answers so far for the next round, without the one of a repeated
// question.
func (c *Call) require(questions []types.Question, again string) types.InputRequired {
	required := types.InputRequired{Questions: questions, State: wit.None[[]byte]()}
	var keep []settled
	for _, answer := range c.round.settled {
		if answer.Key != again {
			keep = append(keep, answer)
		}
	}
	if state, err := json.Marshal(keep); err == nil && keep != nil {
		required.State = wit.Some(state)
	}
	return required
}
