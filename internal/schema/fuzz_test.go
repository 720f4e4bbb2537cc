package schema

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzSchema: whatever a schema and a value are, they are refused or the check ends.
func FuzzSchema(f *testing.F) {
	for schema, value := range map[string]string{
		`{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`: `{}`,
		`{"anyOf":[{"not":{"$ref":"#/$defs/b"}}],"$defs":{"b":{"$dynamicAnchor":"x"},` +
			`"c":{"$dynamicRef":"#x"}}}`: `[1,"a"]`,
		`{"$id":"https://example.com/a","$ref":"b","$defs":{"b":{"$id":"b","unevaluatedItems":false}}}`: `[]`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{},true],` +
			`"dependencies":{"a":["b"]}}`: `{"a":1}`,
		`{"pattern":"(a?){100}","patternProperties":{"^x":{"multipleOf":0.01}},` +
			`"propertyNames":{"maxLength":3}}`: `{"x":19.99}`,
		`{"uniqueItems":true,"contains":{"const":1e3},"minContains":2,"prefixItems":[{"enum":[null,` +
			`{}]}]}`: `[null,1000,1e3]`,
	} {
		f.Add([]byte(schema), []byte(value))
	}
	f.Fuzz(func(t *testing.T, raw, value []byte) {
		s, err := Read(raw)
		if err != nil {
			return
		}
		fits, err := s.Fits(t.Context(), string(value))
		if err != nil && (fits || !errors.Is(err, ErrBudget)) {
			t.Errorf("%s against %s: %v, %v", value, raw, fits, err)
		}
		if fits && !json.Valid(value) {
			t.Errorf("%q is not JSON and fits", value)
		}
		if wrong, err := s.Check(
			t.Context(),
			value,
		); len(wrong) > maxViolationBytes+len("…") ||
			err != nil && !errors.Is(err, ErrBudget) {
			t.Errorf("%s against %s: %q, %v", value, raw, wrong, err)
		}
	})
}
