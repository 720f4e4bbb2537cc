package parley

import (
	"bytes"
	"encoding/json"
)

// In answers absent is null: a field is never left out. Fields tagged omitempty
// are those whose zero value means "absent"; the MarshalJSON beside each type
// writes them as null, by fields that lie over those of the embedded type.

// OrNull is nil for a zero value, which JSON shows as null.
func OrNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// EncodeJSON is json.Marshal for the use inside a MarshalJSON: whether <, > and
// & are escaped is left to the encoder outside.
func EncodeJSON[T any](value T) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
