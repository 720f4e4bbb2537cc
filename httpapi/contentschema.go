package httpapi

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
)

// This file describes contents by role, and parts by type. The engine validates contents, by the role that a message
// turns out to have; requests are not checked against these schemas.

const (
	partSchema    = "ContentPart"    // the name of the schema of a part of a content
	contentSchema = "MessageContent" // and of the schema that has the members of all contents
)

// isContent reports whether a type belongs to contents, whose empty members are left out (ADR 0035) in requests and
// answers alike.
func isContent(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[parley.UserContent](),
		reflect.TypeFor[parley.AssistantContent](),
		reflect.TypeFor[parley.ToolCallContent](),
		reflect.TypeFor[parley.ToolResultContent](),
		reflect.TypeFor[parley.TextContent](),
		reflect.TypeFor[parley.Part](),
		reflect.TypeFor[parley.Citation]():
		return true
	}
	return false
}

// describeContents adds the schemas of contents, and assigns them to properties.
func (r *registry) describeContents() {
	r.describeParts()
	parts := &huma.Schema{
		Type:        huma.TypeArray,
		Items:       &huma.Schema{Ref: schemaPrefix + partSchema},
		Description: "The content in parts, in their order.",
	}
	user, assistant := contentOf[parley.UserContent](r), contentOf[parley.AssistantContent](r)
	call, result := contentOf[parley.ToolCallContent](r), contentOf[parley.ToolResultContent](r)
	text := contentOf[parley.TextContent](r)

	say := func(name, about string, properties map[string]string, required ...string) *huma.Schema {
		s := r.schemas[name]
		s.Description, s.Required = about, required
		for property, what := range properties {
			s.Properties[property].Description = what
		}
		if s.Properties["parts"] != nil {
			s.Properties["parts"] = parts
		}
		s.PrecomputeMessages()
		return s
	}
	say("UserContent", "A user's message in parts; text, files and links are its short form.", map[string]string{
		"text":   "The texts of the parts, separated by empty lines; empty if there is none.",
		"files":  "The ids of the parts that are images, files or audio; left out if there is none.",
		"links":  "The addresses of the parts that are links; left out if there is none.",
		"search": "The model may search the web for this turn.",
		"think":  "Asks the model to reason if it can.",
	}, "parts", "text")
	say("AssistantContent", "An agent's message in parts; text, object, reasoning and refusal are its short form.",
		map[string]string{
			"object":    "The object of a structured answer, which its text says as JSON; left out if there is none.",
			"text":      "The text of the part of type text; empty if there is none.",
			"reasoning": "The text of the part of type reasoning; left out if there is none.",
			"refusal":   "The text of the part of type refusal; left out if there is none.",
		}, "parts", "text")
	say("ToolCallContent", "A model's call of a tool.", map[string]string{
		"id":             "Parley's id for the call.",
		"name":           "The tool.",
		"arguments_text": "What the model wrote, if it is not a JSON object.",
	}, "id", "name", "arguments")
	answered := map[string]string{
		"result":            "The result as any JSON; left out if the parts are more than one value.",
		"error":             "Why the tool failed; null when it did not.",
		"execution_time_ms": "How long it took; null if unknown.",
		"success":           "Whether the tool succeeded.",
	}
	say("ToolResultContent", "A tool's result in parts; result is its short form.", answered,
		"error", "execution_time_ms", "parts", "success")
	say("TextContent", "A text.", map[string]string{"text": "The text."}, "text")

	// input is content from a client: nothing in it is required, since there are two forms.
	input := func(name, of, about string) *huma.Schema {
		given := *r.schemas[of]
		given.Required, given.Description = nil, about+" If both are given, they must agree."
		given.PrecomputeMessages()
		r.schemas[name] = &given
		return &huma.Schema{Ref: schemaPrefix + name}
	}
	userInput := input(
		"UserInput",
		"UserContent",
		"A user's message from a client, as parts or as text, files and links.",
	)
	assistantInput := input(
		"AssistantInput",
		"AssistantContent",
		"A message of an agent outside, as parts or as text, "+
			"reasoning and refusal.",
	)
	resultInput := input(
		"ToolResultInput",
		"ToolResultContent",
		"A tool's result from a client, as parts or as result, "+
			"any JSON. By default success is true if there is no error.",
	)

	free := object("")
	freeOrNull := object("")
	freeOrNull.Nullable = true
	block := r.Schema(reflect.TypeFor[engine.BlockCall](), true, "")
	failure := r.Schema(reflect.TypeFor[parley.Failure](), true, "")
	nothing := &huma.Schema{Type: "null"}
	r.schemas[contentSchema] = r.mergedContent(user, assistant, call, result, text)
	merged := &huma.Schema{Ref: schemaPrefix + contentSchema}
	byRole := map[parley.Role]*huma.Schema{
		parley.RoleUser: user, parley.RoleAssistant: assistant, parley.RoleToolCall: call,
		parley.RoleToolResult: result, parley.RoleSummary: text, parley.RoleSystem: text,
	}
	r.variants = map[string][]*huma.Schema{
		"Message":        contentByRole(byRole),
		"SettledMessage": contentByRole(byRole, nothing),
	}
	r.contents = map[string]*huma.Schema{
		"Message.content":           merged,
		"SettledMessage.content":    {AnyOf: []*huma.Schema{merged, nothing}},
		"MessageInput.content":      {AnyOf: []*huma.Schema{userInput, assistantInput, call, resultInput, nothing}},
		"PreviewInput.content":      {AnyOf: []*huma.Schema{userInput, nothing}},
		"ChangedTextInput.content":  userInput,
		"MessagePatch.content":      {AnyOf: []*huma.Schema{userInput, nothing}},
		"EditInput.content":         userInput,
		"SettleInput.content":       {AnyOf: []*huma.Schema{assistantInput, nothing}},
		"SettleInput.tool_calls":    {Type: huma.TypeArray, Items: call, Nullable: true},
		"Block.content":             {AnyOf: []*huma.Schema{{Type: huma.TypeString}, block, failure}},
		"BlockCall.arguments":       freeOrNull,
		"BlockCall.result":          {AnyOf: []*huma.Schema{result, nothing}},
		"ChatCall.arguments":        freeOrNull,
		"ToolCallContent.arguments": freeOrNull,
		"MessageContent.arguments":  freeOrNull,
		"ToolInfo.parameters":       free,
		"EditInput.metadata":        freeOrNull,
		"ForkInput.metadata":        freeOrNull,
		"RegenerateInput.metadata":  freeOrNull,
		"LoopUntilInput.schema":     freeOrNull,
		"CallDetail.request":        freeOrNull,
		"CallDetail.tools":          {Type: huma.TypeArray, Items: free, Nullable: true},
		"Preview.request":           freeOrNull,
	}
	for _, tool := range []reflect.Type{reflect.TypeFor[parley.ToolDefinition](), reflect.TypeFor[parley.AgentTool]()} {
		name := *r.Schema(tool, false, "").Properties["name"] // answers share the schema and always have a name
		name.Nullable = false
		r.contents[tool.Name()+".name"] = &name
	}
	for property, what := range map[string]string{
		"Block.content": "A text for reasoning_content and content, the call with its result for tool_call, the " +
			"failure for error.",
		"BlockCall.result":          "Null while the tool runs.",
		"ToolCallContent.arguments": "Null beside arguments_text.",
		"MessageContent.arguments":  "Null beside arguments_text.",
	} {
		with := *r.contents[property]
		with.Description = what
		r.contents[property] = &with
	}
	for _, s := range r.contents {
		s.PrecomputeMessages()
	}
}

// mergedContent returns an object with the members of all contents, none of them required.
func (r *registry) mergedContent(contents ...*huma.Schema) *huma.Schema {
	merged := &huma.Schema{
		Type:                 huma.TypeObject,
		Description:          "The content of a message: which members it has depends on the message's role.",
		AdditionalProperties: false,
		Properties:           map[string]*huma.Schema{},
	}
	for _, content := range contents {
		for name, property := range r.SchemaFromRef(content.Ref).Properties {
			if merged.Properties[name] == nil {
				merged.Properties[name] = property
			}
		}
	}
	merged.PrecomputeMessages()
	return merged
}

// contentByRole returns a variant of a message for each role, with that role's content: a program that checks the role
// then knows the content's type. others may stand in its place.
func contentByRole(contents map[parley.Role]*huma.Schema, others ...*huma.Schema) []*huma.Schema {
	var variants []*huma.Schema
	for _, role := range closedLists()[reflect.TypeFor[parley.Role]()].values {
		content := contents[parley.Role(role)]
		if len(others) > 0 {
			content = &huma.Schema{AnyOf: append([]*huma.Schema{content}, others...)}
		}
		variant := &huma.Schema{
			Type:     huma.TypeObject,
			Required: []string{"role", "content"},
			Properties: map[string]*huma.Schema{
				"role":    {Type: huma.TypeString, Enum: []any{role}},
				"content": content,
			},
		}
		variant.PrecomputeMessages()
		variants = append(variants, variant)
	}
	return variants
}

func contentOf[T any](r *registry) *huma.Schema { return r.Schema(reflect.TypeFor[T](), true, "") }

// describeParts adds a schema for each type of part, and one for a part of any type.
func (r *registry) describeParts() {
	whole := r.Schema(reflect.TypeFor[parley.Part](), false, "")
	one := &huma.Schema{
		Description:   "A part of a content; type says which. It never holds the bytes of a file.",
		Discriminator: &huma.Discriminator{PropertyName: "type", Mapping: map[string]string{}},
	}
	about := map[string]string{
		"text": "The text.", "citations": "The sources of pieces of the text.", "file_id": "The file's id.",
		"sha256": "The file's; the server fills it in.", "media_type": "The file's; the server fills it in.",
		"name": "The file's; the server fills it in if it is left out.", "url": "The address.",
		"title": "The link's title.", "object": "Any JSON.",
	}
	for _, of := range parley.PartTypes() {
		must, may := of.Members()
		part := &huma.Schema{
			Type:                 huma.TypeObject,
			AdditionalProperties: false,
			Required:             []string{"type", must},
			Properties:           map[string]*huma.Schema{"type": {Type: huma.TypeString, Enum: []any{string(of)}}},
		}
		for _, name := range append(slices.Clone(may), must) {
			member := *whole.Properties[name]
			member.Description = about[name]
			part.Properties[name] = &member
		}
		part.PrecomputeMessages()
		name := strings.ToUpper(string(of[:1])) + string(of[1:]) + "Part"
		r.schemas[name] = part
		one.OneOf = append(one.OneOf, &huma.Schema{Ref: schemaPrefix + name})
		one.Discriminator.Mapping[string(of)] = schemaPrefix + name
	}
	one.PrecomputeMessages()
	r.schemas[partSchema] = one
	r.types[partSchema] = reflect.TypeFor[parley.Part]()
}
