package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/llm"
	"example.org/parley/llm/openai"
)

// TestRawShowsWhatTheProviderSends: an admin who asks for it sees each byte of an answer's stream and of a refusal,
// comments included and credentials excluded, between the call's beginning and the turn's end; nobody else does, and
// the audit says so.
func TestRawShowsWhatTheProviderSends(t *testing.T) {
	t.Parallel()
	const key = "kept-to-itself-8f2a" // looks like nothing that is redacted anyway
	answer := ": a comment\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Here: " + key + "\"}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]," +
		"\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n"
	refusal := `{"error":{"message":"not with ` + key + `"}}`
	var asked atomic.Int64
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if asked.Add(1) > 2 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, refusal)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := answer; rest != ""; { // in pieces that cut the key in two
			n := min(len(rest), 7)
			_, _ = io.WriteString(w, rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}))
	t.Cleanup(provider.Close)
	s := startServerWith(t, func(t *testing.T) *llm.Registry {
		t.Helper()
		chat, err := openai.New(openai.Options{Name: "chat", BaseURL: provider.URL + "/v1", APIKey: key})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(chat.Close)
		models, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
			{Name: "chat", Model: chat, DefaultModel: "m"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return models
	})
	admin := s.key("default", "admin", parley.RoleAdmin)
	member := s.key("default", "member", parley.RoleMember)
	session := s.session(`{"model":"chat/m","visibility":"workspace"}`, "Authorization", admin).ID.String()
	at := "/v1/sessions/" + session
	if got := s.do("GET", at+"/events?raw=true", "", "Authorization", member); got.status != http.StatusForbidden {
		t.Errorf("a member: status %d: %s", got.status, got.body)
	}
	raws := s.stream("GET", at+"/events?raw=true", "", "Authorization", admin)
	plain := s.stream("GET", at+"/events?raw=false", "", "Authorization", admin)
	for turn, want := range []string{answer, answer, refusal} {
		s.do("POST", at+"/messages", `{"content":{"text":"Hello"}}`, "Authorization", admin)
		end := "session.completed"
		if want == refusal {
			end = "session.failed"
		}
		var shown strings.Builder
		var begun bool
		var ended int64
		for _, f := range raws.until(end) {
			begun = begun || f.event == "step.started"
			if f.event != "step.raw" {
				continue
			}
			var raw event.StepRaw
			if err := json.Unmarshal(f.data.Data, &raw); err != nil {
				t.Fatal(err)
			}
			if !begun || f.id != "" || raw.Offset != ended {
				t.Errorf("turn %d: a piece at %d after %d, begun %v, id %q", turn, raw.Offset, ended, begun, f.id)
			}
			ended = raw.End
			shown.WriteString(raw.Text)
		}
		if got := strings.ReplaceAll(want, key, "[redacted]"); shown.String() != got || int(ended) != len(want) {
			t.Errorf("turn %d: %d bytes are shown as %q, want %q", turn, int(ended), shown.String(), got)
		}
		for _, f := range plain.until(end) {
			if f.event == "step.raw" {
				t.Errorf("turn %d: a piece is shown to a reader who did not ask", turn)
			}
		}
	}
	if !slices.ContainsFunc(s.auditOf(session), func(e parley.AuditEntry) bool {
		return e.Action == "watchRaw" && e.PrincipalName == "admin"
	}) {
		t.Error("the audit does not name watchRaw")
	}
}
