package editor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/acpwire"
)

// answering is a server that answers every request in one way.
type answering struct {
	status int
	body   string
}

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body) // it is not read
	}
	return &http.Response{
		StatusCode: a.status,
		Status:     http.StatusText(a.status),
		Request:    r,
		Header: http.Header{
			"Content-Type": {"application/problem+json"},
		},
		Body: io.NopCloser(strings.NewReader(a.body)),
	}, nil
}

// absent is a server that has nothing.
var absent = answering{http.StatusNotFound, `{"code":"not_found","detail":"It does not exist."}`}

// serve returns what an editor gets that says lines and leaves.
func serve(t *testing.T, lines string, server answering) (out string, err error) {
	t.Helper()
	api, err := client.New(client.Options{HTTPClient: &http.Client{Transport: server}, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	err = Serve(t.Context(), Options{Client: api, Version: "1", In: strings.NewReader(lines), Out: &said})
	return said.String(), err
}

// Each request gets one answer in the protocol's shape, whatever it is and whatever the server says, and nothing else
// is written.
func TestEveryRequestIsAnswered(t *testing.T) {
	t.Parallel()
	const id = `{"jsonrpc":"2.0","id":"a","method":`
	unauthenticated := answering{http.StatusUnauthorized, `{"code":"unauthenticated","detail":"No key."}`}
	broken := answering{http.StatusInternalServerError, `{"code":"internal","detail":"Broken."}`}
	for _, c := range []struct {
		name, line string
		server     answering
		want       string
	}{
		{"no message", `hello`, absent, `"id":null,"error":{"code":-32700`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"x"}`, absent, `"id":null,"error":{"code":-32700`},
		{"an unknown method", id + `"session/fork","params":{}}`, absent, `"id":"a","error":{"code":-32601`},
		{"no parameters", id + `"session/new"}`, absent, `"id":"a","error":{"code":-32602`},
		{"a list of parameters", id + `"session/prompt","params":[]}`, absent, `"id":"a","error":{"code":-32602`},
		{
			"a session that is not open", id + `"session/prompt","params":{"sessionId":"x","prompt":[]}}`, absent,
			`"id":"a","error":{"code":-32002`,
		},
		{
			"no session", id + `"session/load","params":{"sessionId":"x","cwd":"/"}}`, absent,
			`"id":"a","error":{"code":-32002`,
		},
		{"no directory", id + `"session/new","params":{"cwd":""}}`, absent, `"id":"a","error":{"code":-32602`},
		{"no key", id + `"session/list","params":{}}`, unauthenticated, `"id":"a","error":{"code":-32000`},
		{"a broken server", id + `"session/list"}`, broken, `"id":"a","error":{"code":-32603,"message":"Broken."`},
		{
			"the first request", id + `"initialize","params":{"protocolVersion":7,"clientCapabilities":null}}`, absent,
			`"id":"a","result":{"protocolVersion":1,`,
		},
		{"a notification", `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}`, absent, ""},
		{"a stray answer", `{"jsonrpc":"2.0","id":9,"result":{}}`, absent, ""},
	} {
		out, err := serve(t, c.line+"\n\n", c.server)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want == "" {
			if out != "" {
				t.Errorf("%s: %s", c.name, out)
			}
			continue
		}
		if !strings.HasPrefix(out, `{"jsonrpc":"2.0",`+c.want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %s, want %s", c.name, out, c.want)
		}
	}
	long := `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", MaxMessage) + `"}`
	if out, err := serve(t, long+"\n", absent); out != "" || parley.ErrorCode(err) != parley.CodeTooLarge {
		t.Errorf("a line that is too long: %q, %v", out, err)
	}
}

func TestPartsOfPrompts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxInline+1)
	for _, c := range []struct {
		block acpwire.Block
		part  parley.Part
		data  string
		name  string
	}{
		{acpwire.Block{Type: "text", Text: "a"}, parley.Part{Type: parley.PartText, Text: "a"}, "", ""},
		{acpwire.Block{Type: "image", Data: "AAEC", URI: "file:///a/b.png"}, parley.Part{}, "\x00\x01\x02", "b.png"},
		{acpwire.Block{Type: "audio", Data: "AAEC"}, parley.Part{}, "\x00\x01\x02", "audio"},
		{
			acpwire.Block{Type: "resource_link", URI: "https://example.org/", Name: "E"},
			parley.Part{Type: parley.PartLink, URL: "https://example.org/", Title: "E"}, "", "",
		},
		{
			acpwire.Block{Type: "resource_link", URI: "file:///a/b%20c", Name: "b c"},
			parley.Part{Type: parley.PartText, Text: "[b c](/a/b c)"}, "", "",
		},
		{
			acpwire.Block{Type: "resource", Resource: &acpwire.Resource{URI: `file:///a"b`, Text: "t"}},
			parley.Part{Type: parley.PartText, Text: "<file name=\"/a'b\">\nt\n</file>"}, "", "",
		},
		{
			acpwire.Block{Type: "resource", Resource: &acpwire.Resource{URI: "zed:///", Text: long}},
			parley.Part{}, long, "zed:",
		},
		{
			acpwire.Block{Type: "resource", Resource: &acpwire.Resource{Blob: "AAEC"}},
			parley.Part{}, "\x00\x01\x02", "file",
		},
	} {
		part, data, name, err := partOf(&c.block)
		if diff := cmp.Diff(c.part, part); diff != "" || err != nil || string(data) != c.data || name != c.name {
			t.Errorf("%+v: %q in %q, %v\n%s", c.block, data, name, err, diff)
		}
	}
	for _, block := range []acpwire.Block{
		{Type: "image"}, {Type: "image", Data: "%"}, {Type: "resource"}, {Type: "video"}, {},
	} {
		if _, _, _, err := partOf(&block); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%+v: %v", block, err)
		}
	}
}

// A session asks about the editor's tools that change something unless its agent, or itself, has a rule, and what a
// person allows by the tool's name is more specific.
func TestRulesAboutTheEditorsTools(t *testing.T) {
	t.Parallel()
	var offers offers
	if rules := offers.rules(&parley.Agent{}, &parley.Session{}); rules != nil {
		t.Errorf("an editor without tools gets the rules %+v", rules)
	}
	offers.Files.Write, offers.Terminal = true, true
	allow := []parley.Grant{{Tool: "editor_write_*", Effect: parley.GrantAllow}}
	agent := parley.Agent{Settings: parley.Settings{Grants: &allow}}
	got := offers.rules(&agent, &parley.Session{})
	want := []parley.Grant{{Tool: "editor_run_command*", Effect: parley.GrantAsk}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got = offers.rules(&parley.Agent{}, &parley.Session{Settings: parley.Settings{Grants: &want}}); len(got) != 1 ||
		!got[0].Concerns(writeTool) || got[0].Tool == writeTool {
		t.Errorf("%+v", got)
	}
}

// What the metadata of a session hold otherwise stays.
func TestRemembering(t *testing.T) {
	t.Parallel()
	kept := memory{Directory: "/a", Program: "b", Goes: parley.NewID()}
	of := parley.Session{Metadata: remembering(json.RawMessage(`{"mine":[1],"acp":{"cwd":"/"}}`), kept)}
	if diff := cmp.Diff(kept, remembered(&of)); diff != "" || !bytes.Contains(of.Metadata, []byte(`"mine":[1]`)) {
		t.Errorf("%s\n%s", of.Metadata, diff)
	}
	for _, strange := range []string{`{}`, `{"acp":7}`, `{"acp":{"cwd":7}}`, ``} {
		_ = remembered(&parley.Session{Metadata: json.RawMessage(strange)}) // it does not end the process
	}
}

func TestCallsAsTheEditorSeesThem(t *testing.T) {
	t.Parallel()
	v := newView(&session{server: &server{}, directory: "/work"})
	for _, c := range []struct{ name, arguments, title, kind, at string }{
		{"editor_read_file", `{"path":"a.txt"}`, "editor_read_file a.txt", "read", "/work/a.txt"},
		{"editor_run_command", `{"command":"make","args":["all"]}`, "editor_run_command make all", "execute", ""},
		{"web_search", `{"query":"x\ny"}`, "web_search x y", "search", ""},
		{"coder__edit", `{"title":"Edits a"}`, "Edits a", "edit", ""},
		{"deploy", `{"path":7}`, "deploy", "other", ""},
		{"notes__unknown", `null`, "notes__unknown", "other", ""},
	} {
		got := v.describe("id", c.name, json.RawMessage(c.arguments))
		at := ""
		if len(got.Locations) > 0 {
			at = got.Locations[0].Path
		}
		if got.Title != c.title || got.Kind != c.kind || at != c.at {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	plan := planOf(&parley.ToolCallContent{Name: "coder__plan", Arguments: json.RawMessage(
		`{"input":[{"content":"Look","priority":"high","status":"completed"},{"content":"Go","priority":"?"}]}`,
	)})
	want := []planEntry{{"Look", "high", "completed"}, {"Go", "medium", "pending"}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Error(diff)
	}
	text, changes := diffsOf(
		json.RawMessage(`{"text":"t","diffs":[{"path":"/a","old_text":null,"new_text":"n"}]}`),
		"x",
	)
	if text != "t" || len(changes) != 1 || changes[0].Path != "/a" || *changes[0].NewText != "n" {
		t.Errorf("%q, %+v", text, changes)
	}
}

// FuzzEditor: whatever an editor says, it gets nothing but messages, and no more answers than it has asked for.
func FuzzEditor(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{}}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`,
		`{"jsonrpc":"2.0","id":"x","method":"session/load","params":{"sessionId":"01a21fec-8674-7000-a786"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"x","prompt":[{"type":"image"}]}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}`, `{"jsonrpc":"2.0","id":1,"result":1}`,
		"{}\n[]\n\xff",
	} {
		f.Add([]byte(seed + "\n"))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		out, err := serve(t, string(input), absent)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(strings.NewReader(out))
		lines.Buffer(nil, MaxMessage)
		answers := 0
		for ; lines.Scan(); answers++ {
			var m struct {
				Version string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
			}
			if json.Unmarshal(lines.Bytes(), &m) != nil || m.Version != "2.0" || len(m.ID) == 0 {
				t.Fatalf("it writes %q", lines.Text())
			}
		}
		if asked := bytes.Count(input, []byte("\n")); answers > asked {
			t.Fatalf("%d answers to %d lines", answers, asked)
		}
	})
}

// FuzzPrompt: a block becomes a part that can be stored, a file, or an error that says what is wrong.
func FuzzPrompt(f *testing.F) {
	for _, seed := range []string{
		`{"type":"text","text":"a"}`, `{"type":"image","data":"AAEC","uri":"file:///%zz"}`,
		`{"type":"resource_link","uri":"http://[","name":""}`,
		`{"type":"resource","resource":{"uri":"file:///","text":"a","blob":"AA=="}}`, `{"type":"resource"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var block acpwire.Block
		if json.Unmarshal(input, &block) != nil {
			return
		}
		part, data, name, err := partOf(&block)
		switch {
		case err != nil:
			if parley.ErrorCode(err) != parley.CodeInvalid {
				t.Fatal(err)
			}
		case data != nil:
			if name == "" || len(name) > maxTitle || strings.Contains(name, "/") {
				t.Fatalf("a file is called %q", name)
			}
		case part.Type == "":
			t.Fatalf("%q becomes nothing", input)
		}
	})
}
