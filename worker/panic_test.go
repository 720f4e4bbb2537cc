package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/tool"
)

// keptLog collects a worker's log.
type keptLog struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *keptLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *keptLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// carried is the value of the panics in these tests: it must appear nowhere.
const carried = "sk-carried-by-a-panic"

// panics panics where a test tells it to.
type panics struct {
	*scripted
	encode, stream, between bool
}

func (m *panics) Resolve(id parley.ModelID) (model.Model, model.Info, error) {
	_, info, err := m.scripted.Resolve(id)
	return m, info, err
}

func (m *panics) Encode(request model.Request) (model.EncodedRequest, error) {
	if m.encode && !strings.Contains(fmt.Sprint(request.Messages), "bystander") {
		panic(carried)
	}
	return m.scripted.Encode(request)
}

func (m *panics) Stream(ctx context.Context, request model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	if bytes.Contains(request.Body, []byte("bystander")) {
		return func(yield func(model.Chunk, error) bool) { says("Here.")(ctx, yield) }
	}
	if m.stream {
		panic(fmt.Errorf("with %s", carried))
	}
	return func(yield func(model.Chunk, error) bool) {
		if !m.between || yield(text(0, "Half"), nil) {
			panic(carried)
		}
	}
}

// nameless panics when asked for its definition.
type nameless struct{ fakeTool }

func (nameless) Source() string { panic(carried) }

type namelessTools struct{ fakeTools }

func (n namelessTools) For(parley.ID) tool.Source { return n }

func (n namelessTools) Tool(name string) (tool.Tool, bool) {
	tool, ok := n.fakeTools.Tool(name)
	if !ok {
		return nil, false
	}
	return nameless{tool.(fakeTool)}, true //nolint:forcetypeassert // of fakeTools
}

// A panic while encoding, sending or reading for a provider fails only its turn, with a sentence: the process
// continues, and the log shows where it happened but not its value.
func TestAPanicFailsItsTurnAlone(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]*panics{
		"in encoding": {encode: true}, "in sending": {stream: true}, "before an answer": {},
		"within an answer": {between: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, log := newRig(t), &keptLog{}
			r.options.Log = slog.New(slog.NewTextHandler(log, nil))
			model.scripted = r.model
			w := New(r.store, model, r.tools, r.hub, r.options)
			r.running.Store(w)
			r.worker = w
			r.must(w.Start(t.Context()))
			t.Cleanup(func() { r.stop(w) })
			turn := r.ended(r.post(r.session(parley.Settings{}, nil), "Go", "").Turn.ID)
			if turn.Status != parley.TurnFailed || turn.Error == nil || turn.Error.Class != parley.ClassInternal ||
				turn.Error.Sentence != parley.ClassInternal.Sentence() {
				t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
			}
			told, err := json.Marshal(turn)
			r.must(err)
			if said := log.String(); !strings.Contains(said, "panics).") ||
				strings.Contains(said+string(told), carried) {
				t.Errorf("the log says %s, and the turn %s", said, told)
			}
			after := r.ended(r.post(r.session(parley.Settings{}, nil), "bystander", "").Turn.ID)
			if after.Status != parley.TurnCompleted {
				t.Errorf("a turn afterwards is %s: %+v", after.Status, after.Error)
			}
		})
	}
}

// A panic in a tool, even in its definition, becomes the call's result.
func TestAPanicInAToolIsItsResult(t *testing.T) {
	t.Parallel()
	tools := fakeTools{
		{"panics", readOnly(), func(context.Context, tool.Call) (json.RawMessage, error) { panic(carried) }},
	}
	for name, source := range map[string]tool.Source{"in its call": tools, "in its name": namelessTools{tools}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, log := newRig(t), &keptLog{}
			r.options.Log = slog.New(slog.NewTextHandler(log, nil))
			r.tools = source
			r.start(nil)
			r.model.play(calls(parley.FinishToolCalls, "panics", `{}`), says("Then without."))
			sessionID := r.session(tooled("panics"), nil)
			turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
			if turn.Status != parley.TurnCompleted || !strings.Contains(fmt.Sprint(r.record(sessionID)), resultPanic) {
				t.Errorf("the turn is %s: %+v, %v", turn.Status, turn.Error, r.record(sessionID))
			}
			if said := log.String(); !strings.Contains(said, "panic_test.go") || strings.Contains(said, carried) {
				t.Errorf("the log says %s", said)
			}
		})
	}
}

// A panic while writing a summary ends the compaction and leaves the session unchanged.
func TestAPanicInACompactionChangesNothing(t *testing.T) {
	t.Parallel()
	bad := func(context.Context, func(model.Chunk, error) bool) { panic(carried) }
	r, log := newSummedRig(t, bad, bad, bad), &keptLog{}
	r.options.Log = slog.New(slog.NewTextHandler(log, nil))
	r.start(nil)
	sessionID := r.summed()
	for n := range 3 {
		r.exchange(sessionID, n)
	}
	r.await(sessionID, "the compaction's end", func(e parley.Event) bool {
		return e.Type == parley.EventCompactionFailed && !strings.Contains(string(e.Data), `"again":true`)
	})
	got := r.compaction(sessionID)
	if got.Error == nil || got.Error.Class != parley.ClassInternal {
		t.Errorf("the compaction is %+v", got)
	}
	if said := log.String(); !strings.Contains(said, "panic_test.go") || strings.Contains(said, carried) {
		t.Errorf("the log says %s", said)
	}
	r.exchange(sessionID, 3)
}
