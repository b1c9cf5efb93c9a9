package wharf

import (
	"encoding/json"
	"fmt"

	"wharf-plugin/internal/host"
)

// Store is a bucket of the plugin: keys, and a value for each, stored between calls, if the
// plugin was granted `keyvalue`. Other plugins cannot access it.
//
// Calls run concurrently. Each Set or Increment is atomic, but a value may have changed between
// reading it and writing it back; so use a separate key for each item.
type Store struct{ bucket host.Bucket }

// OpenStore opens the plugin's default bucket.
func OpenStore() (*Store, error) { return OpenBucket("default") }

// OpenBucket opens another bucket, created by its first value; a name has at most 64
// bytes.
func OpenBucket(name string) (*Store, error) {
	bucket, err := host.Open(name)
	return &Store{bucket}, err
}

// Get decodes the JSON value of a key into the pointer's target; false if there is no
// value.
func (s *Store) Get(key string, into any) (bool, error) {
	value, found, err := s.bucket.Get(key)
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(value, into); err != nil {
		return false, fmt.Errorf("the value of %s cannot be decoded: %w", key, err)
	}
	return true, nil
}

// Set stores a value as JSON, replacing the previous one.
func (s *Store) Set(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("the value of %s cannot be encoded: %w", key, err)
	}
	return s.bucket.Set(key, text)
}

// GetBytes is Get without decoding.
func (s *Store) GetBytes(key string) (value []byte, found bool, err error) { return s.bucket.Get(key) }

// SetBytes is Set for uninterpreted bytes.
func (s *Store) SetBytes(key string, value []byte) error { return s.bucket.Set(key, value) }

// Delete removes a key and its value; a missing key is not an error.
func (s *Store) Delete(key string) error { return s.bucket.Delete(key) }

// Exists reports whether a key has a value.
func (s *Store) Exists(key string) (bool, error) { return s.bucket.Exists(key) }

// Keys returns all keys of the bucket, in unspecified order.
func (s *Store) Keys() ([]string, error) { return s.bucket.Keys() }

// Increment adds to a number atomically and returns the sum; a missing key counts as 0.
// Concurrent calls never get the same sum.
func (s *Store) Increment(key string, delta uint64) (uint64, error) {
	return s.bucket.Increment(key, delta)
}

// Config returns a value of the grant's `config`; false if there is none. Variables of its
// `env` are available through os.Getenv.
func Config(key string) (string, bool, error) { return host.Config(key) }
