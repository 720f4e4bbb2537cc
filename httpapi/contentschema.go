package httpapi

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
)

// This file holds what the document says of contents: by role, and of parts by type. Requests are not checked against
// it: the engine does that, by the role that a message turns out to have.

// partSchema is the name of the schema of a part of a content.
const partSchema = "ContentPart"

// isContent reports the types of contents. A member that says nothing is left out of them (ADR 0035), in requests and
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

// describeContents adds the schemas of contents, and says which of them a property has.
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
	say("UserContent", "What a user says, in parts; text, files and links are the same in short.", map[string]string{
		"text":   "The texts of the parts, an empty line between two; empty when there is none.",
		"files":  "The ids of the parts that are images, files or audio; left out when there is none.",
		"links":  "The addresses of the parts that are links; left out when there is none.",
		"search": "The model may search the web for this turn.",
		"think":  "Reasoning is asked for where the model can.",
	}, "parts", "text")
	say("AssistantContent", "What an agent says, in parts; text, reasoning and refusal are the same in short.",
		map[string]string{
			"text":      "The text of the part of type text; empty when there is none.",
			"reasoning": "The text of the part of type reasoning; left out when there is none.",
			"refusal":   "The text of the part of type refusal; left out when there is none.",
		}, "parts", "text")
	say("ToolCallContent", "A model's wish to use a tool.", map[string]string{
		"id":             "Parley's own id of the call.",
		"name":           "The tool.",
		"arguments_text": "The model's words where they are no JSON object.",
	}, "id", "name", "arguments")
	answered := map[string]string{
		"result":            "The answer as any JSON; left out where the parts are more than one value.",
		"error":             "Why the tool failed; null when it did not.",
		"execution_time_ms": "How long it took; null when nobody knows.",
		"success":           "Whether it did what was asked.",
	}
	say("ToolResultContent", "What a tool answered, in parts; result is the same in short.", answered,
		"error", "execution_time_ms", "parts", "success")
	say("TextContent", "A text.", map[string]string{"text": "The text."}, "text")

	// input is a content as a client writes it: nothing of it is required, since there are two forms.
	input := func(name, of, about string) *huma.Schema {
		given := *r.schemas[of]
		given.Required, given.Description = nil, about+" Parts and the short form beside them say the same."
		given.PrecomputeMessages()
		r.schemas[name] = &given
		return &huma.Schema{Ref: schemaPrefix + name}
	}
	userInput := input("UserInput", "UserContent", "What a user says, as a client writes it: in parts, or as text, "+
		"files and links.")
	assistantInput := input("AssistantInput", "AssistantContent", "What an agent outside says: in parts, or as "+
		"text, reasoning and refusal.")
	resultInput := input("ToolResultInput", "ToolResultContent", "What a tool answered, as a client writes it: in "+
		"parts, or any JSON as result. success is, by default, that there is no error.")

	free := object("")
	freeOrNull := object("")
	freeOrNull.Nullable = true
	block := r.Schema(reflect.TypeFor[engine.BlockCall](), true, "")
	failure := r.Schema(reflect.TypeFor[parley.Failure](), true, "")
	nothing := &huma.Schema{Type: "null"}
	r.contents = map[string]*huma.Schema{
		"Message.content":           {AnyOf: []*huma.Schema{user, assistant, call, result, text}},
		"SettledMessage.content":    {AnyOf: []*huma.Schema{user, assistant, call, result, text, nothing}},
		"MessageInput.content":      {AnyOf: []*huma.Schema{userInput, assistantInput, call, resultInput, nothing}},
		"MessagePatch.content":      {AnyOf: []*huma.Schema{userInput, nothing}},
		"EditInput.content":         userInput,
		"SettleInput.content":       {AnyOf: []*huma.Schema{assistantInput, nothing}},
		"SettleInput.tool_calls":    {Type: huma.TypeArray, Items: call, Nullable: true},
		"Block.content":             {AnyOf: []*huma.Schema{{Type: huma.TypeString}, block, failure}},
		"BlockCall.arguments":       freeOrNull,
		"BlockCall.result":          {AnyOf: []*huma.Schema{result, nothing}},
		"ChatCall.arguments":        freeOrNull,
		"ToolCallContent.arguments": freeOrNull,
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
		name := *r.Schema(tool, false, "").Properties["name"] // answers have the same schema, and always a name
		name.Nullable = false
		r.contents[tool.Name()+".name"] = &name
	}
	for property, what := range map[string]string{
		"Block.content": "Of reasoning_content and content a text, of tool_call the call with its result, of " +
			"error the " +
			"failure.",
		"BlockCall.result":          "Null while the tool runs.",
		"ToolCallContent.arguments": "Null beside arguments_text.",
	} {
		with := *r.contents[property]
		with.Description = what
		r.contents[property] = &with
	}
	for _, s := range r.contents {
		s.PrecomputeMessages()
	}
}

func contentOf[T any](r *registry) *huma.Schema { return r.Schema(reflect.TypeFor[T](), true, "") }

// describeParts adds the schemas of the parts of contents: of each type, and of a part as one of them.
func (r *registry) describeParts() {
	whole := r.Schema(reflect.TypeFor[parley.Part](), false, "")
	one := &huma.Schema{
		Description:   "A piece of a content, told apart by type. The bytes of a file are not in it.",
		Discriminator: &huma.Discriminator{PropertyName: "type", Mapping: map[string]string{}},
	}
	about := map[string]string{
		"text": "The text.", "citations": "Where pieces of the text are from.", "file_id": "The file's id.",
		"sha256": "Of the file; filled in by the server.", "media_type": "Of the file; filled in by the server.",
		"name": "The file's; filled in by the server where it is left out.", "url": "The address.",
		"title": "What the link is called.", "object": "Any JSON.",
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
