package wharf

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wharf-plugin/internal/host"
)

// Request is an HTTP request, which needs a grant. Redirects are not followed.
type Request struct {
	Method string
	// URL is absolute, `http:` or `https:`.
	URL    string
	Header []Field
	Body   []byte
	// Timeout limits the whole exchange; with 0, or if it is lower, the host's limit applies.
	Timeout time.Duration
}

// Field is one header field; names may repeat.
type Field struct{ Name, Value string }

// Response is a response, whatever its status.
type Response struct {
	Status int
	Header []Field
	Body   []byte
}

// FetchError is the reason why there is no response.
type FetchError struct {
	Reason FetchReason
	text   string
}

// FetchReason is a kind of FetchError.
type FetchReason uint8

const (
	// FetchDenied means that no grant covers the request; the text names a grant that would.
	FetchDenied = FetchReason(host.Denied)
	// FetchInvalid is an invalid request.
	FetchInvalid = FetchReason(host.Invalid)
	// FetchUnreachable is a failure of name resolution, connection or TLS.
	FetchUnreachable = FetchReason(host.Unreachable)
	// FetchTimeout means that the time limit was reached.
	FetchTimeout = FetchReason(host.Timeout)
	// FetchTooLarge is a response larger than the host's limit.
	FetchTooLarge = FetchReason(host.TooLarge)
	// FetchProtocol means that the server violated the protocol.
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
		text = "the request timed out"
	case host.TooLarge:
		text = fmt.Sprintf("the response has more than %d bytes", fault.Limit)
	}
	return &FetchError{FetchReason(fault.Kind), text}
}

// OK returns an error unless the status is 200 to 299.
func (r *Response) OK() error {
	if r.Status < 200 || r.Status > 299 {
		return fmt.Errorf("the server answered with status %d", r.Status)
	}
	return nil
}

// Field returns the first header field of that name, empty if there is none.
func (r *Response) Field(name string) string {
	for _, field := range r.Header {
		if strings.EqualFold(field.Name, name) {
			return field.Value
		}
	}
	return ""
}

// JSON decodes the body into the pointer's target.
func (r *Response) JSON(into any) error {
	if err := json.Unmarshal(r.Body, into); err != nil {
		return fmt.Errorf("the response cannot be read: %w", err)
	}
	return nil
}
