package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// shortPolicy requests a summary at every second exchange.
func shortPolicy(s *parley.Session) {
	s.Policy = &parley.Policy{Kind: parley.PolicySummary, Limit: 4}
}

// summed creates a session whose summaries come from another model than its answers, so that both can be scripted;
// changes apply to the session.
func (r *rig) summed(changes ...func(*parley.Session)) parley.ID {
	r.Helper()
	return r.session(
		parley.Settings{Compaction: &parley.CompactionSettings{Model: summaryID}},
		func(s *parley.Session) {
			shortPolicy(s)
			for _, change := range changes {
				change(s)
			}
		},
	)
}

// newSummedRig is a rig with a separate script for summaries.
func newSummedRig(t testing.TB, summaries ...answerFunc) *rig {
	r := newRig(t)
	r.model.summaries = &scripted{}
	r.model.summaries.play(summaries...)
	return r
}

// exchange posts a message and waits for the answer.
func (r *rig) exchange(sessionID parley.ID, n int) parley.Turn {
	r.Helper()
	r.model.play(says(fmt.Sprintf("answer %d", n)))
	turn := r.ended(r.post(sessionID, fmt.Sprintf("question %d", n), "").Turn.ID)
	if turn.Status != parley.TurnCompleted {
		r.Fatalf("turn %d ended as %+v: %+v", n, turn, turn.Error)
	}
	return turn
}

func (r *rig) compaction(sessionID parley.ID) parley.Compaction {
	r.Helper()
	c, err := r.store.Compaction(r.Context(), r.scope, sessionID)
	r.must(err)
	return c
}

// entered returns the compaction as far as the event of its end describes it: the session may have requested the next
// one already.
func (r *rig) entered(e parley.Event) (c parley.Compaction) {
	r.Helper()
	r.must(json.Unmarshal(e.Data, &c))
	return c
}

func (r *rig) shown(at int) string {
	r.Helper()
	asked := r.model.asked()
	if at < 0 {
		at += len(asked)
	}
	var texts []string
	for _, m := range asked[at].Messages {
		for _, p := range m.Parts {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, " | ")
}

// TestASummaryIsWrittenBesideTheConversation: when the context reaches its limit, a call of its own writes a summary
// while the session stays in use, and from then on it replaces what it covers.
func TestASummaryIsWrittenBesideTheConversation(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	r := newSummedRig(t, func(ctx context.Context, yield func(model.Chunk, error) bool) {
		close(reached)
		select {
		case <-release:
		case <-ctx.Done():
		}
		says("they talked")(ctx, yield)
	})
	r.start(nil)
	sessionID := r.summed()
	for n := range 3 {
		r.exchange(sessionID, n)
	}
	r.wait("the summary to be asked for", reached)
	r.exchange(sessionID, 3) // the session stays in use
	if shown := r.shown(-1); !strings.Contains(shown, "question 0") || strings.Contains(shown, "they talked") {
		t.Errorf("while the summary is written the model sees %q", shown)
	}
	close(release)
	done := r.happened(sessionID, parley.EventCompactionCompleted)
	c := r.compaction(sessionID)
	if c.State != parley.CompactionCompleted || c.Reason != parley.CompactMessages || c.Attempt != 1 ||
		c.CoversFrom != 1 ||
		c.CoversThrough < 2 {
		t.Errorf("the compaction is %+v, told as %s", c, done.Data)
	}
	r.exchange(sessionID, 4)
	shown := r.shown(-1)
	if !strings.HasPrefix(shown, "Summary of the conversation so far:\n\nthey talked") ||
		strings.Contains(shown, "answer 0") ||
		!strings.Contains(shown, "question 4") {
		t.Errorf("with the summary the model sees %q", shown)
	}
	if !strings.Contains(shown, "question 0") {
		t.Errorf("the first task is not carried: %q", shown)
	}
	asked := r.model.summaries.asked()[0]
	if asked.Purpose != parley.PurposeCompaction || asked.System == "" || len(asked.Tools) != 0 ||
		len(asked.Messages) != 1 {
		t.Errorf("the summary was asked for by %+v", asked)
	}
	var made []parley.Call
	for _, call := range r.callLog(sessionID) {
		if call.Purpose == parley.PurposeCompaction {
			made = append(made, call)
		}
	}
	if len(made) == 0 || made[0].ID != c.CallID || made[0].Cost == nil || made[0].Model != summaryID ||
		!made[0].TurnID.IsZero() {
		t.Errorf("the calls of compactions are %+v", made)
	}
}

// TestALaterSummaryAbsorbsTheEarlier: its source is the earlier summary and the messages since.
func TestALaterSummaryAbsorbsTheEarlier(t *testing.T) {
	r := newSummedRig(t, says("first summary"), says("second summary"))
	r.start(nil)
	sessionID := r.summed()
	for n := range 3 {
		r.exchange(sessionID, n)
	}
	first := r.entered(r.happened(sessionID, parley.EventCompactionCompleted))
	for n := 3; n < 6; n++ {
		r.exchange(sessionID, n)
	}
	done := r.entered(r.await(sessionID, "a second summary", func(e parley.Event) bool {
		return e.Type == parley.EventCompactionCompleted && !strings.Contains(string(e.Data), first.ID.String())
	}))
	second, err := r.store.Message(r.Context(), r.scope, done.MessageID)
	r.must(err)
	if origin := parley.OriginOf(
		second.Metadata,
	); origin.AbsorbsID != first.MessageID || origin.CoversFrom != 1 ||
		*second.CoversThrough <= first.CoversThrough {
		t.Errorf("the first is %+v, the second %+v", first, second)
	}
	var source []string
	for _, p := range r.model.summaries.asked()[1].Messages[0].Parts {
		source = append(source, p.Text)
	}
	if !strings.Contains(source[0], "first summary") ||
		slices.ContainsFunc(source[1:], func(s string) bool { return strings.Contains(s, "question 0") }) {
		t.Errorf("the second summary is made of %q", source)
	}
	r.exchange(sessionID, 6)
	if shown := r.shown(-1); !strings.Contains(shown, "second summary") || strings.Contains(shown, "first summary") {
		t.Errorf("the model sees %q", shown)
	}
	_, err = r.store.MarkMessage(r.Context(), r.scope, parley.ID{}, second.ID, parley.MarksChange{SetAside: new(true)})
	r.must(err)
	r.exchange(sessionID, 7)
	if shown := r.shown(-1); !strings.Contains(shown, "first summary") || strings.Contains(shown, "second summary") {
		t.Errorf("with the second one set aside the model sees %q", shown)
	}
}

// TestNoSummaryChangesNothing: an answer that is not a valid summary is recorded, and the attempt repeated a bounded
// number of times (47).
func TestNoSummaryChangesNothing(t *testing.T) {
	broken := model.NewError(parley.ClassModel, false, "no", nil)
	for name, c := range map[string]struct {
		answers  []answerFunc
		attempts int
		says     string
	}{
		"empty": {[]answerFunc{says(" "), says(""), says("\n")}, 3, emptySummary},
		"longer": {[]answerFunc{says(strings.Repeat("long ", 400)), says(strings.Repeat("x", 4000)),
			says(strings.Repeat("y", 4000))}, 3, longSummary},
		"cut": {[]answerFunc{chunks(text(0, "half"), done(parley.FinishLength)),
			chunks(text(0, "half"), done(parley.FinishLength)), chunks(text(0, "half"), done(parley.FinishLength))}, 3,
			cutSummary},
		"without an end": {[]answerFunc{chunks(text(0, "half")), chunks(text(0, "half")), chunks(text(0, "half"))}, 3,
			parley.ClassStream.Sentence()},
		"refused": {[]answerFunc{fails(broken)}, 1, parley.ClassModel.Sentence()},
		"in a third try": {[]answerFunc{says(""), fails(model.NewError(parley.ClassNetwork, true, "no", nil)),
			says("at last")}, 3, ""},
		"a narrower view": {[]answerFunc{fails(model.NewError(parley.ClassContextLength, false, "too long", nil)),
			says("short")}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSummedRig(t, c.answers...)
			r.options.jitter = func(limit time.Duration) time.Duration { return min(limit, time.Millisecond) }
			r.start(nil)
			sessionID := r.summed()
			for n := range 3 {
				r.exchange(sessionID, n)
			}
			kind := parley.EventCompactionFailed
			if c.says == "" {
				kind = parley.EventCompactionCompleted
			}
			r.await(sessionID, "the compaction's end", func(e parley.Event) bool {
				return e.Type == kind && !strings.Contains(string(e.Data), `"again":true`)
			})
			got := r.compaction(sessionID)
			if got.Attempt != c.attempts || (c.says != "") != (got.Error != nil) ||
				got.Error != nil && got.Error.Sentence != c.says {
				t.Errorf("the compaction is %+v (%+v)", got, got.Error)
			}
			failed := 0
			for _, call := range r.callLog(sessionID) {
				if call.Purpose == parley.PurposeCompaction && call.Outcome == parley.CallFailed && call.Error != nil {
					failed++
				}
			}
			if want := c.attempts; c.says == "" && failed != want-1 || c.says != "" && failed != want {
				t.Errorf("%d failed calls are recorded", failed)
			}
			if c.says == "" {
				return
			}
			before := len(r.messages(sessionID))
			r.exchange(sessionID, 3)
			if n := len(r.messages(sessionID)); n != before+2 || r.model.summaries.sent() != c.attempts {
				t.Errorf(
					"%d messages and %d requests for summaries; after giving up there is a pause",
					n,
					r.model.summaries.sent(),
				)
			}
		})
	}
}

// TestATooLongRequestIsShortened: the provider refuses the conversation as too long; its older part is summarised, and
// the step asked again, once (18).
func TestATooLongRequestIsShortened(t *testing.T) {
	tooLong := model.NewError(parley.ClassContextLength, false, "maximum context length", nil)
	for name, c := range map[string]struct {
		second answerFunc
		status parley.TurnStatus
	}{
		"and answered":       {says("short enough"), parley.TurnCompleted},
		"and still too long": {fails(tooLong), parley.TurnFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSummedRig(t, says("the older part"))
			r.start(nil)
			sessionID := r.summed(func(s *parley.Session) { s.Policy.Limit = 50 })
			r.exchange(sessionID, 0)
			r.exchange(sessionID, 1)
			r.model.play(fails(tooLong), c.second)
			turn := r.ended(r.post(sessionID, "the last straw", "").Turn.ID)
			if turn.Status != c.status ||
				turn.Error != nil &&
					(turn.Error.Class != parley.ClassContextLength || turn.Error.Sentence != stillTooLong) {
				t.Fatalf("the turn is %+v, %+v", turn, turn.Error)
			}
			shown := r.shown(-1)
			if !strings.Contains(shown, "the older part") || strings.Contains(shown, "answer 1") ||
				!strings.Contains(shown, "the last straw") {
				t.Errorf("asked again the model sees %q", shown)
			}
			if c := r.compaction(sessionID); c.Reason != parley.CompactOverflow || c.CoversThrough != 4 {
				t.Errorf("the compaction is %+v", c)
			}
			if n := r.model.sent(); n != 4 {
				t.Errorf("the model was asked %d times; want 4", n)
			}
		})
	}
}

// TestATooLongFirstMessage: there is nothing to summarise, and the turn says so.
func TestATooLongFirstMessage(t *testing.T) {
	r := newSummedRig(t)
	r.start(nil)
	sessionID := r.summed()
	r.model.play(fails(model.NewError(parley.ClassContextLength, false, "too long", nil)))
	turn := r.ended(r.post(sessionID, "a novel", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassContextLength ||
		turn.Error.Sentence != parley.ClassContextLength.Sentence() {
		t.Errorf("the turn is %+v", turn.Error)
	}
	if r.model.summaries.sent() != 0 {
		t.Errorf("a summary of nothing was asked for")
	}
}

// TestACompactionOutlivesItsProcess: the process may die at any of these moments; another one takes the compaction
// over, and exactly one summary results.
func TestACompactionOutlivesItsProcess(t *testing.T) {
	for _, moment := range []string{"before it begins", "while the model answers", "before it is settled",
		"after it is settled"} {
		t.Run(moment, func(t *testing.T) {
			reached := make(chan struct{})
			first := says("they talked")
			if moment == "while the model answers" {
				first = hangs(reached, text(0, "they ta"))
			}
			r := newSummedRig(t, first, says("they talked"))
			dying := &dyingStore{Store: r.store, at: moment, died: make(chan struct{})}
			w := r.start(dying)
			sessionID := r.summed()
			for n := range 2 { // enough to begin one compaction; a third could begin the next
				r.exchange(sessionID, n)
			}
			if moment == "while the model answers" {
				r.wait("the model to answer", reached)
			} else {
				r.wait("the process to die", dying.died)
			}
			w.currentLease().end(ErrLeaseLost)
			_, err := r.store.RenewLease(r.Context(), w.currentLease().id, 0)
			r.must(err)
			r.start(nil)
			r.happened(sessionID, parley.EventCompactionCompleted)
			summaries := 0
			for _, m := range r.messages(sessionID) {
				if m.Role == parley.RoleSummary {
					summaries++
				}
			}
			if c := r.compaction(sessionID); summaries != 1 || c.State != parley.CompactionCompleted {
				t.Errorf("there are %d summaries of the compaction %+v", summaries, c)
			}
			for _, call := range r.callLog(sessionID) {
				if call.Outcome == parley.CallOpen {
					t.Errorf("call %s stays open", call.ID)
				}
			}
		})
	}
}

// dyingStore is the store of a process that dies at a given moment of a compaction: after that, its writes fail or
// their answers are lost.
type dyingStore struct {
	Store
	at   string
	died chan struct{}
}

var errDied = errors.New("the process is dead")

func (s *dyingStore) BeginCompaction(
	ctx context.Context,
	fence store.CompactionFence,
	begin store.CompactionBegin,
) error {
	if s.at == "before it begins" {
		close(s.died)
		<-ctx.Done()
		return errDied
	}
	return s.Store.BeginCompaction(ctx, fence, begin)
}

func (s *dyingStore) SettleCompaction(
	ctx context.Context,
	fence store.CompactionFence,
	settle store.CompactionSettle,
) (parley.Compaction, error) {
	switch s.at {
	case "before it is settled":
		close(s.died)
		<-ctx.Done()
		return parley.Compaction{}, errDied
	case "after it is settled":
		_, err := s.Store.SettleCompaction(ctx, fence, settle)
		close(s.died)
		if err != nil {
			return parley.Compaction{}, err
		}
		return parley.Compaction{}, errDied
	}
	return s.Store.SettleCompaction(ctx, fence, settle)
}

// TestAStopGivesACompactionBack: the attempt does not count, and the next process makes it.
func TestAStopGivesACompactionBack(t *testing.T) {
	reached := make(chan struct{})
	r := newSummedRig(t, hangs(reached), says("they talked"))
	r.options.Drain = -1
	w := r.start(nil)
	sessionID := r.summed()
	for n := range 3 {
		r.exchange(sessionID, n)
	}
	r.wait("the summary to be asked for", reached)
	r.stop(w)
	if c := r.compaction(sessionID); c.State != parley.CompactionPending || c.Attempt != 0 {
		t.Errorf("after a stop the compaction is %+v", c)
	}
	r.start(nil)
	r.happened(sessionID, parley.EventCompactionCompleted)
}

// TestASummaryKeepsToTheBudget: a session's limits apply to its summaries too.
func TestASummaryKeepsToTheBudget(t *testing.T) {
	r := newSummedRig(t, says("they talked"))
	r.start(nil)
	limit := int64(6000) // of which each answer takes 1500, and a summary may take 4096
	sessionID := r.summed(func(s *parley.Session) {
		s.Limits, s.MaxTokens = &parley.Limits{SessionTokens: &limit}, new(100)
	})
	for n := range 3 {
		r.exchange(sessionID, n)
	}
	r.await(sessionID, "the compaction to be given up", func(e parley.Event) bool {
		return e.Type == parley.EventCompactionFailed && strings.Contains(string(e.Data), `"again":false`)
	})
	if c := r.compaction(
		sessionID,
	); c.Error == nil || c.Error.Class != parley.ClassLimit || c.State != parley.CompactionFailed ||
		r.model.summaries.sent() != 0 {
		t.Errorf("beyond the budget the compaction is %+v, %+v", c, c.Error)
	}
}

// TestASummariserThatHangsHoldsUpNobodyElse: summaries of one workspace that never come, more than there are places,
// leave the summary that another workspace's turn waits for its place.
func TestASummariserThatHangsHoldsUpNobodyElse(t *testing.T) {
	r := newSummedRig(t)
	hung := make(chan struct{}, 2*maxCompactions)
	r.model.summaries.endless = func(ctx context.Context, yield func(model.Chunk, error) bool) {
		hung <- struct{}{}
		<-ctx.Done()
		yield(model.Chunk{}, context.Cause(ctx))
	}
	r.options.Drain = time.Millisecond
	r.start(nil)
	awaited := store.NewCompaction{Reason: parley.CompactAsked, Awaited: true}
	ask := func(r *rig, sessionID parley.ID) {
		t.Helper()
		wanted := awaited
		wanted.ID = parley.NewID()
		_, err := r.store.RequestCompaction(t.Context(), r.scope, sessionID, wanted)
		r.must(err)
	}
	roomy := func(s *parley.Session) { s.Policy.Limit = parley.MaxPolicyLimit }
	for range maxCompactions + keptCompactions + 1 {
		sessionID := r.summed(roomy)
		r.exchange(sessionID, 1)
		r.exchange(sessionID, 2)
		ask(r, sessionID)
	}
	for n := range maxCompactions {
		select {
		case <-hung:
		case <-time.After(patience):
			t.Fatalf("%d summaries are under way", n)
		}
	}
	other := r.neighbour("other")
	sessionID := other.session(parley.Settings{}, func(s *parley.Session) { shortPolicy(s); roomy(s) })
	other.exchange(sessionID, 1)
	other.exchange(sessionID, 2)
	r.model.play(says("short"))
	ask(other, sessionID)
	other.await(
		sessionID,
		"its summary",
		func(e parley.Event) bool { return e.Type == parley.EventCompactionCompleted },
	)
	select {
	case <-hung:
		t.Errorf("the workspace whose summaries hang has more than %d under way", maxCompactions)
	default:
	}
}
