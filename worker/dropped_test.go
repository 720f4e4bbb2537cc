package worker

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/inflight"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// fullRig is a rig whose model reads 20,000 tokens and answers with so many.
func fullRig(t *testing.T, answer int, summaries ...answerFunc) *rig {
	r := newSummedRig(t, summaries...)
	r.model.reads = 20_000
	// without usage: the estimates stay as they are
	said := chunks(text(0, strings.Repeat("word ", answer)), done(parley.FinishStop))
	r.model.play(slices.Repeat([]answerFunc{said}, 60)...)
	r.options.jitter = func(time.Duration) time.Duration { return 0 }
	r.options.summaryPatience = patience
	return r
}

// longer makes a session whose summaries only length makes due.
func (r *rig) longer(maxTokens int) parley.ID {
	r.Helper()
	return r.summed(func(s *parley.Session) {
		s.Policy, s.MaxTokens = &parley.Policy{Kind: parley.PolicySummary, Limit: parley.MaxPolicyLimit}, &maxTokens
	})
}

func (r *rig) completes(sessionID parley.ID, text string) {
	r.Helper()
	turn := r.ended(r.post(sessionID, text, "").Turn.ID)
	if turn.Status != parley.TurnCompleted {
		r.Fatalf("the turn of %q is %s: %+v", parley.Clip(text, 40), turn.Status, turn.Error)
	}
}

// told counts a session's events of a type.
func (r *rig) toldOf(sessionID parley.ID, kind parley.EventType) (found []parley.Event) {
	r.Helper()
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	for _, e := range r.seen.events {
		if e.SessionID == sessionID && e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

// accounted requires that each of a session's calls shows, covers, drops or leaves out by a rule every message before
// its own, that the first task is always shown, and returns how many it dropped in all.
func (r *rig) accounted(sessionID parley.ID) (dropped int) {
	r.Helper()
	rows := r.messages(sessionID)
	slices.SortFunc(rows, func(a, b parley.Message) int { return int(a.Sequence - b.Sequence) })
	for _, call := range r.callLog(sessionID) {
		if call.Purpose == parley.PurposeCompaction {
			continue
		}
		own := slices.IndexFunc(rows, func(m parley.Message) bool { return m.ID == call.MessageID })
		fateOf := prompt.FateOf(call.Manifest, rows)
		for i := range rows[:own] {
			switch fate, reason := fateOf(&rows[i]); {
			case fate == prompt.FateDropped:
				dropped++
			case fate == prompt.FateRule && rows[i].Role != parley.RoleSummary &&
				rows[i].Status != parley.MessageFailed:
				r.Errorf("call %d: message %d is left out: %s", call.Step, rows[i].Sequence, reason)
			case i == 0 && fate != prompt.FateShown:
				r.Errorf("the first task is %s", fate)
			}
		}
	}
	return dropped
}

// Wrong 2: however much is reserved for the answer, the summary is due before the window is cut: nothing is dropped.
func TestALongAnswersReserveDropsNothing(t *testing.T) {
	r := fullRig(t, 800)
	r.model.summaries.endless = says("they talked")
	r.start(nil)
	sessionID := r.longer(7000)
	for range 18 {
		r.completes(sessionID, "the next question")
	}
	if n := r.accounted(sessionID); n > 0 || len(r.toldOf(sessionID, parley.EventContextDropped)) > 0 {
		t.Errorf("%d messages were dropped beside a summariser that works", n)
	}
	if len(r.toldOf(sessionID, parley.EventCompactionCompleted)) == 0 {
		t.Error("no summary was written")
	}
}

// Wrong 1: a message that is longer than the window costs no other a word: it is shown in part, and so are the turns
// after it whole.
func TestAMessageLongerThanTheWindowDropsNothing(t *testing.T) {
	r := fullRig(t, 100)
	r.model.summaries.endless = says("they talked")
	r.start(nil)
	sessionID := r.longer(1000)
	for range 6 {
		r.completes(sessionID, "a question")
	}
	r.completes(sessionID, strings.Repeat("a long result ", 9_000))
	r.completes(sessionID, "and now?")
	if n := r.accounted(sessionID); n > 0 || len(r.toldOf(sessionID, parley.EventContextDropped)) > 0 {
		t.Errorf("%d messages were dropped", n)
	}
}

// lookedStore tells when a turn looks whether the summary that it waits for is there.
type lookedStore struct {
	Store
	once   sync.Once
	look   func() // nil: nothing
	looked chan struct{}
}

func (s *lookedStore) Compaction(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
) (parley.Compaction, error) {
	s.once.Do(func() {
		if s.look != nil {
			s.look()
		}
		close(s.looked)
	})
	return s.Store.Compaction(ctx, scope, sessionID)
}

// Wrong 3: a full window waits for a slow summary, and nothing lies between what the summary covers and the window.
func TestAFullWindowWaitsForItsSummary(t *testing.T) {
	looked := make(chan struct{})
	r := fullRig(t, 1400, func(ctx context.Context, yield func(model.Chunk, error) bool) {
		select {
		case <-looked: // no earlier than a turn waits for it
			says("they talked")(ctx, yield)
		case <-ctx.Done():
		}
	})
	r.model.summaries.endless = says("they talked on")
	var held bool // room for prompts, while the turn waits
	db := &lookedStore{Store: r.store, looked: looked}
	w := r.start(db)
	db.look = func() {
		owner, all := inflight.Owner{WorkspaceID: r.scope.WorkspaceID}, promptsPerWorkspace*inflight.Scale()
		if held = !w.prompts.Take(owner, all); !held {
			w.prompts.Give(owner, all)
		}
	}
	sessionID := r.longer(1000)
	for range 16 {
		r.completes(sessionID, "the next question")
	}
	r.wait("a turn to wait for the summary", looked)
	if held {
		t.Error("the turn that waits keeps room from other prompts")
	}
	if n := r.accounted(sessionID); n > 0 || len(r.toldOf(sessionID, parley.EventContextDropped)) > 0 {
		t.Errorf("%d messages were dropped", n)
	}
	if shown := r.shown(-1); !strings.HasPrefix(shown, "Summary of the conversation so far:\n\nthey talked") {
		t.Errorf("the last turn shows %q", parley.Clip(shown, 200))
	}
}

// With a summariser that fails, the oldest messages are dropped, and request, manifest and event say so; the first task
// stays. Once a summary can be written again, it covers them.
func TestAFailingSummariserDropsWithANotice(t *testing.T) {
	r := fullRig(t, 1400)
	r.model.summaries.endless = fails(model.NewError(parley.ClassModel, false, "no", nil))
	r.start(nil)
	sessionID := r.longer(1000)
	r.completes(sessionID, "the task")
	for range 15 {
		r.completes(sessionID, "the next question")
	}
	events := r.toldOf(sessionID, parley.EventContextDropped)
	if len(events) == 0 || r.accounted(sessionID) == 0 {
		t.Fatal("nothing was dropped")
	}
	var told event.ContextDropped
	r.must(json.Unmarshal(events[len(events)-1].Data, &told))
	call := r.callLog(sessionID)
	at := slices.IndexFunc(call, func(c parley.Call) bool { return c.ID == told.CallID })
	if d := call[at].Manifest.Dropped; d == nil || d.From != told.From || d.To != told.To || d.Count != told.Count {
		t.Errorf("the event %+v is of the manifest %+v", told, call[at].Manifest)
	}
	shown := r.shown(-1)
	if !strings.HasPrefix(shown, "the task | [") || !strings.Contains(shown, "no more fits into what you can read") {
		t.Errorf("the model sees %q", parley.Clip(shown, 300))
	}
	r.model.summaries.mu.Lock()
	r.model.summaries.endless = says("they talked")
	r.model.summaries.mu.Unlock()
	for range parley.CompactionRest {
		r.completes(sessionID, "the next question")
	}
	if shown := r.shown(-1); !strings.HasPrefix(shown, "Summary of the conversation so far") {
		t.Errorf("with a summary the model sees %q", parley.Clip(shown, 300))
	}
	if last := r.callLog(sessionID); last[len(last)-1].Manifest.Dropped != nil && last[0].Manifest.Dropped != nil {
		t.Error("what the summary covers still counts as dropped")
	}
}

// Wrong 4: a summary that length makes due keeps a quarter of the window, not a number of messages: the next one is due
// many turns later.
func TestSummariesByLengthDoNotThrash(t *testing.T) {
	r := fullRig(t, 2000)
	r.model.summaries.endless = says("they talked")
	r.start(nil)
	sessionID := r.longer(2000)
	const turns = 24
	for range turns {
		r.completes(sessionID, "the next question")
	}
	if n := len(r.toldOf(sessionID, parley.EventCompactionCompleted)); n == 0 || n > turns/3 {
		t.Errorf("%d summaries were written in %d turns, of which seven fill the window", n, turns)
	}
	if n := r.accounted(sessionID); n > 0 {
		t.Errorf("%d messages were dropped", n)
	}
}

// A model of unknown length counts as one of prompt.UnknownContext, and the session is told once.
func TestAnUnknownLengthIsAssumedAndSaid(t *testing.T) {
	r := fullRig(t, 4000)
	r.model.reads = 0
	r.start(nil)
	sessionID := r.session(parley.Settings{}, func(s *parley.Session) {
		s.Policy, s.MaxTokens = &parley.Policy{Kind: parley.PolicyAll}, new(1000)
	})
	for range 3 {
		r.completes(sessionID, "the next question")
	}
	if n := len(r.toldOf(sessionID, parley.EventContextAssumed)); n != 0 {
		t.Errorf("far from the length it was told %d times", n)
	}
	for range 12 {
		r.completes(sessionID, "the next question")
	}
	events := r.toldOf(sessionID, parley.EventContextAssumed)
	if len(events) != 1 || !strings.Contains(string(events[0].Data), `"context_length":32000`) {
		t.Errorf("the assumed length was told %d times: %+v", len(events), events)
	}
	if r.accounted(sessionID) == 0 {
		t.Error("nothing was dropped")
	}
}
