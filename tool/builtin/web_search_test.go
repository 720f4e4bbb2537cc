package builtin

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/tool"
)

func TestWebSearch(t *testing.T) {
	const key = "tvly-secret-1234"
	var asked string
	status, body := http.StatusOK, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(raw)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	source, err := NewWebSearch(WebSearchOptions{Key: key, BaseURL: server.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	one, ok := source.Tool("web_search")
	if !ok {
		t.Fatal("web_search is missing")
	}
	for _, c := range []struct {
		arguments string
		status    int
		body      string
		want      string
		code      parley.Code
	}{
		{`{"query":"parley"}`, 200, `{"query":"parley","answer":null,"results":[{"title":"T",` +
			`"url":"https://example.com","content":"C","score":0.5,"raw_content":null}],"response_time":1.2}`,
			`{"results":[{"title":"T","url":"https://example.com","content":"C","score":0.5}]}`, ""},
		{`{"query":"nothing"}`, 200, `{"results":[]}`, `{"results":[]}`, ""},
		{`{"query":"x"}`, 200, `<html>`, "", parley.CodeUnavailable},
		{`{"query":"x"}`, 401, `bad key ` + key, "", parley.CodeForbidden},
		{`{"query":"x"}`, 432, `plan`, "", parley.CodeRateLimited},
		{`{"query":"x"}`, 500, `broken, you sent ` + key, "", parley.CodeUnavailable},
		{`{"query":" "}`, 0, "", "", parley.CodeInvalid},
		{`{"query":"x","max_results":21}`, 0, "", "", parley.CodeInvalid},
		{`{"query":"x","topic":"finance"}`, 0, "", "", parley.CodeInvalid},
		{`{"q":"x"}`, 0, "", "", parley.CodeInvalid},
	} {
		asked, status, body = "", c.status, c.body
		got, err := one.Call(t.Context(), tool.Call{Arguments: json.RawMessage(c.arguments)})
		if string(got.JSON) != c.want || parley.ErrorCode(err) != c.code ||
			err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%s with status %d: got %s, %v", c.arguments, c.status, got.JSON, err)
		}
		if (c.status == 0) != (asked == "") {
			t.Errorf("%s: asked %q", c.arguments, asked)
		}
	}
	status, body = 200, `{"results":[]}`
	if _, err := one.Call(
		t.Context(),
		tool.Call{Arguments: json.RawMessage(`{"query":"q","max_results":3,"topic":"news"}`)},
	); err != nil {
		t.Fatal(err)
	}
	if want := `POST /search Bearer ` + key + ` {"query":"q","max_results":3,"topic":"news"}`; asked != want {
		t.Errorf("asked %s", asked)
	}
}
