package prompt

import (
	"encoding/json"

	"example.org/parley"
)

// inStrings changes the strings of a JSON text, including names of members, and of JSON texts inside them; every other
// byte stays. Text that is not JSON is changed as a whole.
func inStrings(raw []byte, change func(string) string) []byte {
	if len(raw) == 0 {
		return raw
	}
	if !json.Valid(raw) {
		if changed := change(string(raw)); changed != string(raw) {
			return []byte(changed)
		}
		return raw
	}
	var out []byte
	last := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := i + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		end++
		if changed, ok := inString(raw[i:end], change); ok {
			out = append(append(out, raw[last:i]...), changed...)
			last = end
		}
		i = end - 1
	}
	if out == nil {
		return raw
	}
	return append(out, raw[last:]...)
}

// inString changes one JSON string; false if it stays unchanged.
func inString(quoted []byte, change func(string) string) ([]byte, bool) {
	var text string
	if json.Unmarshal(quoted, &text) != nil { // the whole was valid
		return nil, false
	}
	var changed string
	if len(text) > 1 && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		changed = string(inStrings([]byte(text), change))
	} else {
		changed = change(text)
	}
	if changed == text {
		return nil, false
	}
	return parley.AppendJSONString(nil, changed), true
}
