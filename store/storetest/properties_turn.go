package storetest

import (
	"encoding/json"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

// Moves of the machine after a settled step: tools, ends, crashes, the queue and cancels.

func (m *machine) tool(t *rapid.T) {
	fence := m.held(t)
	turn, _ := m.current()
	open := m.openCalls()
	if len(open) == 0 {
		_, err := m.w.store.SettleTool(m.w.ctx, fence, m.w.toolSettle(turn.Step, "call_unknown"))
		m.refuse(t, "a result for no call", err)
		return
	}
	if len(m.streaming()) > 0 {
		t.Skip("a step streams")
	}
	call := rapid.SampledFrom(open).Draw(t, "call")
	_, err := m.w.store.SettleTool(m.w.ctx, fence, m.w.toolSettle(turn.Step, call))
	must(t, "SettleTool", err)
	m.look(t)
	_, err = m.w.store.SettleTool(m.w.ctx, fence, m.w.toolSettle(turn.Step, call))
	m.refuse(t, "a second result", err, parley.CodeConflict)
}

func (m *machine) answer(t *rapid.T) {
	turn, _ := m.current()
	open := m.openCalls()
	if len(open) == 0 || turn.Status != parley.TurnWaiting || turn.WaitReason != parley.WaitToolResult {
		_, err := m.w.store.PostMessage(m.w.ctx, m.w.scope, m.session, m.w.result("call_unknown"), parley.ID{})
		m.refuse(t, "a result for no call", err, parley.CodeConflict)
		return
	}
	m.w.post(t, m.session, m.w.result(rapid.SampledFrom(open).Draw(t, "call")))
	m.look(t)
	want := parley.TurnWaiting
	if len(open) == 1 {
		want = parley.TurnQueued
	}
	if turn, _ := m.current(); turn.Status != want {
		t.Fatalf("with one of %d calls answered the turn is %s", len(open), turn.Status)
	}
}

func (m *machine) park(t *rapid.T) {
	fence := m.held(t)
	turn, err := m.w.store.ParkTurn(m.w.ctx, fence, parley.WaitToolResult)
	switch {
	case m.flagged:
		must(t, "ParkTurn", err)
		if turn.Status != parley.TurnCancelled {
			t.Fatalf("a turn that was asked to stop parked and is %s", turn.Status)
		}
	case len(m.streaming()) > 0:
		m.refuse(t, "parking a streaming turn", err)
		return
	case len(m.openCalls()) == 0: // with an open call a steer waits, too: nothing enters between a call and its result
		m.refuse(t, "parking with nothing open", err, parley.CodeMore)
		return
	default:
		must(t, "ParkTurn", err)
	}
	m.drop()
	m.look(t)
}

func (m *machine) finish(t *rapid.T) {
	fence := m.held(t)
	end := rapid.SampledFrom([]store.TurnEnd{*completed(), *failed(parley.ClassLimit), {Status: parley.TurnCancelled}}).
		Draw(t, "end")
	finished, err := m.w.store.FinishTurn(m.w.ctx, fence, end)
	switch {
	case len(m.streaming()) > 0:
		m.refuse(t, "finishing a streaming turn", err)
	case end.Status == parley.TurnCompleted && len(m.steers()) > 0:
		must(t, "FinishTurn", err)
		if !finished.More {
			t.Fatalf("the turn ended with %d steers undelivered", len(m.steers()))
		}
		m.w.unchanged(t, "finishing with a steer undelivered", m.session, m.s)
	default:
		must(t, "FinishTurn", err)
		m.drop()
		m.look(t)
	}
}

func (m *machine) release(t *rapid.T) {
	fence := m.held(t)
	must(t, "ReleaseTurn", m.w.store.ReleaseTurn(m.w.ctx, fence))
	m.drop()
	m.look(t)
}

func (m *machine) crash(t *rapid.T) {
	m.held(t)
	turn, _ := m.current()
	flagged := m.flagged
	m.w.expire(t, m.w.process)
	m.w.process = m.w.register(t)
	m.drop()
	m.look(t)
	for _, after := range m.s.Turns {
		if after.ID != turn.ID {
			continue
		}
		switch {
		case flagged && after.Status != parley.TurnCancelled,
			!flagged && turn.Takeovers+1 < parley.CrashLoopLimit && after.Status != parley.TurnQueued,
			!flagged && turn.Takeovers+1 >= parley.CrashLoopLimit && after.Status != parley.TurnFailed:
			t.Fatalf("takeover %d (flagged: %t) makes the turn %s", turn.Takeovers+1, flagged, after.Status)
		}
	}
}

func (m *machine) queued(t *rapid.T) parley.Message {
	if len(m.s.Queue) == 0 {
		t.Skip("the queue is empty")
	}
	return rapid.SampledFrom(m.s.Queue).Draw(t, "queued")
}

func (m *machine) edit(t *rapid.T) {
	if len(m.s.Record) > 0 && rapid.Bool().Draw(t, "recorded") {
		_, err := m.w.store.EditQueued(
			m.w.ctx,
			m.w.scope,
			m.w.owner.ID,
			rapid.SampledFrom(m.s.Record).Draw(t, "message").ID,
			json.RawMessage(`{"text":"x"}`),
		)
		m.refuse(t, "editing the record", err, parley.CodeConflict)
		return
	}
	_, err := m.w.store.EditQueued(
		m.w.ctx,
		m.w.scope,
		m.w.owner.ID,
		m.queued(t).ID,
		json.RawMessage(`{"text":"edited"}`),
	)
	must(t, "EditQueued", err)
	m.look(t)
}

func (m *machine) remove(t *rapid.T) {
	row := m.queued(t)
	removed, err := m.w.store.RemoveQueued(m.w.ctx, m.w.scope, row.ID)
	must(t, "RemoveQueued", err)
	if removed.Status != parley.MessageCancelled {
		t.Fatalf("the removed message is %s", removed.Status)
	}
	m.look(t)
	for _, turn := range m.s.Turns {
		if turn.TriggerMessageID == row.ID && turn.Status != parley.TurnCancelled {
			t.Fatalf("the turn of a removed message is %s", turn.Status)
		}
	}
	_, err = m.w.store.RemoveQueued(m.w.ctx, m.w.scope, row.ID)
	m.refuse(t, "removing it again", err, parley.CodeConflict)
}

func (m *machine) cancel(t *rapid.T) {
	also := rapid.IntRange(0, 3).Draw(t, "queued too") == 0
	turn, unfinished := m.current()
	cancelled, err := m.w.store.RequestCancel(m.w.ctx, m.w.scope, m.session, parley.ID{}, also)
	switch {
	case !unfinished && err != nil:
		m.refuse(t, "a cancel with nothing unfinished", err, parley.CodeNothingToCancel, parley.CodeConflict)
	case !unfinished && !cancelled.Before:
		t.Fatalf("with nothing unfinished the cancel gives %+v", cancelled)
	case !unfinished:
		m.w.unchanged(t, "a repeated cancel", m.session, m.s)
	default:
		must(t, "RequestCancel", err)
		if cancelled.Turn.ID != turn.ID || cancelled.Held != (m.claim != nil) || cancelled.Before {
			t.Fatalf(
				"the cancel of the %s turn %s (held: %t) gives %+v",
				turn.Status,
				turn.ID,
				m.claim != nil,
				cancelled,
			)
		}
		m.flagged = m.claim != nil
		m.look(t)
		if also && len(m.s.Turns) > 0 {
			for _, row := range m.s.Queue {
				if !row.Steer && !row.TurnID.IsZero() {
					t.Fatalf("a queued turn survived a cancel of all")
				}
			}
		}
	}
}

func (m *machine) take(t *rapid.T) {
	m.held(t)
	if !m.flagged {
		t.Skip("nobody asked the turn to stop")
	}
	turn, _ := m.current()
	taken, err := m.w.store.TakeCancel(m.w.ctx, m.w.scope, m.session, turn.ID)
	must(t, "TakeCancel", err)
	if taken.Turn.ID != turn.ID || taken.Turn.Status != parley.TurnCancelled ||
		len(taken.Settled) < len(m.streaming()) {
		t.Fatalf("the taken cancel gives %+v", taken)
	}
	m.drop()
	m.look(t)
}

func (m *machine) stale(t *rapid.T) {
	if len(m.old) == 0 {
		t.Skip("no claim was lost yet")
	}
	fence := rapid.SampledFrom(m.old).Draw(t, "claim")
	begin := m.w.stepBegin(1, 1)
	if rows := m.streaming(); len(rows) > 0 {
		begin.Call.MessageID = rows[0].ID
	}
	methods := m.w.fenced(fence, begin, "call_1")
	// The order of a map must not decide what a check draws.
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(methods))).Draw(t, "method")
	m.refuse(t, name+" under a lost claim", methods[name](), parley.CodeFenced)
}
