package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/model"
	"example.org/parley/store"
)

// chapter is an answer of which two fit into a part.
func chapter(n int) string {
	return fmt.Sprintf("chapter %d ", n) + strings.Repeat("roses and lilies ", 800)
}

// summedUp makes six exchanges, of which an earlier summary covers some.
func (r *rig) summedUp() parley.ID {
	r.Helper()
	sessionID := r.session(
		parley.Settings{Compaction: &parley.CompactionSettings{Model: summaryID}},
		func(s *parley.Session) { s.Policy = &parley.Policy{Kind: parley.PolicyAuto} },
	)
	for n := range 6 {
		r.model.play(says(chapter(n)))
		r.ended(r.post(sessionID, fmt.Sprintf("question %d", n), "").Turn.ID)
	}
	if c := r.askSummary(sessionID, store.NewCompaction{}); c.State != parley.CompactionCompleted {
		r.Fatalf("the earlier summary: %+v, %+v", c, c.Error)
	}
	return sessionID
}

// TestASummaryFromOriginals: it is written from the messages alone, in parts that each stand behind the summary of
// those before, and takes the earlier summary's place.
func TestASummaryFromOriginals(t *testing.T) {
	r := newSummedRig(
		t,
		says("the earlier summary [2]"),
		says("one [2]"),
		says("one [2], two [6]"),
		says("all [2, 10]"),
	)
	r.start(nil)
	sessionID := r.summedUp()
	first := r.model.summaries.asked()
	c := r.askSummary(sessionID, store.NewCompaction{From: parley.FromOriginals, Instructions: "Name every flower."})
	if c.State != parley.CompactionCompleted || c.CoversFrom != 1 || c.CoversThrough != 10 || !c.AbsorbsID.IsZero() ||
		c.Attempt != 1 {
		t.Fatalf("the compaction is %+v, %+v", c, c.Error)
	}
	asked := r.model.summaries.asked()[len(first):]
	if len(asked) != 3 {
		t.Fatalf("%d requests were made for it, not 3", len(asked))
	}
	for i, want := range []struct{ begins, holds, draft string }{
		{"[1] [User] question 0", "chapter 1", ""},
		{"[5] [User] question 2", "chapter 3", "one [2]"},
		{"[9] [User] question 4", "chapter 4", "one [2], two [6]"},
	} {
		var text strings.Builder
		for _, m := range asked[i].Messages {
			for _, p := range m.Parts {
				text.WriteString(p.Text)
			}
		}
		drafted := len(asked[i].Messages) == 2 && strings.Contains(asked[i].Messages[1].Parts[0].Text, want.draft)
		if got := text.String(); !strings.HasPrefix(got, want.begins) || !strings.Contains(got, want.holds) ||
			strings.Contains(got, "the earlier summary") || drafted != (want.draft != "") ||
			!strings.Contains(asked[i].System, "Name every flower.") {
			t.Errorf("part %d asks %.200q … %.200q", i+1, got, got[max(0, len(got)-200):])
		}
	}
	message, err := r.store.Message(r.Context(), r.scope, c.MessageID)
	r.must(err)
	if text, _ := parley.PlainText(
		message.Content,
	); text != "all [2, 10]\n\nNo longer in the summary:\n- one [2], two [6]" {
		t.Errorf("the summary is %q", text)
	}
	events, err := r.store.Events(r.Context(), r.scope, sessionID, 0, parley.MaxPage)
	r.must(err)
	var parts []string
	for _, e := range events {
		if e.Type == parley.EventCompactionStarted {
			var started event.CompactionStarted
			r.must(json.Unmarshal(e.Data, &started))
			parts = append(parts, fmt.Sprintf("%d/%d of %d to %d", started.Part, started.Parts, started.CoversFrom,
				started.CoversThrough))
		}
	}
	if diff := cmp.Diff([]string{"1/1 of 1 to 8", "1/3 of 1 to 10", "2/3 of 1 to 10", "3/3 of 1 to 10"},
		parts); diff != "" {
		t.Errorf("the events tell otherwise (-want +got):\n%s", diff)
	}
	r.exchange(sessionID, 7)
	if shown := r.shown(-1); !strings.Contains(shown, "all [2, 10]") || strings.Contains(shown, "the earlier") {
		t.Errorf("afterwards the model sees %.300q", shown)
	}
}

// TestAPartThatFailsChangesNothing: the earlier summary stays in force, and the calls of the parts are on the record.
func TestAPartThatFailsChangesNothing(t *testing.T) {
	r := newSummedRig(t, says("the earlier summary [2]"), says("one [2]"),
		fails(model.NewError(parley.ClassAuth, false, "no such key", nil)))
	r.start(nil)
	sessionID := r.summedUp()
	before := r.record(sessionID)
	c := r.askSummary(sessionID, store.NewCompaction{From: parley.FromOriginals})
	if c.State != parley.CompactionFailed || c.Error == nil || c.Error.Class != parley.ClassAuth {
		t.Fatalf("the compaction is %+v, %+v", c, c.Error)
	}
	if diff := cmp.Diff(before, r.record(sessionID)); diff != "" {
		t.Errorf("the record has changed:\n%s", diff)
	}
	var outcomes []parley.CallOutcome
	for _, call := range r.callLog(sessionID) {
		if call.Purpose == parley.PurposeCompaction {
			outcomes = append(outcomes, call.Outcome)
		}
	}
	want := []parley.CallOutcome{parley.CallCompleted, parley.CallCompleted, parley.CallFailed}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("the calls ended otherwise (-want +got):\n%s", diff)
	}
	r.exchange(sessionID, 7)
	if shown := r.shown(-1); !strings.Contains(shown, "the earlier summary [2]") {
		t.Errorf("afterwards the model sees %.300q", shown)
	}
}
