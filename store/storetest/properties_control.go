package storetest

import (
	"context"
	"slices"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

// resumeMethod is RetryTurn or ContinueTurn.
type resumeMethod func(context.Context, store.Scope, parley.ID, parley.ID, store.TurnAgain,
	parley.ID) (store.TurnResumed, error)

// Moves of the machine that steer waiting work.

func (m *machine) send(t *rapid.T) {
	row := m.queued(t)
	how := rapid.SampledFrom([]parley.During{parley.DuringSteer, parley.DuringInterrupt}).Draw(t, "how")
	turn, _ := m.current()
	_, err := m.w.store.SendQueued(m.w.ctx, m.w.scope, row.ID, how, parley.ID{})
	switch {
	case row.TurnID.IsZero():
		m.refuse(t, "sending a message that starts no turn", err, parley.CodeConflict)
		return
	case row.Iteration > 0 && how == parley.DuringSteer && row.TurnID != turn.ID:
		m.refuse(t, "an iteration sent as a steer", err, parley.CodeConflict)
		return
	case row.TurnID == turn.ID && (!row.Steer || how == parley.DuringSteer):
		must(t, "SendQueued", err)
		m.w.unchanged(t, "sending a message already on its way", m.session, m.s)
		return
	}
	must(t, "SendQueued", err)
	m.flagged = m.flagged || how == parley.DuringInterrupt && m.claim != nil
	m.look(t)
	for _, after := range m.s.Turns {
		switch {
		case how == parley.DuringSteer && after.ID == row.TurnID && after.Status != parley.TurnCancelled:
			t.Fatalf("the turn of a message that became a steer is %s", after.Status)
		case how == parley.DuringInterrupt && after.ID == turn.ID && m.claim == nil &&
			after.Status != parley.TurnCancelled:
			t.Fatalf("the interrupted turn without a holder is %s", after.Status)
		}
	}
	if how == parley.DuringInterrupt && m.s.Queue[0].ID != row.ID {
		t.Fatalf("the interrupting message is not the first of the queue")
	}
}

func (m *machine) move(t *rapid.T) {
	row := m.queued(t)
	before := rapid.SampledFrom(append(queueOrder(m.s), parley.ID{})).Draw(t, "before")
	_, err := m.w.store.MoveQueued(m.w.ctx, m.w.scope, row.ID, before)
	if err != nil { // only a message about to start keeps its position
		if turn, _ := m.current(); turn.Status != parley.TurnQueued {
			t.Fatalf("after a %s turn a move is refused: %v", turn.Status, err)
		}
		m.refuse(t, "a move about the first of the queue", err, parley.CodeConflict)
		return
	}
	want := slices.DeleteFunc(queueOrder(m.s), func(id parley.ID) bool { return id == row.ID })
	at := slices.Index(want, before)
	if at < 0 {
		at = len(want)
	}
	if want = slices.Insert(want, at, row.ID); before == row.ID {
		want = queueOrder(m.s)
	}
	m.look(t)
	if got := queueOrder(m.s); !slices.Equal(got, want) {
		t.Fatalf("the queue is %v; want %v", got, want)
	}
}

// retry retries or continues any turn: only the last turn of the record may be resumed, and only if it ended
// accordingly.
func (m *machine) retry(t *rapid.T) {
	m.resume(t, "a retry", m.w.store.RetryTurn, func(turn parley.Turn) bool {
		return turn.Status == parley.TurnFailed || turn.Status == parley.TurnCancelled
	})
}

func (m *machine) goOn(t *rapid.T) {
	m.resume(t, "going on", m.w.store.ContinueTurn, func(turn parley.Turn) bool {
		return turn.Status == parley.TurnFailed && turn.Error.Class == parley.ClassLimit
	})
}

func (m *machine) resume(t *rapid.T, what string, resume resumeMethod, applies func(parley.Turn) bool) {
	if len(m.s.Turns) == 0 {
		t.Skip("nothing ever ran")
	}
	turn := rapid.SampledFrom(m.s.Turns).Draw(t, "turn")
	resumed, err := resume(m.w.ctx, m.w.scope, m.session, turn.ID, m.w.again(""), parley.ID{})
	if turn.Status == parley.TurnWaiting && turn.WaitReason == parley.WaitBudget && what == "going on" {
		must(t, what, err)
		if resumed.Turn.ID != turn.ID || resumed.Turn.Status != parley.TurnQueued {
			t.Fatalf("the waiting turn resumed as %+v", resumed.Turn)
		}
		m.look(t)
		return
	}
	_, unfinished := m.current()
	if !applies(turn) || unfinished || turn.ID != m.atEnd() {
		m.refuse(t, what, err, parley.CodeConflict)
		return
	}
	must(t, what, err)
	m.look(t)
	if now, _ := m.current(); now.ID != resumed.Turn.ID || now.ContinuesID != turn.ID ||
		now.TriggerMessageID != turn.TriggerMessageID ||
		now.Status != parley.TurnQueued {
		t.Fatalf("%s of turn %s makes %+v", what, turn.ID, now)
	}
}

// atEnd returns the newest turn of the message whose answer ends the record.
func (m *machine) atEnd() (last parley.ID) {
	var trigger parley.ID
	for _, row := range m.s.Record {
		for _, turn := range m.s.Turns {
			if turn.ID == row.TurnID {
				trigger = turn.TriggerMessageID
			}
		}
	}
	for _, turn := range m.s.Turns { // in order
		if turn.TriggerMessageID == trigger {
			last = turn.ID
		}
	}
	return last
}

// starve parks the turn at a limit.
func (m *machine) starve(t *rapid.T) {
	fence := m.held(t)
	if len(m.streaming()) > 0 || m.flagged {
		t.Skip("no turn can stop here for its budget")
	}
	_, err := m.w.store.ParkTurn(m.w.ctx, fence, parley.WaitBudget)
	must(t, "ParkTurn", err)
	m.drop()
	m.look(t)
}

func (m *machine) runningLoop() *parley.Loop {
	for i := range m.s.Loops {
		if m.s.Loops[i].State == parley.LoopRunning {
			return &m.s.Loops[i]
		}
	}
	return nil
}

func (m *machine) loop(t *rapid.T) {
	running := m.runningLoop()
	loop := m.w.newLoop(rapid.IntRange(1, 4).Draw(t, "max"))
	_, err := m.w.store.StartLoop(m.w.ctx, m.w.scope, m.session, loop, parley.ID{})
	if running != nil {
		m.refuse(t, "a second loop", err, parley.CodeConflict)
		return
	}
	must(t, "StartLoop", err)
	m.look(t)
}

func (m *machine) stopLoop(t *rapid.T) {
	if len(m.s.Loops) == 0 {
		t.Skip("there is no loop")
	}
	loop := rapid.SampledFrom(m.s.Loops).Draw(t, "loop")
	_, err := m.w.store.StopLoop(m.w.ctx, m.w.scope, m.session, loop.ID)
	switch loop.State {
	case parley.LoopRunning:
		must(t, "StopLoop", err)
		if m.look(t); m.runningLoop() != nil {
			t.Fatalf("the stopped loop runs")
		}
	case parley.LoopStopped:
		must(t, "StopLoop", err)
		m.w.unchanged(t, "stopping a stopped loop", m.session, m.s)
	default:
		m.refuse(t, "stopping an ended loop", err, parley.CodeConflict)
	}
}
