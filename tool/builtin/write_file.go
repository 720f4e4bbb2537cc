package builtin

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

// writeFile writes a whole text file.
type writeFile struct{ inProject }

func newWriteFile(policy *projectdir.Policy) tool.Tool {
	return writeFile{inProject{fixed{
		parley.ToolDefinition{
			Name:        "write_file",
			Description: "Writes a text file of the project, whole: it is created, with its directories, or replaced.",
			Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
				`"path":{"description":"Relative to the project directory.","type":"string"},` +
				`"text":{"description":"All of the file's text.","type":"string"}},"required":["path","text"],` +
				`"type":"object"}`),
		},
		// Writing the same text again changes nothing, but the previous text is lost.
		parley.ToolAnnotations{Idempotent: true, Destructive: true},
	}, policy}}
}

// written is the result.
type written struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"`
	Created bool   `json:"created"` // false: an earlier text was replaced
}

// Call implements tool.Tool. A reader sees the old text or the new one, never
// a part.
func (t writeFile) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (t writeFile) answer(_ context.Context, call tool.Call) (json.RawMessage, error) {
	var arguments struct {
		Path *string `json:"path"`
		Text *string `json:"text"`
	}
	if err := call.Read(&arguments); err != nil {
		return nil, err
	}
	if arguments.Path == nil || arguments.Text == nil {
		return nil, parley.Errorf(parley.CodeInvalid, "write_file needs path and text")
	}
	tree, name, err := t.open(call, *arguments.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Close() }() // written files are closed separately
	created, err := tree.Replace(name, []byte(*arguments.Text))
	if err != nil {
		return nil, err
	}
	return json.Marshal(written{Path: name, Bytes: len(*arguments.Text), Created: created})
}
