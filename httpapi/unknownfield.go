package httpapi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// unknownField says what to write instead of a field that the schema does not have: the fields that resemble it, or all
// fields if they are few. Location is its path in the body, such as "message.contents".
func (a *api) unknownField(schema *huma.Schema, location string) string {
	steps := strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(location), ".")
	name := steps[len(steps)-1]
	for _, step := range steps[:len(steps)-1] {
		schema = a.within(schema, step)
	}
	schema = a.resolved(schema)
	if schema == nil || len(schema.Properties) == 0 {
		return "is not a known field"
	}
	var known, alike []string
	for one := range schema.Properties {
		known = append(known, one)
		if strings.HasPrefix(one, name+"_") || strings.HasPrefix(name, one+"_") || misspells(name, one) {
			alike = append(alike, one)
		}
	}
	slices.Sort(known)
	slices.Sort(alike)
	switch {
	case len(alike) > 0:
		return "is not a known field; did you mean " + strings.Join(alike, " or ") + "?"
	case len(known) <= maxListedFields:
		return "is not a known field; this object accepts: " + strings.Join(known, ", ")
	default:
		return "is not a known field; /docs lists the fields of this body"
	}
}

// within returns the schema of an object's field or of a list's item; nil if it has none.
func (a *api) within(schema *huma.Schema, step string) *huma.Schema {
	schema = a.resolved(schema)
	if schema == nil {
		return nil
	}
	if _, err := strconv.Atoi(step); err == nil && schema.Items != nil {
		return schema.Items
	}
	return schema.Properties[step]
}

func (a *api) resolved(schema *huma.Schema) *huma.Schema {
	for schema != nil && schema.Ref != "" {
		schema = a.schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}

// misspells reports whether one letter more, less or other, or two letters exchanged, make the one name of the other.
func misspells(name, known string) bool {
	if len(name) > len(known) {
		name, known = known, name
	}
	if len(known)-len(name) > 1 || len(name) < 3 {
		return false
	}
	from := 0
	for from < len(name) && name[from] == known[from] {
		from++
	}
	if from == len(name) { // at most one letter more at the end
		return true
	}
	if len(name) < len(known) {
		return name[from:] == known[from+1:]
	}
	if name[from+1:] == known[from+1:] {
		return true
	}
	return from+1 < len(name) && name[from] == known[from+1] && name[from+1] == known[from] &&
		name[from+2:] == known[from+2:]
}
