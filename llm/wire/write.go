package wire

import (
	"bytes"
	"encoding/json"
	"strconv"

	"example.org/parley"
)

// The writers below make request bodies. A recorded request hash covers their output, so it never changes under one
// encoder version; this is why it does not come from encoding/json.

// AppendNumber appends the shortest decimal that reads back as f.
func AppendNumber(b []byte, f float64) []byte {
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

// AppendField appends `,"name":` for a field of an object that already has one.
func AppendField(b []byte, name string) []byte {
	return append(parley.AppendJSONString(append(b, ','), name), ':')
}

// AppendObject appends raw, which must be a JSON object, without white space and with its fields in order.
func AppendObject(b []byte, raw []byte) ([]byte, bool) {
	if !IsObject(raw) {
		return b, false
	}
	buffer := bytes.NewBuffer(b)
	if err := json.Compact(buffer, raw); err != nil {
		return b, false
	}
	return buffer.Bytes(), true
}

// IsObject reports whether raw is exactly one JSON object.
func IsObject(raw []byte) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed)
}

// AppendSchema appends a tool's parameters; a tool without parameters gets an empty object.
func AppendSchema(b []byte, tool parley.ToolDefinition) ([]byte, error) {
	if len(bytes.TrimSpace(tool.Parameters)) == 0 {
		return append(b, `{"type":"object","properties":{}}`...), nil
	}
	b, ok := AppendObject(b, tool.Parameters)
	if !ok {
		return nil, parley.InvalidField("tools", "the parameters of %q are not an object", parley.Clip(tool.Name, 64))
	}
	return b, nil
}
