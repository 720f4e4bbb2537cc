package schema

import (
	"encoding/json"
	"testing"
)

// Only what providers enforce is left, members without names refuse, and the definitions stand where they are named.
func TestNarrow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema, narrowed string // "": it cannot be narrowed
		whole            bool
	}{
		"constraints": {
			`{"type":"object","properties":{"a":{"type":"string","minLength":2,"pattern":"x"}},"minProperties":1}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"string"}},"type":"object"}`, false,
		},
		"lists and alternatives": {
			`{"type":"object","properties":{"a":{"type":"array","minItems":3,"items":{"oneOf":[{"type":"null"},` +
				`{"enum":["x","y"]}]}}},"required":["a"]}`,
			`{"additionalProperties":false,"properties":{"a":{"items":{"anyOf":[{"type":"null"},{"enum":["x","y"]}]},` +
				`"type":"array"}},"required":["a"],"type":"object"}`, true,
		},
		"definitions": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"integer","minimum":1}}}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"integer"}},"type":"object"}`, false,
		},
		"optional where all are required": {
			`{"type":"object","properties":{"a":{"type":"string"}}}`, "", true,
		},
		"of itself": {
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"$ref":"#/$defs/b"}}}`, "", false,
		},
		"names of any kind": {`{"type":"object","additionalProperties":{"type":"string"}}`, "", false},
		"no names":          {`{"type":"object","properties":{"a":{"type":"object"}}}`, "", false},
		"members from elsewhere": {
			`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"required":["b"]}]}`, "", false,
		},
		"required without a rule": {
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, "", false,
		},
		"anything": {`{"type":"object","properties":{"a":true}}`, "", false},
	} {
		if _, err := Read(json.RawMessage(c.schema)); err != nil && name != "of itself" {
			t.Errorf("%s: %v", name, err)
		}
		narrowed, ok := Narrow(json.RawMessage(c.schema), c.whole)
		if ok != (c.narrowed != "") || string(narrowed) != c.narrowed {
			t.Errorf("%s: %s", name, narrowed)
		}
	}
}

func TestViolation(t *testing.T) {
	t.Parallel()
	s, err := Read(json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"a":1}`:    "",
		`{"a":"x"}`:  "/a: must be integer, is string",
		`{"a":null}`: "/a: must be integer, is null",
		`[]`:         "must be object, is array",
		`{"a":`:      "it is not JSON: unexpected EOF",
	} {
		if got, err := s.Violation(t.Context(), []byte(text)); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}
