//go:build !wasm

// Package host has the functions of the host. Outside of a component it is simulated for
// tests.
package host

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// Double simulates the host in tests; `wharftest` sets it up.
type Double struct {
	sync.Mutex
	Messages    []string
	Serve       func(Request) (Response, *HTTPError)
	StoreDenied bool
	Settings    map[string]string
	entries     map[place][]byte
}

type place struct{ bucket, key string }

// Test is the host of the running tests.
var Test = &Double{}

// Reset discards the state of earlier tests.
func (d *Double) Reset() {
	d.Lock()
	defer d.Unlock()
	d.Messages, d.Serve, d.StoreDenied, d.Settings, d.entries = nil, nil, false, nil, nil
}

func tell(format string, arguments ...any) {
	Test.Lock()
	defer Test.Unlock()
	Test.Messages = append(Test.Messages, strings.TrimSpace(fmt.Sprintf(format, arguments...)))
}

var levels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
var listings = [...]string{"tools", "prompts", "resources"}

func Log(level uint8, message string)          { tell("%s: %s", levels[level], message) }
func LogData(level uint8, logger, data string) { tell("%s: %s: %s", levels[level], logger, data) }
func ListChanged(listing uint8)                { tell("list changed: %s", listings[listing]) }
func ResourceUpdated(uri string)               { tell("resource updated: %s", uri) }
func Cancelled() bool                          { return false }

func Progress(done, total float64, text string) {
	if total > 0 {
		tell("progress: %v of %v %s", done, total, text)
	} else {
		tell("progress: %v %s", done, text)
	}
}

func Fetch(request Request) (Response, *HTTPError) {
	if Test.Serve == nil {
		return Response{}, &HTTPError{Kind: Denied, Why: "a test without `wharftest.Serve` has no network"}
	}
	return Test.Serve(request)
}

// Bucket is a bucket of the store in memory.
type Bucket string

func Open(name string) (Bucket, error) {
	if Test.StoreDenied {
		return "", ErrStoreDenied
	}
	return Bucket(name), nil
}

func (b Bucket) Get(key string) ([]byte, bool, error) {
	Test.Lock()
	defer Test.Unlock()
	value, found := Test.entries[place{string(b), key}]
	return append([]byte(nil), value...), found, nil
}

func (b Bucket) Set(key string, value []byte) error {
	Test.Lock()
	defer Test.Unlock()
	b.put(key, value)
	return nil
}

func (b Bucket) put(key string, value []byte) {
	if Test.entries == nil {
		Test.entries = map[place][]byte{}
	}
	Test.entries[place{string(b), key}] = append([]byte(nil), value...)
}

func (b Bucket) Delete(key string) error {
	Test.Lock()
	defer Test.Unlock()
	delete(Test.entries, place{string(b), key})
	return nil
}

func (b Bucket) Exists(key string) (bool, error) {
	_, found, err := b.Get(key)
	return found, err
}

func (b Bucket) Keys() ([]string, error) {
	Test.Lock()
	defer Test.Unlock()
	var keys []string
	for at := range Test.entries {
		if at.bucket == string(b) {
			keys = append(keys, at.key)
		}
	}
	sort.Strings(keys)
	return keys, nil
}

func (b Bucket) Increment(key string, delta uint64) (uint64, error) {
	Test.Lock()
	defer Test.Unlock()
	number := uint64(0)
	if value, found := Test.entries[place{string(b), key}]; found {
		parsed, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			return 0, StoreError("the value to increment is no whole number")
		}
		number = parsed
	}
	b.put(key, strconv.AppendUint(nil, number+delta, 10))
	return number + delta, nil
}

func Config(key string) (string, bool, error) {
	value, found := Test.Settings[key]
	return value, found, nil
}
