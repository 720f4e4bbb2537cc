package httpapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/event"
)

// eventSchemas are those of the document, made once for all tests.
var eventSchemas = sync.OnceValue(func() shown {
	schemas := describedRegistry()
	return shown{schemas, schemas.Map()}
})

// checkFrame holds a frame that a test has read against its schema. The frames of a
// replay are those of its own operation.
func checkFrame(t *testing.T, kind string, data json.RawMessage) {
	t.Helper()
	if data == nil || strings.HasPrefix(kind, "replay.") {
		return
	}
	schemas := eventSchemas()
	ref := schemas.all[eventSchema].Discriminator.Mapping[kind]
	if ref == "" {
		t.Errorf("the document knows no event %q", kind)
		return
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%s: %v in %s", kind, err, data)
		return
	}
	var result huma.ValidateResult
	huma.Validate(schemas, &huma.Schema{Ref: ref}, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &result)
	for _, err := range result.Errors {
		t.Errorf("%s: %v in %s", kind, err, data)
	}
}

// TestEverySchemaOfAnEventIsWhole holds the document against the catalogue: each event is
// one of Event, told apart by its type, with every member described.
func TestEverySchemaOfAnEventIsWhole(t *testing.T) {
	t.Parallel()
	encoded, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Description  string
		Ref          string `json:"$ref"`
		Enum         []any
		OneOf, AnyOf []struct {
			Ref string `json:"$ref"`
		}
		Required      []string
		Properties    map[string]json.RawMessage
		Discriminator struct {
			PropertyName string
			Mapping      map[string]string
		}
	}
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	schemas := document.Components.Schemas
	one := schemas[eventSchema]
	described := event.Catalogue()
	if len(one.OneOf) != len(described) || len(one.Discriminator.Mapping) != len(described) ||
		one.Discriminator.PropertyName != "type" {
		t.Fatalf(
			"Event is one of %d, by %+v; %d events are described",
			len(one.OneOf),
			one.Discriminator,
			len(described),
		)
	}
	for i, d := range described {
		ref := schemaPrefix + d.Name + eventSchema
		if one.OneOf[i].Ref != ref || one.Discriminator.Mapping[string(d.Event)] != ref {
			t.Errorf("%s is not told apart by its type", d.Event)
		}
		frame, data := schemas[d.Name+eventSchema], schemas[d.Name]
		var kind schema
		if err := json.Unmarshal(
			frame.Properties["type"],
			&kind,
		); err != nil ||
			!reflect.DeepEqual(kind.Enum, []any{string(d.Event)}) {
			t.Errorf("the type of %s is one of %v (%v)", d.Event, kind.Enum, err)
		}
		if data.Description != d.Doc {
			t.Errorf("%s is described as %q", d.Name, data.Description)
		}
		for _, f := range d.Fields {
			var property schema
			if err := json.Unmarshal(
				data.Properties[f.Name],
				&property,
			); err != nil ||
				property.Description == "" && property.Ref == "" && property.AnyOf == nil {
				t.Errorf("%s.%s is not described: %s (%v)", d.Name, f.Name, data.Properties[f.Name], err)
			}
		}
	}
	if missing := schemas["Settled"]; missing.Properties != nil {
		t.Error("a base of events stands in the document")
	}
	checkFrame(t, string(parley.EventSessionStarted), json.RawMessage(eventExample))
}
