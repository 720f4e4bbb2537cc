package tool

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"example.org/parley"
)

// Read reads the call's arguments into a struct, strictly: by the exact names that grants use. The decoder alone would
// accept "Path" for "path", bypassing a rule about path. Its error is CodeInvalid and for the model.
func (c Call) Read(into any) error {
	known := map[string]bool{}
	for i, t := 0, reflect.TypeOf(into).Elem(); i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	var given map[string]json.RawMessage
	_ = json.Unmarshal(c.Arguments, &given) // anything but an object is refused below
	for name := range given {
		if !known[name] {
			return parley.Errorf(
				parley.CodeInvalid,
				"the arguments do not fit the tool: unknown field %q",
				parley.Clip(name, 128),
			)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(c.Arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return parley.Errorf(parley.CodeInvalid, "the arguments do not fit the tool: %s", parley.Clip(err.Error(), 256))
	}
	return nil
}
