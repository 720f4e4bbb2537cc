package worker

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/inflight"
)

// TestLongAnswersShareTheProcess: an answer that finds no room beside others ends with the text that it has, and gives
// its room back however it ends.
func TestLongAnswersShareTheProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.start(nil)
	w.answers = inflight.NewBytes(4*answerHoldStep, 0)
	session := r.session(parley.Settings{}, nil)
	owner := inflight.Owner{WorkspaceID: r.scope.WorkspaceID}
	many := strings.Repeat("x", freeAnswerBytes)
	for _, c := range []struct {
		name   string
		answer answerFunc
		status parley.TurnStatus
	}{
		{"one that fits", chunks(text(0, many), text(0, many), text(0, many), done(parley.FinishStop)),
			parley.TurnCompleted},
		{"one that does not", chunks(text(0, many), text(0, many), text(0, many), text(0, many),
			done(parley.FinishStop)), parley.TurnFailed},
		{"one that breaks off", fails(errTooLong, text(0, many), text(0, many)), parley.TurnFailed},
		{"a short one", says("Fine."), parley.TurnCompleted},
	} {
		r.model.mu.Lock()
		r.model.endless = c.answer
		r.model.mu.Unlock()
		turn := r.ended(r.post(session, "Go", "").Turn.ID)
		if turn.Status != c.status || c.name == "one that does not" && turn.Error.Class != parley.ClassLimit {
			t.Errorf("%s: the turn is %s, %+v", c.name, turn.Status, turn.Error)
		}
		r.idleSlots(w)
		if !w.answers.Take(owner, 2*answerHoldStep) {
			t.Fatalf("%s: something is still held", c.name)
		}
		w.answers.Give(owner, 2*answerHoldStep)
	}
}
