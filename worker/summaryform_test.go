package worker

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
)

// counted returns an answer whose provider counts the given tokens of input.
func counted(text string, input int64) answerFunc {
	output := int64(50)
	return chunks(
		model.Chunk{Kind: model.ChunkText, Text: text},
		model.Chunk{Kind: model.ChunkUsage, Usage: parley.Usage{InputTokens: &input, OutputTokens: &output}},
		done(parley.FinishStop),
	)
}

// askSummary asks for a summary of all but the newest turn and returns the compaction once it has ended.
func (r *rig) askSummary(sessionID parley.ID, wanted store.NewCompaction) parley.Compaction {
	r.Helper()
	wanted.ID, wanted.Reason = parley.NewID(), parley.CompactAsked
	_, err := r.store.RequestCompaction(r.Context(), r.scope, sessionID, wanted)
	r.must(err)
	r.await(sessionID, "the compaction's end", func(e parley.Event) bool {
		ended := e.Type == parley.EventCompactionCompleted ||
			e.Type == parley.EventCompactionFailed && strings.Contains(string(e.Data), `"again":false`)
		return ended && strings.Contains(string(e.Data), wanted.ID.String())
	})
	return r.compaction(sessionID)
}

// long makes three exchanges of which the provider counts so many tokens.
func (r *rig) long(tokens int64, change func(*parley.Session)) parley.ID {
	r.Helper()
	sessionID := r.session(tooled("look"), func(s *parley.Session) {
		s.Policy = &parley.Policy{Kind: parley.PolicySummary}
		s.SystemPrompt = new("You plan a garden.")
		if change != nil {
			change(s)
		}
	})
	for range 3 {
		r.model.play(counted(strings.Repeat("roses and lilies ", 40), tokens))
		r.ended(r.post(sessionID, "question "+strings.Repeat("about the garden ", 20), "").Turn.ID)
	}
	return sessionID
}

// TestASummaryFollowsTheConversationsRequest: with the conversation's own model, from 8,000 tokens on, a summary is
// asked for by the latest request as it was, with the instruction as one more message, under the same cache key.
func TestASummaryFollowsTheConversationsRequest(t *testing.T) {
	r := newRig(t)
	r.model.caching = true
	r.tools = fakeTools{{name: "look"}}
	r.start(nil)
	sessionID := r.long(leastBehind, func(s *parley.Session) { s.Temperature = new(0.5) })
	r.model.play(says("# Task: a garden [1]"))
	c := r.askSummary(sessionID, store.NewCompaction{Instructions: "Name every flower."})
	asked := r.model.asked()
	var last, sum model.Request
	for _, request := range asked { // each was encoded for its step, and the last again to compare
		if request.Purpose == parley.PurposeCompaction {
			sum = request
			continue
		}
		last = request
	}
	if n := len(sum.Messages); n != len(last.Messages)+1 || n != 6 {
		t.Fatalf("the summary is asked for with %d messages, after a request with %d", n, len(last.Messages))
	}
	before := sum
	before.Messages, before.Purpose = before.Messages[:5], ""
	if diff := cmp.Diff(last, before); diff != "" {
		t.Errorf("the requests begin otherwise (-conversation +summary):\n%s", diff)
	}
	if len(sum.Tools) != 1 || sum.System != "You plan a garden." || sum.CacheKey == "" {
		t.Errorf("the summary is asked for by %+v", sum)
	}
	instruction := sum.Messages[5].Parts[0].Text
	for _, part := range []string{"everything up to message [4]", "Name every flower.", "# Open ends"} {
		if !strings.Contains(instruction, part) {
			t.Errorf("the instruction lacks %q: %s", part, instruction)
		}
	}
	if c.State != parley.CompactionCompleted || c.CoversFrom != 1 || c.CoversThrough != 4 {
		t.Errorf("the compaction is %+v, %+v", c, c.Error)
	}
}

// TestWhenASummaryReadsATranscript: what rules the conversation's own request out.
func TestWhenASummaryReadsATranscript(t *testing.T) {
	for name, c := range map[string]struct {
		tokens int64
		change func(*parley.Session)
		reads  int
	}{
		"a short conversation": {leastBehind - 1, nil, 0},
		"another model": {leastBehind, func(s *parley.Session) {
			s.Compaction = &parley.CompactionSettings{Model: "test/other"}
		}, 0},
		"answers too short for a summary": {leastBehind, func(s *parley.Session) { s.MaxTokens = new(100) }, 0},
		"a full context": {leastBehind, func(s *parley.Session) {
			s.Policy = &parley.Policy{Kind: parley.PolicyAll} // else a summary is due by itself
		}, leastBehind * 3 / 2},
		"answers in a format": {leastBehind, func(s *parley.Session) {
			s.ResponseFormat = &parley.ResponseFormat{Type: "json_object"}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.model.reads = c.reads
			r.tools = fakeTools{{name: "look"}}
			r.start(nil)
			sessionID := r.long(c.tokens, c.change)
			r.model.play(says("# Task: a garden [1]"))
			made := r.askSummary(sessionID, store.NewCompaction{})
			asked := r.model.asked()
			sum := asked[len(asked)-1]
			if made.State != parley.CompactionCompleted || sum.Purpose != parley.PurposeCompaction ||
				len(sum.Messages) != 1 || !strings.HasPrefix(sum.Messages[0].Parts[0].Text, "[1] [User] question") {
				t.Errorf("the compaction is %+v (%+v), asked for by %+v", made, made.Error, sum)
			}
		})
	}
}

// TestAToolCallIsNoSummary: a model that calls a tool when asked for a summary has failed; the next attempt shows it a
// transcript, without tools.
func TestAToolCallIsNoSummary(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{{name: "look"}}
	r.start(nil)
	sessionID := r.long(leastBehind, nil)
	r.model.play(calls(parley.FinishToolCalls, "look", `{}`), says("# Task: a garden [1]"))
	c := r.askSummary(sessionID, store.NewCompaction{})
	asked := r.model.asked()
	if c.State != parley.CompactionCompleted || c.Attempt != 2 || len(asked[len(asked)-1].Tools) != 0 {
		t.Errorf("the compaction is %+v, %+v", c, c.Error)
	}
	log := r.callLog(sessionID)
	failed := slices.IndexFunc(log, func(call parley.Call) bool { return call.Outcome == parley.CallFailed })
	if failed < 0 || log[failed].Error.Sentence != calledTools || log[failed].Purpose != parley.PurposeCompaction {
		t.Errorf("the calls are %+v", log)
	}
}

// TestASummaryEndsWhereItIsAskedTo: through ends it, at the end of a turn.
func TestASummaryEndsWhereItIsAskedTo(t *testing.T) {
	for through, want := range map[int64]int64{2: 2, 3: 2, 4: 4, 6: 4} {
		r := newSummedRig(t, says("# Task: a garden [1]"))
		r.start(nil)
		sessionID := r.summed(func(s *parley.Session) { s.Policy.Limit = 50 })
		for n := range 3 {
			r.exchange(sessionID, n)
		}
		c := r.askSummary(sessionID, store.NewCompaction{Through: through, Instructions: "Name every flower."})
		if c.CoversThrough != want || c.Through != through {
			t.Errorf("up to %d it covers up to %d; want %d", through, c.CoversThrough, want)
		}
		if system := r.model.summaries.asked()[0].System; !strings.HasSuffix(system, "Name every flower.") {
			t.Errorf("the system prompt ends with %.60q", system[len(system)-60:])
		}
	}
}

// TestDroppedFactsAreNamed: a later summary that no longer cites a source of the earlier one says what it drops.
func TestDroppedFactsAreNamed(t *testing.T) {
	r := newSummedRig(t,
		says("# Facts\n- The gate is 90 cm wide [1]\n- Roses cost 12 [2, 3]"),
		says("# Facts\n- Roses cost 12 [2, 3]"))
	r.start(nil)
	sessionID := r.summed(func(s *parley.Session) { s.Policy.Limit = 50 })
	for n := range 3 {
		r.exchange(sessionID, n)
	}
	r.askSummary(sessionID, store.NewCompaction{})
	r.exchange(sessionID, 3)
	c := r.askSummary(sessionID, store.NewCompaction{})
	m, err := r.store.Message(t.Context(), r.scope, c.MessageID)
	r.must(err)
	want := "# Facts\n- Roses cost 12 [2, 3]\n\nNo longer in the summary:\n- The gate is 90 cm wide [1]"
	if text, _ := parley.PlainText(m.Content); text != want {
		t.Errorf("the later summary is %q", text)
	}
}
