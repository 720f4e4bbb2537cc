package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/llm"
	"example.org/parley/llm/openai"
	"example.org/parley/model"
	"example.org/parley/tool/builtin"
)

// TestSearchIsWhatTheModelHas: a message can ask for a search if the model's provider searches, or if the agent has the
// tool web_search; otherwise posting it is 422.
func TestSearchIsWhatTheModelHas(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards asked
	var asked []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		asked = append(asked, string(body))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, bothWires()[0].text)
	}))
	t.Cleanup(provider.Close)
	tavily, err := builtin.NewWebSearch(builtin.WebSearchOptions{Key: "unused", BaseURL: provider.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tavily.Close)
	registry := func(t *testing.T) *llm.Registry {
		t.Helper()
		chat, err := openai.New(openai.Options{Name: "chat", BaseURL: provider.URL + "/v1"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(chat.Close)
		models, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{{
			Name: "chat", Model: chat, DefaultModel: "blind",
			Models: []model.Info{
				{Provider: "chat", Name: "blind", Tools: true}, {Provider: "chat", Name: "finds", Search: true},
			},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return models
	}
	with := startServerOf(t, registry, tavily)
	without := startServerWith(t, registry)
	const message = `{"content":{"text":"What is new?","search":true}}`
	for _, c := range []struct {
		s       *testServer
		session string
		status  int
		native  bool   // the provider is asked to search
		says    string // of the refusal
	}{
		{with, `{"model":"chat/finds"}`, 201, true, ""},
		{with, `{"model":"chat/blind","tools":["web_search"]}`, 201, false, ""},
		{with, `{"model":"chat/unknown","tools":["web_*"]}`, 201, false, ""},
		{with, `{"model":"chat/blind"}`, 422, false, "give the agent the tool web_search"},
		{with, `{}`, 422, false, "chat/blind has no web search"},
		{without, `{"model":"chat/finds"}`, 201, true, ""},
		{without, `{"model":"chat/blind"}`, 422, false, "TAVILY_API_KEY"},
	} {
		session := c.s.session(c.session).ID.String()
		at := "/v1/sessions/" + session + "/messages"
		got := c.s.do("POST", at, message)
		if got.status != c.status {
			t.Errorf("%s: status %d: %s", c.session, got.status, got.body)
			continue
		}
		if c.status == 422 {
			var problem struct {
				Detail string
				Errors []struct{ Field string }
			}
			if json.Unmarshal(got.body, &problem) != nil || !strings.Contains(string(got.body), c.says) ||
				!strings.Contains(string(got.body), "content.search") {
				t.Errorf("%s: %s", c.session, got.body)
			}
			continue
		}
		c.s.awaitEnd(session)
		mu.Lock()
		last := asked[len(asked)-1]
		mu.Unlock()
		if native := strings.Contains(last, "web_search_options"); native != c.native {
			t.Errorf("%s: the provider was sent %s", c.session, last)
		}
		calls := want[page[parley.Call]](c.s, 200, "GET", "/v1/sessions/"+session+"/calls", "").Data
		if calls[0].Search != c.native {
			t.Errorf("%s: the call's record says search %t", c.session, calls[0].Search)
		}
	}
}
