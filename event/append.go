package event

import (
	"encoding/hex"
	"encoding/json"

	"example.org/parley"
)

func appendID(to []byte, id parley.ID) []byte { return id.AppendJSON(to) }

func appendHash(to []byte, hash parley.Hash) []byte {
	if hash.IsZero() {
		return append(to, "null"...)
	}
	return append(hex.AppendEncode(append(to, '"'), hash[:]), '"')
}

func appendRaw(to []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return append(to, "null"...)
	}
	return append(to, raw...)
}

// appendNumber appends the text of a number; json.Number's zero value is 0.
func appendNumber(to []byte, number json.Number) []byte {
	if number == "" {
		return append(to, '0')
	}
	return append(to, number...)
}
