package schema

import (
	"encoding/json"
	"testing"
)

func TestSchemasThatAreNotRead(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"no JSON":         `{`,
		"no schema":       `7`,
		"a misspelt type": `{"type":"objekt"}`,
		"deep inside": `{"type":"object","properties":{"a":{"type":"array",` +
			`"items":{"anyOf":[{"type":"string"},{"type":["null","nmber"]}]}}}}`,
		"in a definition":     `{"$defs":{"a":{"type":"text"}},"type":"object"}`,
		"elsewhere":           `{"$ref":"https://example.com/schema.json"}`,
		"a reference to none": `{"$ref":"#/$defs/none"}`,
	} {
		if _, err := Read(json.RawMessage(raw)); err == nil {
			t.Errorf("%s: %s was read", name, raw)
		}
	}
	for name, raw := range map[string]string{
		"everything":         `{}`,
		"a property of that": `{"type":"object","properties":{"type":{"type":"string"}}}`,
		"a value of that":    `{"enum":[{"type":"objekt"}],"default":{"type":"x"}}`,
		"several types":      `{"type":["string","null"]}`,
	} {
		if _, err := Read(json.RawMessage(raw)); err != nil {
			t.Errorf("%s: %s was not read: %v", name, raw, err)
		}
	}
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	s, err := Read(
		json.RawMessage(
			`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"],` +
				`"additionalProperties":false}`,
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, fits := range map[string]bool{
		`{"q":"x"}`: true, `{"q":"x","n":3}`: true, `{"q":"x","n":null}`: true,
		`{}`: false, `{"q":null}`: false, `{"q":1}`: false, `{"q":"x","n":1.5}`: false, `{"q":"x","z":1}`: false,
		`[]`: false, `null`: false,
	} {
		wrong, err := s.Check(t.Context(), json.RawMessage(arguments))
		if err != nil || (wrong == "") != fits {
			t.Errorf("%s: %q, %v", arguments, wrong, err)
		}
	}
	if wrong, err := (Schema{}).Check(t.Context(), json.RawMessage(`7`)); wrong != "" || err != nil {
		t.Errorf("no schema: %q, %v", wrong, err)
	}
}
