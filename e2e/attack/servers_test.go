package attack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/tool/mcp"
)

// hostileServer speaks the Model Context Protocol over HTTP, badly where configured.
type hostileServer struct {
	tools func(listed int64) string                            // the result of tools/list; nil: one tool "fine"
	call  func(w http.ResponseWriter, r *http.Request, id any) // nil: responds "ok"
	begin misdeed                                              // instead of the response to initialize
	// instead of 405 for the stream of the server's own messages
	stream   misdeed
	nothing  bool // it may offer no tool at all
	listings atomic.Int64
	// what it has sent of an answer without an end, and how many such are on their way
	sent, floods atomic.Int64
}

// mostFlood bounds an answer without an end, so that a server that reads all of it is
// found out before it is out of memory.
const mostFlood = 256 << 20

// flood sends an answer of events without an end, behind a first one.
func (h *hostileServer) flood(w http.ResponseWriter, status int, first string) {
	h.floods.Add(1)
	defer h.floods.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(status)
	out := http.NewResponseController(w)
	more := []byte(first)
	for h.sent.Load() < mostFlood {
		n, err := w.Write(more)
		h.sent.Add(int64(n))
		if err != nil || out.Flush() != nil {
			return
		}
		more = []byte(": " + strings.Repeat("x", 64<<10) + "\n\n")
	}
}

const oneTool = `{"tools":[{"name":"fine","description":"d","inputSchema":{"type":"object"},` +
	`"annotations":{"readOnlyHint":true}}]}`

// ServeHTTP implements http.Handler.
func (h *hostileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if h.stream != nil && r.Method == http.MethodGet {
			h.stream(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body) // a request of ours
	var request struct {
		ID     any
		Method string
	}
	_ = json.Unmarshal(body, &request) // as above
	result := `{}`
	switch {
	case request.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case request.Method == "initialize" && h.begin != nil:
		h.begin(w, r)
		return
	case request.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "hostile")
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},` +
			`"serverInfo":{"name":"hostile","version":"1"}}`
	case request.Method == "tools/list":
		listed := h.listings.Add(1)
		if result = oneTool; h.tools != nil {
			result = h.tools(listed)
		}
	case request.Method == "tools/call" && h.call != nil:
		h.call(w, r, request.ID)
		return
	case request.Method == "tools/call":
		result = `{"content":[{"type":"text","text":"ok"}]}`
	}
	id, _ := json.Marshal(request.ID) // a number or a text
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// offering lists tools with given schemas beside a harmless one.
func offering(schemas ...string) func(int64) string {
	return func(int64) string {
		tools := []string{`{"name":"fine","inputSchema":{"type":"object"}}`}
		for i, schema := range schemas {
			tools = append(tools, fmt.Sprintf(`{"name":"hostile_%d","inputSchema":%s}`, i, schema))
		}
		return `{"tools":[` + strings.Join(tools, ",") + `]}`
	}
}

// doubling is a schema whose check takes two to the power of levels.
func doubling(levels int) string {
	var defs []string
	for i := range levels {
		defs = append(
			defs,
			fmt.Sprintf(`"a%d":{"anyOf":[{"not":{"$ref":"#/$defs/a%d"}},{"not":{"$ref":"#/$defs/a%d"}}]}`, i, i+1, i+1),
		)
	}
	defs = append(defs, fmt.Sprintf(`"a%d":{"type":"string"}`, levels))
	return `{"type":"object","$defs":{` + strings.Join(defs, ",") + `},"not":{"$ref":"#/$defs/a0"}}`
}

// answering responds to calls with a result.
func answering(result string) func(http.ResponseWriter, *http.Request, any) {
	return func(w http.ResponseWriter, _ *http.Request, id any) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%v,"result":%s}`, id, result)
	}
}

// instead responds to calls with a misdeed.
func instead(of misdeed) func(http.ResponseWriter, *http.Request, any) {
	return func(w http.ResponseWriter, r *http.Request, _ any) { of(w, r) }
}

// toldOften bounds how often a constantly changing list is requested.
const toldOften = 2000

func hostileServers() map[string]*hostileServer {
	failing, going := &hostileServer{}, &hostileServer{}
	failing.call = func(w http.ResponseWriter, _ *http.Request, _ any) {
		failing.flood(w, http.StatusBadRequest, "")
	}
	going.call = func(w http.ResponseWriter, _ *http.Request, id any) {
		going.flood(w, http.StatusOK, fmt.Sprintf(
			`data: {"jsonrpc":"2.0","id":%v,"result":{"content":[{"type":"text","text":"ok"}]}}`+"\n\n", id,
		))
	}
	long := strings.Repeat("x", someMegabytes)
	grown := `{"a":[` + strings.Repeat(`{"":0},`, someMegabytes/7) + `0]}`
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	storm := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	return map[string]*hostileServer{
		"fails-on": failing,
		"goes-on":  going,
		"schemas": {
			tools: offering(
				`{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
				doubling(40),
				strings.Repeat(`{"not":`, 200)+"{}"+strings.Repeat("}", 200),
				`{"type":"object","description":"`+long[:mcp.MaxSchemaBytes]+`"}`,
				`{"type":"object","properties":{"x":{"pattern":"((a{500}){500}){500}"}}}`,
				`[]`,
				`true`,
				`{"type":"object","$ref":"http://127.0.0.1:1/x"}`,
				`{"type":"object","anyOf":[`+strings.Repeat(
					`{},`,
					5000,
				)+`{}]}`,
				`{"type":"object","$id":"http://[::1","$ref":"%"}`,
			),
		},
		"names": {tools: func(int64) string {
			var tools []string
			for _, name := range []string{"fine", "fine", "", "a\x00b", "\x1b[2J\n\u202e", "../../etc",
				strings.Repeat("n", 1<<20), "Fine", "f\u0456ne", "fine "} {
				text, _ := json.Marshal(name) // a string
				tools = append(
					tools,
					`{"name":`+string(text)+`,"description":`+string(text)+`,"inputSchema":{"type":"object"}}`,
				)
			}
			return `{"tools":[` + strings.Join(tools, ",") + `]}`
		}},
		"huge": {nothing: true, tools: func(int64) string {
			return `{"tools":[` + strings.Repeat(
				`{"name":"x","inputSchema":{"type":"object"}},`,
				50_000,
			) + `{"name":"fine","inputSchema":{"type":"object"}}],"nextCursor":"more"}`
		}},
		"pages": {
			nothing: true,
			tools:   func(n int64) string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n) },
		},
		"deep-list": {nothing: true, tools: func(int64) string {
			return `{"tools":[{"name":"fine","inputSchema":{"type":"object"},"_meta":` + deep + `}]}`
		}},
		"endless": {call: instead(forever(long, 0))},
		"drip":    {call: instead(forever(": drop\n\n", 0))},
		"silent":  {call: func(_ http.ResponseWriter, r *http.Request, _ any) { <-r.Context().Done() }},
		"deep":    {call: answering(`{"content":[],"structuredContent":{"a":` + deep + `}}`)},
		"grows":   {call: answering(`{"content":[],"structuredContent":` + grown + `}`)},
		"texts": {
			call: answering(
				`{"content":[{"type":"text","text":"\u0000\ud800"},{"type":"image","data":"!","mimeType":"\n"},` +
					`{"type":"unknown"}]}`,
			),
		},
		"nothing": {call: answering(`null`)},
		"others": {
			call: func(w http.ResponseWriter, r *http.Request, _ any) { answering(`{"content":[]}`)(w, r, 999999) },
		},
		"asks": {
			call: instead(
				forever(`data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`+"\n\n", 0),
			),
		},
		"progress": {
			call: instead(
				forever(
					`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,`+
						`"progress":1e308}}`+"\n\n",
					0,
				),
			),
		},
		"begins-not": {nothing: true, begin: forever(long, 0)},
		"begins-bad": {
			nothing: true,
			begin:   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		},
		"storm": {stream: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for range toldOften {
				if _, err := io.WriteString(w, "data: "+storm+"\n\n"); err != nil {
					return
				}
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, tools: func(n int64) string {
			return fmt.Sprintf(
				`{"tools":[{"name":"fine","inputSchema":{"type":"object"}},{"name":"n%d",`+
					`"inputSchema":{"type":"object"}}]}`,
				n,
			)
		}},
		"flips": {stream: forever("data: "+storm+"\n\n", pollEvery), tools: func(n int64) string {
			return fmt.Sprintf(
				`{"tools":[{"name":"fine","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":%t,`+
					`"destructiveHint":%t}}]}`,
				n%2 == 0,
				n%2 == 1,
			)
		}},
	}
}

// Whatever a tool server lists, responds or announces: the process lives, the turn ends, the
// record verifies, and tools that could not be checked are not offered.
func TestHostileToolServers(t *testing.T) {
	t.Parallel()
	all := hostileServers()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all[strings.Trim(r.URL.Path, "/")].ServeHTTP(w, r)
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	var servers []map[string]any
	for name := range all {
		servers = append(
			servers,
			map[string]any{
				"name":            name,
				"url":             server.URL + "/" + name,
				"allow_private":   true,
				"connect_timeout": "3s",
				"timeout":         "2s",
				"secret_headers":  map[string]string{"Authorization": "Bearer ${" + secretName + "}"},
			},
		)
	}
	s := serve(t, "", map[string]any{"mcp": servers, "workers": 2 * len(servers)})
	key, sessions := s.key("one", "owner", "member"), map[string]string{}
	slow := "none"
	defer func() { t.Logf("the last server that had offered nothing yet: %s", slow) }()
	s.until("the servers to be asked", func() bool {
		tools := s.ask(key, "GET", "/v1/tools", "").body
		for name, server := range all { // one that was slow to begin is asked again
			if !server.nothing && !strings.Contains(tools, `"`+name+`__fine"`) {
				slow = name
				return false
			}
		}
		return all["storm"].listings.Load() > 2
	})
	for _, name := range s.boundedTools(key) {
		sessions[name] = s.send(key, "sim/script", fmt.Sprintf("[%q]", name), script(name, `{"a":1}`))
	}
	ends := map[parley.TurnStatus]int{}
	for name, session := range sessions {
		status, _ := s.outcome(key, session, name)
		ends[status]++
	}
	t.Logf("%d turns ended: %v", len(sessions), ends)
	for _, name := range []string{"fails-on", "goes-on"} {
		s.until("nobody to read on what "+name, func() bool { return all[name].floods.Load() == 0 })
		if sent := all[name].sent.Load(); sent == 0 || sent >= mostFlood {
			t.Errorf("%s has sent %d bytes, which were all taken", name, sent)
		}
	}
	s.boundedTools(key)
	if asked := all["storm"].listings.Load(); asked == 0 || asked >= toldOften {
		t.Errorf("a server that announced %d changes was asked %d times", toldOften, asked)
	}
	s.survived(key)
}

// boundedTools checks the list of tools against the bounds for servers, and returns the
// names of the servers' tools.
func (s *target) boundedTools(key string) (names []string) {
	s.Helper()
	got := s.ask(key, "GET", "/v1/tools", "")
	var list struct {
		Data []struct {
			Name, Source string
			Parameters   json.RawMessage
			Unusable     *string
		}
	}
	if err := json.Unmarshal([]byte(got.body), &list); got.status != http.StatusOK || err != nil {
		s.Fatalf("the tools: status %d, %v: %.400s", got.status, err, got.body)
	}
	unusable := 0
	for _, tool := range list.Data {
		if tool.Unusable != nil {
			unusable++
			continue
		}
		if len(tool.Parameters) > mcp.MaxSchemaBytes || len(tool.Name) > 64 ||
			strings.ContainsFunc(tool.Name, func(r rune) bool { return r < ' ' || r > '~' }) {
			s.Errorf("a tool is offered as %.100q with a schema of %d bytes", tool.Name, len(tool.Parameters))
		}
		if strings.HasPrefix(tool.Name, "schemas__hostile") &&
			tool.Name != "schemas__hostile_1" { // small, and checked with a budget
			s.Errorf("%s is offered", tool.Name)
		}
		if strings.HasPrefix(tool.Source, "mcp/") &&
			!strings.HasPrefix(tool.Name, "storm__n") { // which may be gone already
			names = append(names, tool.Name)
		}
	}
	if unusable < 8 {
		s.Errorf("only %d tools are unusable: %.800s", unusable, got.body)
	}
	if strings.Contains(got.body, secret) {
		s.Error("the tools reveal the credential")
	}
	return names
}
