//go:build !wasm

// Package wharftest tests a plugin without a host, in plain `go test`. It checks no schema
// and no grant: those checks are the host's.
//
//	func TestGreets(t *testing.T) {
//		result, err := wharftest.Call("greet", Greet{Name: "Ada"})
//		if err != nil || result.Text() != "Hello, Ada!" {
//			t.Fatal(result, err)
//		}
//	}
package wharftest

import (
	"encoding/json"
	"fmt"

	wharf "wharf-plugin"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
	"wharf-plugin/internal/host"
	wit "wharf-plugin/internal/wit/types"
	"wharf-plugin/prompts"
	"wharf-plugin/resources"
)

// Tool is a tool as the host gets it. The schemas and Meta are JSON.
type Tool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema string
	Meta                      string
	ReadOnly                  bool
}

// Tools returns the tools as the host gets them, in their order.
func Tools() ([]Tool, error) {
	raw, err := wharf.ABITools()
	var tools []Tool
	for _, tool := range raw {
		listed := Tool{
			Name:         tool.Name,
			Title:        tool.Title.SomeOr(""),
			Description:  tool.Description.SomeOr(""),
			InputSchema:  tool.InputSchema,
			OutputSchema: tool.OutputSchema.SomeOr(""),
			Meta:         tool.Meta.SomeOr(""),
		}
		if tool.Annotations.IsSome() {
			listed.ReadOnly = tool.Annotations.Some().ReadOnly.SomeOr(false)
		}
		tools = append(tools, listed)
	}
	return tools, err
}

// Call calls a tool for a client that supports no questions. The arguments are encoded as JSON.
func Call(tool string, arguments any) (*wharf.Result, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	result, asked, err := wharf.ABIRun(types.CallContext{Id: "test", TimeLeftMs: 30_000}, tool, string(text))
	if asked != nil {
		return nil, fmt.Errorf("%s asks a question: call it with a Script", tool)
	}
	return result, err
}

// Script is the answers to the questions of one call, in the order of asking.
type Script []Answer

// Answer is one of Accept, Decline, Model, Roots and Unavailable.
type Answer struct{ reply types.Reply }

// Accept is a user who accepts, with this content, encoded as JSON.
func Accept(content any) Answer {
	elicited := types.Elicited{Action: types.ElicitAction_Accept, Content: wharf.ABIMeta(content)}
	return Answer{types.MakeReplyElicited(elicited)}
}

// Decline is a user who declines.
func Decline() Answer {
	elicited := types.Elicited{Action: types.ElicitAction_Decline, Content: wit.None[string]()}
	return Answer{types.MakeReplyElicited(elicited)}
}

// Model is a model that returns this text.
func Model(text string) Answer {
	said := types.MakeSamplingContentText(types.TextContent{Text: text})
	return Answer{types.MakeReplySampled(types.Sampled{
		Role: types.Role_Assistant, Content: []types.SamplingContent{said}, Model: "test", StopReason: wit.Some("endTurn"),
	})}
}

// Roots is a client that works in these folders.
func Roots(uris ...string) Answer {
	var roots []types.Root
	for _, uri := range uris {
		roots = append(roots, types.Root{Uri: uri})
	}
	return Answer{types.MakeReplyRoots(roots)}
}

// Unavailable is a client that refuses the question.
func Unavailable(why string) Answer { return Answer{types.MakeReplyUnavailable(why)} }

// Call calls a tool in as many rounds as its questions need. A question without an answer in
// the script is an error.
func (s Script) Call(tool string, arguments any) (*wharf.Result, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	context := types.CallContext{Id: "test", Client: 1<<6 - 1, TimeLeftMs: 30_000}
	for {
		result, asked, err := wharf.ABIRun(context, tool, string(text))
		if asked == nil {
			return result, err
		}
		context.State, context.Answers = asked.State, nil
		for _, question := range asked.Questions {
			if len(s) == 0 {
				return nil, fmt.Errorf("the script has no answer to question %s", question.Key)
			}
			context.Answers = append(context.Answers, types.Answer{Key: question.Key, Reply: s[0].reply})
			s = s[1:]
		}
	}
}

// Prompt makes a prompt.
func Prompt(name string, arguments map[string]string) (prompts.Result, error) {
	return prompts.ABIGet(name, arguments)
}

// Resource is a resource as the host gets it. Meta is JSON.
type Resource struct {
	URI, Name, Title, Description string
	MIMEType, Meta                string
}

// Resources returns the resources as the host gets them, the pages of tools before the others.
func Resources() ([]Resource, error) {
	raw, err := resources.ABIList()
	var listed []Resource
	for _, resource := range raw {
		listed = append(listed, Resource{
			URI:         resource.Uri,
			Name:        resource.Name,
			Title:       resource.Title.SomeOr(""),
			Description: resource.Description.SomeOr(""),
			MIMEType:    resource.MimeType.SomeOr(""),
			Meta:        resource.Meta.SomeOr(""),
		})
	}
	return listed, err
}

// Read reads a resource.
func Read(uri string) (resources.Result, error) { return resources.ABIRead(uri) }

// Messages returns the log messages and notifications since its last call, one line each: log
// messages as `info: text`, progress as `progress: 1 of 2 text`, and so on.
func Messages() []string {
	host.Test.Lock()
	defer host.Test.Unlock()
	messages := host.Test.Messages
	host.Test.Messages = nil
	return messages
}

// Serve answers the plugin's HTTP requests.
func Serve(server func(wharf.Request) wharf.Response) {
	host.Test.Serve = func(raw host.Request) (host.Response, *host.HTTPError) {
		request := wharf.Request{Method: raw.Method, URL: raw.URL, Body: raw.Body}
		for _, field := range raw.Header {
			request.Header = append(request.Header, wharf.Field(field))
		}
		answer := server(request)
		response := host.Response{Status: answer.Status, Body: answer.Body}
		for _, field := range answer.Header {
			response.Header = append(response.Header, host.Field(field))
		}
		return response, nil
	}
}

// DenyStore revokes the grant `keyvalue`; with it, values are stored in memory.
func DenyStore() { host.Test.StoreDenied = true }

// Settings sets the values of wharf.Config.
func Settings(settings map[string]string) { host.Test.Settings = settings }

// Reset discards the state of earlier tests.
func Reset() { host.Test.Reset() }
