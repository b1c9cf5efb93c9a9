// Package host has the functions of the host. Outside of a component it is simulated for
// tests.
package host

import (
	"sync"

	config "wharf-plugin/internal/abi/wasi_config_store"
	"wharf-plugin/internal/abi/wasi_keyvalue_atomics"
	keyvalue "wharf-plugin/internal/abi/wasi_keyvalue_store"
	host "wharf-plugin/internal/abi/wharf_plugin_host"
	"wharf-plugin/internal/abi/wharf_plugin_http"
	"wharf-plugin/internal/wit/runtime"
	wit "wharf-plugin/internal/wit/types"
)

// Only one goroutine at a time may lift the host's results.
var lifting sync.Mutex

func lift[T any](call func() T) T {
	lifting.Lock()
	defer lifting.Unlock()
	return runtime.Lift(call)
}

func Log(level uint8, message string)           { host.Log(level, message) }
func LogData(level uint8, logger, data string)  { host.LogData(level, logger, data) }
func ListChanged(listing uint8)                 { host.ListChanged(listing) }
func ResourceUpdated(uri string)                { host.ResourceUpdated(uri) }
func Cancelled() bool                           { return host.Cancelled() }
func Progress(done, total float64, text string) { host.Progress(done, known(total), said(text)) }

func known(total float64) wit.Option[float64] {
	if total > 0 {
		return wit.Some(total)
	}
	return wit.None[float64]()
}

func said(text string) wit.Option[string] {
	if text != "" {
		return wit.Some(text)
	}
	return wit.None[string]()
}

func Fetch(request Request) (Response, *HTTPError) {
	raw := wharf_plugin_http.Request{Method: request.Method, Url: request.URL}
	for _, field := range request.Header {
		raw.Headers = append(raw.Headers, wharf_plugin_http.Header{Name: field.Name, Value: []byte(field.Value)})
	}
	if request.Body != nil {
		raw.Body = wit.Some(request.Body)
	}
	if request.TimeoutMS > 0 {
		raw.TimeoutMs = wit.Some(request.TimeoutMS)
	}
	result := lift(func() wit.Result[wharf_plugin_http.Response, wharf_plugin_http.Error] {
		return wharf_plugin_http.Fetch(raw)
	})
	if result.IsErr() {
		return Response{}, httpError(result.Err())
	}
	response := Response{Status: int(result.Ok().Status), Body: result.Ok().Body}
	for _, field := range result.Ok().Headers {
		response.Header = append(response.Header, Field{field.Name, string(field.Value)})
	}
	return response, nil
}

func httpError(err wharf_plugin_http.Error) *HTTPError {
	switch err.Tag() {
	case wharf_plugin_http.Error_Denied:
		return &HTTPError{Kind: Denied, Why: err.Denied()}
	case wharf_plugin_http.Error_Invalid:
		return &HTTPError{Kind: Invalid, Why: err.Invalid()}
	case wharf_plugin_http.Error_Unreachable:
		return &HTTPError{Kind: Unreachable, Why: err.Unreachable()}
	case wharf_plugin_http.Error_TooLarge:
		return &HTTPError{Kind: TooLarge, Limit: err.TooLarge()}
	case wharf_plugin_http.Error_Protocol:
		return &HTTPError{Kind: Protocol, Why: err.Protocol()}
	default:
		return &HTTPError{Kind: Timeout}
	}
}

// Bucket is a bucket of the host's store.
type Bucket struct{ raw *keyvalue.Bucket }

func Open(name string) (Bucket, error) {
	raw, err := stored(func() wit.Result[*keyvalue.Bucket, keyvalue.Error] { return keyvalue.Open(name) })
	return Bucket{raw}, err
}

func (b Bucket) Get(key string) ([]byte, bool, error) {
	value, err := stored(func() wit.Result[wit.Option[[]byte], keyvalue.Error] { return b.raw.Get(key) })
	return value.SomeOr(nil), err == nil && value.IsSome(), err
}

func (b Bucket) Set(key string, value []byte) error {
	_, err := stored(func() wit.Result[wit.Unit, keyvalue.Error] { return b.raw.Set(key, value) })
	return err
}

func (b Bucket) Delete(key string) error {
	_, err := stored(func() wit.Result[wit.Unit, keyvalue.Error] { return b.raw.Delete(key) })
	return err
}

func (b Bucket) Exists(key string) (bool, error) {
	return stored(func() wit.Result[bool, keyvalue.Error] { return b.raw.Exists(key) })
}

func (b Bucket) Keys() ([]string, error) {
	var keys []string
	cursor := wit.None[uint64]()
	for {
		page, err := stored(func() wit.Result[keyvalue.KeyResponse, keyvalue.Error] { return b.raw.ListKeys(cursor) })
		if err != nil {
			return nil, err
		}
		keys = append(keys, page.Keys...)
		if cursor = page.Cursor; cursor.IsNone() {
			return keys, nil
		}
	}
}

func (b Bucket) Increment(key string, delta uint64) (uint64, error) {
	return stored(func() wit.Result[uint64, keyvalue.Error] {
		return wasi_keyvalue_atomics.Increment(b.raw, key, delta)
	})
}

func stored[T any](call func() wit.Result[T, keyvalue.Error]) (value T, err error) {
	result := lift(call)
	if result.IsOk() {
		return result.Ok(), nil
	}
	switch fault := result.Err(); fault.Tag() {
	case keyvalue.Error_AccessDenied:
		err = ErrStoreDenied
	case keyvalue.Error_NoSuchStore:
		err = errNoBucket
	default:
		err = StoreError(fault.Other())
	}
	return value, err
}

func Config(key string) (string, bool, error) {
	result := lift(func() wit.Result[wit.Option[string], config.Error] { return config.Get(key) })
	if result.IsOk() {
		return result.Ok().SomeOr(""), result.Ok().IsSome(), nil
	}
	if fault := result.Err(); fault.Tag() == config.Error_Io {
		return "", false, StoreError(fault.Io())
	} else {
		return "", false, StoreError(fault.Upstream())
	}
}
