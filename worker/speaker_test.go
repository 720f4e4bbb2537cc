package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/runner"
	"example.org/parley/runner/standard"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// talking is a runtime from outside that uses only the port. Its turns are run by a speaker that the test scripts.
type talking struct {
	standard.Runtime

	speak func(t *talk) []model.Chunk // what it says, and ends with; nil: a word
	cost  parley.Money                // of each answer; 0: it tells nothing

	mu     sync.Mutex // guards what follows
	knows  bool       // the calls of earlier processes
	spoken int
	told   [][]runner.Shown
	states []string
	unsure []bool
}

// talk is one run of one of its turns.
type talk struct {
	of   *talking
	turn runner.Turn
	n    int // of the turn's answers by this run, from 1
}

func (*talking) Name() string { return "outside/talking" }

func (r *talking) RunTurn(turn runner.Turn) error {
	next, err := turn.Begin(&talk{of: r, turn: turn})
	r.mu.Lock()
	r.unsure = append(r.unsure, turn.Unsure())
	r.mu.Unlock()
	for err == nil && next != runner.Over {
		switch next {
		case runner.AskNext:
			next, err = turn.Ask()
		case runner.CallNext:
			next, err = turn.Call()
		case runner.WaitNext:
			next, err = turn.Wait()
		default:
			next, err = turn.Finish(nil)
		}
	}
	return err
}

func (*talk) Model() parley.ModelID { return "outside/talking" }
func (*talk) Listens() bool         { return true }

func (t *talk) Speak(said []parley.Message) (runner.Speech, error) {
	shown, err := t.turn.Shown(said)
	if err != nil {
		return runner.Speech{}, err
	}
	state, err := t.turn.State()
	if err != nil {
		return runner.Speech{}, err
	}
	t.n++
	t.of.mu.Lock()
	t.of.spoken++
	t.of.told, t.of.states = append(t.of.told, shown), append(t.of.states, string(state))
	kept := model.Chunk{Kind: model.ChunkProviderData, Data: fmt.Appendf(nil, `{"answers":%d}`, t.of.spoken)}
	t.of.mu.Unlock()
	all := []model.Chunk{text(0, "Well."), done(parley.FinishStop)}
	if t.of.speak != nil {
		all = t.of.speak(t)
	}
	return runner.Speech{
		Request: []byte("asked"),
		Chunks: func(context.Context) iter.Seq2[model.Chunk, error] {
			return func(yield func(model.Chunk, error) bool) {
				for _, chunk := range append([]model.Chunk{kept}, all...) {
					if !yield(chunk, nil) {
						return
					}
				}
			}
		},
		Cost: func() *parley.Money {
			if t.of.cost == 0 {
				return nil
			}
			return &t.of.cost
		},
	}, nil
}

func (t *talk) Tool(name string, _ json.RawMessage) (tool.Tool, bool) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	return fakeTool{name, parley.ToolAnnotations{Destructive: name == "ask"}, noop}, t.n > 0 || t.of.knows
}

// acts is an answer that calls tools and reports tokens.
func acts(tokens int64, names ...string) []model.Chunk {
	var all []model.Chunk
	for i, name := range names {
		all = append(all, model.Chunk{Kind: model.ChunkToolCall, Block: i + 1, CallID: fmt.Sprint("p", i), Name: name},
			model.Chunk{Kind: model.ChunkArguments, Block: i + 1, Text: `{}`})
	}
	none := int64(0)
	if tokens > 0 {
		usage := parley.Usage{InputTokens: &tokens, OutputTokens: &none}
		all = append(all, model.Chunk{Kind: model.ChunkUsage, Usage: usage})
	}
	return append(all, done(parley.FinishToolCalls))
}

// talks makes a rig whose agent is run by a speaker.
func talks(t *testing.T, speak func(*talk) []model.Chunk) (*rig, *talking) {
	t.Helper()
	r, runtime := newRig(t), &talking{speak: speak}
	r.agent.Runtime = runtime.Name()
	var err error
	r.agent, err = r.store.UpdateAgent(t.Context(), r.agent)
	r.must(err)
	r.options.Runtimes = []runner.Runtime{runtime}
	return r, runtime
}

// What a speaker stores with an answer is available in the session's next turn, and in no other session.
func TestASpeakersState(t *testing.T) {
	r, runtime := talks(t, nil)
	r.start(nil)
	sessionID := r.session(parley.Settings{}, nil)
	for range 3 {
		if turn := r.ended(r.post(sessionID, "Go", "").Turn.ID); turn.Status != parley.TurnCompleted {
			t.Fatalf("turn %s, %+v", turn.Status, turn.Error)
		}
	}
	r.ended(r.post(r.session(parley.Settings{}, nil), "Go", "").Turn.ID)
	fork, err := r.store.Fork(t.Context(), r.scope, store.NewFork{Session: parley.Session{
		ID: parley.NewID(), WorkspaceID: r.scope.WorkspaceID, AgentID: r.agent.ID, OwnerID: r.owner.ID,
		Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground,
		ParentSessionID: sessionID,
	}}, parley.ID{})
	r.must(err)
	r.ended(r.post(fork.Session.ID, "Go", "").Turn.ID)
	if want := []string{"", `{"answers":1}`, `{"answers":2}`, "", ""}; !slices.Equal(runtime.states, want) {
		t.Errorf("the states are %q, want %q", runtime.states, want)
	}
}

// An imported answer tells a speaker nothing: its data is whatever the file says, and could name a session of the
// speaker's that somebody else has.
func TestAnImportIsNoSpeakersState(t *testing.T) {
	r, runtime := talks(t, nil)
	r.start(nil)
	imported, err := r.store.ImportSession(t.Context(), r.scope, store.NewImport{
		Session: parley.Session{
			ID: parley.NewID(), WorkspaceID: r.scope.WorkspaceID, AgentID: r.agent.ID, OwnerID: r.owner.ID,
			Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground,
			Status: parley.SessionCompleted, CreatedAt: 1, UpdatedAt: 1,
		},
		Messages: []parley.Message{{
			ID: parley.NewID(), Role: parley.RoleAssistant, Status: parley.MessageCompleted,
			Author: parley.Author{Kind: parley.AuthorAgent, Name: "Ada"}, Content: parley.EmptyContent(),
			Model: parley.ModelID(runtime.Name()), ProviderData: []byte(`{"answers":7}`),
			ChainVersion: parley.ChainVersion, CreatedAt: 1,
		}},
		Origin: store.Idempotency{Key: "a file", Fingerprint: parley.HashOf([]byte("a file"))},
	})
	r.must(err)
	for range 2 {
		r.ended(r.post(imported.Session.ID, "Go", "").Turn.ID)
	}
	if want := []string{"", `{"answers":1}`}; !slices.Equal(runtime.states, want) {
		t.Errorf("the states are %q, want %q", runtime.states, want)
	}
}

// A long message reaches a speaker whole, although its claim does not hold it.
func TestASpeakerIsToldALongMessage(t *testing.T) {
	r, runtime := talks(t, nil)
	r.start(nil)
	long := strings.Repeat("long ", claimBytes)
	if turn := r.ended(r.post(r.session(parley.Settings{}, nil), long, "").Turn.ID); turn.Error != nil {
		t.Fatalf("turn %s, %+v", turn.Status, turn.Error)
	}
	if told := runtime.told[0]; len(told) != 1 || told[0].Text != long {
		t.Errorf("it was told %d pieces", len(told))
	}
}

// A speaker's steps are limited only if somebody set a limit; the failure reads like that of the standard runtime.
func TestASpeakersSteps(t *testing.T) {
	many := parley.DefaultMaxSteps + 5
	r, runtime := talks(t, func(talk *talk) []model.Chunk {
		if talk.n > many {
			return []model.Chunk{text(0, "Done."), done(parley.FinishStop)}
		}
		return acts(0, "act")
	})
	r.start(nil)
	if turn := r.ended(r.post(r.session(parley.Settings{}, nil), "Go", "").Turn.ID); turn.Status !=
		parley.TurnCompleted || runtime.spoken != many+1 {
		t.Errorf("without a limit the turn %s after %d steps: %+v", turn.Status, runtime.spoken, turn.Error)
	}
	for _, c := range []struct {
		limits parley.Limits
		word   string
	}{
		{parley.Limits{MaxSteps: new(3)}, "max_steps"}, {parley.Limits{MaxToolCalls: new(3)}, "max_tool_calls"},
	} {
		turn := r.ended(r.post(r.session(parley.Settings{Limits: &c.limits}, nil), "Go", "").Turn.ID)
		if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassLimit ||
			!strings.HasPrefix(turn.Error.Detail, c.word) {
			t.Errorf("%s: the turn %s: %+v", c.word, turn.Status, turn.Error)
		}
	}
}

// A speaker's tokens and costs count as it reports them, for the turn and for the session: at a limit the turn waits,
// and it continues when the budget allows.
func TestASpeakersSpending(t *testing.T) {
	for name, c := range map[string]struct {
		limits parley.Limits
		raise  string
	}{
		"max_tokens":     {parley.Limits{MaxTokens: new(int64(150))}, `{"max_tokens":1000}`},
		"session_tokens": {parley.Limits{SessionTokens: new(int64(150))}, `{"session_tokens":1000}`},
		"max_cost":       {parley.Limits{MaxCost: new(parley.Money(15e8))}, `{"max_cost":9}`},
		"session_cost":   {parley.Limits{SessionCost: new(parley.Money(15e8))}, `{"session_cost":9}`},
	} {
		t.Run(name, func(t *testing.T) {
			var runtime *talking
			r, made := talks(t, func(*talk) []model.Chunk {
				if runtime.spoken < 4 {
					return acts(100, "act")
				}
				return []model.Chunk{text(0, "Done."), done(parley.FinishStop)}
			})
			runtime, made.cost = made, 1e9
			w := r.start(nil)
			sessionID := r.session(parley.Settings{Limits: &c.limits}, nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			if told := r.waitsForRoom(sessionID); told.Reason != "budget" || told.Limit != name {
				t.Errorf("the event says %+v", told)
			}
			r.idleSlots(w)
			if runtime.spoken != 2 {
				t.Errorf("it spoke %d times", runtime.spoken)
			}
			r.relimit(sessionID, c.raise)
			if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || runtime.spoken != 4 {
				t.Errorf("turn %s, %+v, after %d answers", turn.Status, turn.Error, runtime.spoken)
			}
			if slices.Contains(runtime.unsure, true) {
				t.Error("a turn that waited is unsure of what happened")
			}
			if call := r.callLog(sessionID)[0]; call.Cost == nil || *call.Cost != 1e9 ||
				*call.Usage.InputTokens != 100 {
				t.Errorf("the first call is kept as %+v", call)
			}
		})
	}
}

// A speaker may have forgotten a call when the answer to its question comes. If it had asked for permission, the call
// has not run, and the turn continues; if the call needed none, its effect is unknown.
func TestASpeakerForgets(t *testing.T) {
	for name, c := range map[string]struct {
		knows    bool
		crashes  string // before this write
		decision parley.Decision
		result   string
		unsure   bool
	}{
		"approved":             {false, "", yes, resultAskerGone, false},
		"denied":               {false, "", no, "Denied by %: not on Fridays", false},
		"known":                {true, "", yes, `"done"`, false},
		"not yet parked":       {false, "ParkTurn", yes, resultAskerGone, false},
		"allowed, then a kill": {true, "SettleTool", yes, parley.EffectUnknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			var runtime *talking
			r, made := talks(t, func(*talk) []model.Chunk {
				if runtime.spoken == 1 {
					return acts(0, "ask")
				}
				return []model.Chunk{text(0, "Done."), done(parley.FinishStop)}
			})
			runtime = made
			runtime.knows = c.knows
			var dead <-chan struct{}
			if c.crashes != "" {
				dead = r.crashing().killBefore(c.crashes, 1)
			} else {
				r.start(nil)
			}
			sessionID := r.session(parley.Settings{}, nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			if c.crashes == "ParkTurn" {
				r.wait("the crash", dead)
				r.takeOver()
			}
			r.waits(sessionID, parley.WaitApproval, 1)
			r.decide(r.questions(sessionID)[0].ID, c.decision)
			if c.crashes == "SettleTool" {
				r.wait("the crash", dead)
				runtime.forget()
				r.takeOver()
			}
			if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
				t.Errorf("turn %s, %+v", turn.Status, turn.Error)
			}
			want := strings.Replace(c.result, "%", r.owner.Name, 1)
			if got := r.record(sessionID)[3].Says; got != want {
				t.Errorf("the result is %q, want %q", got, want)
			}
			if got := runtime.unsure[len(runtime.unsure)-1]; got != c.unsure {
				t.Errorf("unsure: %t", got)
			}
		})
	}
}

// forget makes the speaker forget its calls, as if its process had died.
func (r *talking) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.knows = false
}
