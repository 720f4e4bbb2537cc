package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/parley/protocol"
)

// exchangeOf is a request with headers, given as name and value.
func exchangeOf(body string, headers ...string) *protocol.Exchange {
	r := httptest.NewRequest(http.MethodPost, Prefix, nil)
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return &protocol.Exchange{R: r, Body: []byte(body)}
}

// TestRequestsAreChecked: what the protocol forbids is refused with its own code, and says why.
func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	call := func(name string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `",` + meta + `}}`
	}
	alone := func(more ...string) []string {
		return append([]string{VersionHeader, stateless, MethodHeader, "tools/call", NameHeader, "search"}, more...)
	}
	for _, c := range []struct {
		name, body string
		headers    []string
		code       int // 0: it is read
		says       string
	}{
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil, 0, ""},
		{"an id of text", `{"jsonrpc":"2.0","id":"a","method":"ping"}`, nil, 0, ""},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 0, ""},
		{"an answer", `{"jsonrpc":"2.0","id":"x","result":{}}`, nil, 0, ""},
		{"no JSON", `{`, nil, codeParse, "not JSON"},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, nil, codeParse, "not JSON"},
		{"a batch", ` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`, nil, codeInvalidRequest, "Batches"},
		{"no version", `{"id":1,"method":"ping"}`, nil, codeInvalidRequest, "jsonrpc"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, nil, codeInvalidRequest, "method"},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, codeInvalidRequest, "id"},
		{"a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, codeInvalidRequest, "id"},
		{"an object as id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, codeInvalidRequest, "id"},
		{
			"a long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", maxID) + `","method":"ping"}`, nil,
			codeInvalidRequest, "id",
		},
		{
			"wrong params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, nil,
			codeInvalidParams, "name",
		},
		{
			"another kind of body", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			[]string{"Content-Type", "text/plain"}, codeInvalidRequest, "application/json",
		},
		{
			"an unknown version", `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			[]string{VersionHeader, "2020-01-01"}, codeVersion, "2025-11-25",
		},
		{"a request that stands alone", call("search"), alone(), 0, ""},
		{"its name in base64", call("search"), alone(NameHeader, "=?base64?c2VhcmNo?="), 0, ""},
		{"without its headers", call("search"), nil, codeHeaderMismatch, VersionHeader},
		{"with another version", call("search"), alone(VersionHeader, lastOld), codeHeaderMismatch, VersionHeader},
		{"with another method", call("search"), alone(MethodHeader, "tools/list"), codeHeaderMismatch, MethodHeader},
		{"with another name", call("list_sessions"), alone(), codeHeaderMismatch, NameHeader},
		{
			"without its capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			alone(MethodHeader, "tools/list"), codeInvalidParams, "clientCapabilities",
		},
		{
			"without its version", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, alone(MethodHeader, "tools/list"),
			codeInvalidParams, "protocolVersion",
		},
		{
			"an answer to nothing", `{"jsonrpc":"2.0","id":"x","result":{}}`, alone(),
			codeInvalidRequest, "inputResponses",
		},
	} {
		r, err := read(exchangeOf(c.body, c.headers...))
		var wrong *fault
		switch {
		case c.code == 0:
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		case !errors.As(err, &wrong) || wrong.code != c.code || !strings.Contains(wrong.message, c.says):
			t.Errorf("%s: %+v, want %d with %q", c.name, err, c.code, c.says)
		case !json.Valid(wrong.encode(idOf(r))):
			t.Errorf("%s: the error is not JSON: %s", c.name, wrong.encode(idOf(r)))
		}
	}
}

// TestClientsThatShowForms: a client is asked only if it says that it shows forms.
func TestClientsThatShowForms(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]bool{
		`{}`: false, `{"elicitation":null}`: false, `{"elicitation":{}}`: true, `{"elicitation":{"form":{}}}`: true,
		`{"elicitation":{"url":{}}}`: false, `{"elicitation":{"url":{},"form":{}}}`: true,
	} {
		var can capabilities
		if err := json.Unmarshal([]byte(given), &can); err != nil || can.elicits() != want {
			t.Errorf("%s shows forms: %t, %v; want %t", given, can.elicits(), err, want)
		}
	}
}

// FuzzMessage reads any body. Whatever it is, a request that was read has an id that stands in its answer unchanged,
// and a refusal is JSON.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"\"\n","method":"tools/call","params":{}}`,
		`{"jsonrpc":"2.0","id":-0,"result":null}`, `[]`, `{"jsonrpc":"2.0","id":1e9,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"progressToken":7},"capabilities":{}}}`,
	} {
		f.Add([]byte(seed), "", "")
	}
	f.Add(
		[]byte(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"é"}}`),
		stateless,
		"=?base64?w6k=?=",
	)
	f.Fuzz(func(t *testing.T, body []byte, version, name string) {
		x := exchangeOf(string(body), VersionHeader, version, NameHeader, name)
		r, err := read(x)
		var wrong *fault
		switch {
		case errors.As(err, &wrong):
			if answer := wrong.encode(idOf(r)); !json.Valid(answer) {
				t.Fatalf("%q is refused with %q", body, answer)
			}
		case err != nil:
			t.Fatalf("%q: %v", body, err)
		case !r.isNotification():
			answer, err := response(r.ID, struct{}{})
			if err != nil || !json.Valid(answer) || !bytes.Contains(answer, r.ID) || bytes.ContainsRune(answer, '\n') {
				t.Fatalf("%q is answered with %q, %v", body, answer, err)
			}
		}
	})
}
