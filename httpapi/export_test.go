package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
)

// An export is the whole record, in more than one page, as the lists have it.
func TestExport(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"title":"Notes: a/b"}`)
	at := "/v1/sessions/" + session.ID.String()
	const messages = exportPage + 3
	for n := range messages {
		want[parley.Message](
			s,
			201,
			"POST",
			at+"/messages",
			fmt.Sprintf(`{"respond":false,"content":{"text":"number %d"}}`, n),
		)
	}
	answer := s.request("GET", at+"/export", "")
	defer answer.Body.Close()
	if got := answer.Header.Get(
		"Content-Disposition",
	); answer.StatusCode != http.StatusOK ||
		got != `attachment; filename=Notes-a-b.json` {
		t.Errorf("status %d, %s", answer.StatusCode, got)
	}
	var whole struct {
		Session  parley.Session   `json:"session"`
		Agent    parley.Agent     `json:"agent"`
		Messages []parley.Message `json:"messages"`
		Turns    []parley.Turn    `json:"turns"`
		Calls    []parley.Call    `json:"calls"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&whole); err != nil {
		t.Fatal(err)
	}
	if whole.Session.ID != session.ID || whole.Agent.ID != session.AgentID || len(whole.Messages) != messages ||
		whole.Turns == nil ||
		whole.Calls == nil {
		t.Fatalf("exported %s of %s with %d messages", whole.Session.ID, whole.Agent.ID, len(whole.Messages))
	}
	for i, m := range whole.Messages {
		if m.Sequence != int64(i+1) {
			t.Fatalf("message %d has sequence %d", i, m.Sequence)
		}
	}
	if got := s.do("GET", at+"/export?format=pdf", ""); got.status != 422 {
		t.Errorf("another format: status %d %s", got.status, got.body)
	}
	if got := s.do("GET", "/v1/sessions/"+parley.NewID().String()+"/export", ""); got.status != 404 {
		t.Errorf("no session: status %d", got.status)
	}
}

// The markdown is the conversation: words, reasoning, tools with arguments and results.
func TestExportMarkdown(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"title":"Fences"}`)
	at := "/v1/sessions/" + session.ID.String()
	for _, body := range []string{
		`{"respond":false,"content":{"text":"Look at this"}}`,
		`{"role":"assistant","content":{"text":"I look","reasoning":"two\nlines"}}`,
		`{"role":"tool_call","content":{"id":"c1","name":"read","arguments":{"path":"a.md"}}}`,
		"{\"role\":\"tool_result\"," +
			"\"tool_call_id\":\"c1\"," +
			"\"content\":{\"result\":\"```\\ncode\\n```\",\"error\":null,\"success\":true,\"execution_time_ms\":1}}",
		`{"role":"assistant","internal":true,"content":{"text":"for the audit alone"}}`,
	} {
		if got := s.do("POST", at+"/messages", body); got.status != 201 {
			t.Fatalf("%s: status %d %s", body, got.status, got.body)
		}
	}
	answer := s.request("GET", at+"/export?format=markdown", "")
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, part := range []string{"# Fences\n", "Look at this\n", "> two\n> lines\n\nI look\n",
		"**read**\n\n```\n{\n  \"path\": \"a.md\"\n}\n```\n", "\n````\n```\ncode\n```\n````\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	if strings.Contains(text, "audit alone") {
		t.Error("an internal message is in it")
	}
	if got := answer.Header.Get("Content-Type"); got != "text/markdown; charset=utf-8" {
		t.Errorf("its type is %s", got)
	}
}

// The name of an export shows what it is.
func TestNamesOfExports(t *testing.T) {
	t.Parallel()
	session := parley.Session{ID: parley.NewID()}
	for title, want := range map[string]string{
		"Notes: a/b":                  "Notes-a-b",
		"Grüße, 日本語 2":                "Grüße-日本語-2",
		"plan\u202enosj.exe":          "plan-nosj-exe",
		"..\\..\u2215etc\uff0fpasswd": "etc-passwd",
		"\u200b\u2066":                session.ID.String(),
	} {
		if session.Title = title; exportName(&session) != want {
			t.Errorf("%q is exported as %q, want %q", title, exportName(&session), want)
		}
	}
}
