package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/tool"
)

// longTools are tools whose answers are too long for the record.
type longTools map[string]tool.Result

func (l longTools) Tool(name string) (tool.Tool, bool) {
	result, found := l[name]
	return longTool{name, result}, found
}

func (l longTools) Tools() (all []tool.Tool) {
	for name, result := range l {
		all = append(all, longTool{name, result})
	}
	return all
}
func (l longTools) For(parley.ID) tool.Source { return l }
func (longTools) Expects(string) bool         { return false }
func (longTools) Await(context.Context)       {}
func (longTools) Faults() []tool.Fault        { return nil }

type longTool struct {
	name   string
	result tool.Result
}

func (l longTool) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{Name: l.name, Parameters: json.RawMessage(`{"type":"object"}`)}
}
func (longTool) Annotations() parley.ToolAnnotations { return parley.ToolAnnotations{ReadOnly: true} }
func (longTool) Source() string                      { return "builtin" }
func (l longTool) Call(context.Context, tool.Call) (tool.Result, error) {
	return l.result, nil
}

// TestLongResultsAreFiles: of a result that is too long, the record has the beginning and a file has all of it. Other
// parts of the result that fit stay whole.
func TestLongResultsAreFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Ein Satz für das Protokoll.\n", 60_000)
	quoted, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	object := json.RawMessage(`{"log":` + string(quoted) + `}`)
	text := func(text string) tool.Piece {
		return tool.Piece{Part: parley.Part{Type: parley.PartText, Text: text}}
	}
	s := startServerWithTools(t, longTools{
		"says":  {JSON: quoted},
		"logs":  {JSON: object},
		"pairs": {Pieces: []tool.Piece{text("First."), text(long), text("Last.")}},
	})
	for name, c := range map[string]struct {
		file  string // its content
		begin int    // which part is the beginning
		parts int
	}{
		"says": {long, 0, 2}, "logs": {string(object), 0, 2}, "pairs": {long, 1, 4},
	} {
		session := s.session(fmt.Sprintf(`{"model":"sim/script","tools":[%q]}`, name)).ID.String()
		script := fmt.Sprintf(`[[{"tool_call":{"name":%q,"arguments":{}}}],[{"text":"Read."}]]`, name)
		quotedScript, err := json.Marshal(script)
		if err != nil {
			t.Fatal(err)
		}
		s.told(session, `{"content":{"text":`+string(quotedScript)+`}}`)
		results := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages?role=tool_result", "")
		var content struct {
			Parts   []parley.Part
			Success bool
		}
		if err := json.Unmarshal(results.Data[0].Content, &content); err != nil {
			t.Fatal(err)
		}
		if !content.Success || len(content.Parts) != c.parts {
			t.Fatalf("%s: %d parts, %.300s", name, len(content.Parts), results.Data[0].Content)
		}
		begin, file := content.Parts[c.begin].Text, content.Parts[c.begin+1]
		if !strings.HasPrefix(begin, c.file[:1000]) || len(begin) > 40<<10 ||
			!strings.Contains(begin, fmt.Sprintf("the beginning of %d bytes", len(c.file))) ||
			!strings.Contains(begin, file.Name) {
			t.Errorf("%s: the beginning has %d bytes and ends %q", name, len(begin), begin[len(begin)-100:])
		}
		if got := s.do("GET", "/v1/files/"+file.FileID.String()+"/content", ""); string(got.body) != c.file {
			t.Errorf("%s: the file has %d bytes, want %d", name, len(got.body), len(c.file))
		}
	}
}
