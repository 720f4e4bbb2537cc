package httpapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm"
	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/openai"
	"example.org/parley/llm/sim"
	"example.org/parley/tool"
	"example.org/parley/tool/builtin"
)

//go:embed testdata/recall/conversations.txt
var recallConversations string

//go:embed testdata/recall/talk.txt
var recallTalk string

// The corpus: how long a conversation is, and in which of its turns something is said that a question asks for.
const (
	recallTurns    = 24
	recallSearches = 3
	recallHits     = 5
	qualityModel   = "PARLEY_QUALITY_MODEL" // of the environment: the real model that writes the summaries
	realSummary    = 5 * time.Minute        // is waited for at most
)

// fact is something that a conversation says once.
type fact struct {
	subject, what, value string
	turn                 int // in which it is said, from 0
}

func (f fact) sentence() string {
	return fmt.Sprintf("By the way, the %s of the %s is %s.", f.what, f.subject, f.value)
}

func (f fact) question() string { return fmt.Sprintf("What is the %s of the %s?", f.what, f.subject) }

// corpusLines returns the lines of a text that are not comments.
func corpusLines(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"),
		func(line string) bool { return strings.HasPrefix(line, "#") })
}

// recallCorpus returns the facts of each conversation.
func recallCorpus(t *testing.T) (corpus [][]fact) {
	t.Helper()
	for i, line := range corpusLines(recallConversations) {
		subject, rest, ok := strings.Cut(line, ": ")
		var facts []fact
		for j, said := range strings.Split(rest, "; ") {
			what, value, found := strings.Cut(said, " = ")
			ok = ok && found
			facts = append(facts, fact{subject, what, value, 1 + (7*i+6*j)%(recallTurns-4)})
		}
		if !ok || len(facts) != 3 {
			t.Fatalf("line %q does not read as three facts", line)
		}
		corpus = append(corpus, facts)
	}
	return corpus
}

// conversation returns what a person says in each turn.
func conversation(corpus [][]fact, at int) (texts []string) {
	talk := corpusLines(recallTalk)
	for turn := range recallTurns {
		other := corpus[(at+1+turn%(len(corpus)-1))%len(corpus)]
		said := strings.NewReplacer("{own}", corpus[at][0].subject, "{other}", other[0].subject,
			"{what}", corpus[at][turn%3].what).Replace(talk[(at+turn)%len(talk)])
		for _, f := range corpus[at] {
			if f.turn == turn {
				said += " " + f.sentence()
			}
		}
		texts = append(texts, said)
	}
	return texts
}

// searchesFor returns what somebody who knows only a question searches for, the most precise first.
func searchesFor(question string) []string {
	words := slices.DeleteFunc(strings.Fields(strings.TrimSuffix(question, "?")), func(word string) bool {
		return slices.Contains([]string{"What", "is", "the", "of"}, word)
	})
	byLength := slices.Clone(words)
	slices.SortStableFunc(byLength, func(a, b string) int { return len(b) - len(a) })
	return []string{
		strings.Join(words, " "), strings.Join(byLength[:min(2, len(byLength))], " "), byLength[0],
	}[:recallSearches]
}

// recalled reports whether one of the searches for a question has the answer among its first hits.
func (s *testServer) recalled(session parley.Session, f fact) bool {
	s.Helper()
	search, ok := builtin.Record(s.store).Tool(parley.SearchConversationTool)
	if !ok {
		s.Fatal("there is no search")
	}
	for _, query := range searchesFor(f.question()) {
		arguments, err := json.Marshal(map[string]any{"query": query, "limit": recallHits})
		if err != nil {
			s.Fatal(err)
		}
		result, err := search.Call(s.Context(), tool.Call{
			WorkspaceID: session.WorkspaceID, SessionID: session.ID, TurnID: parley.NewID(), Arguments: arguments,
		})
		if err != nil {
			s.Fatal(err)
		}
		if strings.Contains(string(result.JSON), f.value) {
			return true
		}
	}
	return false
}

// qualityModels are the simulator and, if the environment names one, the provider of a real model.
func qualityModels(t *testing.T) *llm.Registry {
	t.Helper()
	providers := []llm.Provider{
		{Name: "sim", Model: sim.New(), DefaultModel: "echo", Models: sim.Models(), Simulator: true},
	}
	var err error
	switch provider := parley.ModelID(os.Getenv(qualityModel)).Provider(); provider {
	case "":
	case "anthropic":
		own := llm.Provider{Name: provider}
		own.Model, err = anthropic.New(anthropic.Options{APIKey: os.Getenv("ANTHROPIC_API_KEY")})
		providers = append(providers, own)
	case "openai":
		own := llm.Provider{Name: provider}
		own.Model, err = openai.New(openai.Options{APIKey: os.Getenv("OPENAI_API_KEY")})
		providers = append(providers, own)
	default:
		t.Fatalf("%s names the provider %s; it may be anthropic or openai", qualityModel, provider)
	}
	if err != nil {
		t.Fatal(err)
	}
	models, err := llm.NewRegistry(llm.Options{Providers: providers})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// TestWhatWasSaidIsFoundAfterASummary: of 20 conversations of 24 turns, each with three facts that are said once, a
// reader who knows only the questions finds every answer, in what the model is shown or with three searches of five
// hits. How many the shown text alone holds is printed; a real model of the environment may write the summaries.
func TestWhatWasSaidIsFoundAfterASummary(t *testing.T) {
	writer := os.Getenv(qualityModel)
	if writer == "" {
		writer = "sim/echo"
	}
	s := startServerWith(t, qualityModels)
	owner := []string{"Authorization", "Bearer " + testToken}
	corpus := recallCorpus(t)
	if len(corpus) != 20 {
		t.Fatalf("there are %d conversations", len(corpus))
	}
	sessions := make([]parley.Session, len(corpus))
	for i := range corpus {
		sessions[i] = s.session(`{"model":"sim/lorem-12-0","context_policy":{"kind":"auto"},"compaction":{"model":"`+
			writer+`"}}`, owner...)
		id := sessions[i].ID.String()
		for _, text := range conversation(corpus, i) {
			s.told(id, `{"content":{"text":`+string(parley.AppendJSONString(nil, text))+`}}`)
		}
		if got := s.do("POST", "/v1/sessions/"+id+"/compact", `{}`); got.status != 202 {
			t.Fatalf("conversation %d: %d %s", i, got.status, got.body)
		}
	}
	inText, bySearch, all := 0, 0, 0
	for i, session := range sessions {
		id := session.ID.String()
		s.summarised(id)
		s.told(id, `{"content":{"text":"Thank you."}}`)
		request := string(s.lastCall(id).Request)
		for _, f := range corpus[i] {
			all++
			shown, found := strings.Contains(request, f.value), s.recalled(session, f)
			if shown {
				inText++
			}
			if found {
				bySearch++
			}
			if !shown && !found {
				t.Errorf("conversation %d: nobody finds the answer to %q", i, f.question())
			}
		}
	}
	t.Logf("summaries of %s: of %d answers %d are in the text, %d are found by searches", writer, all, inText, bySearch)
}

// summarised waits for a session's summary, and for the index to hold all that was said.
func (s *testServer) summarised(id string) {
	s.Helper()
	deadline := time.Now().Add(realSummary)
	for {
		c := want[parley.Compaction](s, 200, "GET", "/v1/sessions/"+id+"/compaction", "")
		found := want[engine.SearchResults](s, 200, "GET", "/v1/search?q=thank", "")
		switch {
		case c.State == parley.CompactionFailed:
			s.Fatalf("the summary failed: %+v", c.Error)
		case c.State == parley.CompactionCompleted && found.Complete:
			return
		case time.Now().After(deadline):
			s.Fatalf("the compaction is %s, the index complete: %t", c.State, found.Complete)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.Context().Done():
			s.Fatal(s.Context().Err())
		}
	}
}
