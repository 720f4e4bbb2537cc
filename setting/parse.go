package setting

import (
	"encoding/json"

	"example.org/parley"
)

// Parse converts a value as people write it to JSON: a text or a choice unchanged, everything else as JSON. CodeInvalid
// says what would be accepted. Check, not Parse, checks the bounds.
func (d *Description) Parse(text string) (json.RawMessage, error) {
	if d.Kind == Text || d.Kind == Choice {
		return parley.AppendJSONString(nil, text), nil
	}
	raw := []byte(text)
	if json.Valid(raw) && d.fits(raw) {
		return raw, nil
	}
	switch d.Kind {
	case Number:
		return nil, parley.InvalidField(d.Name, "is not a number")
	case Integer:
		return nil, parley.InvalidField(d.Name, "is not a whole number")
	case List:
		return nil, parley.InvalidField(d.Name, "is not a JSON array, such as %s", d.Example)
	case Switch:
		return nil, parley.InvalidField(d.Name, "is not true or false")
	case Text, Choice, Object:
	}
	return nil, parley.InvalidField(d.Name, "is not a JSON object, such as %s", d.Example)
}

// fits reports whether JSON is of the setting's kind.
func (d *Description) fits(raw []byte) bool {
	switch d.Kind {
	case Number:
		var number float64
		return json.Unmarshal(raw, &number) == nil && string(raw) != "null"
	case Integer:
		var number int64
		return json.Unmarshal(raw, &number) == nil && string(raw) != "null"
	case List:
		var list []json.RawMessage
		return json.Unmarshal(raw, &list) == nil && list != nil
	case Switch:
		return string(raw) == "true" || string(raw) == "false"
	case Text, Choice, Object:
	}
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
