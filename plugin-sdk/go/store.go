package wharf

import (
	"encoding/json"
	"fmt"

	"wharf-plugin/internal/host"
)

// Store is a bucket of the plugin's own: keys, and a value for each, from one call to the
// next, where the plugin was granted `keyvalue`. No other plugin sees it.
//
// Calls run side by side. One Set or Increment is done whole or not at all, but what is read
// may be old when it is written back; so give each thing a key of its own.
type Store struct{ bucket host.Bucket }

// OpenStore opens the plugin's default bucket.
func OpenStore() (*Store, error) { return OpenBucket("default") }

// OpenBucket opens another bucket, made when something is put there; a name has at most 64
// bytes.
func OpenBucket(name string) (*Store, error) {
	bucket, err := host.Open(name)
	return &Store{bucket}, err
}

// Get reads what is kept under a key, as JSON, into what the pointer points to; false if
// there is nothing.
func (s *Store) Get(key string, into any) (bool, error) {
	value, found, err := s.bucket.Get(key)
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(value, into); err != nil {
		return false, fmt.Errorf("what is kept under %s cannot be read: %w", key, err)
	}
	return true, nil
}

// Set keeps a value, as JSON, in place of what was there.
func (s *Store) Set(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("the value for %s cannot be kept: %w", key, err)
	}
	return s.bucket.Set(key, text)
}

// GetBytes is Get without reading the bytes.
func (s *Store) GetBytes(key string) (value []byte, found bool, err error) { return s.bucket.Get(key) }

// SetBytes is Set of bytes as they are.
func (s *Store) SetBytes(key string, value []byte) error { return s.bucket.Set(key, value) }

// Delete removes a key and its value; one that is not there is no error.
func (s *Store) Delete(key string) error { return s.bucket.Delete(key) }

// Exists says whether there is something under a key.
func (s *Store) Exists(key string) (bool, error) { return s.bucket.Exists(key) }

// Keys are all keys of the bucket, in no order that could be relied on.
func (s *Store) Keys() ([]string, error) { return s.bucket.Keys() }

// Increment adds to a number and gives the sum; a key that is not there is 0. Calls that
// run side by side each get a number of their own.
func (s *Store) Increment(key string, delta uint64) (uint64, error) {
	return s.bucket.Increment(key, delta)
}

// Config is a value of the grant's `config`; false if there is none. Variables of its `env`
// are in os.Getenv.
func Config(key string) (string, bool, error) { return host.Config(key) }
