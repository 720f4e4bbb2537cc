package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// EncodeCase is a request whose bytes are stored in a file.
type EncodeCase struct {
	Name    string
	Request model.Request
	Invalid string // the field of the CodeInvalid that Encode must return instead
}

// RunEncode checks the bytes of requests against testdata/encode/<version>-<name>.json of the package under test;
// -update writes only missing files, because the bytes of a version never change.
func RunEncode(t *testing.T, version string, model model.Model, cases []EncodeCase) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			encoded, err := model.Encode(c.Request)
			if c.Invalid != "" {
				var invalid *parley.Error
				if parley.ErrorCode(err) != parley.CodeInvalid || !errors.As(err, &invalid) ||
					invalid.Field != c.Invalid {
					t.Errorf("%v, want CodeInvalid of %s", err, c.Invalid)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(encoded.Body) {
				t.Errorf("not JSON: %s", encoded.Body)
			}
			file := filepath.Join("testdata", "encode", version+"-"+strings.ReplaceAll(c.Name, " ", "-")+".json")
			want, err := os.ReadFile(file)
			if os.IsNotExist(err) && *update {
				want, err = encoded.Body, os.WriteFile(file, encoded.Body, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, encoded.Body) {
				t.Errorf("the bytes have changed\nwant %s\ngot  %s", want, encoded.Body)
			}
		})
	}
}

// As returns a model whose Encode is that of an older version.
func As(version int, model model.Model) model.Model { return older{model, version} }

type older struct {
	model.Model
	version int
}

func (o older) Encode(request model.Request) (model.EncodedRequest, error) {
	return o.EncodeAs(o.version, request)
}

// Of returns a pointer to v, for the optional fields of a request.
func Of[T any](v T) *T { return &v }

// Say returns a user message with one text.
func Say(text string) model.Message {
	return model.Message{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: text}}}
}

// Show returns a user message with a text file, an image and a text.
func Show() model.Message {
	image := model.Part{
		Kind:      model.PartImage,
		Name:      "dot.png",
		MediaType: "image/png",
		Data:      []byte("\x89PNG\r\n\x1a\n \xff\xfe"),
		Width:     1,
		Height:    1,
	}
	return model.Message{
		Role:  model.RoleUser,
		Parts: []model.Part{Text("<file name=\"a.txt\">\nmilk & eggs\n</file>"), image, Text("What is this?")},
	}
}

// Answer returns an assistant message.
func Answer(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleAssistant, Parts: parts}
}

// Text returns a part of text.
func Text(text string) model.Part {
	return model.Part{Kind: model.PartText, Text: text}
}

// Call returns a tool call; data is its provider's, nil for none.
func Call(id, name, arguments string, data []byte) model.Part {
	return model.Part{
		Kind:         model.PartToolCall,
		CallID:       id,
		Name:         name,
		Arguments:    []byte(arguments),
		ProviderData: data,
	}
}

// Results returns a message of tool results, each for its call.
func Results(results ...model.Part) model.Message {
	return model.Message{Role: model.RoleTool, Parts: results}
}

// Result returns a tool's result.
func Result(id, text string, isError bool) model.Part {
	return model.Part{Kind: model.PartToolResult, CallID: id, Text: text, IsError: isError}
}

// ShownByTools returns a request in which tools have answered with images.
func ShownByTools(modelID parley.ModelID) model.Request {
	image := Show().Parts[1]
	image.CallID = "one"
	other := image
	other.CallID, other.Name, other.MediaType = "two", "jot.jpg", "image/jpeg"
	return model.Request{Model: modelID, Messages: []model.Message{
		Say("Look."),
		Answer(Call("one", "shoot", "{}", nil), Call("two", "shoot", "{}", nil), Call("three", "now", "{}", nil)),
		Results(
			Result("one", "[image dot.png]", false), image,
			Result("two", " ", true), other, image,
			Result("three", "noon", false),
		),
		Answer(Text("Dots.")),
	}}
}

// Conversation returns a request with everything that any wire can carry: tools, parallel calls with provider data,
// duplicate ids, errors, text of all kinds.
func Conversation(modelID parley.ModelID, reasoning []byte) model.Request {
	data := func(id, arguments string) []byte {
		b, err := json.Marshal(map[string]string{"id": id, "arguments": arguments})
		if err != nil {
			panic(err) // cannot fail for two strings
		}
		return b
	}
	return model.Request{
		Model:  modelID,
		System: "Be brief.\n\"Quote\" <&> é 😀",
		Tools: []parley.ToolDefinition{
			{
				Name:        "add",
				Description: "Adds numbers.",
				Parameters: json.RawMessage(
					`{ "type": "object", "properties": { "b": {"type":"number"}, "a": {"type":"number"} } }`,
				),
			},
			{Name: "now"},
		},
		Messages: []model.Message{
			Say("What is 1 + 2, and the time?\x01"),
			Answer(
				model.Part{Kind: model.PartReasoning, Text: "Two calls.", ProviderData: reasoning},
				Text("Let me see."),
				Call(
					"own-1",
					"add",
					`{"a":1,"b":2}`,
					data("call_0", `{"b": 2, "a": 1}`),
				),
				Call("own-2", "now", `{}`, data("call_0", "{}")),
			),
			Results(Result("own-1", "3", false), Result("own-2", "no clock", true)),
			Answer(Text("It is 3.")),
			Say("And again?"),
			Answer(
				Call("own-3", "add", `{"a":3,"b":4}`, nil),
				Call("own-4", "add", `null`, data("call_7", `{"a": oops`)),
			),
			Results(Result("own-3", "7", false), Result("own-4", "Error: the arguments are no JSON", true)),
		},
	}
}

// cacheMark marks the end of the part that a provider caches: the bytes of requests are compared without it.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// RunPrefix checks that every shorter conversation's messages begin the longer one's, and that the fields before them
// do not move.
func RunPrefix(t *testing.T, model model.Model, request model.Request) {
	var before []byte
	for n := 1; n <= len(request.Messages); n++ {
		part := request
		part.Messages = request.Messages[:n]
		body := bytes.ReplaceAll(encode(t, model, part).Body, []byte(cacheMark), nil)
		at := bytes.Index(body, []byte(`"messages":[`))
		var end int
		decoder := json.NewDecoder(bytes.NewReader(body[at+len(`"messages":`):]))
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		end = at + len(`"messages":`) + len(raw)
		open := bytes.TrimRight(body[:end], "]}") // the last message may grow
		if !bytes.HasPrefix(open, before) {
			t.Fatalf("%d messages do not begin with the bytes of %d\n%s\n%s", n, n-1, before, open)
		}
		before = open
	}
}
