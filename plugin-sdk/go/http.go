package wharf

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wharf-plugin/internal/host"
)

// Request is one of HTTP, to where the plugin was granted it. No redirect is followed.
type Request struct {
	Method string
	// URL is absolute, `http:` or `https:`.
	URL    string
	Header []Field
	Body   []byte
	// Timeout is for the whole exchange; the host's own limit if it is less or 0.
	Timeout time.Duration
}

// Field is one header field; a name may come more than once.
type Field struct{ Name, Value string }

// Response is what came back. Any status is one.
type Response struct {
	Status int
	Header []Field
	Body   []byte
}

// FetchError says why there is no response.
type FetchError struct {
	Reason FetchReason
	text   string
}

// FetchReason is a kind of FetchError.
type FetchReason uint8

const (
	// FetchDenied says that no grant covers the request; the text names the one that would.
	FetchDenied = FetchReason(host.Denied)
	// FetchInvalid is a request that cannot be made.
	FetchInvalid = FetchReason(host.Invalid)
	// FetchUnreachable is a failure of name resolution, connection or TLS.
	FetchUnreachable = FetchReason(host.Unreachable)
	// FetchTimeout says that the time was over.
	FetchTimeout = FetchReason(host.Timeout)
	// FetchTooLarge is a response larger than the host allows.
	FetchTooLarge = FetchReason(host.TooLarge)
	// FetchProtocol says that the other side broke the protocol.
	FetchProtocol = FetchReason(host.Protocol)
)

func (e *FetchError) Error() string { return e.text }

// Fetch sends a request and waits for the whole response. Its error is a *FetchError.
func Fetch(request Request) (*Response, error) {
	raw := host.Request{Method: request.Method, URL: request.URL, Body: request.Body}
	for _, field := range request.Header {
		raw.Header = append(raw.Header, host.Field(field))
	}
	if request.Timeout > 0 {
		raw.TimeoutMS = uint32(min(request.Timeout.Milliseconds(), 1<<32-1))
	}
	answer, fault := host.Fetch(raw)
	if fault != nil {
		return nil, fetchError(fault)
	}
	response := &Response{Status: answer.Status, Body: answer.Body}
	for _, field := range answer.Header {
		response.Header = append(response.Header, Field(field))
	}
	return response, nil
}

// Get fetches a URL.
func Get(url string) (*Response, error) { return Fetch(Request{Method: "GET", URL: url}) }

func fetchError(fault *host.HTTPError) *FetchError {
	text := fault.Why
	switch fault.Kind {
	case host.Timeout:
		text = "the server took too long"
	case host.TooLarge:
		text = fmt.Sprintf("the response has more than %d bytes", fault.Limit)
	}
	return &FetchError{FetchReason(fault.Kind), text}
}

// OK is an error unless the status is from 200 to 299.
func (r *Response) OK() error {
	if r.Status < 200 || r.Status > 299 {
		return fmt.Errorf("the server answered with status %d", r.Status)
	}
	return nil
}

// Field is the first header field of that name, empty if there is none.
func (r *Response) Field(name string) string {
	for _, field := range r.Header {
		if strings.EqualFold(field.Name, name) {
			return field.Value
		}
	}
	return ""
}

// JSON reads the body into what the pointer points to.
func (r *Response) JSON(into any) error {
	if err := json.Unmarshal(r.Body, into); err != nil {
		return fmt.Errorf("the response cannot be read: %w", err)
	}
	return nil
}
