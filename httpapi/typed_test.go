package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// freeJSON are the places where any JSON may stand, with the reason.
var freeJSON = map[string]string{
	"ToolResultContent.result":   "what a tool answers is the tool's own",
	"ToolResultInput.result":     "what a tool answers is the tool's own",
	"MessageContent.result":      "what a tool answers is the tool's own",
	"ScriptedResult.result":      "what a tool answers is the tool's own",
	"ObjectPart.object":          "an object of the client or the model",
	"PatchOperation.value":       "a value in such an object",
	"Output.schema":              "a JSON Schema",
	"TransformTarget.schema":     "a JSON Schema",
	"PipelineTargetInput.schema": "a JSON Schema",
	"AssistantContent.object":    "as Part.object",
	"AssistantInput.object":      "as Part.object",
	"MessageContent.object":      "as Part.object",
	"ResponseFormat.schema":      "a JSON Schema",
	"ArtifactInput.content":      "a document, JSON or a text",
	"VersionInput.content":       "a document, JSON or a text",
	"JSONEdit.value":             "a value in a document",
	"ToolQuestion.schema":        "a JSON Schema of the tool's server",
	"Approval.answer":            "an object by that schema",
	"DecisionInput.answer":       "an object by that schema",
	"JSONEditInput.value":        "a value in a document",
}

// freeObjects are the places where an object with any members may stand, with the reason.
var freeObjects = map[string]string{
	"AgentTool.parameters":       "a JSON Schema",
	"ToolDefinition.parameters":  "a JSON Schema",
	"ToolInfo.parameters":        "a JSON Schema",
	"LoopUntil.schema":           "a JSON Schema",
	"LoopUntilInput.schema":      "a JSON Schema",
	"Approval.arguments":         "a tool's arguments",
	"BlockCall.arguments":        "a tool's arguments",
	"ChatCall.arguments":         "a tool's arguments",
	"ToolCallContent.arguments":  "a tool's arguments",
	"MessageContent.arguments":   "a tool's arguments",
	"Message.metadata":           "the client's own",
	"MessageInput.metadata":      "the client's own",
	"Session.metadata":           "the client's own",
	"SessionInput.metadata":      "the client's own",
	"SessionPatch.metadata":      "the client's own",
	"EditInput.metadata":         "the client's own",
	"ForkInput.metadata":         "the client's own",
	"RegenerateInput.metadata":   "the client's own",
	"PreviewInput.metadata":      "the client's own",
	"CallDetail.request":         "a request as its provider wants it",
	"CallDetail.tools[]":         "a tool as its provider wants it",
	"Preview.request":            "a request as its provider wants it",
	"Artifact.schema":            "a JSON Schema",
	"ArtifactInput.schema":       "a JSON Schema",
	"DefinedOutputInput.schema":  "a JSON Schema",
	"TransformOutput.schema":     "a JSON Schema",
	"TransformTarget.schema":     "a JSON Schema",
	"PipelineTarget.schema":      "a JSON Schema",
	"TransformWriteInput.schema": "a JSON Schema",
	"getOpenAPI 200":             "OpenAPI describes it",
}

// Every schema of the document says what it is of; any JSON stands only where the lists above say why.
func TestNothingIsUntyped(t *testing.T) {
	t.Parallel()
	encoded, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	type content map[string]struct{ Schema map[string]any }
	type parameter struct {
		Name   string
		Schema map[string]any // nil of a reference
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			AliasOf     string `json:"x-alias-of"`
			Parameters  []parameter
			RequestBody struct{ Content content }
			Responses   map[string]struct{ Content content }
		}
		Components struct {
			Schemas    map[string]map[string]any
			Parameters map[string]parameter
		}
	}
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	names := slices.Collect(maps.Keys(document.Components.Schemas))
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		for _, key := range []string{"oneOf", "anyOf", "allOf"} {
			several, _ := s[key].([]any)
			for _, one := range several {
				walk(at, one.(map[string]any))
			}
		}
		properties, _ := s["properties"].(map[string]any)
		for name, property := range properties {
			walk(at+"."+name, property.(map[string]any))
		}
		items, hasItems := s["items"].(map[string]any)
		if hasItems {
			walk(at+"[]", items)
		}
		extra, _ := s["additionalProperties"].(map[string]any)
		if extra != nil {
			walk(at+"{}", extra)
		}
		kind := fmt.Sprint(s["type"])
		switch {
		case s["$ref"] != nil:
			if name := s["$ref"].(string)[len(schemaPrefix):]; !slices.Contains(names, name) {
				t.Errorf("%s is a %s, which the document does not have", at, name)
			}
		case s["oneOf"] != nil || s["anyOf"] != nil || s["allOf"] != nil:
		case s["type"] == nil:
			if met[at] = true; freeJSON[at] == "" {
				t.Errorf("%s has no type", at)
			}
		case kind == "array" || kind == "[array null]":
			if !hasItems {
				t.Errorf("%s is a list of anything", at)
			}
		case (kind == "object" || kind == "[object null]") && s["additionalProperties"] == true:
			if met[at] = true; freeObjects[at] == "" {
				t.Errorf("%s is an object of anything", at)
			}
		}
	}
	for name, s := range document.Components.Schemas {
		walk(name, s)
	}
	for name, p := range document.Components.Parameters {
		walk(name, p.Schema)
	}
	for path, item := range document.Paths {
		for method, o := range item {
			if o.OperationID == "" {
				t.Errorf("%s %s has no name", method, path)
			}
			if o.AliasOf != "" {
				continue
			}
			for _, p := range o.Parameters {
				if p.Schema == nil {
					continue
				}
				walk(o.OperationID+"?"+p.Name, p.Schema)
			}
			for media, body := range o.RequestBody.Content {
				walk(o.OperationID+" "+media, body.Schema)
			}
			for status, response := range o.Responses {
				for _, body := range response.Content {
					walk(o.OperationID+" "+status, body.Schema)
				}
			}
		}
	}
	for _, list := range []map[string]string{freeJSON, freeObjects} {
		for at := range list {
			if !met[at] {
				t.Errorf("%s is not free any more: take it off the list", at)
			}
		}
	}
}
