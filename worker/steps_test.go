package worker

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/tool"
)

// looksWith returns the answer of a step that says words and calls the tool look.
func looksWith(words int) answerFunc {
	return chunks(
		text(0, strings.Repeat("word ", words)),
		model.Chunk{Kind: model.ChunkToolCall, Block: 1, CallID: "c", Name: "look"},
		model.Chunk{Kind: model.ChunkArguments, Block: 1, Text: "{}"},
		done(parley.FinishToolCalls),
	)
}

// longRig is a rig whose turns have so many steps of 600 tokens each in a window of 20,000, which stubs do not shorten,
// and then an answer.
func longRig(t *testing.T, steps int, summaries ...answerFunc) *rig {
	r := fullRig(t, 0, summaries...)
	r.model.answers = nil
	r.model.play(slices.Repeat([]answerFunc{looksWith(600)}, steps)...)
	r.model.play(says("done"))
	r.tools = fakeTools{{
		name:        "look",
		annotations: parley.ToolAnnotations{ReadOnly: true, Idempotent: true},
		call: func(context.Context, tool.Call) (json.RawMessage, error) {
			return json.RawMessage(`"seen"`), nil
		},
	}}
	return r
}

// looking makes a session whose turns may have many steps.
func (r *rig) looking() parley.ID {
	r.Helper()
	return r.summed(func(s *parley.Session) {
		s.Policy, s.MaxTokens = &parley.Policy{Kind: parley.PolicyAuto}, new(1000)
		s.Tools = tooled("look").Tools
		s.Limits = &parley.Limits{MaxSteps: new(500)}
	})
}

// A turn that fills its window by itself has its own steps summed up at a step's border: nothing is dropped, what it
// answers stays, and the summary is a call and a message like any other.
func TestATurnsOwnStepsAreSummedUp(t *testing.T) {
	r := longRig(t, 70)
	r.model.summaries.endless = says("they looked [2]")
	r.start(nil)
	sessionID := r.looking()
	r.completes(sessionID, "look at everything")
	if n := r.accounted(sessionID); n > 0 || len(r.toldOf(sessionID, parley.EventContextDropped)) > 0 {
		t.Errorf("%d messages were dropped beside a summariser that works", n)
	}
	shown := r.shown(-1)
	if !strings.HasPrefix(shown, "Summary of the conversation so far:\n\nthey looked [2]") ||
		!strings.Contains(shown, " | look at everything | ") || strings.Contains(shown, "Older steps") {
		t.Errorf("the last step shows %q", parley.Clip(shown, 300))
	}
	rows := r.messages(sessionID)
	var inside, spent int
	for i := range rows {
		if through := rows[i].CoversThrough; through != nil && *through > rows[0].Sequence {
			inside++
			if next := rows[*through]; next.Role != parley.RoleAssistant || next.Step < 2 {
				t.Errorf("a summary ends before message %d of step %d, a %s", next.Sequence, next.Step, next.Role)
			}
		}
	}
	for _, call := range r.callLog(sessionID) {
		if call.Purpose == parley.PurposeCompaction && call.Usage.InputTokens != nil {
			spent++
		}
	}
	if c := r.compaction(sessionID); inside == 0 || spent != inside || c.Reason != parley.CompactSteps {
		t.Errorf("%d summaries lie inside the turn, %d calls wrote them: %+v", inside, spent, c)
	}
}

// Inside a turn the policy's own limit counts like the model's: from it on results become stubs and steps are summed
// up. Where no summary is to be had, that limit drops nothing, and the summary is asked for seldom.
func TestALongTurnKeepsToThePolicysLimit(t *testing.T) {
	for name, summariser := range map[string]answerFunc{
		"a summary": says("they looked [2]"), "none": fails(model.NewError(parley.ClassModel, false, "no", nil)),
	} {
		t.Run(name, func(t *testing.T) {
			r := longRig(t, 20)
			r.model.reads = 200_000
			r.model.summaries.endless = summariser
			r.start(nil)
			sessionID := r.summed(func(s *parley.Session) {
				s.Policy, s.MaxTokens = &parley.Policy{Kind: parley.PolicyAuto, Tokens: 4000}, new(1000)
				s.Tools, s.Limits = tooled("look").Tools, &parley.Limits{MaxSteps: new(500)}
			})
			r.completes(sessionID, "look at everything")
			if n := r.accounted(sessionID); n > 0 {
				t.Errorf("%d messages were dropped, and the model could read them", n)
			}
			asked, longest := 0, 0
			rows := r.messages(sessionID)
			slices.SortFunc(rows, func(a, b parley.Message) int { return int(a.Sequence - b.Sequence) })
			for _, call := range r.callLog(sessionID) {
				if call.Purpose == parley.PurposeCompaction {
					asked++
					continue
				}
				size := 0
				for _, m := range prompt.Shown(call.Manifest, rows) {
					size += prompt.TokensOf(&m)
				}
				longest = max(longest, size)
			}
			if works := name == "a summary"; works != (longest < 4000) || asked == 0 || !works && asked > 2 {
				t.Errorf("the longest of 20 requests of 600 tokens each has %d tokens; %d summaries were asked for",
					longest, asked)
			}
		})
	}
}

// Only when no summary of a turn's steps can be written are they dropped; watchers are told once for each change.
func TestStepsThatAreDroppedAreTold(t *testing.T) {
	r := longRig(t, 70)
	r.model.summaries.endless = fails(model.NewError(parley.ClassModel, false, "no", nil))
	r.start(nil)
	sessionID := r.looking()
	r.completes(sessionID, "look at everything")
	if r.accounted(sessionID) == 0 {
		t.Fatal("nothing was dropped")
	}
	changes := map[int64]parley.Manifest{}
	for _, call := range r.callLog(sessionID) {
		if cut := call.Manifest.Turn; cut != nil && cut.Dropped > 0 {
			changes[cut.Dropped] = call.Manifest
		}
	}
	events := r.toldOf(sessionID, parley.EventContextDropped)
	if len(events) == 0 || len(events) != len(changes) {
		t.Fatalf("%d events tell of %d changes", len(events), len(changes))
	}
	for _, e := range events {
		var told event.ContextDropped
		r.must(json.Unmarshal(e.Data, &told))
		m, found := changes[told.To]
		if !found || told.From != m.Turn.From || told.Count != told.To-told.From+1 || told.Reason == "" {
			t.Errorf("the event %+v is of the manifest %+v", told, m)
		}
	}
	if shown := r.shown(-1); !strings.HasPrefix(shown, "look at everything | [Older steps of this turn") {
		t.Errorf("the last step shows %q", parley.Clip(shown, 300))
	}
}

// A process that dies while a summary of its turn's steps is written leaves a turn that goes on: the next process waits
// for the summary and enters it.
func TestATurnThatWaitsForItsStepsSummaryOutlivesItsProcess(t *testing.T) {
	reached := make(chan struct{})
	r := longRig(t, 40, hangs(reached))
	r.model.summaries.endless = says("they looked [2]")
	w := r.start(nil)
	sessionID := r.looking()
	turn := r.post(sessionID, "look at everything", "").Turn.ID
	r.wait("a summary to be asked for", reached)
	w.currentLease().end(ErrLeaseLost)
	_, err := r.store.RenewLease(r.Context(), w.currentLease().id, 0)
	r.must(err)
	r.start(nil)
	if ended := r.ended(turn); ended.Status != parley.TurnCompleted {
		t.Fatalf("the turn is %s: %+v", ended.Status, ended.Error)
	}
	if n := r.accounted(sessionID); n > 0 {
		t.Errorf("%d messages were dropped", n)
	}
	if shown := r.shown(-1); !strings.HasPrefix(shown, "Summary of the conversation so far:\n\nthey looked") {
		t.Errorf("the last step shows %q", parley.Clip(shown, 300))
	}
}

// A cancel ends the wait. The summary is entered with the turn's end and stands for its older steps in later turns, and
// when it is undone they are shown again.
func TestACancelEndsTheWaitForAStepsSummary(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	r := longRig(t, 26, func(ctx context.Context, yield func(model.Chunk, error) bool) {
		close(reached)
		select {
		case <-release:
		case <-ctx.Done():
		}
		says("they looked [2]")(ctx, yield)
	})
	r.model.summaries.endless = says("they looked on")
	r.start(nil)
	sessionID := r.looking()
	turn := r.post(sessionID, "look at everything", "").Turn.ID
	r.wait("a summary to be asked for", reached)
	if ended := r.cancel(sessionID, turn); ended.Status != parley.TurnCancelled {
		t.Fatalf("the turn is %s", ended.Status)
	}
	close(release)
	r.happened(sessionID, parley.EventCompactionCompleted)
	r.model.mu.Lock()
	r.model.answers = []answerFunc{says("well")}
	r.model.mu.Unlock()
	r.completes(sessionID, "what did you see?")
	if n := r.accounted(sessionID); n > 0 {
		t.Errorf("%d messages were dropped", n)
	}
	shown := r.shown(-1)
	if !strings.HasPrefix(shown, "Summary of the conversation so far:\n\nthey looked [2]") ||
		!strings.HasSuffix(shown, "what did you see?") {
		t.Errorf("the next turn shows %q", parley.Clip(shown, 300))
	}
	rows, calls := r.messages(sessionID), r.callLog(sessionID)
	latest := calls[len(calls)-1].Manifest
	if fate, reason := prompt.FateOf(latest, rows)(&rows[2]); fate != prompt.FateCovered {
		t.Errorf("message 3 is %s: %s by %+v", fate, reason, latest)
	}
	at := slices.IndexFunc(rows, func(m parley.Message) bool { return m.CoversThrough != nil })
	_, err := r.store.MarkMessage(
		r.Context(), r.scope, sessionID, rows[at].ID, parley.MarksChange{SetAside: new(true)})
	r.must(err)
	r.model.play(says("well"))
	r.completes(sessionID, "and then?")
	if shown := r.shown(-1); !strings.HasPrefix(shown, "look at everything | word word") {
		t.Errorf("without the summary the next turn shows %q", parley.Clip(shown, 300))
	}
}

// counted answers with a count of input that is a share of the request's estimated tokens.
func (r *rig) counted(share float64) answerFunc {
	return func(ctx context.Context, yield func(model.Chunk, error) bool) {
		asked := r.model.asked()
		request := asked[len(asked)-1]
		tokens := prompt.EstimateTokens(request.System)
		for _, m := range request.Messages {
			for _, p := range m.Parts {
				tokens += prompt.EstimateTokens(p.Text) + 4
			}
		}
		input, output := int64(float64(tokens)*share), int64(100)
		usage := parley.Usage{InputTokens: &input, OutputTokens: &output}
		chunks(text(0, strings.Repeat("word ", 100)), model.Chunk{Kind: model.ChunkUsage, Usage: usage},
			done(parley.FinishStop))(ctx, yield)
	}
}

// A provider that counts clearly less than it was sent has left some of the request out: the call says so and watchers
// are told, once the estimate is calibrated; what it counts elsewhere, as read from its cache, is no loss.
func TestASilentlyTruncatedRequestIsTold(t *testing.T) {
	r := newRig(t)
	r.model.reads = 200_000
	r.start(nil)
	sessionID := r.session(parley.Settings{}, nil)
	says := func(answer answerFunc) *parley.Truncation {
		t.Helper()
		r.model.play(answer)
		r.completes(sessionID, strings.Repeat("a long question ", 200))
		log := r.callLog(sessionID)
		return log[len(log)-1].Truncated
	}
	for n := range 4 { // not calibrated before
		share := 1.2
		if n == 0 {
			share = 0.7
		}
		if cut := says(r.counted(share)); cut != nil {
			t.Fatalf("call %d, of a model that nothing is known of, is truncated: %+v", n, cut)
		}
	}
	for range 8 {
		if cut := says(r.counted(1.2)); cut != nil {
			t.Fatalf("a call that was counted as usual is truncated: %+v", cut)
		}
	}
	cached := func(ctx context.Context, yield func(model.Chunk, error) bool) {
		r.counted(0.6)(ctx, func(c model.Chunk, err error) bool {
			if c.Kind == model.ChunkUsage {
				c.Usage.CachedTokens = c.Usage.InputTokens
			}
			return yield(c, err)
		})
	}
	if cut := says(cached); cut != nil {
		t.Errorf("a call whose count leaves out what was cached is truncated: %+v", cut)
	}
	for range 8 {
		says(r.counted(1.2))
	}
	cut := says(r.counted(0.5))
	if cut == nil || cut.ReadTokens*10 > cut.SentTokens*8 || cut.SentTokens == 0 {
		t.Fatalf("a call of which half was counted is %+v", cut)
	}
	events := r.toldOf(sessionID, parley.EventContextTruncated)
	var told event.ContextTruncated
	if len(events) == 1 {
		r.must(json.Unmarshal(events[0].Data, &told))
	}
	log := r.callLog(sessionID)
	last := log[len(log)-1]
	if told.CallID != last.ID || told.Model != last.Model || told.SentTokens != cut.SentTokens ||
		told.ReadTokens != cut.ReadTokens {
		t.Errorf("%d events tell %+v of %+v", len(events), told, cut)
	}
	if again := says(r.counted(0.5)); again == nil {
		t.Error("the estimate has learned from a truncated call")
	}
}
