package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

// testProperties drives one session with random transitions, legal and illegal, and requires every invariant after
// each.
func testProperties(t *testing.T, open Open) {
	w := newWorld(t, open)
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{w: w}
		m.session = w.session(t)
		defer func() {
			_ = w.store.DeleteSession(w.ctx, w.scope, m.session)
		}() // a failed check must not feed the next one's claims
		m.s = w.check(t, m.session)
		t.Repeat(map[string]func(*rapid.T){
			"post":     m.post,
			"claim":    m.claimIt,
			"begin":    m.begin,
			"block":    m.block,
			"flush":    m.flush,
			"settle":   m.settle,
			"settle2":  m.settle,
			"tool":     m.tool,
			"answer":   m.answer,
			"park":     m.park,
			"finish":   m.finish,
			"release":  m.release,
			"crash":    m.crash,
			"edit":     m.edit,
			"remove":   m.remove,
			"cancel":   m.cancel,
			"take":     m.take,
			"stale":    m.stale,
			"send":     m.send,
			"move":     m.move,
			"retry":    m.retry,
			"continue": m.goOn,
			"starve":   m.starve,
			"loop":     m.loop,
			"stop":     m.stopLoop,
		})
	})
}

// machine is the driver's view of the session: what it last read, and the claims that it got. Everything else is read
// from the store.
type machine struct {
	w       *world
	session parley.ID
	s       Snapshot     // after the last action
	claim   *store.Claim // the valid one
	flagged bool         // the running turn was asked to stop
	old     []store.Fence
}

// look checks the session after an action.
func (m *machine) look(t *rapid.T) {
	t.Helper()
	before := m.s
	m.s = m.w.check(t, m.session)
	if len(m.s.Record) < len(before.Record) || len(m.s.Events) < len(before.Events) {
		t.Fatalf("the record or the events shrank")
	}
	for i, was := range before.Record {
		if is := m.s.Record[i]; is.ID != was.ID ||
			was.Status.Settled() && (is.Status != was.Status || is.ContentHash != was.ContentHash) {
			t.Fatalf("the settled message %d changed from %s %s to %s %s", i+1, was.ID, was.Status, is.ID, is.Status)
		}
	}
	for i, was := range before.Turns {
		if is := m.s.Turns[i]; was.Status.Finished() && is.Status != was.Status {
			t.Fatalf("the %s turn %s became %s", was.Status, was.ID, is.Status)
		}
	}
}

// refuse requires a refusal that wrote nothing.
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

// drop notes that the claim is lost.
func (m *machine) drop() {
	if m.claim != nil {
		m.old = append(m.old, m.claim.Fence)
	}
	m.claim, m.flagged = nil, false
}

// current returns the first unfinished turn.
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

// openCalls returns the current turn's calls without a result.
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

func (m *machine) held(t *rapid.T) store.Fence {
	if m.claim == nil {
		t.Skip("nobody holds a turn")
	}
	return m.claim.Fence
}

func (m *machine) post(t *rapid.T) {
	policy := rapid.SampledFrom([]parley.During{"", parley.DuringQueue, parley.DuringSteer, parley.DuringSteer,
		parley.DuringInterrupt, parley.DuringReject}).
		Draw(t, "during")
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
	claims, err := m.w.store.Claim(m.w.ctx, m.w.process, 5, roomy())
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
			t.Fatalf("epoch %d was used before", claims[0].Fence.Epoch)
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
		t.Fatalf(
			"the step's message has sequence %d behind %d and %d steers",
			begun.Message.Sequence,
			m.s.Session.LastSequence,
			len(steers),
		)
	}
	m.look(t)
}

func (m *machine) block(t *rapid.T) {
	fence := m.held(t)
	turn, _ := m.current()
	open := store.BlockOpen{
		MessageID: parley.NewID(),
		Step:      turn.Step,
		Role:      parley.RoleAssistant,
		Author:    m.w.author(),
		Model:     modelID,
	}
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

// flushed returns the text of a message's versions so far.
func (m *machine) flushed(id parley.ID) string {
	var text strings.Builder
	for _, version := range m.s.Versions[id] {
		text.WriteString(version.Text)
	}
	return text.String()
}

func (m *machine) flush(t *rapid.T) {
	fence := m.held(t)
	var versions []store.FencedVersion
	for _, row := range m.streaming() {
		if row.Role != parley.RoleAssistant {
			continue
		}
		text, done := rapid.StringMatching(`[a-zé ]{1,8}`).Draw(t, "text"), len(m.flushed(row.ID))
		n := len(m.s.Versions[row.ID]) + 1
		versions = append(versions, store.FencedVersion{Fence: fence, Version: parley.Version{
			MessageID: row.ID,
			N:         n,
			Kind:      parley.KindText,
			Offset:    done,
			End:       done + len(text),
			Chunks:    n,
			Text:      text,
			CreatedAt: parley.Now(),
		}})
	}
	if len(versions) == 0 {
		t.Skip("nothing streams")
	}
	appended, err := m.w.store.AppendVersions(m.w.ctx, versions)
	if err != nil || skipped(appended) != 0 {
		t.Fatalf("AppendVersions: %+v, %v", appended, err)
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
	status := rapid.SampledFrom([]parley.MessageStatus{parley.MessageCompleted, parley.MessageCompleted,
		parley.MessageFailed, parley.MessageCancelled}).
		Draw(t, "status")
	settle := store.StepSettle{Step: turn.Step, Call: callEnd(call.ID, parley.CallCompleted)}
	if rapid.IntRange(0, 3).Draw(t, "usage") == 0 {
		settle.Call.Usage, settle.Call.Cost = parley.Usage{}, nil
	}
	failure := &parley.Failure{Class: parley.ClassStream, Sentence: "It broke off.", Attempts: 1}
	calls := 0
	for _, row := range rows {
		block := said(row.ID, m.flushed(row.ID)+"end")
		if row.Role == parley.RoleToolCall {
			content, err := parley.EncodeContent(
				parley.ToolCallContent{ID: row.ToolCallID, Name: row.ToolName, Arguments: json.RawMessage(`{}`)},
			)
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
		settle.End = &store.TurnEnd{Status: parley.TurnCancelled}
	default:
		settle.End = &store.TurnEnd{Status: parley.TurnCompleted, Met: rapid.IntRange(0, 3).Draw(t, "met") == 0}
	}
	if !end {
		settle.End = nil
	}
	settled, err := m.w.store.SettleStep(m.w.ctx, fence, settle)
	must(t, "SettleStep", err)
	more := end && status == parley.MessageCompleted && len(m.steers()) > 0
	if settled.More != more || settled.Turn.Status.Finished() != (end && !more) {
		t.Fatalf(
			"the settle with end %t and %d steers gives more %t and a %s turn",
			end,
			len(m.steers()),
			settled.More,
			settled.Turn.Status,
		)
	}
	if settled.Turn.Status.Finished() {
		m.drop()
	}
	m.look(t)
}
