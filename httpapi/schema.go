package httpapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/model"
)

const schemaPrefix = "#/components/schemas/"

// registry is a huma.Registry for Parley's types: ids, times, hashes, amounts and closed lists have their own schemas,
// references may be null, and fields of inputs may be left out. It is written while the routes are registered and only
// read afterwards.
type registry struct {
	schemas  map[string]*huma.Schema
	types    map[string]reflect.Type
	nullable map[string][]string           // properties by schema that are a reference or null
	contents map[string]*huma.Schema       // the document's own schemas of properties, by Schema.property
	variants map[string][]*huma.Schema     // by schema: it also fits one of these
	inputs   map[reflect.Type]reflect.Type // type of an input → its flattened form
	names    map[reflect.Type]string       // of the flattened forms
	lists    map[reflect.Type]closed
}

// describedRegistry is the registry of the document. It also has contents, events and replays, which the engine
// validates.
func describedRegistry() *registry {
	r := newRegistry()
	r.describeContents()
	r.describeEvents()
	r.describeReplays()
	return r
}

func newRegistry() *registry {
	return &registry{
		schemas:  map[string]*huma.Schema{},
		types:    map[string]reflect.Type{},
		nullable: map[string][]string{},
		inputs:   map[reflect.Type]reflect.Type{},
		names:    map[reflect.Type]string{},
		lists:    closedLists(),
	}
}

var _ huma.Registry = (*registry)(nil)

// closed is a string type with a closed list of values.
type closed struct{ values []string }

func valuesOf[T ~string](values ...T) closed {
	out := closed{}
	for _, v := range values {
		out.values = append(out.values, string(v))
	}
	return out
}

// closedLists are the closed lists of the root package, by type.
func closedLists() map[reflect.Type]closed {
	lists := map[reflect.Type]closed{reflect.TypeFor[parley.Code](): codeList()}
	for t, words := range closedWords() {
		lists[t] = closed{strings.Fields(words)}
	}
	return lists
}

func codeList() closed {
	var codes []parley.Code
	for _, row := range statuses() {
		codes = append(codes, row.code)
	}
	return valuesOf(codes...)
}

// isAlways reports whether an id, time or hash is never null in an answer.
func isAlways(schema, property string) bool {
	switch property {
	case "id", "workspace_id", "session_id", "reader_id", "owner_id", "principal_id", "trigger_message_id",
		"created_at", "updated_at", "last_access_at", "request_id", "root_id":
		return true
	}
	switch schema + "." + property {
	case "Approval.turn_id", "Approval.message_id", "Approval.fingerprint", "Approval.expires_at", "Approver.at",
		"Attempt.call_id", "AuditEntry.at", "Block.message_id", "Block.timestamp", "CallDiff.call_id",
		"ExportedData.message_id", "File.sha256",
		"FoundSession.agent_id", "ImportedSession.agent_id", "OutsideGrown.message_id",
		"Session.agent_id", "Session.log_id",
		"SessionBudget.agent_id", "SessionClient.seen_at", "SessionClient.expires_at", "SignIn.expires_at",
		"SignIn.last_used_at", "TreeNode.agent_id", "Version.message_id", "Warmed.agent_id":
		return true
	}
	return false
}

// word is the schema of one of the root package's scalar types, nil for others.
func (r *registry) word(t reflect.Type) *huma.Schema {
	switch t {
	case reflect.TypeFor[parley.ID]():
		return &huma.Schema{Type: huma.TypeString, Format: "uuid", Nullable: true}
	case reflect.TypeFor[parley.Time]():
		return &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true}
	case reflect.TypeFor[parley.Hash]():
		return &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9a-f]{64}$", Nullable: true, Description: "SHA-256."}
	case reflect.TypeFor[parley.Money]():
		return &huma.Schema{Type: huma.TypeNumber, Description: "US dollars."}
	case reflect.TypeFor[json.RawMessage]():
		return &huma.Schema{Description: "Any JSON."}
	case reflect.TypeFor[parley.LoopContext]():
		one, most := 1.0, float64(parley.MaxLoopIterations)
		return &huma.Schema{
			Description: "fresh: the iteration alone; {recent: n}: also the n iterations before it, with the " +
				"messages between them.",
			OneOf: []*huma.Schema{
				{Type: huma.TypeString, Enum: []any{"fresh"}},
				{
					Type: huma.TypeObject,
					Properties: map[string]*huma.Schema{
						"recent": {Type: huma.TypeInteger, Minimum: &one, Maximum: &most},
					},
					Required:             []string{"recent"},
					AdditionalProperties: false,
				},
			},
		}
	case reflect.TypeFor[parley.ToolRef]():
		return &huma.Schema{
			Description: "The name of a tool of this server, the definition of one that the client answers, or a " +
				"tool that is an agent.",
			OneOf: []*huma.Schema{
				{Type: huma.TypeString},
				r.Schema(reflect.TypeFor[parley.ToolDefinition](), true, ""),
				r.Schema(reflect.TypeFor[parley.AgentTool](), true, ""),
			},
		}
	}
	list, ok := r.lists[t]
	if !ok {
		return nil
	}
	s := &huma.Schema{Type: huma.TypeString}
	for _, value := range list.values {
		s.Enum = append(s.Enum, value)
	}
	return s
}

// Schema gives the schema of a type, by reference where it is an object.
func (r *registry) Schema(t reflect.Type, allowRef bool, hint string) *huma.Schema {
	bare := t
	for bare.Kind() == reflect.Pointer {
		bare = bare.Elem()
	}
	if s := r.word(bare); s != nil {
		s.Nullable = s.Type != "" && (s.Nullable || bare != t)
		s.PrecomputeMessages()
		return s
	}
	if bare.Kind() != reflect.Struct {
		s := huma.SchemaFromType(r, t)
		s.Nullable = bare != t // lists are never null
		return s
	}
	if isInput(bare) {
		bare = r.flattened(bare)
	}
	name, flat := r.names[bare]
	if !flat {
		name = schemaName(bare, hint)
	}
	if _, known := r.schemas[name]; !known {
		r.schemas[name], r.types[name] = &huma.Schema{}, bare // first, so that references to itself resolve
		s := huma.SchemaFromType(r, bare)
		r.finish(name, bare, s)
		*r.schemas[name] = *s
	} else if r.types[name] != bare {
		panic("httpapi: two types for the schema " + name) // seen by every test that starts the handler
	}
	if allowRef {
		return &huma.Schema{Ref: schemaPrefix + name}
	}
	return r.schemas[name]
}

// schemaName is a type's name in the document: Go's, unless that says too little without its package.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[model.Info]():
		return "ModelInfo"
	case reflect.TypeFor[parley.Part]():
		return partSchema
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// finish records what may be null, which tags cannot say.
func (r *registry) finish(name string, t reflect.Type, s *huma.Schema) {
	for _, field := range reflect.VisibleFields(t) {
		property, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		p := s.Properties[property]
		if p == nil {
			continue
		}
		if isAlways(name, property) &&
			// an agent may have no owner but the admins
			!(property == "owner_id" && t == reflect.TypeFor[parley.Agent]()) &&
			// nor a session an id that a dry run would import
			!(property == "session_id" && t == reflect.TypeFor[engine.ImportedSession]()) {
			p.Nullable = false
		}
		if p.Ref != "" && field.Type.Kind() == reflect.Pointer {
			r.nullable[name] = append(r.nullable[name], property)
		}
		if isContent(t) { // empty members are left out
			p.Nullable = p.Nullable && field.Type.Kind() == reflect.Pointer
			continue
		}
		if _, isFlat := r.names[t]; isFlat || !strings.Contains(field.Tag.Get("json"), "omitempty") {
			continue
		}
		p.Nullable = p.Ref == "" && p.Type != "" // what is absent is null; any JSON includes null
		if !isSetting(t) {
			s.Required = append(s.Required, property)
		}
	}
	r.describeSettings(name, t, s)
	amend(name, s)
	s.PrecomputeMessages()
}

// isSetting reports whether a type is part of inputs and answers alike; in an input its fields may be left out.
func isSetting(t reflect.Type) bool {
	return t == reflect.TypeFor[parley.Policy]() || t == reflect.TypeFor[parley.RetryPolicy]() ||
		t == reflect.TypeFor[parley.Grant]() ||
		t == reflect.TypeFor[parley.Limits]() || t == reflect.TypeFor[parley.MiddlewareSettings]() ||
		t == reflect.TypeFor[parley.CompactionSettings]() ||
		t == reflect.TypeFor[parley.ResponseCacheSettings]() ||
		t == reflect.TypeFor[parley.ResponseFormat]() ||
		t == reflect.TypeFor[parley.Output]()
}

// amend adds to single schemas what their types cannot say.
func amend(name string, s *huma.Schema) {
	switch name {
	case "Message":
		s.Properties["sequence"].Nullable = true
		s.Properties["sequence"].Description = "Place in the conversation, from 1 without gaps; null while queued."
		s.Properties["position"].Description = "Place in the queue; null once in the record."
		s.Properties["content"] = object(
			"The role says which: UserContent, AssistantContent, ToolCallContent, ToolResultContent; TextContent " +
				"for summary and system. Those of users, assistants and tool results always have parts.",
		)
		s.Properties["metadata"] = object("The client's own data about the message.")
	case "LoopUntil":
		schema := object(s.Properties["schema"].Description)
		schema.Nullable = true
		s.Properties["schema"] = schema
	case "AuditEntry", "UsageSum", "ArtifactVersion", "LineageNode", "Webhook":
		s.Properties["session_id"].Nullable = true
	case "Artifact":
		s.Properties["session_id"].Nullable = true
		schema := object("The JSON Schema that every version satisfies; null for none.")
		schema.Nullable = true
		s.Properties["schema"] = schema
	case "ArtifactInput", "TransformWriteInput", "DefinedOutputInput":
		inputObjects(s, "schema")
	case "Parameters":
		s.Required = nil // only inputs have them as an object
	case "Transform":
		for _, absent := range []string{"trigger_message_id", "agent_id", "session_id", "turn_id"} {
			s.Properties[absent].Nullable = true
		}
	case "TransformOutput", "TransformTarget", "PipelineTarget":
		s.Properties["schema"] = object("JSON Schema of a json artifact; null for none.")
		s.Properties["schema"].Nullable = true
	case "ArtifactDiff":
		s.Properties["patch"].Nullable, s.Properties["hunks"].Nullable = true, true
		s.Properties["files"].Nullable = true
	case "DiffLine":
		s.Properties["parts"].Nullable = true
	case "Session":
		s.Properties["metadata"] = object("The client's own data about the session.")
		s.Properties["archived_at"].Description = "Null unless archived."
	case "Problem":
		s.Properties["errors"].Nullable = true
	case "Approval":
		s.Properties["arguments"] = object("The exact arguments that the tool would get.")
	case "ToolDefinition":
		s.Properties["parameters"] = object("JSON Schema of the arguments.")
	case "AgentTool":
		inputObjects(s, "parameters")
	case "MessageInput", "PreviewInput":
		inputObjects(s, "content", "metadata")
	case "MessagePatch", "ChangedTextInput":
		inputObjects(s, "content")
	case "SessionInput", "SessionPatch":
		inputObjects(s, "metadata")
	}
}

func inputObjects(s *huma.Schema, properties ...string) {
	for _, property := range properties {
		p := s.Properties[property]
		p.Type, p.Nullable, p.AdditionalProperties = huma.TypeObject, true, true
	}
}

func object(about string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: about}
}

// SchemaFromRef follows a reference.
func (r *registry) SchemaFromRef(ref string) *huma.Schema {
	return r.schemas[strings.TrimPrefix(ref, schemaPrefix)]
}

// TypeFromRef is the Go type behind a reference.
func (r *registry) TypeFromRef(ref string) reflect.Type {
	return r.types[strings.TrimPrefix(ref, schemaPrefix)]
}

// RegisterTypeAlias is not used: word is the table of special types.
func (r *registry) RegisterTypeAlias(_, _ reflect.Type) {}

// Map returns the schemas as the document shows them, with null where it is allowed beside a reference or a closed
// list.
func (r *registry) Map() map[string]*huma.Schema {
	shown := make(map[string]*huma.Schema, len(r.schemas))
	for name, s := range r.schemas {
		shown[name] = r.shown(name, s)
	}
	return shown
}

func (r *registry) shown(name string, s *huma.Schema) *huma.Schema {
	out := *s
	out.OneOf = append(slices.Clone(s.OneOf), r.variants[name]...)
	out.Properties = make(map[string]*huma.Schema, len(s.Properties))
	for property, p := range s.Properties {
		said := r.contents[name+"."+property]
		switch {
		case said != nil:
			with := *said
			if with.Description == "" {
				with.Description = p.Description
			}
			p = &with
		case slices.Contains(r.nullable[name], property):
			p = &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}}
		case p.Nullable && len(p.Enum) > 0:
			with := *p
			with.Enum = append(slices.Clone(p.Enum), nil)
			p = &with
		}
		out.Properties[property] = p
	}
	return &out
}

// MarshalJSON writes the document's components.schemas.
func (r *registry) MarshalJSON() ([]byte, error) { return json.Marshal(r.Map()) }
