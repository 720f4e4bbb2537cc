package httpapi

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm"
	"example.org/parley/llm/record"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
)

// objectModels are models of another name than the simulator's, so that their answers are kept as those of others.
func objectModels(t *testing.T, adapter model.Model, form model.OutputForm, names ...string) *llm.Registry {
	t.Helper()
	var infos []model.Info
	for _, name := range names {
		info := sim.Info("echo")
		info.ID, info.Name, info.Provider, info.Simulator = parley.ModelID("other/"+name), name, "other", false
		info.ContextLength, info.Output, info.Tools = 32768, form, true
		infos = append(infos, info)
	}
	models, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
		{Name: "sim", Model: sim.New(), DefaultModel: "echo", Models: sim.Models(), Simulator: true},
		{Name: "other", Model: adapter, Models: infos},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// objectOf posts to a new session, and returns what its patches make of each answer and the object of the last.
func (s *testServer) objectOf(session, text string) (patches []string, object, at string) {
	s.Helper()
	at = s.session(session).ID.String()
	body, _ := json.Marshal(map[string]any{"content": map[string]string{"text": text}})
	all := s.told(at, string(body))
	record := s.recordOf("/v1/sessions/" + at)
	var content struct{ Object json.RawMessage }
	if err := json.Unmarshal(record[len(record)-1].Content, &content); err != nil {
		s.Fatal(err)
	}
	return patched(s.T, all), string(content.Object), at
}

// What was recorded of a structured answer, a refused attempt included, is played as the same patches and the same
// object.
func TestObjectsArePlayedFromRecordings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const session = `{"model":"other/object-1","output":{"schema":` + outputSchema + `}}`
	recorder, err := record.New(sim.New(), dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	player, err := record.Open(silent{sim.New()}, dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := startServerWith(t, func(t *testing.T) *llm.Registry {
		return objectModels(t, recorder, model.OutputSchema, "object-1")
	})
	patches, object, _ := s.objectOf(session, "Which?")
	if len(patches) != 2 || object != patches[1] {
		t.Fatalf("recorded: %q and %s", patches, object)
	}
	s = startServerWith(t, func(t *testing.T) *llm.Registry {
		return objectModels(t, player, model.OutputSchema, "object-1")
	})
	again, played, _ := s.objectOf(session, "Which?")
	if strings.Join(again, " ") != strings.Join(patches, " ") || played != object {
		t.Errorf("played %q and %s, recorded %q and %s", again, played, patches, object)
	}
}

// silent is a model that encodes requests and must not be asked.
type silent struct{ model.Model }

// Stream implements model.Model.
func (silent) Stream(context.Context, model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	panic("a request was sent")
}

// An answer from the response cache is an object with its patches; one by a tool is cached as the model gave it.
func TestCachedAnswersAreObjects(t *testing.T) {
	t.Parallel()
	const script = `[[{"tool_call":{"name":"answer","arguments":{"city":"Bonn","sizes":[1]}}}]]`
	for form, c := range map[model.OutputForm]struct{ model, text string }{
		model.OutputSchema: {"object", "Which?"}, model.OutputTool: {"script", script},
	} {
		s := startServerWith(t, func(t *testing.T) *llm.Registry { return objectModels(t, sim.New(), form, c.model) })
		session := `{"model":"other/` + c.model + `","response_cache":{},"output":{"schema":` + outputSchema + `}}`
		first, object, at := s.objectOf(session, c.text)
		if s.lastCall(at).Manifest.CachedResponse || object == "" || len(first) != 1 || first[0] != object {
			t.Fatalf("%s: the first answer is %s, its patches %q", form, object, first)
		}
		s.cacheWith(1)
		second, cached, at := s.objectOf(session, c.text)
		if !s.lastCall(at).Manifest.CachedResponse || cached != object || strings.Join(second, " ") != object {
			t.Errorf("%s: from the cache comes %s with %q, not %s", form, cached, second, object)
		}
	}
}

// A call whose answer is the arguments of a tool has the same answer when it is sent again: their text, not a call.
func TestReplayedObjectsAreTexts(t *testing.T) {
	t.Parallel()
	const script = `[[{"tool_call":{"name":"answer","arguments":{"city":"Bonn","sizes":[1]}}}]]`
	s := startServerWith(t, func(t *testing.T) *llm.Registry {
		return objectModels(t, sim.New(), model.OutputTool, "script")
	})
	_, object, at := s.objectOf(`{"model":"other/script","output":{"schema":`+outputSchema+`}}`, script)
	original := s.lastCall(at)
	again := want[engine.ReplayResult](s, 201, "POST", "/v1/calls/"+original.ID.String()+"/replay", `{}`)
	if !again.SameBytes || !again.SameAnswer || again.Answer.Text != object || len(again.Answer.ToolCalls) != 0 ||
		again.Call.Finish != parley.FinishStop {
		t.Errorf("the same again: %+v, %+v", again.Answer, again.Call.Finish)
	}
}
