package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
)

// Narrow returns a schema in the keywords that providers can enforce while a model writes: types, members, items,
// alternatives, enumerations, and references within the schema. It leaves out the other constraints, which have to be
// checked afterwards, and allows only the members that are named. whole requires every member to be required, as some
// providers do.
//
// It returns false if that would exclude what the schema is for: objects whose members have no names, members required
// or described elsewhere, or a schema that refers to itself. The schema has been Read.
func Narrow(raw json.RawMessage, whole bool) (json.RawMessage, bool) {
	n := narrowing{whole: whole, definitions: map[string]json.RawMessage{}}
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil {
		return nil, false
	}
	for _, place := range []string{"$defs", "definitions"} {
		var definitions map[string]json.RawMessage
		if len(root[place]) > 0 && json.Unmarshal(root[place], &definitions) != nil {
			return nil, false
		}
		for name, definition := range definitions {
			n.definitions["#/"+place+"/"+name] = definition
		}
	}
	narrowed, ok := n.schema(raw)
	if !ok {
		return nil, false
	}
	if narrowed, err := parley.CanonicalJSON(narrowed); err == nil && len(narrowed) <= MaxBytes {
		return narrowed, true
	}
	return nil, false
}

// narrowing writes definitions where they are referred to.
type narrowing struct {
	whole       bool
	definitions map[string]json.RawMessage
	inside      []string // the references that lead here
	schemas     int
}

func (n *narrowing) schema(raw json.RawMessage) (json.RawMessage, bool) {
	var given map[string]json.RawMessage
	if n.schemas++; n.schemas > MaxSubschemas || json.Unmarshal(raw, &given) != nil || given == nil { // true and false
		return nil, false
	}
	if given["$ref"] != nil {
		return n.reference(given["$ref"])
	}
	out := map[string]json.RawMessage{}
	for _, keyword := range []string{"type", "enum", "const", "description", "title"} {
		if value := given[keyword]; value != nil {
			out[keyword] = value
		}
	}
	for _, keyword := range []string{"$dynamicRef", "allOf", "if", "patternProperties", "prefixItems"} {
		if given[keyword] != nil { // they may describe members or items
			return nil, false
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if given[keyword] == nil {
			continue
		}
		if out["anyOf"] != nil || !n.alternatives(given[keyword], out) {
			return nil, false
		}
	}
	if given["items"] != nil {
		items, ok := n.schema(given["items"])
		if !ok {
			return nil, false
		}
		out["items"] = items
	}
	if given["properties"] == nil && !speaksOfObjects(given) {
		return written(out)
	}
	if !n.members(given, out) {
		return nil, false
	}
	return written(out)
}

// reference returns what a reference leads to, in its place.
func (n *narrowing) reference(raw json.RawMessage) (json.RawMessage, bool) {
	var to string
	if json.Unmarshal(raw, &to) != nil || n.definitions[to] == nil || slices.Contains(n.inside, to) {
		return nil, false
	}
	n.inside = append(n.inside, to)
	defer func() { n.inside = n.inside[:len(n.inside)-1] }()
	return n.schema(n.definitions[to])
}

func (n *narrowing) alternatives(raw json.RawMessage, out map[string]json.RawMessage) bool {
	var given []json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return false
	}
	for i := range given {
		var ok bool
		if given[i], ok = n.schema(given[i]); !ok {
			return false
		}
	}
	list, err := json.Marshal(given)
	out["anyOf"] = list
	return err == nil
}

// members narrows the keywords of objects.
func (n *narrowing) members(given, out map[string]json.RawMessage) bool {
	var properties map[string]json.RawMessage
	var required []string
	if additional := strings.TrimSpace(
		string(given["additionalProperties"]),
	); additional != "" && additional != "false" ||
		len(given["properties"]) == 0 ||
		json.Unmarshal(given["properties"], &properties) != nil ||
		given["required"] != nil && json.Unmarshal(given["required"], &required) != nil {
		return false
	}
	for name, property := range properties {
		var ok bool
		if properties[name], ok = n.schema(property); !ok || n.whole && !slices.Contains(required, name) {
			return false
		}
	}
	for _, name := range required {
		if properties[name] == nil {
			return false
		}
	}
	list, err := json.Marshal(properties)
	out["properties"], out["additionalProperties"] = list, json.RawMessage("false")
	if given["required"] != nil {
		out["required"] = given["required"]
	}
	return err == nil
}

// speaksOfObjects reports whether a schema without properties is one of objects.
func speaksOfObjects(given map[string]json.RawMessage) bool {
	return strings.Contains(string(given["type"]), `"object"`) || given["required"] != nil ||
		given["additionalProperties"] != nil
}

func written(schema map[string]json.RawMessage) (json.RawMessage, bool) {
	raw, err := json.Marshal(schema)
	return raw, err == nil
}
