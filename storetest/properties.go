package storetest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"parley"
)

// testProperties drives one session by random transitions, legal and illegal,
// and demands every invariant after each.
func testProperties(t *testing.T, open Open) {
	w := newWorld(t, open)
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{w: w}
		m.session = w.session(t)
		defer func() { _ = w.store.DeleteSession(w.ctx, w.scope, m.session) }() // a failed check must not feed the next one's claims
		m.s = w.check(t, m.session)
		t.Repeat(map[string]func(*rapid.T){
			"post": m.post, "claim": m.claimIt, "begin": m.begin, "block": m.block, "flush": m.flush, "settle": m.settle,
			"settle2": m.settle, "tool": m.tool, "answer": m.answer, "park": m.park, "finish": m.finish, "release": m.release,
			"crash": m.crash, "edit": m.edit, "remove": m.remove, "cancel": m.cancel, "take": m.take, "stale": m.stale,
		})
	})
}

// machine is what the driver knows of the session: what it last read, and which
// claims it was given. All else is read back from the store.
type machine struct {
	w       *world
	session parley.ID
	s       Snapshot      // after the last action
	claim   *parley.Claim // the valid one
	flagged bool          // the running turn was asked to stop
	old     []parley.Fence
}

// look checks the session after an action.
func (m *machine) look(t *rapid.T) {
	t.Helper()
	before := m.s
	m.s = m.w.check(t, m.session)
	if len(m.s.Record) < len(before.Record) || len(m.s.Events) < len(before.Events) {
		t.Fatalf("the record or the events became shorter")
	}
	for i, was := range before.Record {
		if is := m.s.Record[i]; is.ID != was.ID || was.Status.Settled() && (is.Status != was.Status || is.ContentHash != was.ContentHash) {
			t.Fatalf("the settled message %d changed from %s %s to %s %s", i+1, was.ID, was.Status, is.ID, is.Status)
		}
	}
	for i, was := range before.Turns {
		if is := m.s.Turns[i]; was.Status.Finished() && is.Status != was.Status {
			t.Fatalf("the %s turn %s became %s", was.Status, was.ID, is.Status)
		}
	}
}

// refuse demands a refusal that wrote nothing.
func (m *machine) refuse(t *rapid.T, what string, err error, codes ...parley.Code) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s is accepted", what)
	}
	for i, code := range codes {
		if parley.ErrorCode(err) == code {
			break
		}
		if i == len(codes)-1 {
			t.Fatalf("%s: %v; want code %v", what, err, codes)
		}
	}
	m.w.unchanged(t, what, m.session, m.s)
}

// drop notes that the claim is gone.
func (m *machine) drop() {
	if m.claim != nil {
		m.old = append(m.old, m.claim.Fence)
	}
	m.claim, m.flagged = nil, false
}

// current is the first unfinished turn.
func (m *machine) current() (parley.Turn, bool) {
	for _, turn := range m.s.Turns {
		if turn.ID == m.s.Session.TurnID {
			return turn, true
		}
	}
	return parley.Turn{}, false
}

func (m *machine) streaming() (rows []parley.Message) {
	for _, row := range m.s.Record {
		if row.Status == parley.MessageStreaming {
			rows = append(rows, row)
		}
	}
	return rows
}

// openCalls are the current turn's calls without a result.
func (m *machine) openCalls() (ids []string) {
	for _, row := range m.s.Record {
		switch {
		case row.TurnID != m.s.Session.TurnID || !row.Status.Settled():
		case row.Role == parley.RoleToolCall && row.Status == parley.MessageCompleted:
			ids = append(ids, row.ToolCallID)
		case row.Role == parley.RoleToolResult:
			for i, id := range ids {
				if id == row.ToolCallID {
					ids = append(ids[:i:i], ids[i+1:]...)
				}
			}
		}
	}
	return ids
}

func (m *machine) steers() (steers []parley.Message) {
	for _, row := range m.s.Queue {
		if row.Steer {
			steers = append(steers, row)
		}
	}
	return steers
}

func (m *machine) held(t *rapid.T) parley.Fence {
	if m.claim == nil {
		t.Skip("nobody holds a turn")
	}
	return m.claim.Fence
}

func (m *machine) post(t *rapid.T) {
	policy := rapid.SampledFrom([]parley.During{"", parley.DuringQueue, parley.DuringSteer, parley.DuringSteer, parley.DuringInterrupt, parley.DuringReject}).Draw(t, "during")
	message := m.w.say("message", during(policy))
	if rapid.IntRange(0, 3).Draw(t, "alone") == 0 {
		message.TurnID = parley.ID{}
	}
	message.Internal = rapid.IntRange(0, 5).Draw(t, "internal") == 0
	_, unfinished := m.current()
	posted, err := m.w.store.PostMessage(m.w.ctx, m.w.scope, m.session, message, parley.ID{})
	if unfinished && policy == parley.DuringReject && !message.TurnID.IsZero() {
		m.refuse(t, "a post with reject", err, parley.CodeBusy)
		return
	}
	must(t, "PostMessage", err)
	if !unfinished && posted.Message.Sequence != m.s.Session.LastSequence+1 {
		t.Fatalf("on an idle session the message has sequence %d", posted.Message.Sequence)
	}
	if unfinished && policy == parley.DuringInterrupt && !message.TurnID.IsZero() && m.claim != nil {
		m.flagged = true
	}
	m.look(t)
}

func (m *machine) claimIt(t *rapid.T) {
	turn, unfinished := m.current()
	claims, err := m.w.store.Claim(m.w.ctx, m.w.process, 5)
	must(t, "Claim", err)
	if !unfinished || turn.Status != parley.TurnQueued {
		if len(claims) != 0 {
			t.Fatalf("Claim took %+v while the first unfinished turn is %q", claims, turn.Status)
		}
		return
	}
	if len(claims) != 1 || claims[0].Turn.ID != turn.ID || claims[0].Turn.Attempt != turn.Attempt+1 {
		t.Fatalf("Claim took %+v; want attempt %d of turn %s", claims, turn.Attempt+1, turn.ID)
	}
	for _, old := range m.old {
		if claims[0].Fence.Epoch <= old.Epoch {
			t.Fatalf("epoch %d was given before", claims[0].Fence.Epoch)
		}
	}
	m.claim, m.flagged = &claims[0], false
	m.look(t)
	if claims[0].Turn.Attempt > 1 {
		state, err := m.w.store.RecoverTurn(m.w.ctx, claims[0].Fence)
		must(t, "RecoverTurn", err)
		m.look(t)
		for _, row := range state.Messages {
			if !row.Status.Settled() || row.TurnID != turn.ID {
				t.Fatalf("a recovered turn has the %s message %s of turn %s", row.Status, row.ID, row.TurnID)
			}
		}
		if len(m.streaming()) != 0 {
			t.Fatalf("a recovered turn still streams")
		}
	}
}

func (m *machine) begin(t *rapid.T) {
	fence := m.held(t)
	turn, _ := m.current()
	var steers []parley.Message
	if rapid.IntRange(0, 3).Draw(t, "deliver") > 0 {
		var err error
		steers, err = m.w.store.PendingSteers(m.w.ctx, fence)
		must(t, "PendingSteers", err)
		if len(steers) != len(m.steers()) {
			t.Fatalf("PendingSteers reads %d of %d", len(steers), len(m.steers()))
		}
	}
	begin := m.w.stepBegin(turn.Step+1, 1, steers...)
	begun, err := m.w.store.BeginStep(m.w.ctx, fence, begin)
	if len(m.streaming()) > 0 {
		m.refuse(t, "a step beside a streaming one", err)
		return
	}
	if err != nil && len(m.openCalls()) > 0 {
		m.refuse(t, "a step with calls open", err)
		return
	}
	must(t, "BeginStep", err)
	if begun.Message.Sequence != m.s.Session.LastSequence+int64(len(steers))+1 {
		t.Fatalf("the step's message has sequence %d behind %d and %d steers", begun.Message.Sequence, m.s.Session.LastSequence, len(steers))
	}
	m.look(t)
}

func (m *machine) block(t *rapid.T) {
	fence := m.held(t)
	turn, _ := m.current()
	open := parley.BlockOpen{MessageID: parley.NewID(), Step: turn.Step, Role: parley.RoleAssistant, Author: m.w.author(), Model: modelID}
	if rapid.Bool().Draw(t, "tool call") {
		open.Role, open.ToolCallID, open.ToolName = parley.RoleToolCall, "call_"+open.MessageID.String(), "tool1"
	}
	_, err := m.w.store.OpenBlock(m.w.ctx, fence, open)
	if len(m.streaming()) == 0 {
		m.refuse(t, "a block outside a step", err)
		return
	}
	must(t, "OpenBlock", err)
	m.look(t)
}

// flushed is the text of a message's versions so far.
func (m *machine) flushed(id parley.ID) string {
	var text strings.Builder
	for _, version := range m.s.Versions[id] {
		text.WriteString(version.Text)
	}
	return text.String()
}

func (m *machine) flush(t *rapid.T) {
	fence := m.held(t)
	var versions []parley.FencedVersion
	for _, row := range m.streaming() {
		if row.Role != parley.RoleAssistant {
			continue
		}
		text, done := rapid.StringMatching(`[a-zé ]{1,8}`).Draw(t, "text"), len(m.flushed(row.ID))
		n := len(m.s.Versions[row.ID]) + 1
		versions = append(versions, parley.FencedVersion{Fence: fence, Version: parley.Version{
			MessageID: row.ID, N: n, Kind: parley.KindText, Offset: done, End: done + len(text), Chunks: n, Text: text, CreatedAt: parley.Now()}})
	}
	if len(versions) == 0 {
		t.Skip("nothing streams")
	}
	fenced, err := m.w.store.AppendVersions(m.w.ctx, versions)
	if err != nil || len(fenced) != 0 {
		t.Fatalf("AppendVersions: %v, %v", fenced, err)
	}
	m.look(t)
}

func (m *machine) settle(t *rapid.T) {
	fence := m.held(t)
	turn, _ := m.current()
	rows := m.streaming()
	if len(rows) == 0 {
		t.Skip("nothing streams")
	}
	var call parley.Call
	for _, each := range m.s.Calls {
		if each.Outcome == parley.CallOpen {
			call = each
		}
	}
	status := rapid.SampledFrom([]parley.MessageStatus{parley.MessageCompleted, parley.MessageCompleted, parley.MessageFailed, parley.MessageCancelled}).Draw(t, "status")
	settle := parley.StepSettle{Step: turn.Step, Call: callEnd(call.ID, parley.CallCompleted)}
	if rapid.IntRange(0, 3).Draw(t, "usage") == 0 {
		settle.Call.Usage, settle.Call.Cost = parley.Usage{}, nil
	}
	failure := &parley.Failure{Class: parley.ClassStream, Sentence: "It broke off.", Attempts: 1}
	calls := 0
	for _, row := range rows {
		block := said(row.ID, m.flushed(row.ID)+"end")
		if row.Role == parley.RoleToolCall {
			content, err := parley.EncodeContent(parley.ToolCallContent{ID: row.ToolCallID, Name: row.ToolName, Arguments: json.RawMessage(`{}`)})
			must(t, "EncodeContent", err)
			block.Content, block.ToolName = content, row.ToolName
			calls++
		}
		if block.Status = status; status == parley.MessageFailed {
			block.Error = failure
		}
		settle.Blocks = append(settle.Blocks, block)
	}
	end := calls == 0 && rapid.Bool().Draw(t, "end")
	switch status {
	case parley.MessageFailed:
		settle.Call.Outcome, settle.Call.Error, end = parley.CallFailed, failure, rapid.Bool().Draw(t, "fails")
		settle.End = failed(parley.ClassStream)
	case parley.MessageCancelled:
		settle.Call.Outcome, end = parley.CallCancelled, true
		settle.End = &parley.TurnEnd{Status: parley.TurnCancelled}
	default:
		settle.End = completed()
	}
	if !end {
		settle.End = nil
	}
	settled, err := m.w.store.SettleStep(m.w.ctx, fence, settle)
	must(t, "SettleStep", err)
	more := end && status == parley.MessageCompleted && len(m.steers()) > 0
	if settled.More != more || settled.Turn.Status.Finished() != (end && !more) {
		t.Fatalf("the settle with end %t and %d steers gives more %t and a %s turn", end, len(m.steers()), settled.More, settled.Turn.Status)
	}
	if settled.Turn.Status.Finished() {
		m.drop()
	}
	m.look(t)
}

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
	if len(open) == 0 || turn.Status != parley.TurnWaiting {
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
			t.Fatalf("a turn that was asked to stop parks and is %s", turn.Status)
		}
	case len(m.streaming()) > 0:
		m.refuse(t, "parking a streaming turn", err)
		return
	case len(m.openCalls()) == 0 || len(m.steers()) > 0:
		m.refuse(t, "parking with nothing open, or a steer undelivered", err, parley.CodeMore)
		return
	default:
		must(t, "ParkTurn", err)
	}
	m.drop()
	m.look(t)
}

func (m *machine) finish(t *rapid.T) {
	fence := m.held(t)
	end := rapid.SampledFrom([]parley.TurnEnd{*completed(), *failed(parley.ClassLimit), {Status: parley.TurnCancelled}}).Draw(t, "end")
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
		_, err := m.w.store.EditQueued(m.w.ctx, m.w.scope, rapid.SampledFrom(m.s.Record).Draw(t, "message").ID, json.RawMessage(`{"text":"x"}`))
		m.refuse(t, "editing the record", err, parley.CodeConflict)
		return
	}
	_, err := m.w.store.EditQueued(m.w.ctx, m.w.scope, m.queued(t).ID, json.RawMessage(`{"text":"edited"}`))
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
			t.Fatalf("the cancel of the %s turn %s (held: %t) gives %+v", turn.Status, turn.ID, m.claim != nil, cancelled)
		}
		m.flagged = m.claim != nil
		m.look(t)
		if also && len(m.s.Turns) > 0 {
			for _, row := range m.s.Queue {
				if !row.Steer && !row.TurnID.IsZero() {
					t.Fatalf("a queued turn outlives a cancel of all")
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
	if taken.Turn.ID != turn.ID || taken.Turn.Status != parley.TurnCancelled || len(taken.Settled) < len(m.streaming()) {
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
