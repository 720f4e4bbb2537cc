package storetest

import (
	"slices"

	"pgregory.net/rapid"

	"parley"
)

// The machine's moves by which people steer what waits.

func (m *machine) send(t *rapid.T) {
	row := m.queued(t)
	how := rapid.SampledFrom([]parley.During{parley.DuringSteer, parley.DuringInterrupt}).Draw(t, "how")
	turn, _ := m.current()
	_, err := m.w.store.SendQueued(m.w.ctx, m.w.scope, row.ID, how, parley.ID{})
	switch {
	case row.TurnID.IsZero():
		m.refuse(t, "sending what starts nothing", err, parley.CodeConflict)
		return
	case row.TurnID == turn.ID && (!row.Steer || how == parley.DuringSteer):
		must(t, "SendQueued", err)
		m.w.unchanged(t, "sending what is on its way", m.session, m.s)
		return
	}
	must(t, "SendQueued", err)
	m.flagged = m.flagged || how == parley.DuringInterrupt && m.claim != nil
	m.look(t)
	for _, after := range m.s.Turns {
		switch {
		case how == parley.DuringSteer && after.ID == row.TurnID && after.Status != parley.TurnCancelled:
			t.Fatalf("the turn of a message that became a steer is %s", after.Status)
		case how == parley.DuringInterrupt && after.ID == turn.ID && m.claim == nil && after.Status != parley.TurnCancelled:
			t.Fatalf("the interrupted turn that nobody held is %s", after.Status)
		}
	}
	if how == parley.DuringInterrupt && m.s.Queue[0].ID != row.ID {
		t.Fatalf("the message that interrupts is not the first of the queue")
	}
}

func (m *machine) move(t *rapid.T) {
	row := m.queued(t)
	before := rapid.SampledFrom(append(queueOrder(m.s), parley.ID{})).Draw(t, "before")
	_, err := m.w.store.MoveQueued(m.w.ctx, m.w.scope, row.ID, before)
	if err != nil { // only what is about to start keeps its place
		if turn, _ := m.current(); turn.Status != parley.TurnQueued {
			t.Fatalf("behind a %s turn a move is refused: %v", turn.Status, err)
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
