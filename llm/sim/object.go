package sim

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// object answers with an object of the schema that the request asks for. In the turn's first attempts it leaves out a
// required member, or answers with a list.
type object struct {
	wrong int // attempts that are wrong
}

// The bounds of a made-up object.
const (
	maxMadeValues = 2000
	maxMadeDepth  = 24
	maxMadeItems  = 8
	maxMadeText   = 4096 // bytes of a text that has to be long
)

func (o object) play(a *answer) {
	made := `{"simulated":true}`
	if format := a.request.Parameters.ResponseFormat; format != nil && format.Schema != nil {
		m := maker{left: maxMadeValues}
		_ = json.Unmarshal(*format.Schema, &m.root) // a schema that is not an object describes nothing
		if model.AttemptFrom(a.ctx) <= o.wrong {
			m.omit, m.list = firstRequired(m.root)
		}
		made = string(m.value(nil, m.root, "answer", 0))
		if m.list {
			made = "[" + made + "]"
		}
	} else if model.AttemptFrom(a.ctx) <= o.wrong {
		made = "[" + made + "]"
	}
	if a.say(model.ChunkText, made) {
		a.finish(parley.FinishStop)
	}
}

// firstRequired returns the member to leave out; without one the answer has to be a list.
func firstRequired(root map[string]json.RawMessage) (name string, list bool) {
	var required []string
	_ = json.Unmarshal(root["required"], &required)
	if len(required) == 0 {
		return "", true
	}
	return required[0], false
}

// maker makes up a value of a schema: the same one each time.
type maker struct {
	root map[string]json.RawMessage
	left int    // values that may still be made
	omit string // a member of the root
	list bool
}

// value appends a value of a schema; name is that of the member, for texts.
func (m *maker) value(to []byte, schema map[string]json.RawMessage, name string, depth int) []byte {
	if m.left--; m.left < 0 || depth > maxMadeDepth {
		return append(to, "null"...)
	}
	if only := schema["const"]; only != nil {
		return append(to, only...)
	}
	if first := firstOf(schema["enum"]); first != nil {
		return append(to, first...)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if first := firstOf(schema[keyword]); first != nil {
			return m.value(to, m.read(first), name, depth+1)
		}
	}
	if schema["$ref"] != nil {
		return m.value(to, m.referred(schema["$ref"]), name, depth+1)
	}
	switch typeOf(schema) {
	case "object":
		return m.object(to, schema, depth)
	case "array":
		return m.items(to, schema, name, depth)
	case "integer", "number":
		return appendNumber(to, schema)
	case "boolean":
		return append(to, "true"...)
	case "null":
		return append(to, "null"...)
	}
	return appendText(to, schema, name)
}

func (m *maker) object(to []byte, schema map[string]json.RawMessage, depth int) []byte {
	var properties map[string]json.RawMessage
	var required []string
	_ = json.Unmarshal(schema["properties"], &properties)
	_ = json.Unmarshal(schema["required"], &required)
	names := slices.Collect(maps.Keys(properties))
	for _, name := range required {
		if properties[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	to = append(to, '{')
	first := true
	for _, name := range slices.Compact(names) {
		optional := !slices.Contains(required, name)
		if depth == 0 && name == m.omit && m.omit != "" || optional && (depth > maxMadeDepth/2 || m.left <= 0) {
			continue
		}
		if !first {
			to = append(to, ", "...)
		}
		first = false
		to = append(parley.AppendJSONString(to, name), ": "...)
		to = m.value(to, m.read(properties[name]), name, depth+1)
	}
	return append(to, '}')
}

func (m *maker) items(to []byte, schema map[string]json.RawMessage, name string, depth int) []byte {
	count := 2.0
	if most, ok := numberIn(schema, "maxItems"); ok {
		count = min(count, most)
	}
	if least, ok := numberIn(schema, "minItems"); ok {
		count = min(max(count, least), maxMadeItems)
	}
	if depth > maxMadeDepth/2 {
		count = 0
	}
	items := m.read(schema["items"])
	to = append(to, '[')
	for i := range int(count) {
		if i > 0 {
			to = append(to, ", "...)
		}
		to = m.value(to, items, name+" "+strconv.Itoa(i+1), depth+1)
	}
	return append(to, ']')
}

func (*maker) read(raw json.RawMessage) (schema map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &schema) // true and false describe nothing
	return schema
}

// referred follows a reference within the schema.
func (m *maker) referred(raw json.RawMessage) map[string]json.RawMessage {
	var to string
	_ = json.Unmarshal(raw, &to)
	at := m.root
	for _, token := range strings.Split(strings.TrimPrefix(to, "#"), "/") {
		if token != "" {
			at = m.read(at[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)])
		}
	}
	return at
}

func firstOf(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil
	}
	return list[0]
}

func typeOf(schema map[string]json.RawMessage) (name string) {
	if json.Unmarshal(schema["type"], &name) == nil && name != "" {
		return name
	}
	var names []string
	_ = json.Unmarshal(schema["type"], &names) // one of several: the first that is more than null
	for _, name = range names {
		if name != "null" {
			return name
		}
	}
	switch {
	case schema["properties"] != nil:
		return "object"
	case schema["items"] != nil:
		return "array"
	}
	return "string"
}

func numberIn(schema map[string]json.RawMessage, keyword string) (n float64, found bool) {
	return n, schema[keyword] != nil && json.Unmarshal(schema[keyword], &n) == nil
}

func appendNumber(to []byte, schema map[string]json.RawMessage) []byte {
	n := 1.0
	if step, ok := numberIn(schema, "multipleOf"); ok && step > 0 {
		n = step
	}
	if least, ok := numberIn(schema, "minimum"); ok && n < least {
		n = math.Ceil(least)
	}
	if least, ok := numberIn(schema, "exclusiveMinimum"); ok && n <= least {
		n = math.Floor(least) + 1
	}
	if most, ok := numberIn(schema, "maximum"); ok && n > most {
		n = math.Floor(most)
	}
	if most, ok := numberIn(schema, "exclusiveMaximum"); ok && n >= most {
		n = math.Ceil(most) - 1
	}
	return strconv.AppendFloat(to, n, 'f', -1, 64)
}

// appendText appends a text that says what it is, or one of the format.
func appendText(to []byte, schema map[string]json.RawMessage, name string) []byte {
	var format string
	_ = json.Unmarshal(schema["format"], &format)
	text := map[string]string{
		"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00Z",
		"email": "simulated@example.org", "uri": "https://example.org/", "uuid": "00000000-0000-7000-8000-000000000000",
	}[format]
	if text == "" {
		text = "Simulated " + name
	}
	if least, ok := numberIn(schema, "minLength"); ok {
		for len(text) < int(min(least, maxMadeText)) {
			text += " " + name
		}
	}
	if most, ok := numberIn(schema, "maxLength"); ok && len(text) > int(max(most, 0)) {
		text = text[:cut(text, max(1, int(max(most, 0))))]
		if most < 1 {
			text = ""
		}
	}
	return parley.AppendJSONString(to, text)
}
