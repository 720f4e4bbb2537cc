package httpapi

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
)

const (
	eventStream = "text/event-stream" // the media type of streams
	eventSchema = "Event"             // the name of the schema of their frames

	replaySchema = "ReplayFrame" // and of those of replays
)

// frameSchemas is the schema of each frame's JSON.
func frameSchemas() *huma.Schema { return &huma.Schema{Ref: schemaPrefix + eventSchema} }

// describeEvents adds the schemas of all events: for each its data and its frame, and one for a frame of any event.
func (r *registry) describeEvents() {
	described := event.Catalogue()
	for _, part := range event.Parts() {
		r.types[part.Name], r.schemas[part.Name] = part.Type, &huma.Schema{} // first, so that references resolve
	}
	for _, part := range event.Parts() {
		r.describe(&part)
	}
	one := &huma.Schema{
		Description: "A frame of a stream; type says which event it is. Skip types that you do not know: new ones " +
			"may come.",
		Discriminator: &huma.Discriminator{PropertyName: "type", Mapping: map[string]string{}},
	}
	for i := range described {
		d := &described[i]
		r.types[d.Name], r.schemas[d.Name] = d.Type, &huma.Schema{}
		r.describe(&d.Object)
		r.schemas[d.Name+eventSchema] = frameSchema(d)
		ref := schemaPrefix + d.Name + eventSchema
		one.OneOf = append(one.OneOf, &huma.Schema{Ref: ref})
		one.Discriminator.Mapping[string(d.Event)] = ref
	}
	one.PrecomputeMessages()
	r.schemas[eventSchema] = one
}

// describe writes the schema of an object of package event from its description.
func (r *registry) describe(o *event.Object) {
	s := r.schemas[o.Name]
	s.Type, s.Description, s.AdditionalProperties = huma.TypeObject, o.Doc, false
	s.Properties = make(map[string]*huma.Schema, len(o.Fields))
	for i := range o.Fields {
		f := &o.Fields[i]
		p := r.property(f)
		switch {
		case p.Ref != "" && f.Null:
			r.nullable[o.Name] = append(r.nullable[o.Name], f.Name)
		case p.Ref == "":
			p.Description, p.Nullable = f.Doc, f.Null || f.Of != ""
		}
		s.Properties[f.Name] = p
		if !f.Optional {
			s.Required = append(s.Required, f.Name)
		}
	}
	s.PrecomputeMessages()
}

// property is the schema of a member without its description.
func (r *registry) property(f *event.Field) *huma.Schema {
	switch {
	case f.Of == "Message.content":
		r.Schema(reflect.TypeFor[parley.Message](), true, "")
		_, name, _ := strings.Cut(f.Of, ".")
		of := *r.schemas["Message"].Properties[name]
		return &of
	case f.Type == reflect.TypeFor[json.Number]():
		return &huma.Schema{Type: huma.TypeNumber}
	case len(f.Values) > 0:
		s := &huma.Schema{Type: huma.TypeString}
		for _, value := range f.Values {
			s.Enum = append(s.Enum, value)
		}
		return s
	}
	return r.Schema(f.Type, true, "")
}

// frameSchema is the schema of the JSON of an event's frame.
func frameSchema(d *event.Description) *huma.Schema {
	session := &huma.Schema{Type: huma.TypeString, Format: "uuid", Description: "The session."}
	switch d.Event {
	case parley.EventResync:
		session.Nullable, session.Description = true, "The session; null if the lists must be read again."
	case parley.FeedArtifactCreated, parley.FeedArtifactUpdated, parley.FeedArtifactDeleted:
		session.Nullable, session.Description = true, "The artifact's session; null for a project's."
	case parley.FeedKnowledgeCreated, parley.FeedKnowledgeUpdated:
		session.Nullable, session.Description = true, "Null: an item belongs to no session."
	}
	s := &huma.Schema{
		Type:                 huma.TypeObject,
		Description:          d.Doc,
		AdditionalProperties: false,
		Required:             []string{"session_id", "type", "data"},
		Properties: map[string]*huma.Schema{
			"session_id": session,
			"type":       {Type: huma.TypeString, Enum: []any{string(d.Event)}},
			"data":       {Ref: schemaPrefix + d.Name},
		},
	}
	if d.Durable {
		first := 1.0
		s.Properties["sequence"] = &huma.Schema{
			Type:     huma.TypeInteger,
			Format:   "int64",
			Minimum:  &first,
			Nullable: true,
			Description: "Place among the session's events, from 1 without gaps; null in a dry run, which stores " +
				"nothing.",
		}
		s.Properties["created_at"] = &huma.Schema{
			Type:        huma.TypeString,
			Format:      "date-time",
			Description: "When it happened.",
		}
		if !d.Feed { // the workspace feed sends it without them
			s.Required = append(s.Required, "sequence", "created_at")
		}
	}
	s.PrecomputeMessages()
	return s
}

// describeReplays adds the schema of the data of a replay's frames.
func (r *registry) describeReplays() {
	r.schemas[replaySchema] = &huma.Schema{
		Description: "The data of a replay's frame: a piece for replay.delta; for replay.completed, the last frame, " +
			"the replay beside the original.",
		AnyOf: []*huma.Schema{
			r.Schema(reflect.TypeFor[engine.ReplayPiece](), true, ""),
			r.Schema(reflect.TypeFor[engine.ReplayResult](), true, ""),
		},
	}
}
