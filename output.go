package parley

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Output asks for an answer that is a JSON object of a schema, and Parley checks it: an answer that does not satisfy
// the schema is asked for again. An Output without a schema asks for plain text, whatever a wider scope asks for.
type Output struct {
	Schema  *json.RawMessage `json:"schema,omitempty" doc:"JSON Schema of the answer; its type is object. Without it, the answer is plain text."`
	Name    string           `json:"name,omitempty" doc:"The schema's name, for the provider; answer by default."`
	Strict  bool             `json:"strict,omitempty" doc:"Ask the provider to follow the schema exactly, if it can."`
	Retries *int             `json:"retries,omitempty" minimum:"0" maximum:"5" doc:"How often an answer that does not satisfy the schema is asked for again; default 2."`
}

// The bounds of an Output.
const (
	MaxOutputBytes       = 64 << 10 // of its schema
	MaxOutputRetries     = 5
	DefaultOutputRetries = 2
)

// MarshalJSON writes null for absent fields.
func (o Output) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		Schema  *json.RawMessage `json:"schema"`
		Name    *string          `json:"name"`
		Strict  *bool            `json:"strict"`
		Retries *int             `json:"retries"`
	}{o.Schema, OrNull(o.Name), OrNull(o.Strict), o.Retries})
}

// Validate reports the field that breaks a rule. That the schema can be checked against is for package schema.
func (o Output) Validate() error {
	if o.Schema == nil {
		if o.Name != "" || o.Strict || o.Retries != nil {
			return InvalidField("output", "name, strict and retries belong to a schema")
		}
		return nil
	}
	if o.Retries != nil && (*o.Retries < 0 || *o.Retries > MaxOutputRetries) {
		return InvalidField("output.retries", "must lie between 0 and %d", MaxOutputRetries)
	}
	if len(o.Name) > MaxToolNameLength || strings.ContainsFunc(o.Name, func(r rune) bool { return !isNameRune(r) }) {
		return InvalidField("output.name", "is up to %d letters, digits, _ and -", MaxToolNameLength)
	}
	raw := bytes.TrimSpace(*o.Schema)
	if len(raw) > MaxOutputBytes {
		return InvalidField("output.schema", "is longer than %d bytes", MaxOutputBytes)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return InvalidField("output.schema", `must be a JSON Schema, such as {"type":"object","properties":{}}`)
	}
	if err := CheckJSON(raw); err != nil {
		return InvalidField("output.schema", "is not JSON that can be stored: %s", Clip(err.Error(), 200))
	}
	var of struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(raw, &of) != nil || of.Type != "object" {
		return InvalidField("output.schema", "the schema's type must be object, because the answer is an object")
	}
	return nil
}

// Wanted reports whether an answer must satisfy a schema. Nil wants none.
func (o *Output) Wanted() bool { return o != nil && o.Schema != nil }

// Again returns how often an answer is asked for again.
func (o *Output) Again() int {
	if o.Retries == nil {
		return DefaultOutputRetries
	}
	return *o.Retries
}

// SchemaName returns the name that the provider is told.
func (o *Output) SchemaName() string {
	if o.Name == "" {
		return "answer"
	}
	return o.Name
}

// JSONIn returns the JSON of an answer's text: all of it, or the content of its only fenced block.
func JSONIn(text string) string {
	const fence = "```"
	if begins := strings.TrimSpace(text); begins != "" && (begins[0] == '{' || begins[0] == '[') {
		return text // fences are inside its strings
	}
	parts := strings.Split(text, fence)
	if len(parts) != 3 {
		return text
	}
	_, inside, found := strings.Cut(parts[1], "\n") // after the language's name
	if !found {
		return parts[1]
	}
	return inside
}

// SaysObject reports whether a text says the same as an object, which is canonical JSON.
func SaysObject(text string, object json.RawMessage) bool {
	if strings.IndexByte(text, '{') < 0 {
		return false
	}
	said, err := CanonicalJSON([]byte(JSONIn(text)))
	return err == nil && bytes.Equal(said, object)
}
