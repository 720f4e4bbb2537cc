package client

import (
	"bytes"
	"encoding/json"

	"example.org/parley"
)

// joined writes several values, each of which is an object, as one.
func joined[A, B any](first A, second B) ([]byte, error) {
	a, err := parley.EncodeJSON(first)
	if err != nil {
		return nil, err
	}
	b, err := parley.EncodeJSON(second)
	if err != nil {
		return nil, err
	}
	a, b = bytes.TrimSuffix(a, []byte("}")), bytes.TrimPrefix(b, []byte("{"))
	if len(a) > 1 && len(b) > 1 {
		a = append(a, ',')
	}
	return json.RawMessage(append(a, b...)), nil
}
