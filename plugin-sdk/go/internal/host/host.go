package host

import "errors"

// Field is one header field.
type Field struct{ Name, Value string }

// Request is an HTTP request.
type Request struct {
	Method, URL string
	Header      []Field
	Body        []byte
	TimeoutMS   uint32
}

// Response is an HTTP response.
type Response struct {
	Status int
	Header []Field
	Body   []byte
}

// Kind is the reason why there is no response.
type Kind uint8

const (
	Denied Kind = iota
	Invalid
	Unreachable
	Timeout
	TooLarge
	Protocol
)

// HTTPError is a request without a response.
type HTTPError struct {
	Kind  Kind
	Why   string
	Limit uint64
}

// StoreError is an error of the host's store.
type StoreError string

func (e StoreError) Error() string { return string(e) }

// ErrStoreDenied means that the plugin lacks the grant `keyvalue`.
var ErrStoreDenied = errors.New("this plugin may not store anything: the operator of the server can grant it `keyvalue`; the server's log says how")

var errNoBucket = errors.New("there is no bucket of that name")
