package record_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/llm/record"
	"example.org/parley/tool"
)

// counted is a source of one tool, which answers how often it ran.
type counted struct {
	away bool // its server is not there
	runs int
	now  func(int) (tool.Result, error)
}

func (c *counted) Tool(name string) (tool.Tool, bool) {
	return counter{c}, !c.away && name == "fs__count"
}
func (c *counted) Tools() []tool.Tool {
	if c.away {
		return nil
	}
	return []tool.Tool{counter{c}}
}
func (c *counted) For(parley.ID) tool.Source { return c }
func (*counted) Expects(string) bool         { return false }
func (*counted) Await(context.Context)       {}
func (*counted) Faults() []tool.Fault        { return nil }

type counter struct{ of *counted }

func (counter) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{Name: "fs__count", Parameters: json.RawMessage(`{"type":"object"}`)}
}
func (counter) Annotations() parley.ToolAnnotations { return parley.ToolAnnotations{Destructive: true} }
func (counter) Source() string                      { return "mcp/fs" }
func (c counter) Call(context.Context, tool.Call) (tool.Result, error) {
	c.of.runs++
	return c.of.now(c.of.runs)
}

func counts(n int) (tool.Result, error) {
	switch n {
	case 1:
		return tool.Result{JSON: json.RawMessage(`{"n":1,"key":"s3cret"}`)}, nil
	case 2:
		return tool.Result{
			Pieces: []tool.Piece{{Part: parley.Part{Type: parley.PartFile, Name: "n.bin"}, Data: []byte{0, 255}}},
		}, nil
	}
	return tool.Result{}, parley.Errorf(parley.CodeConflict, "enough")
}

// callOf calls the source's tool.
func callOf(t *testing.T, source tool.Source, arguments string) (tool.Result, error) {
	t.Helper()
	found, ok := source.Tool("fs__count")
	if !ok {
		t.Fatal("the tool is not offered")
	}
	return found.Call(t.Context(), tool.Call{Arguments: json.RawMessage(arguments)})
}

// What tools answered is played in order, errors and files too, and no tool runs; what was never recorded is named.
func TestToolsArePlayedAndNeverRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	live := &counted{now: counts}
	recorder, err := record.RecordTools(live, dir, record.Options{Secrets: []string{"s3cret"}})
	if err != nil {
		t.Fatal(err)
	}
	one, other := parley.NewID().String(), parley.NewID().String()
	for range 3 {
		_, _ = callOf(t, recorder, `{"of":"`+one+`"}`)
	}
	for _, away := range []bool{false, true} {
		player, err := record.PlayTools(&counted{away: away, now: func(int) (tool.Result, error) {
			t.Error("a tool ran")
			return tool.Result{}, nil
		}}, dir, record.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if all := player.Tools(); len(all) != 1 || all[0].Source() != "mcp/fs" || !all[0].Annotations().Destructive {
			t.Errorf("away: %t, the tools are %+v", away, all)
		}
		arguments := `{"of":"` + other + `"}` // ids differ between runs
		if got, err := callOf(t, player, arguments); err != nil || string(got.JSON) != `{"n":1,"key":"[redacted]"}` {
			t.Errorf("first: %s, %v", got.JSON, err)
		}
		got, err := callOf(t, player, arguments)
		if len(got.Pieces) != 1 || got.Pieces[0].Name != "n.bin" || string(got.Pieces[0].Data) != "\x00\xff" ||
			err != nil {
			t.Errorf("second: %+v, %v", got, err)
		}
		for range 2 { // the last repeats
			if _, err := callOf(t, player, arguments); parley.ErrorCode(err) != parley.CodeConflict ||
				!strings.Contains(err.Error(), "enough") {
				t.Errorf("after that: %v", err)
			}
		}
		_, err = callOf(t, player, `{"of":"else"}`)
		if err == nil || !strings.Contains(err.Error(), filepath.Join("tools", "fs__count-")) ||
			!strings.Contains(err.Error(), dir) {
			t.Errorf("a call that was never recorded: %v", err)
		}
	}
	if live.runs != 3 {
		t.Errorf("the tool ran %d times", live.runs)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "tools"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.SplitN(entry.Name(), "-", 2)[0])
	}
	if diff := cmp.Diff([]string{"fs__count", "fs__count", "fs__count", "fs__count.json"}, names); diff != "" {
		t.Errorf("the files (-want +got):\n%s", diff)
	}
}
