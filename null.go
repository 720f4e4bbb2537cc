package parley

import (
	"bytes"
	"encoding/json"
)

// Answers write absent fields as null and never leave them out. Fields tagged omitempty are those whose zero value
// means "absent"; the MarshalJSON of each type writes them as null, through fields that shadow those of the embedded
// type.

// OrNull returns nil for a zero value, which JSON shows as null.
func OrNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// EncodeJSON is json.Marshal for use inside a MarshalJSON: the outer encoder decides whether <, > and & are escaped.
func EncodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
